import { expect, test } from 'bun:test';
import { rawKeyFrom } from '../../src/domain/keys/api-key.ts';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { useResource } from '../setup/use-resource.ts';

const body = { model: 'svc/chat-default', messages: [] };
const gateway = useResource(() => openGateway());

test('G-25 a key with one character changed, cut, or drawn at random is rejected, always with the same answer', async () => {
  const { rawKey } = await gateway.mint();
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const guesses = ['', 'tpk_', `${rawKey}0`, rawKey.toLowerCase(), rawKey.replace('tpk_', 'sk-')];
  for (let at = 0; at < rawKey.length; at += 1) {
    const other = alphabet[(alphabet.indexOf(rawKey[at] ?? '') + 1) % alphabet.length] ?? '';
    guesses.push(rawKey.slice(0, at) + other + rawKey.slice(at + 1));
  }
  // Keys whose checksum is right, so that only the look-up can refuse them.
  for (let turn = 0; turn < 100; turn += 1)
    guesses.push(rawKeyFrom(crypto.getRandomValues(new Uint8Array(32))));
  const answers = new Set<string>();
  for (const guess of guesses) {
    const answer = await post(`${gateway.url}/chat/completions`, guess, body, {
      headers: { 'x-request-id': 'same' },
    });
    answers.add(`${answer.status} ${await answer.text()}`);
  }
  expect(answers.size).toBe(1);
  expect([...answers][0]).toStartWith('401 ');
  expect(gateway.upstream.received).toHaveLength(0);
});
