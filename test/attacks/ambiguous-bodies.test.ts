import { expect, test } from 'bun:test';
import { fuzzRequestBodies } from '../fuzz/request-bodies.ts';

test('G-12, G-13: 10,000 generated and damaged bodies are read and rewritten as JSON.parse reads them', async () => {
  const { seen } = await fuzzRequestBodies(20_261, 10_000);
  // Each kind often enough to mean something.
  const { 'not-an-object': others, ...kinds } = seen;
  expect(others).toBeGreaterThan(40);
  expect(Math.min(...Object.values(kinds))).toBeGreaterThan(400);
});
