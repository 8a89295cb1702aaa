import { describe, expect, test } from 'bun:test';
import { createSeededRandom } from '../../../test/doubles/seeded-random.ts';
import {
  createSseEventCutter,
  placeInEvent,
  readSseEventData,
  type SseEventData,
  writtenEvent,
} from './server-sent-events.ts';

const bytesOf = (text: string) => new TextEncoder().encode(text);

interface Cut {
  readonly events: string[];
  readonly rest: string | null;
  readonly fit: 'fits' | 'too-large';
}

/** The events that each chunk completed, chunk by chunk; a late line feed is "+\n". */
function cutChunks(chunks: readonly (string | Uint8Array)[], maxEventBytes = 1_000): Cut {
  const cutter = createSseEventCutter({ maxEventBytes });
  const events: string[] = [];
  for (const chunk of chunks) {
    const fit = cutter.push(typeof chunk === 'string' ? bytesOf(chunk) : chunk, (event) => {
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(
        event.source.subarray(event.start, event.end),
      );
      events.push(event.isLateLineFeed ? `+${text}` : text);
      return true;
    });
    if (fit === 'too-large') return { events, rest: null, fit };
  }
  const rest = cutter.rest();
  const text = rest === null ? null : new TextDecoder().decode(rest.source.subarray(rest.start, rest.end));
  return { events, rest: text, fit: 'fits' };
}

function read(text: string): { source: Uint8Array; data: SseEventData } {
  const all: { source: Uint8Array; data: SseEventData }[] = [];
  createSseEventCutter({ maxEventBytes: 1_000 }).push(new TextEncoder().encode(text), (event) => {
    all.push({ source: event.source, data: readSseEventData(event) });
    return true;
  });
  const [only] = all;
  if (only === undefined || all.length > 1) throw new Error(`${all.length} events in ${text}`);
  return only;
}

/** The data as text, or the kind of event that has none. */
function summary(text: string): string {
  const { data } = read(text);
  if (data.kind !== 'data') return data.kind;
  return `data ${new TextDecoder().decode(data.bytes.subarray(data.start, data.end))}`;
}

describe('events are complete with their blank line', () => {
  test.each([
    ['several in one chunk', ['data: a\n\n: b\n\ndata: c\n\n'], ['data: a\n\n', ': b\n\n', 'data: c\n\n']],
    ['in many chunks', ['da', 'ta: a', '\n', '\n', 'data: b\n\n'], ['data: a\n\n', 'data: b\n\n']],
    [
      'line ends of \\r\\n',
      ['data: a\r\nid: 1\r\n\r\ndata: b\r\n\r\n'],
      ['data: a\r\nid: 1\r\n\r\n', 'data: b\r\n\r\n'],
    ],
    ['a \\n after a \\r\\n is a blank line', ['data: a\r\n\ndata: b\n\r'], ['data: a\r\n\n', 'data: b\n\r']],
    [
      'blank lines between events',
      ['\n\ndata: a\n\n\ndata: b\n\n'],
      ['\n', '\n', 'data: a\n\n', '\n', 'data: b\n\n'],
    ],
    ['a chunk of nothing', ['data: a\r', '', '\n\r', '', '\n'], ['data: a\r\n\r', '+\n']],
  ])('%s', (_, chunks, events) => {
    expect(cutChunks(chunks)).toEqual({ events, rest: null, fit: 'fits' });
  });

  test('an event that ends in \\r does not wait for the \\n that may follow', () => {
    const cut = cutChunks(['data: a\r\n\r', '\ndata: b\r\n\r\n']);
    expect(cut.events).toEqual(['data: a\r\n\r', '+\n', 'data: b\r\n\r\n']);
    expect(cutChunks(['data: a\r', '\n\r\n']).events).toEqual(['data: a\r\n\r\n']);
    expect(cutChunks(['data: a\r\r', 'data: b\r\r']).events).toEqual(['data: a\r\r', 'data: b\r\r']);
  });

  test('a byte order mark at the start is left out, also in pieces', () => {
    expect(cutChunks(['\ufeffdata: a\n\n\ufeffdata: b\n\n']).events).toEqual([
      'data: a\n\n',
      '\ufeffdata: b\n\n',
    ]);
    const marked = bytesOf('\ufeffdata: a\n\n');
    const pieces = Array.from(marked, (_, at) => marked.subarray(at, at + 1));
    expect(cutChunks(pieces).events).toEqual(['data: a\n\n']);
  });

  test('the first line and the number of lines are known, for any chunks', () => {
    const bytes = bytesOf('\ufeff: ping\ndata: ä\r\n\r\n');
    for (let cut = 0; cut < bytes.length; cut += 1) {
      const cutter = createSseEventCutter({ maxEventBytes: 100 });
      const seen: unknown[] = [];
      for (const chunk of [bytes.subarray(0, cut), bytes.subarray(cut)]) {
        cutter.push(chunk, ({ source, start, firstLineEnd, lines, isLateLineFeed }) => {
          const first = new TextDecoder().decode(source.subarray(start, firstLineEnd));
          if (!isLateLineFeed) seen.push({ first, lines });
          return true;
        });
      }
      expect(seen).toEqual([{ first: ': ping', lines: 2 }]);
    }
  });
});

test.each([
  ['nothing', 'data: a\n\n', null],
  ['a line that is not ended', 'data: a', 'data: a\n\n'],
  ['a line ended with \\n', 'data: a\n', 'data: a\n\n'],
  ['a line ended with \\r, which the first \\n only completes', 'data: a\r', 'data: a\r\n\n'],
])('the rest is completed with a blank line: %s', (_, text, rest) => {
  expect(cutChunks([text]).rest).toBe(rest);
});

describe('an event above the bound ends the reading', () => {
  test.each([
    ['whole, behind one that fits', ['data: 1\n\ndata: 123\n\n']],
    ['growing', ['data: 1\n\n', 'data: 1', '23', '45']],
    ['growing over line ends', ['data: 1\n\n', 'id: 1\n', 'id: 2\n']],
  ])('%s', (_, chunks) => {
    expect(cutChunks(chunks, 10)).toEqual({ events: ['data: 1\n\n'], rest: null, fit: 'too-large' });
  });

  test('at the bound it fits, and the bound is the same for any chunks', () => {
    for (const [text, bound] of [
      ['data: 12\n\n', 10],
      ['data: 1\r\n\r\n', 10],
      ['data: 12\r\r', 10],
    ] as const) {
      for (let cut = 0; cut <= text.length; cut += 1) {
        const chunks = [text.slice(0, cut), text.slice(cut)];
        expect(cutChunks(chunks, bound).fit).toBe('fits');
        expect(cutChunks(chunks, bound - 1).fit).toBe('too-large');
      }
    }
  });
});

test('any bytes in any chunks give the same events, none lost', () => {
  for (let seed = 1; seed <= 2_000; seed += 1) {
    const random = createSeededRandom(seed);
    const bytes = bytesOf(random.text(random.below(60), 'data: \n\n\n\r\rü'));
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; ) {
      const size = 1 + random.below(12);
      chunks.push(bytes.subarray(at, at + size));
      at += size;
    }
    const merged = (cut: Cut) => ({ ...cut, events: cut.events.join('|').replaceAll('|+', '') });
    const whole = cutChunks([bytes]);
    expect({ seed, ...merged(cutChunks(chunks)) }).toEqual({ seed, ...merged(whole) });
    const text = new TextDecoder().decode(bytes);
    const through = whole.events.join('');
    expect(text.startsWith(through)).toBe(true);
    expect(whole.rest ?? '').toStartWith(text.slice(through.length));
  }
});

describe('fields of an event', () => {
  test.each([
    ['data: {"a":1}\n\n', 'data {"a":1}'],
    ['data:{"a":1}\n\n', 'data {"a":1}'],
    ['data:\n\n', 'data '],
    ['data\n\n', 'data '],
    ['database: a\n\n', 'none'],
    [': data: a\n\n', 'none'],
    ['id: 1\nretry: 5\n\n', 'none'],
    ['id: 1\nevent: message\ndata: a\n\n', 'data a'],
    ['data: a\ndata: b\n\n', 'data a\nb'],
    ['data: a\r\n: c\r\ndata\r\ndata:b\r\n\r\n', 'data a\n\nb'],
    ['data: [DONE]\n\n', 'done'],
    ['data: [DONE] \n\n', 'done'],
    ['data: [DONE]\ndata:\n\n', 'done'],
    [': [DONE]\n\n', 'none'],
    ['event: error\ndata: {"message":"a"}\n\n', 'error'],
    ['data: a\nevent: error\n\n', 'error'],
    ['event: errors\ndata: a\n\n', 'data a'],
  ])('%j', (text, expected) => {
    expect(summary(text)).toBe(expected);
  });

  test('every byte of joined data has its position in the event', () => {
    const { source, data } = read(': a\r\ndata: {"ä":\r\nid: 7\r\ndata:\r\ndata:1\r\ndata: }\r\n\r\n');
    if (data.kind !== 'data') throw new Error(data.kind);
    expect(new TextDecoder().decode(data.bytes)).toBe('{"ä":\n\n1\n}');
    const LINE_FEED = 0x0a;
    for (const [at, byte] of data.bytes.entries()) {
      if (byte !== LINE_FEED) expect(source[placeInEvent(data.joinedFrom, at)]).toBe(byte);
    }
  });
});

test('an event that we write is one line of data, after its name if it has one', () => {
  const data = { error: { message: 'The stream\nbroke.' } };
  const text = new TextDecoder().decode(writtenEvent({ name: null, data }));
  expect(text).toEndWith('\n\n');
  expect(text.trimEnd().split('\n')).toHaveLength(1);
  expect(JSON.parse(summary(text).slice('data '.length))).toEqual(data);
  expect(new TextDecoder().decode(writtenEvent({ name: 'error', data }))).toBe(`event: error\n${text}`);
});
