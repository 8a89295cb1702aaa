import { expect, test } from 'bun:test';
import { fuzzResponsesToChat } from './responses-to-chat.ts';

test('2,000 generated chats and bodies of the Responses API keep their meaning; damaged ones are clear refusals', async () => {
  const { seen } = await fuzzResponsesToChat(20_265, 2_000);
  expect(seen).toMatchObject({ answers: 500, 'damaged-streams': 500, bodies: 500 });
  // Each kind often enough to mean something.
  expect(seen['damaged-and-read']).toBeGreaterThan(50);
  expect(seen['damaged-and-refused']).toBeGreaterThan(100);
});
