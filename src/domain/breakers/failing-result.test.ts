import { expect, test } from 'bun:test';
import { judgeResult } from './breaker.ts';

const answered = (status: number) => judgeResult({ kind: 'answered', status });

test('A-14 5xx, 429, time-outs and the network are failures of the service', () => {
  for (const status of [500, 502, 503, 504, 529, 599, 429, 408]) {
    expect(answered(status)).toEqual({ failure: String(status) });
  }
  expect(judgeResult({ kind: 'time-out' })).toEqual({ failure: 'time-out' });
  expect(judgeResult({ kind: 'network' })).toEqual({ failure: 'network' });
});

test('A-14 a judgement of what we sent is none, and a caller who went away neither', () => {
  expect([400, 403, 404, 409, 413, 415, 422].map(answered)).toEqual(Array(7).fill('ignored'));
  expect(judgeResult({ kind: 'aborted' })).toBe('ignored');
});

test('A-14 a service that refuses our key, our account or redirects is as good as away', () => {
  for (const status of [401, 402, 407, 301, 307]) {
    expect(answered(status)).toEqual({ failure: String(status) });
  }
});

test('A-14 an answer is a success, whatever stands in it', () => {
  expect([200, 201, 204].map(answered)).toEqual(Array(3).fill('success'));
});
