import { describe, expect, test } from 'bun:test';
import { createSettableClock } from '../doubles/settable-clock.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, PROVIDER_MODEL, post } from './gateway-under-test.ts';
import {
  chunk,
  done,
  openStream,
  type StreamScript,
  streamOf,
  TIMEOUT_MS,
  unaskedUsageChunk,
  usageChunk,
} from './scripted-upstream.ts';

const clock = createSettableClock();
const restamped = (text: string) => text.replaceAll(PROVIDER_MODEL, 'svc/chat-default');
/** 5 prompt tokens at 1, 2 cached at 0.5, 5 completion tokens at 4. */
const COST_MICRO = 26n;
const body = { model: 'svc/chat-default', messages: [], stream: true };

// Without a journal a call that the database does not take can be written nowhere.
const gateway = useResource(() => openGateway({ clock, journalMaxCalls: 0 }));

async function call(sent: unknown = body, init: RequestInit = {}) {
  const { rawKey, id } = await gateway.mint();
  const response = await post(`${gateway.url}/chat/completions`, rawKey, sent, init);
  return { response, id };
}

/** The row of the key's only call, after it was compared with the ledger. */
async function bookedFor(keyId: string) {
  const [call] = await gateway.calls(keyId, 1);
  const charge = call?.charge_micro as bigint;
  const charges = await gateway.credits.chargesOf(call?.id);
  const posted = { amount_micro: -charge, type: 'USAGE', charge_micro: charge, is_priced: true };
  expect(charges).toEqual(charge === 0n ? [] : [posted]);
  await until(async () => (await gateway.credits.held()) === 0);
  return call;
}

/** Starts a stream whose moments the test decides; `text` grows as the client gets it. */
async function running() {
  const stream: StreamScript = openStream();
  gateway.upstream.answer(() => stream.response);
  const stop = new AbortController();
  // Bun sends the headers of a stream with its first bytes.
  stream.send(chunk('first '));
  const { response, id } = await call(body, { signal: stop.signal });
  const got = { text: '' };
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
      got.text += decoder.decode(bytes, { stream: true });
    }
    return 'ended';
  })().catch(() => 'failed');
  return { stream, got, id, leave: () => stop.abort(), reading };
}

describe('a streamed call', () => {
  test('G-1 G-13 G-16 passes every event with the alias as model, the usage event with an empty choice if not requested, and [DONE] last', async () => {
    gateway.upstream.answer(() => streamOf(chunk('Hel'), ': ping\n\n', chunk('lo'), usageChunk, done));
    const { response, id } = await call();
    expect(response.headers.get('content-type')).toStartWith('text/event-stream');
    expect(await response.text()).toBe(
      restamped(`${chunk('Hel')}: ping\n\n${chunk('lo')}${unaskedUsageChunk}${done}`),
    );
    const sent = JSON.parse(new TextDecoder().decode(gateway.upstream.received.at(-1)?.body));
    expect(sent.stream_options).toEqual({ include_usage: true });
    const paid = { outcome: 'SUCCEEDED', prompt_tokens: 7n, completion_tokens: 5n, charge_micro: COST_MICRO };
    expect(await bookedFor(id)).toMatchObject({ streamed: true, ...paid });
  });

  test('each event is sent as soon as it is complete, and never in part', async () => {
    const { stream, got, reading } = await running();
    await until(() => got.text.includes('first'));
    const [second, third] = [chunk('second'), chunk('third')];
    // In one piece: when the second event has passed, the gateway has the beginning of the third as well.
    stream.send(second + third.slice(0, 30));
    await until(() => got.text.includes('second'));
    // What it had sent of that would arrive before the answer to a later call.
    gateway.upstream.answer(() => streamOf(usageChunk, done));
    expect(await (await call()).response.text()).toEndWith(done);
    expect(got.text).toBe(restamped(chunk('first ') + second));
    stream.send(third.slice(30));
    await until(() => got.text.includes('third'));
    stream.send(usageChunk + done);
    stream.end();
    expect(await reading).toBe('ended');
  });

  test('G-33 [DONE] waits for the commit: a call that cannot be recorded never ends as if complete', async () => {
    const { stream, got, reading } = await running();
    await until(() => got.text.includes('first'));
    gateway.outage.isUnavailable = true;
    stream.send(usageChunk + done);
    stream.end();
    await reading;
    gateway.outage.isUnavailable = false;
    expect(got.text).not.toContain('[DONE]');
    expect(got.text).toContain('LLM_GATEWAY_UNAVAILABLE');
    // With nowhere to write it no call is admitted until the database is seen to be back.
    gateway.upstream.answer(() => streamOf(usageChunk, done));
    await until(async () => (await call()).response.status === 200);
  });
});

test('G-42 a ping reaches the client of a silent provider over its connection', async () => {
  const { stream, got, reading } = await running();
  await until(() => got.text.includes('first'));
  for (let second = 0; second < 15; second += 1) clock.setAhead(1_000);
  await until(() => got.text.endsWith(': ping\n\n'));
  stream.send(usageChunk + done);
  stream.end();
  await reading;
  expect(got.text).toEndWith(done);
});

describe('how a stream ends', () => {
  test.each([
    ['succeeded, without [DONE]', chunk('a') + usageChunk, true],
    ['failed and free, without usage', chunk('a') + done, false],
  ])('G-30 G-31 %s, and the client gets it whole', async (_, sent, isPaid) => {
    gateway.upstream.answer(() => streamOf(sent));
    const { response, id } = await call();
    const unasked = sent.replace(usageChunk, unaskedUsageChunk);
    expect(await response.text()).toBe(restamped(unasked));
    const free = { outcome: 'FAILED', reason: 'no-usage', prompt_tokens: null, charge_micro: 0n };
    const paid = { outcome: 'SUCCEEDED', prompt_tokens: 7n, charge_micro: COST_MICRO };
    expect(await bookedFor(id)).toMatchObject(isPaid ? paid : free);
  });

  test.each(['', 'text/plain', 'application/json'])(
    'a stream that its provider sends as %p is a stream',
    async (type) => {
      const sent = [chunk('Hel'), chunk('lo') + unaskedUsageChunk, done];
      const bytes = new ReadableStream({
        async start(controller) {
          for (const piece of sent) controller.enqueue(new TextEncoder().encode(piece));
          controller.close();
        },
      });
      const headers: Record<string, string> = type === '' ? {} : { 'content-type': type };
      gateway.upstream.answer(() => new Response(bytes, { headers }));
      const { response, id } = await call();
      expect(response.headers.get('content-type')).toStartWith('text/event-stream');
      expect(await response.text()).toBe(restamped(sent.join('')));
      expect((await gateway.calls(id, 1))[0]).toMatchObject({ outcome: 'SUCCEEDED', prompt_tokens: 7n });
    },
  );

  test('G-31, billing bug 17: the client disconnects before the usage: the upstream is aborted, the call failed and not charged', async () => {
    const { stream, got, id, leave, reading } = await running();
    await until(() => got.text.includes('first'));
    leave();
    await stream.left;
    await reading;
    const call = await bookedFor(id);
    expect(call).toMatchObject({
      outcome: 'FAILED',
      reason: 'client-left',
      prompt_tokens: null,
      charge_micro: 0n,
    });
    expect(Number(call?.estimated_tokens)).toBeGreaterThan(0);
  });

  test('G-30 the client disconnects after the usage: the call is charged', async () => {
    const { stream, got, id, leave, reading } = await running();
    stream.send(usageChunk);
    await until(() => got.text.includes('usage'));
    leave();
    await reading;
    expect(await bookedFor(id)).toMatchObject({ outcome: 'SUCCEEDED', charge_micro: COST_MICRO });
  });

  const breaks: [string, (stream: StreamScript) => void, string][] = [
    ['a broken connection', (stream) => stream.fail(), 'upstream-broken'],
    [
      'an error event',
      (stream) => stream.send('data: {"error":{"message":"overloaded at provider-model-x"}}\n\n'),
      'upstream-error-event',
    ],
    ['silence', () => clock.setAhead(TIMEOUT_MS), 'upstream-idle'],
    [
      'half an event',
      (stream) => {
        stream.send('data: {"choices":');
        stream.end();
      },
      'upstream-cut-off',
    ],
  ];
  for (const [name, breakIt, reason] of breaks) {
    test(`G-38 G-30 ${name} in mid-stream: one event with the envelope, no [DONE], failed and free even after usage`, async () => {
      const { stream, got, id, reading } = await running();
      stream.send(usageChunk);
      await until(() => got.text.includes('usage'));
      breakIt(stream);
      await reading;
      expect(got.text).not.toContain('[DONE]');
      expect(got.text).not.toContain('overloaded');
      const last = got.text.trimEnd().split('\n\n').at(-1) ?? '';
      expect(JSON.parse(last.replace('data: ', '')).error).toMatchObject({
        type: 'api_error',
        code: 'LLM_GATEWAY_UNAVAILABLE',
      });
      const free = { prompt_tokens: null, charge_micro: 0n, price_id: null };
      expect(await bookedFor(id)).toMatchObject({ outcome: 'FAILED', reason, ...free });
    });
  }

  test('G-31 a key whose streams keep ending without usage raises an alert', async () => {
    gateway.upstream.answer(() => streamOf(chunk('a') + done));
    const { rawKey, id } = await gateway.mint();
    for (let n = 0; n < 5; n += 1) await (await post(`${gateway.url}/chat/completions`, rawKey, body)).text();
    const alerts = gateway.entries.filter(
      ({ message, context }) => message.includes('without usage') && context.keyId === id,
    );
    expect(alerts).toHaveLength(1);
  });
});

test('a slow client slows the upstream down instead of filling memory', async () => {
  let pulled = 0;
  const block = chunk('x'.repeat(64 * 1024));
  const endless = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (pulled > 200 * 1024 * 1024) return controller.close();
      pulled += block.length;
      controller.enqueue(new TextEncoder().encode(block));
    },
  });
  gateway.upstream.answer(() => new Response(endless, { headers: { 'content-type': 'text/event-stream' } }));
  const stop = new AbortController();
  const { response } = await call(body, { signal: stop.signal });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  gateway.upstream.answer(() => streamOf(usageChunk, done));
  // Nothing more is read while five other calls are answered.
  await until(async () => {
    const before = pulled;
    for (let other = 0; other < 5; other += 1) await (await call()).response.text();
    return pulled === before;
  });
  expect(pulled).toBeLessThan(64 * 1024 * 1024);
  stop.abort();
  await reader.cancel().catch(() => {});
});

test('G-30 an upstream that sends [DONE] and keeps or drops its connection has ended: the call is charged', async () => {
  for (const afterwards of [() => {}, (stream: StreamScript) => stream.fail()]) {
    const { stream, got, id, reading } = await running();
    // In one piece: when the usage has passed, the gateway has the [DONE] as well.
    stream.send(usageChunk + done);
    await until(() => got.text.includes('usage'));
    afterwards(stream);
    await reading;
    expect(got.text.endsWith(done)).toBe(true);
    expect((await gateway.calls(id, 1))[0]).toMatchObject({ outcome: 'SUCCEEDED', prompt_tokens: 7n });
  }
});
