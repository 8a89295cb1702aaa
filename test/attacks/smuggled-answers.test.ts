import { afterAll, expect, test } from 'bun:test';
import type { Socket } from 'bun';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { chatAnswer } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

const gateway = useResource(() => openGateway());
const answerWith = (content: string, head = '') => {
  const message = { role: 'assistant', content };
  const body = JSON.stringify(chatAnswer({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${head}content-length: ${body.length}\r\n\r\n${body}`;
};
const RIGHT = answerWith('for the one who asked');
const FORGED = answerWith('for another client');

/** What a provider, or a proxy before it, sends for a call whose text is `attack`, with bytes left over. */
const ATTACKS: Readonly<Record<string, string>> = {
  'a second answer behind the first': `${RIGHT}${FORGED}`,
  'an answer by two lengths': answerWith('x', 'transfer-encoding: chunked\r\n') + FORGED,
  'a length that is too short': RIGHT.replace(/content-length: \d+/, 'content-length: 2') + FORGED,
  'two lengths': answerWith('x', 'content-length: 2\r\n') + FORGED,
  'a chunk that is longer than it says': `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}x\r\n0\r\n\r\n${FORGED}`,
  'an answer without a body that has one': `HTTP/1.1 204 No\r\ncontent-length: ${FORGED.length}\r\n\r\n${FORGED}`,
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
      socket.write(attack.slice(0, -FORGED.length));
      attacking.push(socket);
    },
    close(socket) {
      if (socket.data.isAttacked) left.resolve();
    },
  },
});
afterAll(() => provider.stop(true));

test.each(Object.keys(ATTACKS))('no other client gets the remaining bytes of %s', async (name) => {
  attack = ATTACKS[name] ?? '';
  left = Promise.withResolvers();
  attacking = [];
  const url = `http://127.0.0.1:${provider.port}/v1`;
  await gateway.aimAt('svc/chat-default', { url, received: [], answer() {}, close() {} });
  const [attacked, other] = [await gateway.mint(), await gateway.mint()];
  const chat = async (rawKey: string, content: string) => {
    const messages = [{ role: 'user', content }];
    const answer = await post(`${gateway.url}/chat/completions`, rawKey, {
      model: 'svc/chat-default',
      messages,
    });
    return await answer.text();
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
