import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createSettableClock } from '../doubles/settable-clock.ts';
import { readRecordedAnswer, readRecordedStream } from '../recorded/streams.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, PROVIDER_MODEL, post, refusalOf } from './gateway-under-test.ts';
import {
  chatAnswer,
  chunk,
  done,
  openStream,
  type StreamScript,
  startScriptedUpstream,
  streamOf,
  TIMEOUT_MS,
} from './scripted-upstream.ts';

const RESPONSES = '/responses';
const MESSAGES = '/messages';
const COUNT = '/messages/count_tokens';
const OPENAI_MODEL = 'gpt-4.1-mini-2025-04-14';
const ANTHROPIC_MODEL = 'claude-sonnet-4-5-20250929';

const asked = { model: 'svc/chat-default', input: 'Hello', max_output_tokens: 100 };
const messaged = {
  model: 'svc/extract-default',
  messages: [{ role: 'user', content: 'Hello' }],
  max_tokens: 100,
};

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

describe('responses and messages', () => {
  const clock = createSettableClock();
  const gateway = useResource(() => openGateway({ clock, journalMaxCalls: 0 }));
  const anthropic = useResource(async () => startScriptedUpstream());
  let rawKey: string;

  beforeAll(async () => {
    ({ rawKey } = await gateway.mint());
    await gateway.aimAtProvider('svc/extract-default', { provider: 'anthropic' }, anthropic);
  });
  beforeEach(() => {
    gateway.upstream.received.length = 0;
    anthropic.received.length = 0;
  });

  async function call(path: string, body: unknown, init: RequestInit = {}) {
    const minted = await gateway.mint();
    const response = await post(`${gateway.url}${path}`, minted.rawKey, body, init);
    const answer = await response.text();
    const [row] = await gateway.calls(minted.id, 1);
    return { response, answer, row };
  }

  /** A stream of which the test decides each moment; the answer grows as the client gets it. */
  async function streaming(path: string, body: object, begun: string) {
    const stream: StreamScript = openStream();
    const upstream = path === MESSAGES ? anthropic : gateway.upstream;
    upstream.answer(() => stream.response);
    const { rawKey: key, id } = await gateway.mint();
    const responding = post(`${gateway.url}${path}`, key, { ...body, stream: true });
    stream.send(begun);
    const response = await responding;
    const answer = response.text();
    return { stream, response, answer, id };
  }

  const bothWires = [
    { path: RESPONSES, body: asked, name: 'responses', model: OPENAI_MODEL },
    { path: MESSAGES, body: messaged, name: 'messages', model: ANTHROPIC_MODEL },
  ] as const;
  const upstreamOf = (path: string) => (path === RESPONSES ? gateway.upstream : anthropic);

  describe.each(bothWires)('$path', ({ path, body, name, model }) => {
    const alias = body.model;

    test('a complete answer passes byte for byte except for the model, and is charged', async () => {
      const recorded = readRecordedAnswer(`${name}-text`);
      upstreamOf(path).answer(
        () => new Response(recorded, { headers: { 'content-type': 'application/json' } }),
      );
      const sent = JSON.stringify(body).replace(':', ' : ');
      const { response, answer, row } = await call(path, sent);
      expect(response.status).toBe(200);
      expect(answer).toBe(text(recorded).replace(model, alias));
      const [received] = upstreamOf(path).received;
      expect(received?.path).toBe(`/v1${path}`);
      expect(text(received?.body ?? new Uint8Array())).toBe(sent.replace(alias, PROVIDER_MODEL));
      expect(row).toMatchObject({ endpoint: name, alias, outcome: 'SUCCEEDED', streamed: false });
      expect(Number(row?.prompt_tokens)).toBe(name === 'responses' ? 1287 : 2383);
      expect(Number(row?.cached_tokens)).toBe(name === 'responses' ? 1024 : 2048);
      expect(Number(row?.completion_tokens)).toBe(name === 'responses' ? 31 : 15);
    });

    test('G-33 a stream passes event by event except for the model', async () => {
      const recorded = readRecordedStream(`${name}-text`);
      const last = recorded.slice(recorded.lastIndexOf('event: '));
      const { stream, answer, id } = await streaming(path, body, recorded.slice(0, -last.length));
      stream.send(last);
      stream.end();
      expect(await answer).toBe(recorded.replaceAll(model, alias));
      const [row] = await gateway.calls(id, 1);
      expect(row).toMatchObject({ endpoint: name, outcome: 'SUCCEEDED', streamed: true });
      expect(Number(row?.completion_tokens)).toBe(name === 'responses' ? 31 : 15);
      const received = JSON.parse(text(upstreamOf(path).received[0]?.body ?? new Uint8Array()));
      expect(received).toEqual({ ...body, model: PROVIDER_MODEL, stream: true });
    });

    test.each([
      ['dies', (stream: StreamScript) => stream.fail()],
      ['ends without its last event', (stream: StreamScript) => stream.end()],
      ['falls silent', () => clock.setAhead(TIMEOUT_MS)],
      [
        'says that it failed',
        (stream: StreamScript) => stream.send('event: error\ndata: {"type":"error"}\n\n'),
      ],
    ])('G-38 a stream that %s ends with the wire’s error event, and is not charged', async (_, breakOff) => {
      const begun = readRecordedStream(`${name}-died`);
      const { stream, answer, id } = await streaming(path, body, begun);
      breakOff(stream);
      const events = (await answer).split('\n\n');
      expect(events.slice(0, -2).join('\n\n')).toBe(begun.replaceAll(model, alias).trimEnd());
      const [named, data = ''] = (events.at(-2) ?? '').split('\n');
      expect(named).toBe('event: error');
      const error = JSON.parse(data.slice('data: '.length));
      expect(error.type).toBe('error');
      expect(error.error).toMatchObject({ type: 'api_error', code: 'LLM_GATEWAY_UNAVAILABLE' });
      if (path === RESPONSES) {
        expect(error).toMatchObject({ sequence_number: 2, code: 'LLM_GATEWAY_UNAVAILABLE', param: null });
      } else expect(error.request_id).toBeString();
      const [row] = await gateway.calls(id, 1);
      expect(row).toMatchObject({ outcome: 'FAILED', charge_micro: 0n });
    });
  });

  describe('G-31 a provider that reports no usage', () => {
    const messages = [{ role: 'user', content: 'Hello' }];
    const bodies = {
      '/chat/completions': { messages, max_tokens: 100 },
      [RESPONSES]: { input: 'Hello', store: false },
      [MESSAGES]: { messages, max_tokens: 100 },
    };
    const { usage: _, ...chatWithout } = chatAnswer();
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: PROVIDER_MODEL };
    const said = {
      content: [{ type: 'text', text: 'Hello.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
    };
    const messageEvents = [
      { type: 'message_start', message: { ...message, content: [] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    const stopped = chunk('').replace('"finish_reason":null', '"finish_reason":"stop"');
    const targets = [
      {
        ...{ provider: 'compatible', alias: 'svc/chat-cheap', whole: chatWithout },
        events: [chunk('Hello.'), stopped, done],
      },
      {
        ...{ provider: 'anthropic', alias: 'svc/extract-default', whole: { ...message, ...said } },
        events: messageEvents,
      },
    ];
    const cases = targets.flatMap((target) =>
      Object.entries(bodies).flatMap(([path, body]) =>
        [false, true].map((stream) => ({ ...target, path, body, stream })),
      ),
    );

    test.each(cases)('$provider, $path, stream: $stream: failed and free', async (given) => {
      const { provider, alias, path, body, stream, whole, events } = given;
      const upstream = provider === 'anthropic' ? anthropic : gateway.upstream;
      await gateway.aimAtProvider(alias, { provider }, upstream);
      upstream.answer(() => (stream ? streamOf(...events) : Response.json(whole)));
      const { response, answer, row } = await call(path, { ...body, model: alias, stream });
      expect([response.status, answer.includes('Hello.')]).toEqual([200, true]);
      const free = { prompt_tokens: null, completion_tokens: null, charge_micro: 0n };
      expect(row).toMatchObject({ outcome: 'FAILED', reason: 'no-usage', streamed: stream, ...free });
    });
  });

  test('message_start of a translated stream estimates the prompt, message_delta counts it, and only the count is charged', async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 2 } };
    const stopped = chunk('').replace('"finish_reason":null', '"finish_reason":"stop"');
    gateway.upstream.answer(() =>
      streamOf(chunk('Hello.'), stopped, chunk('', { choices: [], usage }), done),
    );
    const body = { ...messaged, model: 'svc/chat-default', stream: true };
    const { answer, row } = await call(MESSAGES, body);
    const counts = answer.split('\n').flatMap((line) => {
      const event = line.startsWith('data: ') ? JSON.parse(line.slice('data: '.length)) : {};
      const { input_tokens, cache_read_input_tokens } = event.message?.usage ?? event.usage ?? {};
      return input_tokens === undefined ? [] : [[event.type, input_tokens, cache_read_input_tokens]];
    });
    const estimate = Math.ceil(JSON.stringify(body).length / 4);
    expect(counts).toEqual([
      ['message_start', estimate, 0],
      ['message_delta', 5, 2],
    ]);
    // 5 prompt tokens at 1, 2 cached at 0.5, 5 completion tokens at 4.
    expect(row).toMatchObject({ prompt_tokens: 7n, cached_tokens: 2n, charge_micro: 26n });
  });

  test.each([false, true])(
    'compactions are charged beside the counts at the top, stream: %p',
    async (stream) => {
      const counts = (input_tokens: number, output_tokens: number) => ({ input_tokens, output_tokens });
      const cached = { cache_creation_input_tokens: 7, cache_read_input_tokens: 20 };
      const iterations = [
        { type: 'compaction', ...counts(100, 30), ...cached, iterations: [{ type: 'compaction' }] },
        { type: 'compaction', ...counts(5, 1) },
        { type: 'compaction', ...counts(-1, 9_999) },
        { type: 'message', ...counts(10, 3) },
      ];
      const usage = { ...counts(10, 3), iterations };
      const message = { id: 'msg_1', type: 'message', role: 'assistant', model: PROVIDER_MODEL };
      const said = { content: [{ type: 'text', text: 'Hello.' }], stop_reason: 'end_turn', usage };
      const events = [
        { type: 'message_start', message: { ...message, content: [], usage: counts(10, 1) } },
        {
          type: 'message_delta',
          delta: { stop_reason: 'end_turn' },
          usage: { output_tokens: 3, iterations },
        },
        { type: 'message_stop' },
      ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      anthropic.answer(() => (stream ? streamOf(...events) : Response.json({ ...message, ...said })));
      const { row } = await call(MESSAGES, { ...messaged, stream });
      const tokens = {
        prompt_tokens: 142n,
        cached_tokens: 20n,
        cache_write_tokens: 7n,
        completion_tokens: 34n,
      };
      expect(row).toMatchObject({ outcome: 'SUCCEEDED', ...tokens });
    },
  );

  test('an error of the provider keeps its status and message, in the shape of the route', async () => {
    const error = {
      type: 'invalid_request_error',
      message: `${PROVIDER_MODEL} needs max_tokens`,
      param: 'x',
    };
    gateway.upstream.answer(() => Response.json({ error }, { status: 422 }));
    const refused = await refusalOf(post(`${gateway.url}${RESPONSES}`, rawKey, asked));
    expect(refused).toMatchObject({ status: 422, message: `${asked.model} needs max_tokens`, param: 'x' });
    anthropic.answer(() => Response.json({ type: 'error', error }, { status: 400 }));
    const { response, answer } = await call(MESSAGES, messaged);
    expect(response.status).toBe(400);
    expect(JSON.parse(answer)).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', message: `${messaged.model} needs max_tokens` },
    });
  });

  describe('headers', () => {
    test('Anthropic’s headers are forwarded from its routes alone, with our key', async () => {
      anthropic.answer(() => new Response(readRecordedAnswer('messages-text')));
      gateway.upstream.answer(() => new Response(readRecordedAnswer('responses-text')));
      const headers = { 'anthropic-version': '2024-01-01', 'anthropic-beta': 'a,b', 'openai-beta': 'c' };
      await call(MESSAGES, messaged, { headers });
      expect(anthropic.received[0]?.headers).toMatchObject({
        'anthropic-version': '2024-01-01',
        'anthropic-beta': 'a,b',
        'x-api-key': 'sk-provider',
      });
      expect(anthropic.received[0]?.headers).not.toContainKeys(['openai-beta', 'authorization']);
      await call(RESPONSES, asked, { headers });
      expect(gateway.upstream.received[0]?.headers).toMatchObject({ 'openai-beta': 'c' });
      expect(gateway.upstream.received[0]?.headers).not.toContainKeys(['anthropic-beta', 'x-api-key']);
    });

    test('x-api-key is a key on the routes of Messages alone, and a bearer token takes precedence', async () => {
      anthropic.answer(() => new Response(readRecordedAnswer('messages-text')));
      const withKey = (path: string, headers: Record<string, string>, body: object) =>
        fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      const own = { 'x-api-key': rawKey };
      expect((await withKey(MESSAGES, own, messaged)).status).toBe(200);
      expect((await withKey(MESSAGES, { ...own, authorization: 'Bearer x' }, messaged)).status).toBe(401);
      const both = { 'x-api-key': 'x', authorization: `Bearer ${rawKey}` };
      expect((await withKey(MESSAGES, both, messaged)).status).toBe(200);
      expect((await withKey(RESPONSES, own, asked)).status).toBe(401);
      expect((await withKey('/chat/completions', own, asked)).status).toBe(401);
    });
  });

  test.each([
    [COUNT, messaged, '{"input_tokens":14}'],
    ['/responses/input_tokens', asked, '{"object":"response.input_tokens","input_tokens":14,"id":"resp_1"}'],
  ])('%s passes and is charged nothing', async (path, whole, counted) => {
    const upstream = path === COUNT ? anthropic : gateway.upstream;
    upstream.answer(() => new Response(counted));
    const body = { ...whole, max_tokens: undefined, max_output_tokens: undefined };
    const { answer, row } = await call(path, body);
    expect(answer).toBe(counted);
    expect(upstream.received[0]?.path).toBe(`/v1${path}`);
    const sent = { ...JSON.parse(JSON.stringify(body)), model: PROVIDER_MODEL };
    expect(JSON.parse(text(upstream.received[0]?.body ?? new Uint8Array()))).toEqual(sent);
    const free = { outcome: 'SUCCEEDED', reason: null, prompt_tokens: null, charge_micro: 0n };
    expect(row).toMatchObject({ endpoint: path.slice(1), ...free });
  });

  describe('/responses/compact', () => {
    const compacted = {
      ...{ id: 'resp_compacted', object: 'response.compaction', created_at: 1 },
      output: [{ id: 'cmp_1', type: 'compaction', encrypted_content: 'secret' }],
      usage: {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 40 },
        output_tokens: 10,
        total_tokens: 110,
      },
    };

    test('is charged as a response by its usage, and cannot be read or continued by its id', async () => {
      gateway.upstream.answer(() => Response.json(compacted));
      const { max_output_tokens: _, ...body } = asked;
      const { answer, row } = await call('/responses/compact', body);
      expect(JSON.parse(answer)).toEqual(compacted);
      expect(JSON.parse(text(gateway.upstream.received[0]?.body ?? new Uint8Array()))).toEqual({
        ...body,
        model: PROVIDER_MODEL,
      });
      expect(row).toMatchObject({
        ...{ endpoint: 'responses/compact', outcome: 'SUCCEEDED' },
        ...{ prompt_tokens: 100n, cached_tokens: 40n, completion_tokens: 10n },
      });
      expect(row?.charge_micro).toBeGreaterThan(0n);
      const continued = { ...body, previous_response_id: compacted.id };
      expect((await refusalOf(post(`${gateway.url}${RESPONSES}`, rawKey, continued))).status).toBe(404);
    });
  });

  // Last: admission waits for the database after it.
  test('G-33 the last event waits for the commit, and is not sent where nothing is recorded', async () => {
    const running = [];
    for (const { path, body, name, model } of bothWires) {
      const recorded = readRecordedStream(`${name}-text`);
      const last = recorded.slice(recorded.lastIndexOf('event: '));
      const begun = recorded.slice(0, -last.length);
      const expected = begun.replaceAll(model, body.model);
      running.push({ ...(await streaming(path, body, begun)), last, expected });
    }
    gateway.outage.isUnavailable = true;
    for (const { stream, answer, last, expected } of running) {
      stream.send(last);
      stream.end();
      const got = await answer;
      expect(got).toStartWith(`${expected}event: error\n`);
      expect(got).not.toContain(last.split('\n', 1)[0] ?? '');
    }
    gateway.outage.isUnavailable = false;
  });
});

describe('a prompt that is too long', () => {
  const gateway = useResource(() => openGateway());

  test('G-36 has Anthropic’s words on Messages, by which its clients compact, and the provider’s own elsewhere', async () => {
    const { rawKey } = await gateway.mint();
    const words = "This model's maximum context length is 8 tokens.";
    const said = async (path: string, body: object, message: string) => {
      const error = { message, type: 'invalid_request_error', code: 'context_length_exceeded' };
      gateway.upstream.answer(() => Response.json({ error }, { status: 400 }));
      const refused = await post(`${gateway.url}${path}`, rawKey, { ...body, model: 'svc/chat-default' });
      return [refused.status, ((await refused.json()) as { error: { message: string } }).error.message];
    };
    expect(await said(MESSAGES, messaged, words)).toEqual([400, `prompt is too long: ${words}`]);
    expect(await said(MESSAGES, messaged, 'Prompt is too long.')).toEqual([400, 'Prompt is too long.']);
    const chat = { messages: [{ role: 'user', content: 'Hello' }] };
    expect(await said('/chat/completions', chat, words)).toEqual([400, words]);
  });
});

describe('without credits', () => {
  const gateway = useResource(() => openGateway({ balanceMicro: 0n }));
  const anthropic = useResource(async () => startScriptedUpstream());

  test('a message is refused with 402 in Anthropic’s error shape, counting its tokens is not', async () => {
    await gateway.aimAtProvider('svc/chat-default', { provider: 'anthropic' }, anthropic);
    anthropic.answer(() => Response.json({ input_tokens: 14 }));
    const { rawKey } = await gateway.mint();
    const body = { ...messaged, model: 'svc/chat-default' };
    const refused = await post(`${gateway.url}${MESSAGES}`, rawKey, body);
    expect(refused.status).toBe(402);
    expect(await refused.json()).toMatchObject({
      type: 'error',
      error: { type: 'billing_error', code: 'INSUFFICIENT_CREDITS' },
    });
    expect((await post(`${gateway.url}${COUNT}`, rawKey, body)).status).toBe(200);
  });
});
