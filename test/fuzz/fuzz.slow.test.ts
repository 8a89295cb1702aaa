import { expect, test } from 'bun:test';
import { fuzzAnswers } from './answers-of-providers.ts';
import { fuzzMessages } from './messages-translators.ts';
import { fuzzResponsesToChat } from './responses-to-chat.ts';

const CASES = 2_000;

test('generated answers: whole ones are read as they were meant, damaged ones refused or read as fetch reads them', async () => {
  const { seen } = await fuzzAnswers(20_265, CASES);
  expect(seen.whole).toBe(1_000);
  // Each kind often enough to mean something.
  expect(seen['damaged-and-read']).toBeGreaterThan(100);
  expect(seen['damaged-and-refused']).toBeGreaterThan(300);
});

test('generated requests and answers of Messages and chat completions: whole ones mean the same there and back, damaged ones are refused by name', async () => {
  const { seen } = await fuzzMessages(20_266, CASES);
  expect(seen['round-trip']).toBe(1_000);
  expect(seen['damaged-and-translated']).toBeGreaterThan(100);
  expect(seen['damaged-and-refused']).toBeGreaterThan(300);
});

test('generated chats and bodies of the Responses API keep their meaning; damaged ones are clear refusals', async () => {
  const { seen } = await fuzzResponsesToChat(20_265, CASES);
  expect(seen).toMatchObject({ answers: 500, 'damaged-streams': 500, bodies: 500 });
  expect(seen['damaged-and-read']).toBeGreaterThan(50);
  expect(seen['damaged-and-refused']).toBeGreaterThan(100);
});
