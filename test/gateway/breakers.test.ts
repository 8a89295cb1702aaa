import { beforeAll, describe, expect, test } from 'bun:test';
import { startRawUpstream } from '../adapters/model-upstream/raw-upstream.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer, startScriptedUpstream } from './scripted-upstream.ts';

let rawKey: string;
const gateway = useResource(() => openGateway({ breakerFailures: 5 }));
beforeAll(async () => {
  rawKey = (await gateway.mint()).rawKey;
});

const call = () =>
  post(`${gateway.url}/chat/completions`, rawKey, { model: 'svc/chat-default', messages: [] });

describe('a provider that keeps failing', () => {
  test('A-14 is not called any more after five failures in a row, and the client gets a Retry-After', async () => {
    const { upstream } = gateway;
    upstream.answer(() => new Response('no', { status: 500 }));
    for (const _ of [1, 2, 3, 4, 5]) expect((await refusalOf(call())).headers.get('retry-after')).toBeNull();
    const before = upstream.received.length;
    const refused = await refusalOf(call());
    expect([refused.status, refused.code, upstream.received.length]).toEqual([
      503,
      'LLM_GATEWAY_UNAVAILABLE',
      before,
    ]);
    const seconds = Number(refused.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(50);
    expect(seconds).toBeLessThanOrEqual(60);
  });

  test.each([
    ['whole', 'application/json', false],
    ['streamed', 'text/event-stream', true],
  ])(
    'A-14 answers that break off before anything of them can pass count as network failures: %s',
    async (_, type, stream) => {
      const head = `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`;
      const broken = startRawUpstream((socket) => {
        // Half of something: the status leaves, and nothing can be passed on.
        socket.write(`${head}1\r\n${stream ? ':' : '{'}\r\n`);
        socket.end();
      });
      const target = { url: broken.baseUrl, received: [], answer() {}, close() {} };
      await gateway.aimAt('svc/chat-default', target);
      const body = { model: 'svc/chat-default', messages: [], stream };
      const ask = () => post(`${gateway.url}/chat/completions`, rawKey, body);
      for (const _ of [1, 2, 3, 4, 5]) {
        const answer = await ask();
        await answer.text();
        // The status of a stream is there before it breaks.
        expect(answer.status).toBe(stream ? 200 : 503);
      }
      expect(broken.connections()).toBe(5);
      const refused = await refusalOf(ask());
      expect([refused.status, broken.connections()]).toEqual([503, 5]);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
      broken.stop();
    },
  );

  test.each([
    ['/chat/completions', 'openai-beta', 'openai'] as const,
    ['/messages', 'anthropic-beta', 'anthropic'] as const,
  ])(
    'A-14 a header that no header line can carry is not passed on, and counts for nothing: %s',
    async (path, name, provider) => {
      const fine = startScriptedUpstream();
      fine.answer(() => Response.json(chatAnswer()));
      await gateway.aimAtProvider('svc/chat-default', { provider }, fine);
      const body = { model: 'svc/chat-default', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] };
      for (const _ of [1, 2, 3, 4, 5, 6]) {
        const headers = { [name]: 'a\x7fb' };
        expect((await post(`${gateway.url}${path}`, rawKey, body, { headers })).status).toBe(200);
      }
      expect(fine.received.map(({ headers }) => headers[name])).toEqual(Array(6).fill(undefined));
      fine.close();
    },
  );
});
