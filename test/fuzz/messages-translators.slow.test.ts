import { expect, test } from 'bun:test';
import { fuzzMessages } from './messages-translators.ts';

test('2,000 generated requests and answers of Messages and chat completions: whole ones mean the same there and back, damaged ones are refused by name', async () => {
  const { seen } = await fuzzMessages(20_266, 2_000);
  expect(seen['round-trip']).toBe(1_000);
  // Each kind often enough to mean something.
  expect(seen['damaged-and-translated']).toBeGreaterThan(100);
  expect(seen['damaged-and-refused']).toBeGreaterThan(300);
});
