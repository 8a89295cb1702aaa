import { gzipSync } from 'node:zlib';
import type { SeededRandom } from '../doubles/seeded-random.ts';

/** One answer of a provider, down to its bytes. */
export interface GeneratedAnswer {
  readonly bytes: Uint8Array;
  /** Null where the bytes were damaged: their content is unknown. */
  readonly expected: {
    readonly status: number;
    readonly contentType: string;
    readonly body: Uint8Array;
  } | null;
  /** The provider closes the connection after the last byte. */
  readonly closes: boolean;
}

const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
const STATUSES = [200, 200, 200, 201, 204, 304, 400, 401, 404, 429, 500, 503] as const;
const TYPES = [
  'application/json',
  'text/event-stream',
  'Text/Plain',
  'application/json; charset="utf-8"',
  '',
];
const OTHERS = [
  'date: Sun, 15 Nov 2026 10:00:00 GMT',
  'x-request-id: abc',
  'server: a b c',
  'X-Empty:',
  'vary:\t*',
];

/** A whole and unambiguous answer, in one of the many ways in which it may be written; `mayPack`: or compressed. */
export function generateAnswer(random: SeededRandom, mayPack = true): GeneratedAnswer {
  const status = random.pick(STATUSES);
  const isEmpty = status === 204 || status === 304;
  const body = isEmpty ? new Uint8Array(0) : bodyOf(random);
  const isPacked = mayPack && !isEmpty && random.below(12) === 0;
  const sent = isPacked ? new Uint8Array(gzipSync(body)) : body;
  const contentType = random.pick(TYPES);
  const framing = isEmpty
    ? 'none'
    : random.pick(['length', 'length', 'chunked', 'chunked', 'close'] as const);
  const isHttp10 = framing !== 'chunked' && random.below(10) === 0;
  const lines = [
    ...Array.from({ length: random.below(6) }, () => random.pick(OTHERS)),
    ...(contentType === '' ? [] : [header(random, 'Content-Type', contentType)]),
    ...(isPacked ? [header(random, 'Content-Encoding', 'gzip')] : []),
    ...(framing === 'length' ? [header(random, 'Content-Length', `${sent.length}`)] : []),
    ...(framing === 'chunked'
      ? [header(random, 'Transfer-Encoding', random.pick(['chunked', 'Chunked']))]
      : []),
    ...(random.below(5) === 0 ? [header(random, 'Connection', random.pick(['close', 'keep-alive']))] : []),
    ...(random.below(8) === 0 ? [header(random, 'Keep-Alive', 'timeout=5, max=100')] : []),
  ];
  shuffle(random, lines);
  const reason = random.pick([' OK', ' ', ' Some Words', '']);
  const head = `${interim(random)}HTTP/1.${isHttp10 ? 0 : 1} ${status}${reason}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
  const framed = framing === 'chunked' ? chunked(random, sent) : sent;
  return {
    bytes: joined([latin1(head), framed]),
    expected: { status, contentType: (contentType.split(';')[0] ?? '').toLowerCase(), body },
    // Elsewhere a client may have sent its next call by then.
    closes: framing === 'close' || /^connection:\s*close/im.test(head),
  };
}

/** The same with one to three faults in it, most of them where it is framed. */
export function damaged(random: SeededRandom, { bytes }: GeneratedAnswer): GeneratedAnswer {
  let text = [...bytes].map((byte) => String.fromCharCode(byte)).join('');
  for (let faults = 1 + random.below(3); faults > 0; faults -= 1) text = random.pick(FAULTS)(random, text);
  return { bytes: latin1(text), expected: null, closes: true };
}

type Fault = (random: SeededRandom, text: string) => string;

const BYTES = '\r\n \t:;,0159aAfFgGxX-+"\0\x7f\x80\xff';
const at = (random: SeededRandom, text: string) => random.below(Math.max(1, Math.min(text.length, 400)));
const put = (text: string, from: number, to: number, by: string) => text.slice(0, from) + by + text.slice(to);

const FAULTS: readonly Fault[] = [
  (random, text) => {
    const place = at(random, text);
    return put(text, place, place + 1, random.text(1, BYTES));
  },
  (random, text) => {
    const place = at(random, text);
    return put(text, place, place, random.text(1 + random.below(3), BYTES));
  },
  (random, text) => {
    const place = at(random, text);
    return put(text, place, place + 1 + random.below(4), '');
  },
  (random, text) => text.slice(0, random.below(text.length + 1)),
  (random, text) => text + random.text(1 + random.below(20), BYTES),
  (random, text) =>
    replaceNth(random, text, '\r\n', random.pick(['\n', '\r', '\r\n ', '\r\n\r\n', '\n\r', '\r\r\n'])),
  (random, text) => {
    const more = random.pick([
      ...['content-length: 5', 'Content-Length: 0', 'content-length: 5, 5', 'transfer-encoding: chunked'],
      ...[
        'transfer-encoding: gzip, chunked',
        'transfer-encoding : chunked',
        'content-length: 0x5',
        'a: b\r\n c',
      ],
      ...['transfer-encoding: identity', ' folded', 'no colon', 'content-length: -1', 'content-length:5 '],
    ]);
    return replaceNth(random, text, '\r\n', `\r\n${more}\r\n`);
  },
];

function replaceNth(random: SeededRandom, text: string, part: string, by: string): string {
  const places: number[] = [];
  for (
    let place = text.indexOf(part);
    place >= 0 && places.length < 40;
    place = text.indexOf(part, place + 1)
  ) {
    places.push(place);
  }
  if (places.length === 0) return text;
  const place = random.pick(places);
  return put(text, place, place + part.length, by);
}

function bodyOf(random: SeededRandom): Uint8Array {
  const length = random.pick([0, 1, 2, 17, 100, 1_000, 5_000]);
  const alphabet = random.pick(['abc\r\n0 ', 'data: {}\n\n', '{"a": "\u00e9"}']);
  return latin1(random.text(length, alphabet));
}

function header(random: SeededRandom, name: string, value: string): string {
  const written = random.pick([name, name.toLowerCase(), name.toUpperCase()]);
  return `${written}:${random.pick([' ', '', '\t', '  '])}${value}${random.pick(['', '', ' ', '\t'])}`;
}

function interim(random: SeededRandom): string {
  if (random.below(10) > 0) return '';
  return random.pick(['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n']);
}

function chunked(random: SeededRandom, body: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [];
  for (let from = 0; from < body.length; ) {
    const to = Math.min(body.length, from + 1 + random.below(random.pick([3, 50, 6_000])));
    const size = (to - from).toString(16);
    const written = random.pick([size, size.toUpperCase(), `00${size}`]);
    parts.push(
      latin1(`${written}${random.pick(['', '', ';a', ';a="b;c"'])}\r\n`),
      body.subarray(from, to),
      latin1('\r\n'),
    );
    from = to;
  }
  parts.push(latin1(`0\r\n${random.pick(['', '', '', 'x-sum: 1\r\n'])}\r\n`));
  return joined(parts);
}

function shuffle(random: SeededRandom, lines: string[]): void {
  for (let last = lines.length - 1; last > 0; last -= 1) {
    const other = random.below(last + 1);
    [lines[last], lines[other]] = [lines[other] as string, lines[last] as string];
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}
