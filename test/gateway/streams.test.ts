import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { priceOf, type TokenPrice } from '../../src/domain/models/aliases.ts';
import { createSettableClock } from '../doubles/settable-clock.ts';
import { until } from '../doubles/until.ts';
import { type RecordedStream, readRecordedStream, recordedStreams } from '../recorded/streams.ts';
import { useResource } from '../setup/use-resource.ts';
import { type GatewayUnderTest, openGateway, PROVIDER_MODEL, post } from './gateway-under-test.ts';
import {
  chunk,
  done,
  openStream,
  type StreamScript,
  streamOf,
  TIMEOUT_MS,
  USAGE,
  usageChunk,
} from './scripted-upstream.ts';

const clock = createSettableClock();
const restamped = (text: string) => text.replaceAll(PROVIDER_MODEL, 'svc/chat-default');

/** The default limit of chat-default. */
const price: TokenPrice = { promptMicro: 1_000_000n, cachedMicro: 500_000n, completionMicro: 4_000_000n };
const ends = ({ errorAt }: RecordedStream) => errorAt === null;

function endInTheMiddle(stream: StreamScript): void {
  stream.send('data: {"choices":');
  stream.end();
}

/** The beginning of a recorded stream, as far as its usage or just before it; the rest stays unsent. */
function begun(until: 'usage' | 'before usage'): string {
  const events = readRecordedStream('openai-chat').split('\n\n');
  const at = events.findIndex((event) => event.includes('"usage":{'));
  const count = until === 'usage' ? at + 1 : at;
  return events
    .slice(0, count)
    .map((event) => `${event}\n\n`)
    .join('');
}

describe('streams', () => {
  let gateway: GatewayUnderTest;
  const body = { model: 'svc/chat-default', messages: [], stream: true };

  beforeAll(async () => {
    // Without a journal a call that the database does not take can be written nowhere.
    gateway = await openGateway({ clock, journalMaxCalls: 0 });
  });
  afterAll(() => gateway.close());

  async function call(sent: unknown = body, init: RequestInit = {}) {
    const { rawKey, id } = await gateway.mint();
    const response = await post(`${gateway.url}/chat/completions`, rawKey, sent, init);
    return { response, id };
  }

  /** Starts a stream whose moments the test decides; `text` grows as the client gets it. */
  async function running() {
    const stream: StreamScript = openStream();
    gateway.upstream.answer(() => stream.response);
    const stop = new AbortController();
    // Bun sends the headers of a stream with its first bytes.
    stream.send(chunk('first '));
    const { response, id } = await call(body, { signal: stop.signal });
    const got = { text: '', ended: false, failed: false };
    const reading = (async () => {
      const decoder = new TextDecoder();
      try {
        for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
          got.text += decoder.decode(bytes, { stream: true });
        }
        got.ended = true;
      } catch {
        got.failed = true;
      }
    })();
    return { stream, got, id, leave: () => stop.abort(), reading };
  }

  describe('a streamed call', () => {
    test('G-1 G-13 G-16 passes every event with the alias as model, the usage event even if not requested, and [DONE] last', async () => {
      gateway.upstream.answer(() => streamOf(chunk('Hel'), ': ping\n\n', chunk('lo'), usageChunk, done));
      const { response, id } = await call();
      expect(response.headers.get('content-type')).toStartWith('text/event-stream');
      expect(await response.text()).toBe(
        restamped(`${chunk('Hel')}: ping\n\n${chunk('lo')}${usageChunk}${done}`),
      );
      const sent = JSON.parse(new TextDecoder().decode(gateway.upstream.received.at(-1)?.body));
      expect(sent.stream_options).toEqual({ include_usage: true });
      const [row] = await gateway.calls(id, 1);
      expect(row).toMatchObject({
        outcome: 'SUCCEEDED',
        streamed: true,
        prompt_tokens: 7n,
        completion_tokens: 5n,
      });
    });

    test('G-13 merges include_usage into the options of the request', async () => {
      gateway.upstream.answer(() => streamOf(usageChunk, done));
      await (await call({ ...body, stream_options: { include_usage: false, other: 1 } })).response.text();
      const sent = JSON.parse(new TextDecoder().decode(gateway.upstream.received.at(-1)?.body));
      expect(sent.stream_options).toEqual({ include_usage: true, other: 1 });
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
      await reading;
      expect(got.ended).toBe(true);
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

    test('a legacy completion streams too', async () => {
      const legacy = (text: string, more = {}) =>
        `data: ${JSON.stringify({ id: 'c', object: 'text_completion', model: PROVIDER_MODEL, choices: [{ text, index: 0 }], ...more })}\n\n`;
      const sent = legacy('a') + legacy('', { choices: [], usage: USAGE }) + done;
      gateway.upstream.answer(() => streamOf(sent));
      const { rawKey } = await gateway.mint();
      const prompt = { model: 'svc/chat-default', prompt: 'x', stream: true };
      const response = await post(`${gateway.url}/completions`, rawKey, prompt);
      expect(await response.text()).toBe(restamped(sent));
    });
  });

  describe('how a stream ends', () => {
    const endings: [string, string, boolean][] = [
      ['usage in a chunk with choices, after finish_reason', chunk('a', { usage: USAGE }) + done, true],
      ['usage before content', usageChunk + chunk('late') + done, true],
      ['no [DONE]', chunk('a') + usageChunk, true],
      ['explicit zeros', chunk('a', { usage: { prompt_tokens: 0, completion_tokens: 0 } }) + done, true],
      ['CRLF', (chunk('a') + usageChunk + done).replaceAll('\n', '\r\n'), true],
      ['null usage in every chunk', chunk('a', { usage: null }) + done, false],
      ['no usage at all', chunk('a') + done, false],
    ];
    for (const [name, sent, isPaid] of endings) {
      test(`G-30 G-31 ${name}: ${isPaid ? 'succeeded' : 'failed and free'}, and the client gets it whole`, async () => {
        gateway.upstream.answer(() => streamOf(sent));
        const { response, id } = await call();
        expect(await response.text()).toBe(restamped(sent));
        const [row] = await gateway.calls(id, 1);
        expect(row?.outcome).toBe(isPaid ? 'SUCCEEDED' : 'FAILED');
        expect(row?.prompt_tokens === null).toBe(!isPaid);
      });
    }

    test.each(['', 'text/plain', 'application/json'])(
      'a stream that its provider sends as %p is a stream',
      async (type) => {
        const sent = [chunk('Hel'), chunk('lo') + usageChunk, done];
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

    test('G-31 the client disconnects before the usage: the upstream is aborted at once, the call failed and not charged', async () => {
      const { stream, got, id, leave, reading } = await running();
      await until(() => got.text.includes('first'));
      leave();
      await stream.left;
      await reading;
      const [row] = await gateway.calls(id, 1);
      expect(row).toMatchObject({ outcome: 'FAILED', reason: 'client-left', prompt_tokens: null });
      expect(Number(row?.estimated_tokens)).toBeGreaterThan(0);
    });

    test('G-30 the client disconnects after the usage: the call is charged', async () => {
      const { stream, got, id, leave, reading } = await running();
      stream.send(usageChunk);
      await until(() => got.text.includes('usage'));
      leave();
      await reading;
      const [row] = await gateway.calls(id, 1);
      expect(row).toMatchObject({ outcome: 'SUCCEEDED', prompt_tokens: 7n });
    });

    const breaks: [string, (stream: StreamScript) => void, string][] = [
      ['a broken connection', (stream) => stream.fail(), 'upstream-broken'],
      [
        'an error event',
        (stream) => stream.send('data: {"error":{"message":"overloaded at provider-model-x"}}\n\n'),
        'upstream-error-event',
      ],
      ['silence', () => clock.setAhead(TIMEOUT_MS), 'upstream-idle'],
      ['half an event', endInTheMiddle, 'upstream-cut-off'],
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
        const [row] = await gateway.calls(id, 1);
        expect(row).toMatchObject({ outcome: 'FAILED', reason, prompt_tokens: null });
      });
    }

    test('G-31 a key whose streams keep ending without usage raises an alert', async () => {
      gateway.upstream.answer(() => streamOf(chunk('a') + done));
      const { rawKey, id } = await gateway.mint();
      for (let n = 0; n < 5; n += 1)
        await (await post(`${gateway.url}/chat/completions`, rawKey, body)).text();
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
    gateway.upstream.answer(
      () => new Response(endless, { headers: { 'content-type': 'text/event-stream' } }),
    );
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
});

describe('what a stream is charged', () => {
  const body = { model: 'svc/chat-default', messages: [], stream: true, max_tokens: 10 };

  const gateway = useResource(() => openGateway({ clock }));

  async function start(init: RequestInit = {}) {
    const { rawKey, id } = await gateway.mint();
    const response = await post(`${gateway.url}/chat/completions`, rawKey, body, init);
    return { response, id };
  }

  /** What the call's row and the ledger say, and what the balance lost. */
  async function bookedFor(keyId: string, before: bigint) {
    const [call] = await gateway.calls(keyId, 1);
    const charges = await gateway.credits.chargesOf(call?.id);
    await until(async () => (await gateway.credits.held()) === 0);
    const { balanceMicro } = await gateway.credits.level();
    return { call, charges, lostMicro: before - balanceMicro };
  }

  async function expectFree(keyId: string, before: bigint, reason: string): Promise<void> {
    const { call, charges, lostMicro } = await bookedFor(keyId, before);
    expect(call).toMatchObject({ outcome: 'FAILED', reason, charge_micro: 0n, price_id: null });
    expect(charges).toEqual([]);
    expect(lostMicro).toBe(0n);
  }

  const balance = async () => (await gateway.credits.level()).balanceMicro;

  describe('recorded streams over a real socket', () => {
    for (const recorded of recordedStreams) {
      const { name, usage } = recorded;
      const isCharged = ends(recorded) && usage !== null;
      test(`G-30 G-31 ${name}: ${isCharged ? 'charged by its usage, once' : 'failed and free'}`, async () => {
        gateway.upstream.answer(() => streamOf(readRecordedStream(name)));
        const before = await balance();
        const { response, id } = await start();
        const text = await response.text();
        if (!isCharged) {
          const reason = ends(recorded) ? 'no-usage' : 'upstream-error-event';
          await expectFree(id, before, reason);
          expect(text.includes('[DONE]')).toBe(false);
          return;
        }
        const cost = priceOf(price, usage);
        const { call, charges, lostMicro } = await bookedFor(id, before);
        expect(call).toMatchObject({ outcome: 'SUCCEEDED', charge_micro: cost });
        const posted = { amount_micro: -cost, type: 'USAGE', charge_micro: cost, is_priced: true };
        // Explicit zeros are usage: such a call counts, and there is nothing to book for it.
        expect(charges).toEqual(cost === 0n ? [] : [posted]);
        expect(lostMicro).toBe(cost);
      });
    }
  });

  describe('recorded streams that are ended early', () => {
    async function leaveAfter(what: 'usage' | 'before usage') {
      const stream = openStream();
      gateway.upstream.answer(() => stream.response);
      stream.send(begun(what));
      const stop = new AbortController();
      const before = await balance();
      const { response, id } = await start({ signal: stop.signal });
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      let text = '';
      while (text.length < begun(what).length * 0.9) {
        const { value } = await reader.read();
        text += new TextDecoder().decode(value);
      }
      stop.abort();
      await reader.cancel().catch(() => {});
      await stream.left;
      return { id, before };
    }

    test('G-31, billing bug 17: the client disconnects before the usage: the upstream is aborted, the call failed and not charged', async () => {
      const { id, before } = await leaveAfter('before usage');
      await expectFree(id, before, 'client-left');
    });

    test('G-30 the client disconnects after the usage: charged', async () => {
      const { id, before } = await leaveAfter('usage');
      const { call, charges, lostMicro } = await bookedFor(id, before);
      expect(call?.outcome).toBe('SUCCEEDED');
      expect(charges).toHaveLength(1);
      expect(lostMicro).toBe(
        priceOf(price, { promptTokens: 1_287, cachedTokens: 1_024, completionTokens: 31 }),
      );
    });

    for (const [how, reason] of [
      ['resets', 'upstream-broken'],
      ['falls silent', 'upstream-idle'],
    ] as const) {
      test(`G-30 G-31 the upstream ${how} after its usage: failed and not charged`, async () => {
        const stream = openStream();
        gateway.upstream.answer(() => stream.response);
        stream.send(begun('usage'));
        const before = await balance();
        const { response, id } = await start();
        if (how === 'resets') {
          const reader = (response.body as ReadableStream<Uint8Array>).getReader();
          await reader.read();
          stream.fail();
          for (let next = await reader.read(); !next.done; next = await reader.read());
        } else {
          clock.setAhead(TIMEOUT_MS);
          expect(await response.text()).toContain('LLM_GATEWAY_UNAVAILABLE');
        }
        await expectFree(id, before, reason);
      });
    }
  });
});
