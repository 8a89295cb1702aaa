import { expect, test } from 'bun:test';
import { fuzzAnswers } from './answers-of-providers.ts';

test('2,000 generated answers: whole ones are read as they were meant, damaged ones refused or read as fetch reads them', async () => {
  const { seen } = await fuzzAnswers(20_265, 2_000);
  expect(seen.whole).toBe(1_000);
  // Each kind often enough to mean something.
  expect(seen['damaged-and-read']).toBeGreaterThan(100);
  expect(seen['damaged-and-refused']).toBeGreaterThan(300);
});
