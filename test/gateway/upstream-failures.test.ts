import { describe, expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post } from './gateway-under-test.ts';
import { chatAnswer, startScriptedUpstream } from './scripted-upstream.ts';

const body = { model: 'svc/chat-default', messages: [] };

const gateway = useResource(() =>
  openGateway({ firstByteTimeoutMs: 300, idleTimeoutMs: 300, journalMaxCalls: 0 }),
);

async function call(sent: unknown = body) {
  const { rawKey, id } = await gateway.mint();
  const response = await post(`${gateway.url}/chat/completions`, rawKey, sent);
  return { status: response.status, body: await response.json(), id, headers: response.headers };
}

describe('G-36 what an upstream says', () => {
  test('G-36 G-16 its judgement of the request is passed on in the envelope, provider names replaced', async () => {
    for (const status of [400, 413, 415, 422]) {
      gateway.upstream.answer(() =>
        Response.json(
          {
            error: {
              message: `provider-model-x at ${gateway.upstream.url} wants shorter messages`,
              type: 'x',
              param: 'messages',
            },
          },
          { status },
        ),
      );
      const { status: answered, body: told, id } = await call();
      expect(answered).toBe(status);
      expect(told.error).toMatchObject({ type: 'invalid_request_error', code: null, param: 'messages' });
      expect(told.error.message).toContain('svc/chat-default');
      expect(told.error.message).toContain('wants shorter messages');
      expect(JSON.stringify(told)).not.toContain('provider-model-x');
      expect(JSON.stringify(told)).not.toContain(new URL(gateway.upstream.url).host);
      expect((await gateway.calls(id, 1))[0]).toMatchObject({ outcome: 'FAILED', http_status: status });
    }
  });

  test('G-36 any other refusal of it is ours: 503, without its words', async () => {
    for (const status of [301, 401, 402, 403, 404, 408, 409, 429, 500, 502, 529]) {
      gateway.upstream.answer(() =>
        Response.json({ error: { message: 'secret provider words' } }, { status }),
      );
      const { status: answered, body: told } = await call();
      expect(answered).toBe(503);
      expect(told.error).toMatchObject({ type: 'api_error', code: 'LLM_GATEWAY_UNAVAILABLE' });
      expect(JSON.stringify(told)).not.toContain('secret');
    }
  });

  test('G-42 no first byte in time, a body that stops, and an answer that is no answer are 503', async () => {
    const scripts = [
      () => new Promise<Response>(() => {}),
      () => new Response(new ReadableStream({ start: (controller) => controller.enqueue('{"id":') })),
      () => new Response('<html>busy</html>', { headers: { 'content-type': 'text/html' } }),
      () => Response.json({ error: { message: 'in a 200' } }),
      () => new Response(null, { status: 204 }),
    ];
    for (const script of scripts) {
      gateway.upstream.answer(script);
      const { status, body: told, id } = await call();
      expect([status, told.error.code]).toEqual([503, 'LLM_GATEWAY_UNAVAILABLE']);
      expect((await gateway.calls(id, 1))[0]).toMatchObject({ outcome: 'FAILED', prompt_tokens: null });
    }
  });

  test('a call that may have arrived is not sent again: a connection that breaks at once on an only target', async () => {
    const flaky = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: { open: (socket) => void socket.end(), data() {} },
    });
    const url = `http://127.0.0.1:${flaky.port}/v1`;
    const broken = { url, received: [], answer() {}, close: () => flaky.stop(true) };
    await gateway.aimAt('svc/chat-premium', broken);
    const before = gateway.entries.filter(({ message }) => message === 'a model target failed').length;
    expect((await call({ ...body, model: 'svc/chat-premium' })).status).toBe(503);
    const after = gateway.entries.filter(({ message }) => message === 'a model target failed').length;
    expect(after - before).toBe(1);
    broken.close();
  });

  test('a failed call gives its tokens back where no model ran', async () => {
    gateway.upstream.answer(() => new Response(null, { status: 500 }));
    const { rawKey } = await gateway.mint({ tokensPerMinute: 1_000 });
    const send = () => post(`${gateway.url}/chat/completions`, rawKey, { ...body, max_tokens: 900 });
    await send();
    expect((await send()).status).toBe(503);
  });
});

describe('G-15 several targets', () => {
  test('G-36 the next one is tried for whatever is ours, before the first byte', async () => {
    const second = startScriptedUpstream();
    await gateway.aimAt('svc/chat-premium', gateway.upstream, second);
    for (const script of [() => new Response(null, { status: 500 }), () => new Promise<Response>(() => {})]) {
      gateway.upstream.answer(script);
      second.answer(() => Response.json(chatAnswer()));
      const { status, body: told, id } = await call({ ...body, model: 'svc/chat-premium' });
      expect([status, told.model]).toEqual([200, 'svc/chat-premium']);
      expect((await gateway.calls(id, 1))[0]).toMatchObject({ outcome: 'SUCCEEDED' });
    }
    second.close();
  });

  test('G-36 the client’s own fault is told by the first one, and no other is asked', async () => {
    const second = startScriptedUpstream();
    await gateway.aimAt('svc/chat-premium', gateway.upstream, second);
    const refuse = () => Response.json({ error: { message: 'bad' } }, { status: 400 });
    gateway.upstream.answer(refuse);
    second.answer(refuse);
    const before = gateway.upstream.received.length;
    expect((await call({ ...body, model: 'svc/chat-premium' })).status).toBe(400);
    expect(gateway.upstream.received.length - before + second.received.length).toBe(1);
    second.close();
  });

  test('G-15 a change of targets is in force without a restart', async () => {
    const next = startScriptedUpstream();
    next.answer(() => Response.json(chatAnswer({ id: 'from-next' })));
    await gateway.aimAt('svc/chat-cheap', next);
    expect((await call({ ...body, model: 'svc/chat-cheap' })).body.id).toBe('from-next');
    next.close();
  });

  test('an alias without targets is 503 where the embedded models may not answer', async () => {
    const { status, body: told } = await call({ ...body, model: 'svc/extract-fast' });
    expect([status, told.error.code]).toEqual([503, 'LLM_GATEWAY_UNAVAILABLE']);
  });
});

describe('when the database is away', () => {
  test('G-33 a known key goes on, its call that can be written nowhere is 503; an unknown key is 503, not 401', async () => {
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    const { rawKey } = await gateway.mint();
    const send = (key: string) => post(`${gateway.url}/chat/completions`, key, body);
    expect((await send(rawKey)).status).toBe(200);
    const stranger = await gateway.mint();
    gateway.outage.isAway = true;
    const known = await send(rawKey);
    expect([known.status, (await known.json()).error.code]).toEqual([503, 'LLM_GATEWAY_UNAVAILABLE']);
    const unknown = await send(stranger.rawKey);
    expect([unknown.status, (await unknown.json()).error.code]).toEqual([503, 'LLM_GATEWAY_UNAVAILABLE']);
    gateway.outage.isAway = false;
    await until(async () => (await send(rawKey)).status === 200);
    expect((await send(stranger.rawKey)).status).toBe(200);
  });
});
