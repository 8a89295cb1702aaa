import type { Socket } from 'bun';
import type { StoredAtProvider } from '../../../ports/model-upstream.ts';

/** The bytes of a request. */
export interface RequestBytes {
  /** All header lines except the last ones. */
  readonly head: Uint8Array;
  /** Header lines of this call only, each with its line end; usually none. */
  readonly more: string;
  readonly body: Uint8Array;
}

interface Sent {
  /** Negative if the connection is closed. */
  readonly written: number;
  /** The bytes to be written when the socket is writable again; usually none. */
  readonly rest: readonly Uint8Array[];
}

/** Requests up to this size are copied into one write. The body of a longer one is written without a copy. */
const JOINED_BYTES = 64 * 1024;
const scratch = Buffer.allocUnsafeSlow(JOINED_BYTES);

const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
/** The characters that a header value may contain: no line ends. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const NOTHING: readonly Uint8Array[] = [];
const CLOSED: Sent = { written: -1, rest: NOTHING };

/** The header lines that all calls to an endpoint of a target have in common. */
export function requestHead(
  method: 'POST' | StoredAtProvider['method'],
  path: string,
  host: string,
  headers: Readonly<Record<string, string>>,
): Uint8Array {
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${headerLines(headers)}`, 'latin1');
}

/** Skips the names in `taken`, which are in lower case. Throws for characters that a header cannot contain. */
export function headerLines(headers: Readonly<Record<string, string>>, taken?: ReadonlySet<string>): string {
  let lines = '';
  for (const name in headers) {
    if (taken?.has(name.toLowerCase()) === true) continue;
    const value = headers[name] as string;
    if (!NAME.test(name) || !VALUE.test(value)) throw new Error(`the header ${name} cannot be sent`);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

/** Writes a request, in one piece if it is short. */
export function writeRequest(socket: Pick<Socket, 'write'>, { head, more, body }: RequestBytes): Sent {
  const last = `${more}content-length: ${body.length}\r\n\r\n`;
  const headLength = head.length + last.length;
  const isShort = headLength + body.length <= JOINED_BYTES;
  const first = isShort ? scratch : Buffer.allocUnsafe(headLength);
  first.set(head, 0);
  first.write(last, head.length, 'latin1');
  if (isShort) first.set(body, headLength);
  const length = isShort ? headLength + body.length : headLength;
  const written = socket.write(first, 0, length);
  if (written < 0) return CLOSED;
  if (written < length) {
    // The next call reuses the scratch buffer, so unwritten bytes are copied.
    const unwritten = Uint8Array.prototype.slice.call(first, written, length);
    return { written, rest: isShort ? [unwritten] : [unwritten, body] };
  }
  if (isShort) return { written, rest: NOTHING };
  const ofBody = Math.max(0, socket.write(body, 0, body.length));
  return { written: written + ofBody, rest: ofBody < body.length ? [body.subarray(ofBody)] : NOTHING };
}
