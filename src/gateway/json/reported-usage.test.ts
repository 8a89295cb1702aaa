import { describe, expect, test } from 'bun:test';
import { readEmbeddingUsageAt, readUsage, readUsageAt } from './reported-usage.ts';

const usage = (promptTokens: number, cachedTokens: number, completionTokens: number) => ({
  promptTokens,
  cachedTokens,
  completionTokens,
});
const MOST = Number.MAX_SAFE_INTEGER;

function at<T>(read: (bytes: Uint8Array, start: number, end: number) => T, text: string): T {
  const before = '{"ü":';
  const bytes = new TextEncoder().encode(`${before}${text}}`);
  return read(bytes, new TextEncoder().encode(before).length, bytes.length - 1);
}

describe('G-30 valid usage', () => {
  test.each([
    ['explicit zeros', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, usage(0, 0, 0)],
    ['null as a missing part', { prompt_tokens: 8, completion_tokens: null }, usage(8, 0, 0)],
    ['cached by OpenAI', { prompt_tokens: 9, prompt_tokens_details: { cached_tokens: 4 } }, usage(9, 4, 0)],
    ['cached by DeepSeek', { prompt_tokens: 9, prompt_cache_hit_tokens: 5 }, usage(9, 5, 0)],
    ['cached by Moonshot', { prompt_tokens: 9, cached_tokens: 6 }, usage(9, 6, 0)],
    [
      'details first, zero too',
      { prompt_tokens: 9, prompt_tokens_details: { cached_tokens: 0 }, prompt_cache_hit_tokens: 5 },
      usage(9, 0, 0),
    ],
    [
      'reasoning beside the completion, as xAI counts it',
      {
        prompt_tokens: 9,
        completion_tokens: 5,
        total_tokens: 314,
        completion_tokens_details: { reasoning_tokens: 300 },
      },
      usage(9, 0, 305),
    ],
    [
      'more reasoning than completion, which cannot be in it',
      { prompt_tokens: 9, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 300 } },
      usage(9, 0, 305),
    ],
    [
      'a total that reasoning does not explain',
      {
        prompt_tokens: 9,
        completion_tokens: 500,
        total_tokens: 900,
        completion_tokens_details: { reasoning_tokens: 300 },
      },
      usage(9, 0, 500),
    ],
    [
      'a total without reasoning beside it',
      {
        prompt_tokens: 9,
        completion_tokens: 500,
        total_tokens: 509,
        completion_tokens_details: { reasoning_tokens: 300 },
      },
      usage(9, 0, 500),
    ],
    [
      'written to the cache by Qwen',
      { prompt_tokens: 9, prompt_tokens_details: { cached_tokens: 2, cache_creation_input_tokens: 4 } },
      { ...usage(9, 2, 0), cacheWriteTokens: 4 },
    ],
    ['more cached than sent', { prompt_tokens: 9, cached_tokens: 10 }, usage(9, 9, 0)],
  ])('%s', (_, block, expected) => {
    expect(readUsage(block)).toEqual(expected);
  });
});

describe('G-28 a total with reasoning that is not reported, as Gemini counts it', () => {
  const details = (reasoning_tokens: unknown) => ({ completion_tokens_details: { reasoning_tokens } });
  const reported = { prompt_tokens: 8, completion_tokens: 9, total_tokens: 500 };

  test.each([
    ['what the prompt and the completion leave of it', reported, usage(8, 0, 492)],
    ['no count of the completion', { prompt_tokens: 8, total_tokens: 500 }, usage(8, 0, 492)],
    ['none', { ...reported, total_tokens: 17 }, usage(8, 0, 9)],
    ['a wrong total', { ...reported, total_tokens: '500' }, usage(8, 0, 9)],
    ['no prompt, which may be most of it', { completion_tokens: 9, total_tokens: 500 }, usage(0, 0, 9)],
    ['reasoning that explains it', { ...reported, ...details(483) }, usage(8, 0, 492)],
    ['reasoning that does not explain it', { ...reported, ...details(5) }, usage(8, 0, 9)],
  ])('%s', (_, block, expected) => {
    expect(readUsage(block, 'completions', 'in-total')).toEqual(expected);
  });

  test('a wrong completion has no usage, and a total alone none either', () => {
    expect(readUsage({ ...reported, completion_tokens: -1 }, 'completions', 'in-total')).toBeNull();
    expect(readUsage({ ...reported, prompt_tokens: -1 }, 'completions', 'in-total')).toBeNull();
    expect(readUsage({ total_tokens: 500 }, 'completions', 'in-total')).toBeNull();
  });

  test('elsewhere such a total is not charged', () => {
    expect(readUsage(reported)).toEqual(usage(8, 0, 9));
  });
});

test('G-28 at a target that counts reasoning beside the completion it is added, unless the total says otherwise', () => {
  const block = {
    prompt_tokens: 9,
    completion_tokens: 500,
    completion_tokens_details: { reasoning_tokens: 300 },
  };
  expect(readUsage(block, 'completions', 'beside')).toEqual(usage(9, 0, 800));
  expect(readUsage({ ...block, total_tokens: 1_000 }, 'completions', 'beside')).toEqual(usage(9, 0, 800));
  expect(readUsage({ ...block, total_tokens: 509 }, 'completions', 'beside')).toEqual(usage(9, 0, 500));
});

test('G-30 of responses too, reasoning beside the output counts if the total has it', () => {
  const details = { output_tokens_details: { reasoning_tokens: 300 } };
  const counts = { input_tokens: 9, output_tokens: 5, ...details };
  expect(readUsage({ ...counts, total_tokens: 314 }, 'responses')).toEqual(usage(9, 0, 305));
  expect(readUsage({ ...counts, output_tokens: 305, total_tokens: 314 }, 'responses')).toEqual(
    usage(9, 0, 305),
  );
});

describe('G-31 invalid usage', () => {
  test.each([
    ['null', null],
    ['an empty block', {}],
    ['a total alone', { total_tokens: 10 }],
    ['a count as text', { prompt_tokens: '7', completion_tokens: 3 }],
    ['a negative count', { prompt_tokens: 7, completion_tokens: -1 }],
    ['past 2^53', { prompt_tokens: 7, completion_tokens: MOST + 1 }],
    ['a wrong cached count', { prompt_tokens: 7, prompt_tokens_details: { cached_tokens: -4 } }],
  ])('%s', (_, block) => {
    expect(readUsage(block)).toBeNull();
  });
});

test('it is read in place, and invalid JSON has no usage', () => {
  expect(at(readUsageAt, '{ "prompt_tokens": 12 }')).toEqual(usage(12, 0, 0));
  expect(at(readUsageAt, '{"prompt_tokens":1e400}')).toBeNull();
  expect(at(readUsageAt, '{"prompt_tokens":9007199254740993}')).toBeNull();
  expect(at(readUsageAt, '{"prompt_tokens":}')).toBeNull();
});

test('G-30 of embeddings, a total is the prompt if it is all that is reported', () => {
  for (const [text, expected] of [
    ['{"total_tokens":7}', usage(7, 0, 0)],
    ['{"total_tokens":7,"prompt_tokens":null}', usage(7, 0, 0)],
    ['{"total_tokens":7,"prompt_tokens":3}', usage(3, 0, 0)],
    ['{"total_tokens":7,"prompt_tokens":-1}', null],
    ['{"total_tokens":-7}', null],
    ['{}', null],
    ['null', null],
  ] as const) {
    expect(at(readEmbeddingUsageAt, text)).toEqual(expected);
  }
});
