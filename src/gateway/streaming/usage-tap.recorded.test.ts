/** Every recorded stream, with each kind of line end, cut at every byte. */
import { describe, expect, test } from 'bun:test';
import { type RecordedStream, readRecordedStream, recordedStreams } from '../../../test/recorded/streams.ts';
import { createUsageTap, type TapEnd, type TapOutput } from './usage-tap.ts';

const ALIAS = 'svc/chat-"default"';
const LINE_ENDS = { '\\n': '\n', '\\r\\n': '\r\n', '\\r': '\r' };

interface Heard {
  readonly text: string;
  readonly done: string | null;
  readonly broken: TapEnd['broken'];
  readonly usage: unknown;
  readonly contentBytes: number;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
const textOf = (bytes: Uint8Array | null) => (bytes === null ? null : utf8.decode(bytes));

function listen(chunks: Iterable<Uint8Array>): Heard {
  const tap = createUsageTap({ alias: ALIAS, maxEventBytes: 4_096 });
  let text = '';
  let last: TapOutput | null = null;
  for (const chunk of chunks) {
    last = tap.push(chunk);
    // Decoded piece by piece and strictly: half a character would throw.
    text += textOf(last.bytes) ?? '';
  }
  const end = tap.end();
  text += textOf(end.bytes) ?? '';
  expect(last?.done).toBe(end.doneBytes !== null);
  return {
    text,
    done: textOf(end.doneBytes),
    broken: end.broken,
    usage: tap.usage(),
    contentBytes: tap.contentBytes(),
  };
}

/** What must come out, made in another way: by names in the text. */
function expectedOf(stream: RecordedStream, lineEnd: string): Heard {
  const blank = '\n\n';
  const events = readRecordedStream(stream.name).replaceAll('\r\n', '\n').split(blank).slice(0, -1);
  const passing = stream.errorAt === null ? events : events.slice(0, stream.errorAt);
  const isDone = (event: string) => /^data: ?\[DONE]$/.test(event);
  const framed = (list: readonly string[]) =>
    list.map((event) => `${event}${blank}`.replaceAll('\n', lineEnd)).join('');
  let text = framed(passing.filter((event) => !isDone(event)));
  for (const name of stream.providerNames) {
    for (const field of ['model', 'provider']) {
      for (const colon of [':', ': ']) {
        text = text.replaceAll(
          `"${field}"${colon}${JSON.stringify(name)}`,
          `"${field}"${colon}${JSON.stringify(ALIAS)}`,
        );
      }
    }
  }
  return {
    text,
    done: stream.hasDone ? framed(passing.filter(isDone)) : null,
    broken: stream.errorAt === null ? null : 'error-event',
    usage: stream.usage,
    contentBytes: writtenIn(passing),
  };
}

const WRITTEN = ['content', 'text', 'arguments', 'reasoning', 'reasoning_content', 'refusal'];

/** The bytes of all texts by those names, as they stand in JSON. */
function writtenIn(events: readonly string[]): number {
  let written = 0;
  for (const line of events.join('\n').split('\n')) {
    const object = /^data: ?(\{.*)/.exec(line)?.[1];
    if (object === undefined) continue;
    JSON.parse(object, (name, value) => {
      if (WRITTEN.includes(name) && typeof value === 'string') {
        written += new TextEncoder().encode(JSON.stringify(value)).length - 2;
      }
      return value;
    });
  }
  return written;
}

function bytesOf(stream: RecordedStream, lineEnd: string): Uint8Array {
  const text = readRecordedStream(stream.name).replaceAll('\r\n', '\n').replaceAll('\n', lineEnd);
  return new TextEncoder().encode(text);
}

describe.each(recordedStreams)('$name', (stream) => {
  test.each(Object.entries(LINE_ENDS))(
    'G-13 G-16 G-30 all in one chunk, lines ending in %s',
    (_, lineEnd) => {
      expect(listen([bytesOf(stream, lineEnd)])).toEqual(expectedOf(stream, lineEnd));
    },
  );

  test.each(Object.entries(LINE_ENDS))('cut in two at every byte, lines ending in %s', (_, lineEnd) => {
    const bytes = bytesOf(stream, lineEnd);
    const expected = expectedOf(stream, lineEnd);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const heard = listen([bytes.subarray(0, cut), bytes.subarray(cut)]);
      if (!Bun.deepEquals(heard, expected)) expect({ cut, ...heard }).toEqual({ cut, ...expected });
    }
  });

  test.each(Object.entries(LINE_ENDS))('byte by byte, lines ending in %s', (_, lineEnd) => {
    const bytes = bytesOf(stream, lineEnd);
    const each = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
    expect(listen(each)).toEqual(expectedOf(stream, lineEnd));
  });

  test('G-16 no value that names the provider is left', () => {
    const { text } = listen([bytesOf(stream, '\n')]);
    for (const line of text.split('\n')) {
      if (!line.startsWith('data:')) continue;
      const chunk = JSON.parse(line.slice('data:'.length));
      expect(chunk.model).toBe(ALIAS);
      expect([undefined, ALIAS]).toContain(chunk.provider);
    }
  });
});
