import { describe, expect, test } from 'bun:test';
import { createSettableClock } from '../doubles/settable-clock.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post } from './gateway-under-test.ts';
import { chatAnswer, chunk, startScriptedUpstream, streamOf, TIMEOUT_MS } from './scripted-upstream.ts';

const body = { model: 'svc/chat-default', messages: [] };
/** Answers nothing, and the gateway does not have to wait for it. */
const noFirstByte = () => {
  clock.setAhead(TIMEOUT_MS);
  return new Promise<Response>(() => {});
};

const jsonHeaders = { headers: { 'content-type': 'application/json' } };

const clock = createSettableClock();
const gateway = useResource(() => openGateway({ clock, idleTimeoutMs: 1_000, journalMaxCalls: 0 }));

async function call(sent: unknown = body) {
  const { rawKey, id } = await gateway.mint();
  const response = await post(`${gateway.url}/chat/completions`, rawKey, sent);
  return { status: response.status, body: await response.json(), id, headers: response.headers };
}

describe('G-36 errors of an upstream', () => {
  test('G-36 G-16 a rejection of the request is returned in the envelope, with provider names replaced', async () => {
    const message = `provider-model-x at ${gateway.upstream.url} wants shorter messages`;
    for (const status of [400, 413, 415, 422]) {
      const error = { message, type: 'x', param: 'messages' };
      gateway.upstream.answer(() => Response.json({ error }, { status }));
      const { status: answered, body: answer, id } = await call();
      expect(answered).toBe(status);
      expect(answer.error).toMatchObject({ type: 'invalid_request_error', code: null, param: 'messages' });
      expect(answer.error.message).toContain('svc/chat-default');
      expect(answer.error.message).toContain('wants shorter messages');
      expect(JSON.stringify(answer)).not.toContain('provider-model-x');
      expect(JSON.stringify(answer)).not.toContain(new URL(gateway.upstream.url).host);
      expect((await gateway.calls(id, 1))[0]).toMatchObject({ outcome: 'FAILED', http_status: status });
    }
  });

  test('G-36 any other error is ours: 503, without its message', async () => {
    for (const [status, advice] of [
      [301, 'Retry with backoff'],
      [401, 'retrying does not help'],
      [404, 'retrying does not help'],
      [500, 'Retry with backoff'],
    ] as const) {
      gateway.upstream.answer(() =>
        Response.json({ error: { message: 'secret provider words' } }, { status }),
      );
      const { status: answered, body: answer, headers } = await call();
      expect(answered).toBe(503);
      expect(headers.get('x-should-retry')).toBe(advice.startsWith('Retry') ? null : 'false');
      expect(answer.error).toMatchObject({ type: 'api_error', code: 'LLM_GATEWAY_UNAVAILABLE' });
      expect(answer.error.message).toContain(advice);
      expect(JSON.stringify(answer)).not.toContain('secret');
    }
  });

  test('a model without a provider is 503, which says who has to act and that no retry helps', async () => {
    await gateway.aimAt('svc/chat-default');
    const { status, body: answer, headers } = await call();
    expect([status, headers.get('x-should-retry')]).toEqual([503, 'false']);
    expect(answer.error).toMatchObject({ type: 'api_error', code: 'LLM_GATEWAY_UNAVAILABLE' });
    expect(answer.error.message).toContain('The operator of the gateway has to add one');
    await gateway.aimAt('svc/chat-default', gateway.upstream);
  });

  test.each([
    ['content_filter', 'content_filter'],
    ['INSUFFICIENT_CREDITS', null],
    ['provider-model-x', 'svc/chat-default'],
  ])(
    'G-36 its code %p is %p for the client, never one of ours or of the provider’s names',
    async (code, said) => {
      gateway.upstream.answer(() => Response.json({ error: { message: 'no', code } }, { status: 400 }));
      expect((await call()).body.error).toEqual({
        ...{ message: 'no', type: 'invalid_request_error', param: null, code: said },
      });
    },
  );

  test('G-36 an HTML page instead of an error is not passed on', async () => {
    const page = '<html><center>nginx of provider.example</center></html>';
    gateway.upstream.answer(
      () => new Response(page, { status: 413, headers: { 'content-type': 'text/html' } }),
    );
    const { status, body: answer } = await call();
    expect([status, answer.error.message]).toEqual([413, 'The model refused the request with status 413.']);
  });

  test('G-36 G-41 its 429 is a 429 with the same Retry-After; without one a default is set', async () => {
    const limited = (headers: Record<string, string>) => () =>
      Response.json({ error: { message: 'secret provider words' } }, { status: 429, headers });
    for (const [headers, seconds] of [
      [{ 'retry-after': '7' }, '7'],
      [{ 'retry-after-ms': '1500' }, '2'],
      [{}, '5'],
    ] as const) {
      gateway.upstream.answer(limited(headers));
      const { status, body: answer, headers: answered, id } = await call();
      expect([status, answer.error.type, answer.error.code]).toEqual([
        ...[429, 'rate_limit_error', 'PROVIDER_RATE_LIMITED'],
      ]);
      expect([answered.get('retry-after'), answered.get('retry-after-ms') !== null]).toEqual([seconds, true]);
      expect(JSON.stringify(answer)).not.toContain('secret');
      const row = { outcome: 'FAILED', http_status: 429, reason: 'PROVIDER_RATE_LIMITED' };
      expect((await gateway.calls(id, 1))[0]).toMatchObject(row);
    }
    gateway.upstream.answer(() => Response.json({}, { status: 503, headers: { 'retry-after': '9' } }));
    const { status, headers } = await call();
    expect([status, headers.get('retry-after')]).toEqual([503, '9']);
  });

  const asAnswer = (error: object) => () => Response.json({ error });
  const asEvent = (error: object) => () => streamOf(chunk('Hel'), `data: ${JSON.stringify({ error })}\n\n`);
  const asNamedEvent = (error: object) => () =>
    streamOf(`event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`);
  test.each([
    ['a whole answer', asAnswer, false],
    ['an event of a stream', asEvent, true],
    ['an event of the name error', asNamedEvent, true],
  ])(
    'G-36 G-38 an error in %s is what it says: the request’s, a rate limit, or the provider’s',
    async (_, as, stream) => {
      const said = async (error: object) => {
        gateway.upstream.answer(as(error));
        const { rawKey, id } = await gateway.mint();
        const response = await post(`${gateway.url}/chat/completions`, rawKey, { ...body, stream });
        const text = await response.text();
        const last = stream ? text.trim().split('\n\n').at(-1)?.replace('data: ', '') : text;
        expect((await gateway.calls(id, 1))[0]).toMatchObject({ outcome: 'FAILED', prompt_tokens: null });
        return { status: response.status, ...JSON.parse(last ?? '').error };
      };
      const long = { message: 'provider-model-x: prompt is too long', type: 'invalid_request_error' };
      expect(await said(long)).toEqual({
        ...{ status: stream ? 200 : 400, message: 'svc/chat-default: prompt is too long', param: null },
        ...{ type: 'invalid_request_error', code: 'context_length_exceeded' },
      });
      expect(await said({ message: 'secret', code: 429 })).toMatchObject({
        ...{ status: stream ? 200 : 429, type: 'rate_limit_error', code: 'PROVIDER_RATE_LIMITED' },
      });
      expect(gateway.models.cooling()).toMatchObject([{ reason: '429' }]);
      const overloaded = await said({ message: 'secret', type: 'overloaded_error' });
      expect(gateway.models.cooling()).toMatchObject([{ reason: '529' }]);
      expect(overloaded).toMatchObject({ type: 'api_error', code: 'LLM_GATEWAY_UNAVAILABLE' });
      expect(overloaded.message).not.toContain('secret');
    },
  );

  test('G-42 no first byte in time, a body that stops, and an invalid response are 503', async () => {
    const scripts = [
      noFirstByte,
      () => new Response(new ReadableStream({ start: (controller) => controller.enqueue('{"id":') })),
      () => new Response('<html>busy</html>', { headers: { 'content-type': 'text/html' } }),
      () => Response.json({ error: { message: 'in a 200' } }),
      () => new Response(null, { status: 204 }),
    ];
    for (const script of scripts) {
      gateway.upstream.answer(script);
      const { status, body: answer, id } = await call();
      expect([status, answer.error.code]).toEqual([503, 'LLM_GATEWAY_UNAVAILABLE']);
      expect((await gateway.calls(id, 1))[0]).toMatchObject({ outcome: 'FAILED', prompt_tokens: null });
    }
  });

  test.each([
    ['before its status', noFirstByte, 'did not begin to answer within 30 seconds'],
    [
      'within its answer',
      () =>
        new Response(
          new ReadableStream({ start: (controller) => controller.enqueue('{"id":') }),
          jsonHeaders,
        ),
      'sent nothing for 1 seconds',
    ],
  ])(
    'G-42 a model that is silent %s: the message names the limit, and no SDK repeats the call',
    async (_, script, said) => {
      gateway.upstream.answer(script);
      const { status, body: answer, headers } = await call();
      expect(status).toBe(503);
      expect(answer.error.message).toContain(said);
      expect([headers.get('x-should-retry'), headers.get('retry-after')]).toEqual(['false', null]);
    },
  );

  test.each([201, 206])('an answer with status %p is an answer: 200 for the client', async (status) => {
    gateway.upstream.answer(() => Response.json(chatAnswer(), { status }));
    const answered = await call();
    expect([answered.status, answered.body.choices[0].message.content]).toEqual([200, 'Hello.']);
    const [record] = await gateway.calls(answered.id, 1);
    expect(record).toMatchObject({ outcome: 'SUCCEEDED', http_status: 200, prompt_tokens: 7n });
  });
});

test('G-15 G-36 of several targets: 429 with the longest wait when all are rate limited, else 503 with a wait that one of them named', async () => {
  const second = startScriptedUpstream();
  await gateway.aimAt('svc/chat-premium', gateway.upstream, second);
  const limited = (seconds: string) => () =>
    Response.json({}, { status: 429, headers: { 'retry-after': seconds } });
  gateway.upstream.answer(limited('20'));
  second.answer(limited('3'));
  const all = await call({ ...body, model: 'svc/chat-premium' });
  expect([all.status, all.headers.get('retry-after')]).toEqual([429, '20']);
  expect((await gateway.calls(all.id, 1))[0]).toMatchObject({ outcome: 'FAILED', tries: 2 });
  second.answer(() => Response.json({}, { status: 500 }));
  const some = await call({ ...body, model: 'svc/chat-premium' });
  expect([some.status, some.body.error.code]).toEqual([503, 'LLM_GATEWAY_UNAVAILABLE']);
  expect(some.headers.get('retry-after')).toBe('20');
  second.answer(() => Response.json(chatAnswer()));
  expect((await call({ ...body, model: 'svc/chat-premium' })).status).toBe(200);
  second.close();
});

describe('when the database is unavailable', () => {
  test('G-33 a known key continues, and its call that cannot be recorded is 503; an unknown key is 503, not 401', async () => {
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    const { rawKey } = await gateway.mint();
    const send = (key: string) => post(`${gateway.url}/chat/completions`, key, body);
    expect((await send(rawKey)).status).toBe(200);
    const stranger = await gateway.mint();
    gateway.outage.isUnavailable = true;
    const known = await send(rawKey);
    expect([known.status, (await known.json()).error.code]).toEqual([503, 'LLM_GATEWAY_UNAVAILABLE']);
    const unknown = await send(stranger.rawKey);
    expect([unknown.status, (await unknown.json()).error.code]).toEqual([503, 'LLM_GATEWAY_UNAVAILABLE']);
    gateway.outage.isUnavailable = false;
    await until(async () => (await send(rawKey)).status === 200);
    expect((await send(stranger.rawKey)).status).toBe(200);
  });
});
