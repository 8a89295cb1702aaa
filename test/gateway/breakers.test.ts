import { beforeAll, describe, expect, test } from 'bun:test';
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
  test('A-14 is not called any more after five failures in a row, and the client is told when to come again', async () => {
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

  test('A-15 leaves the providers of other hosts alone: the next target answers', async () => {
    const second = startScriptedUpstream();
    second.answer(() => Response.json(chatAnswer()));
    await gateway.aimAt('svc/chat-default', gateway.upstream, second);
    const before = gateway.upstream.received.length;
    for (const _ of [1, 2, 3, 4, 5, 6]) expect((await call()).status).toBe(200);
    expect([gateway.upstream.received.length, second.received.length]).toEqual([before, 6]);
    second.close();
  });

  test('A-14 a request that the provider finds wrong says nothing about the provider', async () => {
    const strict = startScriptedUpstream();
    strict.answer(() => Response.json({ error: { message: 'no' } }, { status: 400 }));
    await gateway.aimAt('svc/chat-default', strict);
    for (const _ of [1, 2, 3, 4, 5, 6, 7]) expect((await call()).status).toBe(400);
    expect(strict.received.length).toBe(7);
    strict.close();
  });
});
