import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { layOut } from '../text/layout.ts';
import { CV_KINDS, POSTING_KINDS } from './decode.ts';
import { networkScores, SIGNS, signsOf } from './signs.ts';

/** The columns that are set for a word. */
function columnsOf(text: string, word: string): number[] {
  const laidOut = layOut(text);
  const at = laidOut.tokens.findIndex((token) => token.text === word);
  const row = signsOf(laidOut, laidOut.tokens.length).subarray(at * SIGNS, (at + 1) * SIGNS);
  return [...row.keys()].filter((column) => row[column] === 1);
}

describe('what the layout says of a word', () => {
  test('capitals, the beginning of a line and of a block, and the place within the line', () => {
    const text = 'Ada Byron\n\nEXPERIENCE\nEngine Works\tanalyst, 1842';
    const name = columnsOf(text, 'Ada');
    // Capitalised, begins a line and a block, first of two words, in the first line.
    expect(name).toEqual(expect.arrayContaining([0, 16, 17, 20, 29, 58]));
    expect(columnsOf(text, 'EXPERIENCE')).toEqual(expect.arrayContaining([7, 16, 17, 65]));
    // Small, behind a gap: not at the beginning of a line.
    const title = columnsOf(text, 'analyst');
    expect(title).toEqual(expect.arrayContaining([3, 18, 20]));
    expect(title).not.toContain(16);
    // The comma is joined to the word before it, and is no word.
    expect(columnsOf(text, ',')).toEqual(expect.arrayContaining([10, 72]));
  });

  test('every word has one shape, one place, one section and one class of line', () => {
    const laidOut = layOut(
      'Ada Byron\nada@example.com | +44 20 7946 0018\n• wrote 2 notes in 1843\nhttps://example.com',
    );
    const count = laidOut.tokens.length;
    const signs = signsOf(laidOut, count);
    for (const [from, to] of [
      [0, 16],
      [20, 28],
      [28, 32],
      [32, 42],
      [58, 65],
      [66, 71],
    ] as const) {
      for (let at = 0; at < count; at++) {
        const set = signs.subarray(at * SIGNS + from, at * SIGNS + to).filter((sign) => sign === 1);
        expect(set).toHaveLength(1);
      }
    }
  });
});

describe('the network beside the linear tagger', () => {
  test('has the labels of the linear taggers, in their order, and as many signs as words get', () => {
    const network = JSON.parse(readFileSync('models/tagger/network.json', 'utf8'));
    const labelsOf = (kinds: readonly string[]) => [
      'O',
      ...kinds.flatMap((kind) => [`B-${kind}`, `I-${kind}`]),
    ];
    expect(network.labels).toEqual({ cv: labelsOf(CV_KINDS), posting: labelsOf(POSTING_KINDS) });
    expect(network.signs).toBe(SIGNS);
  });

  test('A-13 gets the words of the text, and no more than the first 4,000', async () => {
    const seen: { words: number; signs: number }[] = [];
    const network = {
      scoreWords: async (_: string, words: readonly string[], signs: Uint8Array) => {
        seen.push({ words: words.length, signs: signs.length });
        return null;
      },
    };
    expect(await networkScores(network, 'cv', layOut('word '.repeat(9_000)))).toBeNull();
    expect(await networkScores(network, 'cv', layOut(''))).toBeNull();
    expect(await networkScores(null, 'cv', layOut('Ada'))).toBeNull();
    expect(seen).toEqual([{ words: 4_000, signs: 4_000 * SIGNS }]);
  });
});
