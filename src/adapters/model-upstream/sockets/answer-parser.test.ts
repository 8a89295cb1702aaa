import { describe, expect, test } from 'bun:test';
import type { AnswerHead } from './answer-head.ts';
import { createAnswerParser } from './answer-parser.ts';

const toBytes = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
const toText = (bytes: Uint8Array) => String.fromCharCode(...bytes);

interface Parsed {
  readonly head: AnswerHead | null;
  readonly body: string;
  readonly outcome: string;
}

/** `closes`: the connection is closed after the last piece, where the answer is not whole by then. */
function parse(pieces: readonly Uint8Array[], closes = false): Parsed {
  let head: AnswerHead | null = null;
  let body = '';
  const parser = createAnswerParser({
    head(given) {
      head = given;
    },
    body(bytes) {
      expect(bytes.length).toBeGreaterThan(0);
      body += toText(bytes);
    },
  });
  let outcome: string = 'more';
  for (const piece of pieces) {
    outcome = parser.push(piece);
    if (outcome !== 'more') break;
  }
  if (outcome === 'more' && closes) outcome = parser.close();
  return { head, body, outcome: outcome === 'broken' ? `broken: ${parser.problem()}` : outcome };
}

const parseText = (text: string, closes = false) => parse([toBytes(text)], closes);

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

describe('complete responses, the same in any chunks', () => {
  const answers: Record<
    string,
    { text: string; body: string; closes?: boolean; head?: Partial<AnswerHead> }
  > = {
    'by length': {
      text: `${OK}Content-Type: application/json; charset=utf-8\r\ncontent-LENGTH: \t5 \r\nX-Other:\r\n\r\nhello`,
      body: 'hello',
      head: { status: 200, contentType: 'application/json; charset=utf-8', framing: 5, keepsAlive: true },
    },
    'a 204 with a length that it cannot have': {
      text: 'HTTP/1.1 204 No Content\r\ncontent-length: 7\r\n\r\n',
      body: '',
      head: { status: 204, framing: 0, keepsAlive: true },
    },
    'a 304': { text: 'HTTP/1.1 304\r\n\r\n', body: '', head: { status: 304, framing: 0 } },
    'in chunks, with extensions and trailers': {
      text: `${CHUNKED}5\r\nhello\r\n00A;name="a b"\r\n, world!!!\r\n0;last\r\nX-Sum: 1\r\nother:\t\xe9\r\n\r\n`,
      body: 'hello, world!!!',
      head: { framing: 'chunked', keepsAlive: true },
    },
    'with line ends in the body': { text: `${CHUNKED}6\r\n\r\n0\r\n\r\r\n0\r\n\r\n`, body: '\r\n0\r\n\r' },
    'until the connection is closed': {
      ...{ text: `${OK}content-type: text/plain\r\n\r\nall of it`, body: 'all of it', closes: true },
      head: { framing: 'until-close', keepsAlive: false },
    },
    'after answers of 1xx': {
      text: `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\ncontent-length: 9\r\n\r\n${OK}content-length: 2\r\n\r\nok`,
      body: 'ok',
      head: { status: 200, framing: 2 },
    },
    'the last one of its connection': {
      text: `${OK}Connection: Upgrade, Close\r\ncontent-length: 2\r\n\r\nok`,
      body: 'ok',
      head: { keepsAlive: false },
    },
    'of HTTP/1.0 that keeps its connection': {
      text: 'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\nkeep-alive: max=5, timeout=7\r\ncontent-length: 2\r\n\r\nok',
      body: 'ok',
      head: { keepsAlive: true, keepAliveSeconds: 7 },
    },
    'with two types and an encoding': {
      text: `${OK}content-type: a/b\r\ncontent-type: c/d\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx`,
      body: 'x',
      head: { contentType: 'a/b, c/d', contentEncoding: 'gzip' },
    },
  };

  test.each(Object.keys(answers))('%s', (name) => {
    const { text, body, closes = false, head = {} } = answers[name] as (typeof answers)[string];
    const bytes = toBytes(text);
    const whole = parse([bytes], closes);
    expect(whole).toMatchObject({ body, outcome: 'whole', head });
    for (let cut = 1; cut < bytes.length; cut += 1) {
      expect(parse([bytes.subarray(0, cut), bytes.subarray(cut)], closes)).toEqual(whole);
      for (let next = cut + 1; next < bytes.length; next += 1) {
        const pieces = [bytes.subarray(0, cut), bytes.subarray(cut, next), bytes.subarray(next)];
        const parsed = parse(pieces, closes);
        if (!Bun.deepEquals(parsed, whole))
          throw new Error(`cut at ${cut} and ${next}: ${JSON.stringify(parsed)}`);
      }
    }
    expect(
      parse(
        [...bytes].map((byte) => Uint8Array.of(byte)),
        closes,
      ),
    ).toEqual(whole);
  });

  test('one answer after the other on a connection', () => {
    const bodies: string[] = [];
    const parser = createAnswerParser({ head() {}, body: (bytes) => bodies.push(toText(bytes)) });
    for (const text of [`${CHUNKED}1\r\na\r\n0\r\n\r\n`, `${OK}content-length: 1\r\n\r\nb`]) {
      expect(parser.push(toBytes(text))).toBe('whole');
      parser.begin();
    }
    expect(bodies).toEqual(['a', 'b']);
  });
});

describe('incomplete responses', () => {
  test.each([
    ['nothing at all', '', 'closed before an answer'],
    ['half a head', `${OK}content-le`, 'closed within the answer'],
    ['less than the length', `${OK}content-length: 10\r\n\r\nhello`, 'closed within the answer'],
    ['no last chunk', `${CHUNKED}5\r\nhello\r\n`, 'closed within the answer'],
    ['a 1xx alone', 'HTTP/1.1 100 Continue\r\n\r\n', 'closed before an answer'],
  ])('%s', (_, text, problem) => {
    expect(parseText(text, true).outcome).toBe(`broken: ${problem}`);
  });

  test('bytes after a response are not part of it', () => {
    expect(parseText(`${OK}content-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n`)).toMatchObject({
      ...{ body: 'ok', outcome: 'excess' },
    });
    expect(parseText(`${CHUNKED}0\r\n\r\n\r\n`).outcome).toBe('excess');
    expect(parseText('HTTP/1.1 204 No\r\n\r\nx').outcome).toBe('excess');
  });
});

describe('an ambiguous response is refused', () => {
  const head = (line: string) => `${OK}${line}\r\n\r\n`;
  test.each([
    ['both lengths', head('content-length: 5\r\ntransfer-encoding: chunked'), 'both a content-length'],
    ['two equal lengths', head('content-length: 5\r\ncontent-length: 5'), 'content-length is repeated'],
    ['a list of lengths', head('content-length: 5, 5'), 'content-length is repeated'],
    ['a signed length', head('content-length: +5'), 'content-length is not a number'],
    ['an empty length', head('content-length:'), 'content-length is not a number'],
    ['a length past all numbers', head('content-length: 9999999999999999'), 'content-length is not a number'],
    [
      'two transfer-encodings',
      head('transfer-encoding: chunked\r\ntransfer-encoding: chunked'),
      'is repeated',
    ],
    ['another transfer-encoding', head('transfer-encoding: gzip, chunked'), 'not chunked'],
    ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', 'HTTP/1.0'],
    ['a bare LF after the status', 'HTTP/1.1 200 OK\ncontent-length: 0\r\n\r\n', 'without its CR'],
    ['a bare LF after a header', `${OK}a: b\ncontent-length: 0\r\n\r\n`, 'without its CR'],
    ['a bare LF at the end of the head', `${OK}content-length: 0\r\n\n`, 'without its CR'],
    ['a bare CR', `${OK}a: b\rc: d\r\n\r\n`, 'CR without its LF'],
    ['a NUL', head('a: b\0c'), 'control character'],
    ['a folded header', head('a: b\r\n c'), 'folded'],
    ['a blank before the colon', head('content-length : 5'), 'no name'],
    ['a header without a colon', head('content-length'), 'no name'],
    ['a name in other letters', head('c\xf6ntent: 5'), 'no name'],
    ['another protocol', 'HTTP/1.1 101 Switching\r\nupgrade: h2c\r\n\r\n', 'another protocol'],
    ['HTTP/1.2', 'HTTP/1.2 200 OK\r\n\r\n', 'not HTTP/1.1'],
    ['an empty line first', `\r\n${OK}content-length: 0\r\n\r\n`, 'not HTTP/1.1'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n', 'three digits'],
    ['a status of letters', 'HTTP/1.1 2x0 OK\r\n\r\n', 'three digits'],
    ['a status that does not exist', 'HTTP/1.1 099 OK\r\n\r\n', 'no status 99'],
    ['no size of a chunk', `${CHUNKED}\r\nhello\r\n`, 'size of a chunk'],
    ['a size with 0x', `${CHUNKED}0x5\r\nhello\r\n`, 'size of a chunk'],
    ['a size with a blank', `${CHUNKED}5 \r\nhello\r\n`, 'size of a chunk'],
    ['a size past all numbers', `${CHUNKED}1000000000000\r\nhello\r\n`, 'size of a chunk'],
    ['a size with a bare LF', `${CHUNKED}5\nhello\r\n`, 'without its CR'],
    ['an extension with a bare LF', `${CHUNKED}5;a\nb\r\nhello\r\n`, 'without its CR'],
    ['a chunk longer than its size', `${CHUNKED}5\r\nhellos\r\n`, 'longer than its size'],
    ['a folded trailer', `${CHUNKED}0\r\na: b\r\n c\r\n\r\n`, 'folded'],
    ['a trailer with a bare LF', `${CHUNKED}0\r\na: b\n\r\n`, 'without its CR'],
  ])('%s', (_, text, problem) => {
    const bytes = toBytes(text);
    const { outcome } = parse([bytes]);
    expect(outcome).toStartWith('broken: ');
    expect(outcome).toContain(problem);
    for (let cut = 1; cut < bytes.length; cut += 1) {
      expect(parse([bytes.subarray(0, cut), bytes.subarray(cut)]).outcome).toBe(outcome);
    }
  });

  test.each([
    ['a line that never ends', `${OK}a: ${'b'.repeat(70_000)}`, 'too long'],
    ['many headers', `${OK}${'a: b\r\n'.repeat(257)}\r\n`, 'too many headers'],
    ['many trailers', `${CHUNKED}0\r\n${'a: b\r\n'.repeat(257)}\r\n`, 'too many trailers'],
    ['a long trailer', `${CHUNKED}0\r\n${`a: ${'b'.repeat(1_000)}\r\n`.repeat(66)}\r\n`, 'too long'],
    ['a long extension', `${CHUNKED}5;${'a'.repeat(4_096)}\r\nhello\r\n`, 'too long'],
    [
      'interim answers without an end',
      'HTTP/1.1 100 Continue\r\n\r\n'.repeat(17),
      'one interim answer after the other',
    ],
  ])('and so is an unbounded one: %s', (_, text, problem) => {
    expect(parseText(text).outcome).toContain(problem);
    expect(parse([...toBytes(text)].map((byte) => Uint8Array.of(byte))).outcome).toContain(problem);
  });

  test('the bound itself passes', () => {
    const text = `${OK}${'a: b\r\n'.repeat(255)}content-length: 0\r\n\r\n`;
    expect(parseText(text).outcome).toBe('whole');
  });
});
