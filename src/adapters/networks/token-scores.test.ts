import { afterAll, describe, expect, test } from 'bun:test';
import { readWordPieces } from './network-files.ts';
import { loadOnnxRuntime } from './onnx-runtime.ts';
import { createTokenScores, tokenWindows } from './token-scores.ts';

/**
 * A network of two products: the logits of a piece are its id times [0, 0.001, 0 | 0.002, 0] and its two signs times 1 in
 * the columns "I-name" and "B-skill". So its rows can be computed here too.
 */
const TINY = 'test/recorded/networks/tiny-tagger';

const problems: string[] = [];
const scores = createTokenScores({ folder: TINY, onUnavailable: (reason) => void problems.push(reason) });
afterAll(() => scores.close());

const idOf = (word: string) => readWordPieces().encode(word).ids[0] ?? 0;

function logSoftmax(...logits: number[]): number[] {
  const sum = logits.reduce((total, logit) => total + Math.exp(logit), 0);
  return logits.map((logit) => logit - Math.log(sum));
}

function expectRows(found: Float32Array | null, rows: readonly (readonly number[])[]): void {
  const expected = rows.flat();
  expect(found).toHaveLength(expected.length);
  for (const [at, one] of expected.entries()) expect(found?.[at] ?? 0).toBeCloseTo(one, 3);
}

describe('scores of words', () => {
  test('are log-probabilities over the labels of that kind of document, by a word’s first piece and its features', async () => {
    const words = ['Donaudampfschiff', 'and'];
    const signs = Uint8Array.of(1, 0, 0, 1);
    expectRows(await scores.scoreWords('cv', words, signs), [
      logSoftmax(0, idOf('Donaudampfschiff') / 1_000, 1),
      logSoftmax(0, idOf('and') / 1_000, 0),
    ]);
    expectRows(await scores.scoreWords('posting', words, signs), [
      logSoftmax(idOf('Donaudampfschiff') / 500, 0),
      logSoftmax(idOf('and') / 500, 1),
    ]);
  });

  test('of a text of many windows are those of each word, in order; a word without pieces is unknown', async () => {
    const words = [
      '\u0007',
      ...Array.from({ length: 40 }, (_, at) => ['of', 'donaudampfschiff', 'the'][at % 3] ?? ''),
    ];
    const found = await scores.scoreWords('cv', words, new Uint8Array(words.length * 2));
    const ids = [100, ...words.slice(1).map(idOf)];
    expectRows(
      found,
      ids.map((id) => logSoftmax(0, id / 1_000, 0)),
    );
  });

  test('a network that is missing, or fails, returns none, and is reported once', async () => {
    const reasons: string[] = [];
    const onUnavailable = (reason: string) => void reasons.push(reason);
    const absent = createTokenScores({ folder: 'test/recorded/networks/absent', onUnavailable });
    for (let time = 0; time < 2; time += 1) {
      expect(await absent.scoreWords('cv', ['a'], Uint8Array.of(0, 0))).toBeNull();
    }
    expect(reasons).toEqual(['test/recorded/networks/absent has no network']);
    const failing = createTokenScores({ folder: TINY, onUnavailable });
    for (let time = 0; time < 2; time += 1) {
      expect(await failing.scoreWords('cv', ['a'], Uint8Array.of(0))).toBeNull();
    }
    expect(reasons).toHaveLength(2);
  });
});

describe('windows of words', () => {
  const bounds = { windowTokens: 8, overlapWords: 2 };
  const words = (...lengths: number[]) => lengths.map((length) => Array.from({ length }, () => 1));

  test('have as many whole words as fit, and overlap by two', () => {
    expect(tokenWindows(words(1, 1, 1), bounds)).toEqual([{ from: 0, to: 3 }]);
    expect(tokenWindows(words(2, 2, 2, 2, 2), bounds)).toEqual([
      { from: 0, to: 3 },
      { from: 1, to: 4 },
      { from: 2, to: 5 },
    ]);
    expect(tokenWindows(words(1, 1, 1, 1, 1, 1, 1, 1), bounds)).toEqual([
      { from: 0, to: 6 },
      { from: 4, to: 8 },
    ]);
  });
});

describe('the runtime', () => {
  test('reports an invalid file, an invalid input, or a closed session', () => {
    const loaded = loadOnnxRuntime();
    if (loaded.outcome === 'unavailable') throw new Error(loaded.reason);
    expect(() => loaded.runtime.open(`${TINY}/absent.onnx`)).toThrow('absent.onnx');
    const session = loaded.runtime.open(`${TINY}/model.onnx`);
    expect(session.inputs).toEqual(['input_ids', 'signs']);
    const ids = { name: 'input_ids', data: BigInt64Array.of(5n), shape: [1, 1] };
    expect(() => session.run([{ ...ids, name: 'other' }])).toThrow("no input 'other'");
    expect(() => session.run([ids])).toThrow('ONNX Runtime: ');
    const signs = { name: 'signs', data: Float32Array.of(1, 1), shape: [1, 1, 2] };
    expect([...session.run([ids, signs])].map((one) => Math.round(one * 1_000))).toEqual([
      0, 5, 1_000, 10, 1_000,
    ]);
    session.close();
    expect(() => session.run([ids, signs])).toThrow('closed');
  });
});
