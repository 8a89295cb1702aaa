/**
 * The lines of an HTTP/1.1 answer (RFC 9112). Everything ambiguous is refused: one byte too many or too few would shift into
 * the next answer on the same connection, which belongs to another client.
 */

export interface AnswerHead {
  readonly status: number;
  /** As sent; several are joined by a comma; empty if there is none. */
  readonly contentType: string;
  readonly contentEncoding: string;
  /** `retry-after` and `retry-after-ms` as sent; the last one of each. */
  readonly retryAfter: string | null;
  readonly retryAfterMs: string | null;
  readonly framing: Framing;
  /** Whether another call may be sent on this connection after this answer. */
  readonly keepsAlive: boolean;
  /** The upstream's time-out for idle connections; null if it gives none. */
  readonly keepAliveSeconds: number | null;
}

/** How the body ends: after a number of bytes, with the last chunk, or with the connection. */
type Framing = number | 'chunked' | 'until-close';

/** The relevant header lines so far. */
export interface HeadFields {
  status: number;
  isHttp10: boolean;
  contentType: string;
  contentEncoding: string;
  retryAfter: string | null;
  retryAfterMs: string | null;
  contentLength: number | null;
  transferEncoding: string | null;
  isClose: boolean;
  isKeepAlive: boolean;
  keepAliveSeconds: number | null;
}

export function noFields(): HeadFields {
  return {
    ...{ status: 0, isHttp10: false, contentType: '', contentEncoding: '' },
    ...{ retryAfter: null, retryAfterMs: null },
    ...{ contentLength: null, transferEncoding: null },
    ...{ isClose: false, isKeepAlive: false, keepAliveSeconds: null },
  };
}

const [TAB, SPACE, COMMA, COLON, ZERO, NINE] = [0x09, 0x20, 0x2c, 0x3a, 0x30, 0x39] as const;

/** 1 for the bytes of a name: RFC 9110's token. */
const TOKEN = new Uint8Array(256);
for (const char of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
  TOKEN[char.charCodeAt(0)] = 1;
}

/** Parses `HTTP/1.1 200 OK`; the reason phrase is ignored. Returns null, or what is wrong. */
export function readStatusLine(
  line: Uint8Array,
  start: number,
  end: number,
  fields: HeadFields,
): string | null {
  if (end - start < 12 || !startsWith(line, start, VERSION)) return 'the answer is not HTTP/1.1';
  const minor = (line[start + 7] as number) - ZERO;
  if ((minor !== 0 && minor !== 1) || line[start + 8] !== SPACE) return 'the answer is not HTTP/1.1';
  let status = 0;
  for (let at = start + 9; at < start + 12; at += 1) {
    const digit = (line[at] as number) - ZERO;
    if (digit < 0 || digit > 9) return 'the status is not a number of three digits';
    status = status * 10 + digit;
  }
  if (end > start + 12 && line[start + 12] !== SPACE) return 'the status is not a number of three digits';
  if (status < 100 || status > 599) return `there is no status ${status}`;
  fields.status = status;
  fields.isHttp10 = minor === 0;
  return null;
}

/** Parses a header line. With `fields` null it is a trailer line, which is checked and ignored. */
export function readHeaderLine(
  line: Uint8Array,
  start: number,
  end: number,
  fields: HeadFields | null,
): string | null {
  const first = line[start];
  if (first === SPACE || first === TAB) return 'a header is folded over two lines';
  let colon = start;
  while (colon < end && TOKEN[line[colon] as number] === 1) colon += 1;
  if (colon === start || line[colon] !== COLON || colon === end) return 'a header line has no name';
  if (fields === null) return null;
  switch (colon - start) {
    case 10:
      if (isName(line, start, CONNECTION)) readConnection(valueAt(line, colon, end), fields);
      else if (isName(line, start, KEEP_ALIVE)) readKeepAlive(valueAt(line, colon, end), fields);
      return null;
    case 11:
      if (isName(line, start, RETRY_AFTER)) fields.retryAfter = valueAt(line, colon, end);
      return null;
    case 12:
      if (isName(line, start, CONTENT_TYPE)) {
        fields.contentType = joined(fields.contentType, valueAt(line, colon, end));
      }
      return null;
    case 14:
      if (isName(line, start, CONTENT_LENGTH)) return readLength(line, colon, end, fields);
      if (isName(line, start, RETRY_AFTER_MS)) fields.retryAfterMs = valueAt(line, colon, end);
      return null;
    case 16:
      if (isName(line, start, CONTENT_ENCODING)) {
        fields.contentEncoding = joined(fields.contentEncoding, valueAt(line, colon, end));
      }
      return null;
    case 17:
      if (!isName(line, start, TRANSFER_ENCODING)) return null;
      if (fields.transferEncoding !== null) return 'transfer-encoding is repeated';
      fields.transferEncoding = valueAt(line, colon, end).toLowerCase();
      return null;
    default:
      return null;
  }
}

/** Called after the last header line of a final answer. Returns a text if something is wrong. */
export function finishHead(fields: HeadFields): AnswerHead | string {
  const { status, isHttp10, contentLength, transferEncoding } = fields;
  if (transferEncoding !== null) {
    if (contentLength !== null) return 'the answer has both a content-length and a transfer-encoding';
    if (transferEncoding !== 'chunked') return 'the transfer-encoding is not chunked';
    if (isHttp10) return 'HTTP/1.0 has no transfer-encoding';
  }
  const framing = framingOf(status, transferEncoding !== null, contentLength);
  const mayKeep = isHttp10 ? fields.isKeepAlive : true;
  return {
    status,
    contentType: fields.contentType,
    contentEncoding: fields.contentEncoding,
    retryAfter: fields.retryAfter,
    retryAfterMs: fields.retryAfterMs,
    framing,
    keepsAlive: mayKeep && !fields.isClose && framing !== 'until-close',
    keepAliveSeconds: fields.keepAliveSeconds,
  };
}

function framingOf(status: number, isChunked: boolean, contentLength: number | null): Framing {
  if (status === 204 || status === 304) return 0;
  if (isChunked) return 'chunked';
  return contentLength ?? 'until-close';
}

const encoder = new TextEncoder();
const VERSION = encoder.encode('HTTP/1.');
const CONNECTION = encoder.encode('connection');
const KEEP_ALIVE = encoder.encode('keep-alive');
const CONTENT_TYPE = encoder.encode('content-type');
const CONTENT_LENGTH = encoder.encode('content-length');
const CONTENT_ENCODING = encoder.encode('content-encoding');
const RETRY_AFTER = encoder.encode('retry-after');
const RETRY_AFTER_MS = encoder.encode('retry-after-ms');
const TRANSFER_ENCODING = encoder.encode('transfer-encoding');

function startsWith(line: Uint8Array, start: number, text: Uint8Array): boolean {
  for (let at = 0; at < text.length; at += 1) if (line[start + at] !== text[at]) return false;
  return true;
}

/** `name` is in lower case. Both have the same length, and the line's name consists of token bytes. */
function isName(line: Uint8Array, start: number, name: Uint8Array): boolean {
  for (let at = 0; at < name.length; at += 1) {
    if (((line[start + at] as number) | 0x20) !== name[at]) return false;
  }
  return true;
}

/** Trimmed, with one character per byte. */
function valueAt(line: Uint8Array, colon: number, end: number): string {
  let [from, to] = [colon + 1, end];
  while (from < to && isBlank(line[from] as number)) from += 1;
  while (to > from && isBlank(line[to - 1] as number)) to -= 1;
  let value = '';
  for (let at = from; at < to; at += 1) value += String.fromCharCode(line[at] as number);
  return value;
}

function joined(before: string, value: string): string {
  return before === '' ? value : `${before}, ${value}`;
}

/** Larger values are not exact. */
const MOST_LENGTH_DIGITS = 15;

/** Digits only, and once: `5, 5` and a second line are refused even if the values agree. */
function readLength(line: Uint8Array, colon: number, end: number, fields: HeadFields): string | null {
  if (fields.contentLength !== null) return 'content-length is repeated';
  let [from, to] = [colon + 1, end];
  while (from < to && isBlank(line[from] as number)) from += 1;
  while (to > from && isBlank(line[to - 1] as number)) to -= 1;
  let length = 0;
  for (let at = from; at < to; at += 1) {
    const byte = line[at] as number;
    if (byte === COMMA) return 'content-length is repeated';
    if (byte < ZERO || byte > NINE) return 'content-length is not a number';
    length = length * 10 + byte - ZERO;
  }
  if (from === to || to - from > MOST_LENGTH_DIGITS) return 'content-length is not a number';
  fields.contentLength = length;
  return null;
}

function readConnection(value: string, fields: HeadFields): void {
  for (const option of value.toLowerCase().split(',')) {
    if (option.trim() === 'close') fields.isClose = true;
    else if (option.trim() === 'keep-alive') fields.isKeepAlive = true;
  }
}

const TIMEOUT = /(?:^|[,;\s])timeout\s*=\s*"?(\d{1,9})/i;

function readKeepAlive(value: string, fields: HeadFields): void {
  const seconds = TIMEOUT.exec(value)?.[1];
  if (seconds !== undefined) fields.keepAliveSeconds = Number(seconds);
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === TAB;
}
