import { beforeAll, describe, expect, test } from 'bun:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { loadTokens, type Tokens, tokenSlices } from '../../src/adapters/model-upstream/embedded/tokens.ts';

let tokens: Tokens;
beforeAll(async () => {
  tokens = await loadTokens();
});

const never = new AbortController().signal;
const asText = { disallowedSpecial: new Set<string>() };
const texts = [
  '',
  'Hello, world!',
  "It's 12,345.67 € — naïve café, isn't it?\n\n\tDone.",
  '日本語の文章です。とても短い文章。',
  '🙂👩‍👩‍👧 zażółć gęślą jaźń',
  '<|endoftext|> is text, and so is <|im_start|>',
  '{"name":"Jane","list":[1,2,3],"nested":{"a":null}}',
  'const x = (a: number) => a ** 2; // comment',
  '8  25 and 9  31',
];
const long = texts.join(' and then some more words about gateways ').repeat(200);

describe('counting', () => {
  test('G-17: is what the tokenizer says, of short texts and of long ones that are cut into slices', async () => {
    for (const text of [...texts, long]) {
      const counted = countTokens(text, asText);
      expect(tokens.countNow(text)).toBe(counted);
      expect(await tokens.count(text, never)).toBe(counted);
    }
    expect([...tokenSlices(long)].length).toBeGreaterThan(3);
  });

  test('slices lose nothing, keep pairs together and break up runs', () => {
    for (const text of [...texts, long, ' '.repeat(1_000), `!${'🙂'.repeat(1_000)}`, '漢'.repeat(100_000)]) {
      const slices = [...tokenSlices(text)];
      expect(slices.join('')).toBe(text);
      expect(slices.every((slice) => slice.isWellFormed())).toBe(true);
    }
    expect(Math.max(...[...tokenSlices(' '.repeat(1_000))].map((slice) => slice.length))).toBe(128);
  });

  // Uncut, the tokenizer takes 38 s for the first of these.
  test('takes a time that grows with the text, whatever is in it', async () => {
    for (const one of [' ', 'a', 'A', '!', '漢', '\n']) {
      expect(await tokens.count(one.repeat(100_000), never)).toBeGreaterThan(700);
    }
  }, 20_000);

  test('lets others run in between, and ends where it is aborted', async () => {
    const abort = new AbortController();
    setImmediate(() => abort.abort(new Error('enough')));
    await expect(tokens.count(long, abort.signal)).rejects.toThrow('enough');
  });
});

describe('fitting', () => {
  test('G-1: a cut text has exactly as many tokens as it may have', () => {
    const text = `Turnpike's embedded model: antidisestablishmentarianism, unbelievable ${texts.slice(1, 3)}`;
    const whole = countTokens(text);
    for (let limit = 0; limit <= whole; limit += 1) {
      const fitted = tokens.fit(text, limit);
      expect(fitted.tokenCount).toBe(limit);
      expect(countTokens(fitted.text)).toBe(limit);
      expect(fitted.isCut).toBe(limit < whole);
      expect(text.startsWith(fitted.text)).toBe(true);
      expect(fitted.pieces.join('')).toBe(fitted.text);
    }
  });

  test('a character that needs more tokens than are left is left out, not broken', () => {
    for (const text of texts) {
      for (let limit = 0; limit <= countTokens(text, asText); limit += 1) {
        const fitted = tokens.fit(text, limit);
        expect(fitted.tokenCount).toBeLessThanOrEqual(limit);
        expect(fitted.tokenCount).toBe(countTokens(fitted.text, asText));
        expect(fitted.text.isWellFormed()).toBe(true);
        expect(text.startsWith(fitted.text)).toBe(true);
        expect(fitted.pieces.join('')).toBe(fitted.text);
      }
    }
  });

  test('half a character of the client becomes a whole one', () => {
    expect(tokens.fit('a\ud83d b', 10).text).toBe('a\ufffd b');
  });
});

describe('decoding', () => {
  test('gives the text back; a number that is no token is told', () => {
    expect(tokens.decode([24912, 2375])).toBe('hello world');
    expect(tokens.decode([0, 999_999])).toBeNull();
    expect(tokens.decode([1.5])).toBeNull();
    expect(tokens.decode([199_999])).toBeNull();
  });

  // The tokenizer's own decoder is one for all: it keeps the half and spoils the next text with it.
  test('half a character of one call does not reach the next', () => {
    const halves: [number, number] = [28_823, 102];
    expect(tokens.decode(halves)).toBe('👩');
    for (const half of halves) expect(tokens.decode([half])).toBe('\ufffd');
  });
});
