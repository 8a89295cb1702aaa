import { expect, test } from 'bun:test';
import { createSeededRandom, type SeededRandom } from '../../../test/doubles/seeded-random.ts';
import { createUsageTap } from './usage-tap.ts';

/** In no made-up event, so that the stamps can be found. */
const ALIAS = 'svc/\u2605';
const STAMP = JSON.stringify(ALIAS);
const MODEL = '"gpt-\\"x\\"-ü"';

interface MadeUp {
  readonly text: string;
  readonly isDone?: boolean;
  readonly promptTokens?: number;
}

function anyEvent(random: SeededRandom, lineEnd: () => string): MadeUp {
  const word = () => JSON.stringify(random.text(random.below(40), 'ab"\\{}[]:,\n ü🚏'));
  const spread = (json: string) => json.split('\n').join(`${lineEnd()}data:`);
  const framed = (json: string) => `data:${random.pick(['', ' '])}${json}${lineEnd()}${lineEnd()}`;
  const promptTokens = random.below(100);
  const usage = `{"prompt_tokens":${promptTokens},"completion_tokens":1}`;
  return random.pick<() => MadeUp>([
    () => ({ text: framed(`{"model":${MODEL},"choices":[{"delta":{"content":${word()}}}],"usage":null}`) }),
    () => ({ text: framed(`{"choices":[{"text":${word()}}],"model":${MODEL}}`) }),
    () => ({ text: framed(`{"usage":${usage},"model":${MODEL},"choices":[]}`), promptTokens }),
    () => ({
      text: framed(spread(`{\n"model"\n: ${MODEL},\n"usage":\n${usage},\n"x":${word()}}`)),
      promptTokens,
    }),
    () => ({ text: `: ${random.text(5)}${lineEnd()}${lineEnd()}` }),
    () => ({ text: `id: 1${lineEnd()}event: message${lineEnd()}${framed(`{"model":${MODEL}}`)}` }),
    () => ({ text: `retry: 5${lineEnd()}${lineEnd()}` }),
    () => ({ text: framed(`not JSON, "usage" ${random.text(5)}`) }),
    () => ({ text: framed('[DONE]'), isDone: true }),
  ])();
}

function cutAnywhere(random: SeededRandom, bytes: Uint8Array): Uint8Array[] {
  const most = random.pick([1, 3, 20, 200, 2_000]);
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = random.below(most + 1);
    chunks.push(bytes.slice(at, at + size));
    at += size;
  }
  return chunks;
}

test('G-13 G-16 G-30 any stream in any chunks: every event, in its order, with its line ends, stamped', () => {
  for (let seed = 1; seed <= 1_500; seed += 1) {
    const random = createSeededRandom(seed);
    const kinds = random.pick([['\n'], ['\r\n'], ['\r'], ['\n', '\r\n'], ['\r\n', '\r']]);
    // Never \r and \n as line ends of their own in one stream: side by side they would be a single one.
    const lineEnd = () => random.pick(kinds);
    const events = Array.from({ length: random.below(12) }, () => anyEvent(random, lineEnd));
    const bytes = new TextEncoder().encode(events.map(({ text }) => text).join(''));

    const tap = createUsageTap({ alias: ALIAS, maxEventBytes: 10_000 });
    const strict = new TextDecoder('utf-8', { fatal: true });
    let text = '';
    for (const chunk of cutAnywhere(random, bytes)) {
      const { bytes: whole, broken } = tap.push(chunk);
      expect(broken).toBeNull();
      if (whole !== null) text += strict.decode(whole);
      // Of a chunk that has been answered the tap keeps copies at most.
      chunk.fill(0x2a);
    }
    const { bytes: rest, doneBytes, broken } = tap.end();
    expect({ rest, broken }).toEqual({ rest: null, broken: null });

    const passing = events.filter(({ isDone }) => isDone !== true);
    const held = events.filter(({ isDone }) => isDone === true);
    const usage = events.findLast(({ promptTokens }) => promptTokens !== undefined);
    expect({ seed, text }).toEqual({
      seed,
      text: passing.map((event) => event.text.replace(MODEL, STAMP)).join(''),
    });
    expect(doneBytes === null ? '' : strict.decode(doneBytes)).toBe(held.map((event) => event.text).join(''));
    expect(tap.usage()?.promptTokens).toBe(usage?.promptTokens);
  }
});
