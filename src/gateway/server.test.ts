import { expect, test } from 'bun:test';
import { rateLimitHeaders } from './server.ts';

function resetAfter(resetMs: number): string | undefined {
  const allowance = { limit: 10, remaining: 3, resetMs };
  return rateLimitHeaders({ requests: allowance, tokens: allowance })['x-ratelimit-reset-tokens'];
}

test('G-41 the headers have OpenAI’s names with the limit and the rest', () => {
  const requests = { limit: 600, remaining: 599, resetMs: 60_000 };
  const tokens = { limit: 200_000, remaining: 0, resetMs: 250 };
  expect(rateLimitHeaders({ requests, tokens })).toEqual({
    'x-ratelimit-limit-requests': '600',
    'x-ratelimit-remaining-requests': '599',
    'x-ratelimit-reset-requests': '1m0s',
    'x-ratelimit-limit-tokens': '200000',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tokens': '250ms',
  });
});

test('G-41 durations are formatted as OpenAI’s, and never rounded down', () => {
  expect([0, 0.4, 999, 1_000, 12_500, 59_999, 60_000, 61_001].map(resetAfter)).toEqual([
    '0ms',
    '1ms',
    '999ms',
    '1s',
    '12.5s',
    '59.999s',
    '1m0s',
    '1m2s',
  ]);
});
