import { expect, test } from 'bun:test';
import { type FlakyTest, isExcused } from './flaky.ts';

const one = { file: 'test/a.slow.test.ts', name: 'a kill' };
const listed = (until: string): FlakyTest[] => [{ ...one, until, reason: 'made up' }];

test('a slow test is excused by its line in the list, up to the day that the line names', () => {
  expect(isExcused(one, '2026-03-10', listed('2026-03-10'))).toBe(true);
  expect(isExcused(one, '2026-03-11', listed('2026-03-10'))).toBe(false);
  expect(isExcused({ ...one, name: 'another' }, '2026-03-10', listed('2026-03-10'))).toBe(false);
  expect(isExcused({ ...one, file: 'test/b.slow.test.ts' }, '2026-03-10', listed('2026-03-10'))).toBe(false);
});

test('a line further ahead than two weeks excuses nothing, and neither does a day that is none', () => {
  expect(isExcused(one, '2026-03-10', listed('2026-03-24'))).toBe(true);
  expect(isExcused(one, '2026-03-10', listed('2026-03-25'))).toBe(false);
  expect(isExcused(one, '2026-03-10', listed('soon'))).toBe(false);
});
