/** What a provider, or a proxy before it, answers to reach another client or another address. */
import { afterAll, expect, test } from 'bun:test';
import type { Socket } from 'bun';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { chatAnswer, startScriptedUpstream } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

const gateway = useResource(() => openGateway());
const thief = useResource(() => startScriptedUpstream());

test('G-36 a provider that redirects our call gets neither the call nor the key sent elsewhere', async () => {
  const { rawKey } = await gateway.mint();
  const location = `${thief.url}/chat/completions`;
  for (const stream of [false, true]) {
    const headers = { location, refresh: `0; ${location}` };
    gateway.upstream.answer(() => new Response(null, { status: 307, headers }));
    const body = { model: 'svc/chat-default', messages: [], stream };
    const answer = await post(`${gateway.url}/chat/completions`, rawKey, body);
    expect([answer.status, answer.headers.get('location')]).toEqual([503, null]);
    expect(await answer.text()).not.toContain(thief.url);
  }
  expect(thief.received).toEqual([]);
});

const answerWith = (content: string) => {
  const message = { role: 'assistant', content };
  const body = JSON.stringify(chatAnswer({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
};
const RIGHT = answerWith('for the one who asked');
const FORGED = answerWith('for another client');

/** For a call whose text is `attack`, with bytes left over. */
const ATTACKS: Readonly<Record<string, string>> = {
  'a second answer behind the first': RIGHT,
  'a length that is too short': RIGHT.replace(/content-length: \d+/, 'content-length: 2'),
  'an answer without a body that has one': `HTTP/1.1 204 No\r\ncontent-length: ${FORGED.length}\r\n\r\n`,
};

let attack = '';
let left = Promise.withResolvers<void>();
let attacking: Socket<{ isAttacked: boolean }>[] = [];
const provider = Bun.listen<{ isAttacked: boolean }>({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    open(socket) {
      socket.data = { isAttacked: false };
    },
    data(socket, request) {
      socket.data.isAttacked = String(request).includes('attack');
      if (!socket.data.isAttacked) return void socket.write(RIGHT);
      socket.write(attack);
      attacking.push(socket);
    },
    close(socket) {
      if (socket.data.isAttacked) left.resolve();
    },
  },
});
afterAll(() => provider.stop(true));

test.each(Object.entries(ATTACKS))('no other client gets the remaining bytes of %s', async (_, bytes) => {
  attack = bytes;
  left = Promise.withResolvers();
  attacking = [];
  const url = `http://127.0.0.1:${provider.port}/v1`;
  await gateway.aimAt('svc/chat-default', { url, received: [], answer() {}, close() {} });
  const [attacked, other] = [await gateway.mint(), await gateway.mint()];
  const chat = async (rawKey: string, content: string) => {
    const body = { model: 'svc/chat-default', messages: [{ role: 'user', content }] };
    return await (await post(`${gateway.url}/chat/completions`, rawKey, body)).text();
  };
  expect(await chat(attacked.rawKey, 'attack')).not.toContain('for another client');
  expect(attacking).not.toEqual([]);
  // What is left over comes when the connection waits for its next call.
  for (const socket of attacking) socket.write(FORGED);
  // Without that the next call would go on the same connection: the gateway closes it.
  await left.promise;
  for (let call = 0; call < 3; call += 1) {
    const text = await chat(other.rawKey, 'Hello');
    expect(text).not.toContain('for another client');
    if (!text.includes('LLM_GATEWAY_UNAVAILABLE')) expect(text).toContain('for the one who asked');
  }
});
