import { expect, test } from 'bun:test';
import { judgeResult } from './failing-result.ts';

const answered = (status: number) => judgeResult({ kind: 'answered', status });

test('A-14 5xx, 429, time-outs and the network are failures of the service', () => {
  expect([500, 502, 503, 504, 529, 599, 429, 408].map(answered)).toEqual(Array(8).fill('failure'));
  expect(judgeResult({ kind: 'time-out' })).toBe('failure');
  expect(judgeResult({ kind: 'network' })).toBe('failure');
});

test('A-14 a judgement of what we sent is none, and a caller who went away neither', () => {
  expect([400, 403, 404, 409, 413, 415, 422].map(answered)).toEqual(Array(7).fill('ignored'));
  expect(judgeResult({ kind: 'aborted' })).toBe('ignored');
});

test('A-14 a service that refuses our key, our account or redirects is as good as away', () => {
  expect([401, 402, 407, 301, 307].map(answered)).toEqual(Array(5).fill('failure'));
});

test('A-14 an answer is a success, whatever stands in it', () => {
  expect([200, 201, 204].map(answered)).toEqual(Array(3).fill('success'));
});
