import { describe, expect, test } from 'bun:test';
import { isErrorAt, readInnerUsageAt, readUsage, readUsageAt } from './answer-body.ts';

const usage = (promptTokens: number, cachedTokens: number, completionTokens: number) => ({
  promptTokens,
  cachedTokens,
  completionTokens,
});
const MOST = Number.MAX_SAFE_INTEGER;

describe('G-30 what is usage', () => {
  test.each([
    ['both counts', { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }, usage(7, 0, 3)],
    ['explicit zeros', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, usage(0, 0, 0)],
    ['of an embedding', { prompt_tokens: 8, total_tokens: 8 }, usage(8, 0, 0)],
    ['null as a missing part', { prompt_tokens: 8, completion_tokens: null }, usage(8, 0, 0)],
    ['only the completion', { completion_tokens: 3 }, usage(0, 0, 3)],
    ['the largest', { prompt_tokens: MOST, completion_tokens: MOST }, usage(MOST, 0, MOST)],
    ['cached by OpenAI', { prompt_tokens: 9, prompt_tokens_details: { cached_tokens: 4 } }, usage(9, 4, 0)],
    ['cached by DeepSeek', { prompt_tokens: 9, prompt_cache_hit_tokens: 5 }, usage(9, 5, 0)],
    ['cached by Moonshot', { prompt_tokens: 9, cached_tokens: 6 }, usage(9, 6, 0)],
    [
      'details first, zero too',
      { prompt_tokens: 9, prompt_tokens_details: { cached_tokens: 0 }, prompt_cache_hit_tokens: 5 },
      usage(9, 0, 0),
    ],
    ['no details', { prompt_tokens: 9, prompt_tokens_details: null }, usage(9, 0, 0)],
    ['empty details', { prompt_tokens: 9, prompt_tokens_details: {} }, usage(9, 0, 0)],
    ['more cached than sent', { prompt_tokens: 9, cached_tokens: 10 }, usage(9, 9, 0)],
  ])('%s', (_, block, expected) => {
    expect(readUsage(block)).toEqual(expected);
  });
});

describe('G-31 what is none', () => {
  test.each([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'prompt_tokens'],
    ['a list', [{ prompt_tokens: 1 }]],
    ['an empty block', {}],
    ['a total alone', { total_tokens: 10 }],
    ['a count as text', { prompt_tokens: '7', completion_tokens: 3 }],
    ['a negative count', { prompt_tokens: 7, completion_tokens: -1 }],
    ['half a token', { prompt_tokens: 7.5, completion_tokens: 3 }],
    ['past 2^53', { prompt_tokens: 7, completion_tokens: MOST + 1 }],
    ['without end', { prompt_tokens: Number.POSITIVE_INFINITY }],
    ['a wrong cached count', { prompt_tokens: 7, prompt_tokens_details: { cached_tokens: -4 } }],
  ])('%s', (_, block) => {
    expect(readUsage(block)).toBeNull();
  });
});

function at<T>(read: (bytes: Uint8Array, start: number, end: number) => T, text: string): T {
  const before = '{"ü":';
  const bytes = new TextEncoder().encode(`${before}${text}}`);
  return read(bytes, new TextEncoder().encode(before).length, bytes.length - 1);
}

test('it is read where it stands, and what is no JSON is no usage', () => {
  expect(at(readUsageAt, '{ "prompt_tokens": 12 }')).toEqual(usage(12, 0, 0));
  expect(at(readUsageAt, '{"prompt_tokens":1e400}')).toBeNull();
  expect(at(readUsageAt, '{"prompt_tokens":9007199254740993}')).toBeNull();
  expect(at(readUsageAt, '{"prompt_tokens":}')).toBeNull();
});

test('usage inside a choice or x_groq is found, and nowhere else', () => {
  const block = '{"prompt_tokens":3,"completion_tokens":4}';
  expect(at(readInnerUsageAt, `{"choices":[{"delta":{}},{"usage":${block}}]}`)).toEqual(usage(3, 0, 4));
  expect(at(readInnerUsageAt, `{"x_groq":{"usage":${block}}}`)).toEqual(usage(3, 0, 4));
  for (const other of [
    `{"choices":[{"delta":{"usage":${block}}}]}`,
    `{"choices":{"usage":${block}}}`,
    `{"choices":[null,"usage"],"x_groq":null}`,
    `{"extra":{"usage":${block}}}`,
    `[{"usage":${block}}]`,
  ]) {
    expect(at(readInnerUsageAt, other)).toBeNull();
  }
});

test('an error is one that says something', () => {
  for (const text of ['{"message":"a"}', '{}', '[]', '"a"', 'true', '1', 'NaN']) {
    expect(at(isErrorAt, text)).toBe(true);
  }
  for (const text of ['null', 'false', '0', '""', ' "" ']) expect(at(isErrorAt, text)).toBe(false);
  expect(isErrorAt(new Uint8Array(4), 0, 0)).toBe(false);
});
