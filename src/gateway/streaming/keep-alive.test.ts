import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import type { BodyRead } from '../../ports/model-upstream.ts';
import type { Answering } from '../forwarding/end-call.ts';
import type { ClientWire } from '../json/client-wire.ts';
import { answerStream } from './answer-stream.ts';
import { createKeepAlive } from './keep-alive.ts';

const CHAT = {
  first: 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n',
  last: 'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n',
  done: 'data: [DONE]\n\n',
  ping: ': ping\n\n',
};
const named = (type: string, more: object = {}) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const usage = { input_tokens: 1, output_tokens: 1 };
const STREAMS: Record<ClientWire, typeof CHAT> = {
  completions: CHAT,
  responses: {
    first: named('response.created', { response: { id: 'r' } }),
    last: named('response.output_text.done'),
    done: named('response.completed', { response: { usage } }),
    ping: ': ping\n\n',
  },
  messages: {
    first: named('message_start', { message: { usage } }),
    last: named('message_delta', { usage }),
    done: named('message_stop'),
    ping: 'event: ping\ndata: {"type": "ping"}\n\n',
  },
};

/** A stream of which the test decides when the provider sends what; `text` grows as the client gets it. */
function streamed(wire: ClientWire, idleTimeoutMs = 300_000, own: { idleTimeoutMs?: number } = {}) {
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  const endings: Record<string, unknown>[] = [];
  const stored: string[] = [];
  let give: (read: BodyRead) => void = () => {};
  let idle: ReturnType<typeof clock.after> | null = null;
  const body = {
    read(idleMs: number) {
      const next = Promise.withResolvers<BodyRead>();
      idle = clock.after(idleMs, () => next.resolve('idle'));
      give = (read) => {
        idle?.cancel();
        next.resolve(read);
      };
      return next.promise;
    },
    cancel: () => idle?.cancel(),
  };
  const left = new AbortController();
  const decoder = new TextDecoder();
  const copy = { push: (bytes: Uint8Array) => stored.push(decoder.decode(bytes)) };
  const answering = {
    parts: {
      ...{ clock, log, idleTimeoutMs, keepAlive: createKeepAlive(clock) },
      answerRecorder: { gather: () => copy },
      unpaidEndings: { note() {} },
      abandoned: { left: async () => 'free' },
    },
    call: { id: 'call', bytes: new Uint8Array(), alias: { alias: 'svc/chat-default' }, claim: null },
    context: { requestId: 'r', clientSignal: left.signal, headers: {} },
    target: { id: 'target', ...own },
    answer: { status: 200, contentType: 'text/event-stream', body },
    upstreamAbort: { abort() {} },
    end: async (ending: Record<string, unknown>) => endings.push(ending),
    firstByteMs: 7,
  } as unknown as Answering;
  Object.assign(answering.call, { route: { wire, endpoint: 'chat/completions' }, key: {}, fields: {} });
  const got = { text: '' };
  const reading = (async () => {
    for await (const bytes of answerStream(answering).body as unknown as AsyncIterable<Uint8Array>) {
      got.text += decoder.decode(bytes);
    }
  })();
  const send = async (text: string) => {
    give(new TextEncoder().encode(text));
    await clock.advance(0);
  };
  return {
    clock,
    entries,
    endings,
    stored,
    got,
    reading,
    send,
    end: () => give(null),
    leave: () => left.abort(),
  };
}

test.each(Object.entries(STREAMS) as [ClientWire, typeof CHAT][])(
  'G-42 a silent provider’s %s stream has a ping every 15 seconds, between its events, and none of them is recorded',
  async (wire, { first, last, done, ping }) => {
    const { clock, endings, stored, got, reading, send, end } = streamed(wire);
    await clock.advance(13_000);
    expect(got.text).toBe('');
    await clock.advance(2_000);
    expect(got.text).toBe(ping);
    await send(first + last.slice(0, 10));
    const begun = got.text;
    expect(begun).toStartWith(ping);
    await clock.advance(75_000);
    expect(got.text).toBe(begun + ping.repeat(5));
    await send(last.slice(10) + done);
    end();
    await reading;
    expect(got.text.replaceAll(ping, '')).toBe(stored.join(''));
    expect(got.text).toEndWith(done);
    expect(endings).toMatchObject([{ outcome: 'SUCCEEDED', firstByteMs: 7, tokens: { promptTokens: 1 } }]);
    expect(clock.pendingTimers()).toBe(0);
  },
);

test('G-42 events postpone the ping, and the end stops it', async () => {
  const { clock, got, send, leave } = streamed('completions');
  for (let second = 0; second < 60; second += 10) {
    await clock.advance(10_000);
    await send(CHAT.first);
  }
  expect(got.text).not.toContain('ping');
  leave();
  await clock.advance(60_000);
  expect(got.text).not.toContain('ping');
  expect(clock.pendingTimers()).toBe(0);
});

test.each([
  ['UPSTREAM_IDLE_TIMEOUT_MS', 40_000, {}],
  ['idle_timeout_ms of the target', 9_000, { idleTimeoutMs: 40_000 }],
] as const)(
  'G-42 G-38 %s ends the stream of a silent provider with a message that says so',
  async (limit, setMs, own) => {
    const { clock, got, reading, send, endings, entries } = streamed('completions', setMs, own);
    await send(CHAT.first);
    await clock.advance(40_000);
    await reading;
    expect(got.text).toContain('The model sent nothing for 40 seconds');
    expect(got.text).not.toContain('[DONE]');
    expect(endings).toMatchObject([{ outcome: 'FAILED', reason: 'upstream-idle' }]);
    expect(entries).toMatchObject([
      { level: 'warn', context: { problem: `nothing within 40000 ms (${limit})` } },
    ]);
    expect(clock.pendingTimers()).toBe(0);
  },
);
