import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createOtlpTracer } from '../../src/adapters/tracer/otlp.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { until } from '../doubles/until.ts';
import { type GatewayUnderTest, openGateway, PROVIDER_MODEL, post } from './gateway-under-test.ts';
import { chatAnswer } from './scripted-upstream.ts';
import { type CollectedSpan, startTraceCollector } from './trace-collector.ts';

const collector = startTraceCollector();
const clock = createManualClock();
const tracer = createOtlpTracer({
  endpoint: collector.url,
  headers: { 'x-tenant': 'ours' },
  serviceName: 'turnpike-gateway',
  sampledPart: 1,
  clock,
  secrets: createSystemSecrets(),
  log: createSilentLog(),
});
let gateway: GatewayUnderTest;
let rawKey: string;
let keyId: string;

beforeAll(async () => {
  gateway = await openGateway({ tracer });
  ({ rawKey, id: keyId } = await gateway.mint());
});
beforeEach(() => {
  collector.spans.length = 0;
});
afterAll(async () => {
  await gateway.close();
  await tracer.close();
  collector.close();
});

async function spansOf(count: number): Promise<readonly CollectedSpan[]> {
  await until(async () => {
    await clock.advance(1_000);
    return collector.spans.length >= count;
  });
  return collector.spans;
}

const named = (spans: readonly CollectedSpan[], name: string) => {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`no span ${name} among ${spans.map((span) => span.name)}`);
  return found;
};

const call = (changes: object = {}, headers: Record<string, string> = {}) => {
  const body = {
    model: 'svc/chat-default',
    messages: [{ role: 'user', content: 'a secret thought' }],
    ...changes,
  };
  return post(`${gateway.url}/chat/completions`, rawKey, body, { headers });
};

test('one trace covers the request, admission, the provider and the settlement', async () => {
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  await (await call({ max_tokens: 7 })).text();
  const spans = await spansOf(4);
  const root = named(spans, 'POST /llm/v1/chat/completions');
  const model = named(spans, 'chat svc/chat-default');
  expect(spans.map(({ traceId }) => traceId)).toEqual(spans.map(() => root.traceId));
  for (const child of [named(spans, 'admit'), model, named(spans, 'settle')]) {
    expect(child.parentSpanId).toBe(root.spanId);
    expect(BigInt(child.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(root.startTimeUnixNano));
    expect(BigInt(child.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(root.endTimeUnixNano));
  }
  expect([root.kind, model.kind, root.parentSpanId]).toEqual([2, 3, undefined]);
  expect(root.attributes).toMatchObject({
    'http.response.status_code': 200,
    'turnpike.company.id': gateway.companyId,
    'turnpike.key.id': keyId,
  });
  expect(model.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'svc/chat-default',
    'gen_ai.response.model': PROVIDER_MODEL,
    'gen_ai.request.max_tokens': 7,
    'gen_ai.usage.input_tokens': chatAnswer().usage.prompt_tokens,
    'gen_ai.usage.output_tokens': chatAnswer().usage.completion_tokens,
    'server.address': '127.0.0.1',
  });
  const seen = gateway.upstream.received.at(-1)?.headers.traceparent;
  expect(seen).toBe(`00-${root.traceId}-${model.spanId}-01`);
  const sent = collector.requests.at(-1);
  expect([sent?.path, sent?.headers.get('x-tenant')]).toEqual(['/v1/traces', 'ours']);
  for (const hidden of ['a secret thought', rawKey, 'sk-provider']) expect(sent?.text).not.toContain(hidden);
  // Events give the time of each step, in the order of the steps.
  const walk = [named(spans, 'admit'), model, named(spans, 'settle'), root];
  const moments = walk.flatMap(({ events }) => events);
  expect(moments.map(({ name }) => name)).toEqual([
    ...['address', 'key', 'body', 'standing', 'limits'],
    ...['answer', 'statement', 'settled'],
  ]);
  const within = moments.map((one) => one.timeUnixNano);
  const times = [root.startTimeUnixNano, ...within, root.endTimeUnixNano].map(BigInt);
  expect(times).toEqual(times.toSorted((a, b) => Number(a - b)));
});

test('a call has the attributes that Langfuse, Phoenix and collectors read: cached tokens, cost, end user, session, tags, tries', async () => {
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  const changes = { user: 'u-7', metadata: { session_id: 's-9', feature: 'search' } };
  await (await call(changes, { 'x-turnpike-tags': 'beta' })).text();
  const spans = await spansOf(4);
  const [root, model] = [
    named(spans, 'POST /llm/v1/chat/completions'),
    named(spans, 'chat svc/chat-default'),
  ];
  const [row] = (await gateway.calls(keyId, 1)).slice(-1);
  const credits = Number(row?.charge_micro) / 1_000_000;
  expect(credits).toBeGreaterThan(0);
  expect(model.attributes).toMatchObject({
    ...{ 'gen_ai.provider.name': 'openai', 'gen_ai.system': 'openai', 'turnpike.target.id': row?.target_id },
    ...{ 'gen_ai.usage.cache_read.input_tokens': 2, 'gen_ai.usage.total_tokens': 12 },
    ...{ 'gen_ai.usage.cost': credits, 'turnpike.cost.credits': credits, 'llm.cost.total': credits },
    ...{ 'openinference.span.kind': 'LLM', 'llm.token_count.prompt': 7, 'llm.token_count.completion': 5 },
    'gen_ai.response.finish_reasons': ['stop'],
    'turnpike.tries': 1,
  });
  for (const { attributes } of [root, model]) {
    expect(attributes).toMatchObject({
      ...{ 'user.id': 'u-7', 'langfuse.user.id': 'u-7' },
      ...{ 'session.id': 's-9', 'langfuse.session.id': 's-9', 'gen_ai.conversation.id': 's-9' },
      'langfuse.trace.tags': ['beta', 'feature:search', 'session_id:s-9'],
    });
  }
  const sent = collector.requests.at(-1)?.text ?? '';
  for (const hidden of ['a secret thought', 'Hello.']) expect(sent).not.toContain(hidden);
});

test('a caller’s trace is continued, and a caller that opts out of sampling is not recorded', async () => {
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  await (await call({}, { traceparent: `00-${traceId}-b7ad6b7169203331-00` })).text();
  await (await call({}, { traceparent: `00-${traceId}-b7ad6b7169203331-01` })).text();
  const spans = await spansOf(4);
  expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
  expect(spans).toHaveLength(4);
  expect(named(spans, 'POST /llm/v1/chat/completions').parentSpanId).toBe('b7ad6b7169203331');
  for (const [traceparent, parentSpanId] of [
    // Nothing that is not one: a forged header begins a trace of its own.
    [`00-${'0'.repeat(32)}-b7ad6b7169203331-01`, undefined],
    [`00-${traceId}-b7ad6b7169203331-01-more`, undefined],
    [`ff-${traceId}-b7ad6b7169203331-01`, undefined],
    // A later version may have more at its end.
    [`cc-${traceId}-b7ad6b7169203331-01-more`, 'b7ad6b7169203331'],
    [`01-${traceId}-b7ad6b7169203331-01more`, undefined],
  ] as const) {
    collector.spans.length = 0;
    await (await call({}, { traceparent })).text();
    expect(named(await spansOf(4), 'POST /llm/v1/chat/completions').parentSpanId).toBe(parentSpanId);
  }
});

test('a caller’s tracestate goes on with its trace to the provider and the collector, and never without it', async () => {
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const state = 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE';
  for (const [headers, expected] of [
    [{ traceparent, tracestate: state }, state],
    [{ traceparent, tracestate: `a=${'x'.repeat(600)}` }, undefined],
    [{ tracestate: state }, undefined],
    [{ traceparent: 'nonsense', tracestate: state }, undefined],
  ] as const) {
    collector.spans.length = 0;
    await (await call({}, headers)).text();
    expect(gateway.upstream.received.at(-1)?.headers.tracestate).toBe(expected);
    await spansOf(4);
    expect(collector.requests.at(-1)?.text.includes(`"traceState":"${state}"`)).toBe(expected === state);
  }
});

test('refusals, failed tries and broken calls are errors of their span', async () => {
  await (await post(`${gateway.url}/chat/completions`, 'tpk_wrong', {})).text();
  await (await post(`${gateway.url}/nowhere`, rawKey, {})).text();
  gateway.upstream.answer(() => new Response('no', { status: 500 }));
  expect((await call()).status).toBe(503);
  const spans = await spansOf(8);
  const failures = spans.flatMap(({ name, status }) =>
    status.code === 2 ? [`${name}: ${status.message}`] : [],
  );
  expect(failures).toContain('admit: unauthenticated');
  expect(failures).toContain('chat svc/chat-default: 500');
  expect(failures).toContain('POST /llm/v1/chat/completions: 503');
  expect(spans.map(({ name }) => name)).toContain('POST');
  expect(JSON.stringify(spans)).not.toContain('tpk_wrong');
});

test('what a path holds besides the route is in no span: neither its name nor an attribute', async () => {
  for (const path of [`models/${rawKey}`, 'responses/resp_1', 'responses/resp_1/input_items', rawKey]) {
    await fetch(`${gateway.url}/${path}`, { headers: { authorization: `Bearer ${rawKey}` } });
  }
  const spans = (await spansOf(8)).filter(({ kind }) => kind === 2);
  expect(spans.map(({ name, attributes }) => [name, attributes['http.route']])).toEqual([
    ['GET /llm/v1/models/{model}', '/llm/v1/models/{model}'],
    ['GET /llm/v1/responses/{id}', '/llm/v1/responses/{id}'],
    ['GET /llm/v1/responses/{id}/input_items', '/llm/v1/responses/{id}/input_items'],
    ['GET', undefined],
  ]);
  const sent = JSON.stringify(spans);
  for (const hidden of [rawKey, 'resp_1']) expect(sent).not.toContain(hidden);
});

test('an attribute has one type, whatever its value', async () => {
  tracer.begin('typed', 'server', null, { count: 1, none: { fraction: 0 } })?.end();
  await spansOf(1);
  const [span] = JSON.parse(collector.requests.at(-1)?.text ?? '').resourceSpans[0].scopeSpans[0].spans;
  expect(span.attributes).toEqual([
    { key: 'count', value: { intValue: '1' } },
    { key: 'none', value: { doubleValue: 0 } },
  ]);
});

/** Moves the clock until the collector has had another request. */
async function nextRequest(): Promise<void> {
  const before = collector.requests.length;
  await until(async () => {
    await clock.advance(1_000);
    return collector.requests.length > before;
  });
}

test('a collector that is unavailable costs no call, and what was meant for it arrives when it is back', async () => {
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  for (const status of [503, 429]) {
    collector.state.status = status;
    expect((await call()).status).toBe(200);
    await nextRequest();
    await nextRequest();
  }
  collector.state.status = 200;
  expect((await call()).status).toBe(200);
  const spans = await spansOf(12);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(3);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(12);
});

test('what a collector refuses is dropped and reported, also where it refuses a part', async () => {
  const { log, entries } = createRecordingLog();
  const own = createOtlpTracer({
    ...{ endpoint: collector.url, headers: {}, serviceName: 'turnpike-gateway', sampledPart: 1 },
    ...{ clock, secrets: createSystemSecrets(), log },
  });
  const span = async () => {
    own.begin('span', 'server', null)?.end();
    await nextRequest();
  };
  collector.state.status = 400;
  await span();
  collector.state.status = 200;
  await span();
  collector.state.answer = { partialSuccess: { rejectedSpans: '1', errorMessage: 'too old' } };
  await span();
  collector.state.answer = {};
  await span();
  await own.close();
  expect(collector.spans).toHaveLength(3);
  expect<unknown>(entries.map(({ level, message, context }) => ({ level, message, ...context }))).toEqual([
    { level: 'warn', message: 'traces are refused', reason: 'the collector answered 400' },
    { level: 'info', message: 'traces are sent again', dropped: 1 },
    { level: 'warn', message: 'traces are refused', reason: 'too old' },
    { level: 'info', message: 'traces are sent again', dropped: 2 },
  ]);
});

describe('prompts and answers in traces', () => {
  const PROMPT = 'Who is ada@mail.example?';
  let on: GatewayUnderTest;
  let optedIn: string;

  beforeAll(async () => {
    on = await openGateway({ tracer, tracesPayloads: true, payloads: { maxBytes: 64 * 1024 } });
    ({ rawKey: optedIn } = await on.mint({ logPayloads: true }));
  });
  afterAll(() => on.close());

  const say = async (to: GatewayUnderTest, key: string) => {
    const body = { model: 'svc/chat-default', messages: [{ role: 'user', content: PROMPT }] };
    const answered = await post(`${to.url}/chat/completions`, key, body);
    expect(answered.status).toBe(200);
    return await answered.text();
  };
  const CONTENT =
    /^(?:gen_ai\.(?:input|output)\.messages|langfuse\.observation\.(?:in|out)put|(?:in|out)put\.)/;
  const contents = ({ attributes }: CollectedSpan) =>
    Object.entries(attributes).filter(([name]) => CONTENT.test(name));
  const json = (value: unknown) => JSON.parse(String(value));

  test('are in the span of the try where key and operator have opted in: redacted, under each backend’s attribute name', async () => {
    on.upstream.answer(() => Response.json(chatAnswer()));
    const answer = await say(on, optedIn);
    const spans = await spansOf(4);
    const { attributes, ...model } = named(spans, 'chat svc/chat-default');
    for (const name of ['langfuse.observation.input', 'input.value']) {
      expect(json(attributes[name]).messages[0].content).toBe('Who is [redacted email]?');
    }
    expect(json(attributes['gen_ai.input.messages'])).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'Who is [redacted email]?' }] },
    ]);
    expect([attributes['langfuse.observation.output'], attributes['output.value']]).toEqual([answer, answer]);
    expect(json(attributes['gen_ai.output.messages'])).toEqual([
      { role: 'assistant', parts: [{ type: 'text', content: 'Hello.' }], finish_reason: 'stop' },
    ]);
    expect(attributes['input.mime_type']).toBe('application/json');
    // It is sent later and does not end later.
    const settle = named(spans, 'settle');
    expect(BigInt(model.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(settle.startTimeUnixNano));
    expect(contents(named(spans, 'POST /llm/v1/chat/completions'))).toEqual([]);
    expect(collector.requests.map(({ text }) => text).join()).not.toContain('ada@mail.example');
  });

  test('are absent where the key has not opted in, or where the operator has not', async () => {
    const plain = await on.mint();
    const stored = await gateway.mint({ logPayloads: true });
    for (const [to, key] of [
      [on, plain.rawKey],
      [gateway, stored.rawKey],
    ] as const) {
      collector.spans.length = 0;
      to.upstream.answer(() => Response.json(chatAnswer()));
      await say(to, key);
      const spans = await spansOf(4);
      expect(spans.flatMap(contents)).toEqual([]);
      expect(named(spans, 'chat svc/chat-default').attributes['gen_ai.usage.input_tokens']).toBe(7);
    }
  });

  test('are in the span of the request where no provider answered', async () => {
    const { rawKey: caching } = await on.mint({ logPayloads: true, cacheTtlSeconds: 60 });
    on.upstream.answer(() => Response.json(chatAnswer()));
    await say(on, caching);
    await spansOf(4);
    collector.spans.length = 0;
    await say(on, caching);
    const spans = await spansOf(3);
    const { attributes } = named(spans, 'POST /llm/v1/chat/completions');
    expect(json(attributes['gen_ai.output.messages'])[0].parts[0].content).toBe('Hello.');
  });

  test('are sent in requests of a bounded size, and spans past the queue’s limit go without them', async () => {
    const root = tracer.begin('many', 'server', null);
    const before = collector.requests.length;
    const text = 'x'.repeat(200_000);
    for (let n = 0; n < 100; n += 1) root?.begin(`span ${n}`, 'client').endPending()({ 'input.value': text });
    const spans = await spansOf(100);
    const withText = spans.filter((span) => contents(span).length > 0);
    expect([spans.length, withText.length]).toEqual([100, 83]);
    const sizes = collector.requests.slice(before).map((request) => request.text.length);
    expect(Math.max(...sizes)).toBeLessThan(1_500_000);
  });
});
