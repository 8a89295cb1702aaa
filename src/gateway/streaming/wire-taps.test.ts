import { describe, expect, test } from 'bun:test';
import { readRecordedStream, recordedWireStreams } from '../../../test/recorded/streams.ts';
import type { ClientWire } from '../json/client-wire.ts';
import { createUsageTap } from './usage-tap.ts';

const ALIAS = 'svc/chat-"default"';
const LAST = /"type":"(?:response\.(?:completed|incomplete|failed)|message_stop)"/;
const LINE_ENDS = [
  ['\\n', '\n', 1],
  ['\\r\\n', '\r\n', 7],
  ['\\r', '\r', 7],
] as const;

type Stream = (typeof recordedWireStreams)[number];

const utf8 = new TextDecoder('utf-8', { fatal: true });
const textOf = (bytes: Uint8Array | null) => (bytes === null ? null : utf8.decode(bytes));

function heard(wire: ClientWire, chunks: Iterable<Uint8Array>, maxEventBytes = 8_192) {
  const tap = createUsageTap({ wire, alias: ALIAS, maxEventBytes });
  let text = '';
  for (const chunk of chunks) text += textOf(tap.push(chunk).bytes) ?? '';
  const end = tap.end();
  text += textOf(end.bytes) ?? '';
  const { usage, contentBytes, events, responseId } = tap;
  const counts = { usage: usage(), contentBytes: contentBytes(), events: events(), id: responseId() };
  return { text, done: textOf(end.doneBytes), broken: end.broken, ...counts };
}

/** What must come out, made in another way: by names in the text, and by JSON.parse. */
function expectedOf({ name, providerNames, usage, hasDone, errorAt }: Stream, lineEnd: string) {
  const events = readRecordedStream(name).split('\n\n').slice(0, -1);
  const passing = errorAt === null ? events : events.slice(0, errorAt);
  const framed = (list: readonly string[]) =>
    list
      .map((event) => `${event}\n\n`.replaceAll('\n', lineEnd))
      .join('')
      .replaceAll(`"model":${JSON.stringify(providerNames[0])}`, `"model":${JSON.stringify(ALIAS)}`);
  const objects = passing.map((event) => JSON.parse(event.slice(event.indexOf('data: ') + 6)));
  return {
    text: framed(passing.filter((event) => !LAST.test(event))),
    done: hasDone ? framed(passing.filter((event) => LAST.test(event))) : null,
    broken: errorAt === null ? (hasDone ? null : 'cut-off') : 'error-event',
    usage,
    contentBytes: objects.map((object) => writtenIn(object.delta)).reduce((sum, size) => sum + size, 0),
    events: passing.length,
    id: (objects[0].response ?? objects[0].message).id,
  } as const;
}

/** A delta is a text, or has one by one of these names. */
function writtenIn(delta: unknown): number {
  if (typeof delta === 'string') return new TextEncoder().encode(JSON.stringify(delta)).length - 2;
  if (typeof delta !== 'object' || delta === null) return 0;
  const { text, thinking, partial_json: json } = delta as Record<string, unknown>;
  return writtenIn(text ?? thinking ?? json ?? null);
}

describe.each(recordedWireStreams)('$name', (stream) => {
  test.each(LINE_ENDS)('G-13 G-16 G-30 for any chunks, lines ending in %s', (_, lineEnd, step) => {
    const bytes = new TextEncoder().encode(readRecordedStream(stream.name).replaceAll('\n', lineEnd));
    const expected = expectedOf(stream, lineEnd);
    expect(heard(stream.wire, [bytes])).toEqual(expected);
    for (let cut = 0; cut <= bytes.length; cut += step) {
      const parts = heard(stream.wire, [bytes.subarray(0, cut), bytes.subarray(cut)]);
      if (!Bun.deepEquals(parts, expected)) expect({ cut, ...parts }).toEqual({ cut, ...expected });
    }
    const each = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
    expect(heard(stream.wire, each)).toEqual(expected);
  });
});

const event = (object: { readonly type: string }) =>
  `event: ${object.type}\ndata: ${JSON.stringify(object)}\n\n`;
const hear = (wire: ClientWire, text: string, most?: number) =>
  heard(wire, [new TextEncoder().encode(text)], most);

describe('the last event', () => {
  const usage = { input_tokens: 3, output_tokens: 4 };
  const completed = event({
    type: 'response.completed',
    ...{ response: { id: 'resp_1', model: 'm', usage } },
  });

  test('is recognised by its type, whatever the name of the event, and a following [DONE] waits too', () => {
    const nameless = completed.replace(/^event: .*\n/, '');
    const { text, done } = hear('responses', `${nameless}: bye\n\ndata: [DONE]\n\n`);
    expect(text).toBe(': bye\n\n');
    expect(done).toBe(`${nameless.replace('"m"', JSON.stringify(ALIAS))}data: [DONE]\n\n`);
  });

  test('in a body that ends before its blank line is still delayed, and gets one', () => {
    expect(hear('messages', 'data: {"type":"message_stop"}')).toMatchObject({
      text: '',
      done: 'data: {"type":"message_stop"}\n\n',
    });
  });

  test('repeated is not delayed without bound', () => {
    expect(hear('messages', event({ type: 'message_stop' }).repeat(100), 1_000).broken).toBe('too-large');
    expect(hear('completions', 'data: [DONE]\n\n'.repeat(100), 1_000).broken).toBe('too-large');
  });

  test('of one wire is an ordinary event on another', () => {
    const stop = event({ type: 'message_stop' });
    expect(hear('completions', stop)).toMatchObject({ text: stop, done: null, broken: null });
    expect(hear('responses', stop)).toMatchObject({ text: stop, done: null, broken: 'cut-off' });
  });

  test('may be missing where usage has arrived', () => {
    const delta = event({ type: 'message_delta', ...{ usage: { output_tokens: 4 } } });
    expect(hear('messages', delta)).toMatchObject({ text: delta, done: null, broken: null });
  });
});

describe('usage', () => {
  const started = (usage: object) => event({ type: 'message_start', ...{ message: { model: 'm', usage } } });
  const delta = (usage: object) => event({ type: 'message_delta', ...{ usage } });

  test('of Messages is incomplete before the output is counted, and the later count applies', () => {
    expect(hear('messages', started({ input_tokens: 5, output_tokens: 1 })).usage).toBeNull();
    const twice = started({ input_tokens: 5 }) + delta({ output_tokens: 2 }) + delta({ output_tokens: 9 });
    expect(hear('messages', twice).usage).toEqual({ promptTokens: 5, cachedTokens: 0, completionTokens: 9 });
  });

  test('of Messages keeps a corrected prompt that a later event does not repeat, and no wrong one', () => {
    const late = started({ input_tokens: 0 }) + delta({ input_tokens: 500, cache_read_input_tokens: 20 });
    const more = delta({ input_tokens: -1, output_tokens: 3 }) + delta({ output_tokens: 9 });
    expect(hear('messages', late + more).usage).toEqual({
      ...{ promptTokens: 520, cachedTokens: 20, completionTokens: 9 },
    });
  });

  test.each([
    ['0', started({ input_tokens: 0, output_tokens: 1 }), '"input_tokens":77,'],
    ['0, in another order', started({ cache_read_input_tokens: 0, input_tokens: 0 }), '"input_tokens":77}'],
    ['counts', started({ input_tokens: 3 }), '"input_tokens":3}'],
    ['counts of a cache', started({ input_tokens: 0, cache_read_input_tokens: 3 }), '"input_tokens":0,'],
    ['no count', started({ output_tokens: 1 }), '{"output_tokens":1}'],
  ])(
    'of Messages that begins with %s is shown estimated only where it is 0, and never read so',
    (_, first, shown) => {
      const tap = createUsageTap({ wire: 'messages', alias: ALIAS, maxEventBytes: 8_192, inputEstimate: 77 });
      const later = delta({ output_tokens: 2 });
      const [begun, ended] = [first, later].map((text) =>
        textOf(tap.push(new TextEncoder().encode(text)).bytes),
      );
      expect(begun).toContain(shown);
      expect(begun).toContain(`"model":${JSON.stringify(ALIAS)}`);
      expect(ended).toBe(later);
      expect(tap.usage()).toEqual(hear('messages', first + later).usage);
    },
  );

  test('that is implausible is ignored', () => {
    expect(hear('messages', started({ input_tokens: -1 }) + delta({ output_tokens: 2 })).usage).toBeNull();
    const most = Number.MAX_SAFE_INTEGER;
    const tooMany =
      started({ input_tokens: most, cache_read_input_tokens: most }) + delta({ output_tokens: 2 });
    expect(hear('messages', tooMany).usage).toBeNull();
  });

  test('at other positions than the wire’s own does not count', () => {
    const fake = { prompt_tokens: 1, completion_tokens: 1, input_tokens: 1, output_tokens: 1 };
    const nested = event({ type: 'response.x', ...{ item: { response: { usage: fake } }, usage: fake } });
    expect(hear('responses', nested).usage).toBeNull();
    expect(hear('messages', event({ type: 'x', ...{ response: { usage: fake } } })).usage).toBeNull();
  });
});

test.each([
  ['completions', '{"usage":{"prompt_tokens":1,USAGE},"model":"m"}'],
  ['responses', '{"type":"response.completed","response":{"model":"m","usage":{USAGE,"input_tokens":1}}}'],
  ['messages', '{"type":"message_start","message":{"usage":{"input_tokens":1,USAGE},"model":"m"}}'],
  ['messages', '{"type":"message_delta","usage":{"output_tokens":1,USAGE}}'],
] as const)(
  'the costs in a stream of %s are removed if they are hidden, also in data of several lines',
  (wire, form) => {
    const data = form.replace('USAGE', '"cost":0.25,\n"cost_details":{"upstream_inference_cost":0.2}');
    const events = `data: ${data.replace('\n', '\ndata: ')}\n\n`;
    for (const hidesCosts of [true, false]) {
      const tap = createUsageTap({ wire, alias: ALIAS, maxEventBytes: 8_192, hidesCosts });
      const passed = textOf(tap.push(new TextEncoder().encode(events)).bytes) ?? '';
      const text = `${passed}${textOf(tap.end().doneBytes) ?? ''}`;
      const object = JSON.parse(text.replaceAll('data: ', ''));
      const { usage } = object.response ?? object.message ?? object;
      expect([Object.keys(usage).length, text.includes('cost')]).toEqual(hidesCosts ? [1, false] : [3, true]);
    }
  },
);

test('G-16 the error of a failed response is read by withoutNames, in data of several lines too', () => {
  const withoutNames = (text: string) => text.replaceAll('gpt-x', ALIAS);
  const tap = createUsageTap({ wire: 'responses', alias: ALIAS, maxEventBytes: 8_192, withoutNames });
  const lines = [
    '{"type":"response.failed","response":{"error":{"code":"server_error",',
    '"message":"gpt-x is down"},"model":"gpt-x","usage":{"input_tokens":3,"output_tokens":4}}}',
  ];
  const text = lines.map((line) => `data: ${line}\n`).join('');
  tap.push(new TextEncoder().encode(`${text}\n`));
  const last = textOf(tap.end().doneBytes) ?? '';
  const data = last.split('\n').flatMap((line) => /^data: (.*)$/.exec(line)?.[1] ?? []);
  expect(JSON.parse(data.join('\n')).response).toMatchObject({
    ...{ model: ALIAS, error: { code: 'server_error', message: `${ALIAS} is down` } },
  });
});
