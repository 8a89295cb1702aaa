import type { Socket } from 'bun';
import type { StoredAtProvider } from '../../../ports/model-upstream.ts';

/** A request as it goes over the wire. */
export interface RequestBytes {
  /** All header lines but the last ones. */
  readonly head: Uint8Array;
  /** Header lines of this call alone, each with its line end; mostly none. */
  readonly more: string;
  readonly body: Uint8Array;
}

export interface Sent {
  /** Negative where the connection is closed. */
  readonly written: number;
  /** What is to be written when the socket takes more; mostly nothing. */
  readonly rest: readonly Uint8Array[];
}

/** Requests up to this size are joined to one write. The body of a longer one is written as it is, without a copy. */
const JOINED_BYTES = 64 * 1024;
const scratch = Buffer.allocUnsafeSlow(JOINED_BYTES);

const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
/** What may be in the value of a header: no line ends. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const NOTHING: readonly Uint8Array[] = [];
const CLOSED: Sent = { written: -1, rest: NOTHING };

/** The lines that all calls to an endpoint of a target have in common. */
export function requestHead(
  method: 'POST' | StoredAtProvider['method'],
  path: string,
  host: string,
  headers: Readonly<Record<string, string>>,
): Uint8Array {
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${headerLines(headers)}`, 'latin1');
}

/** Without those that are `taken`, by their lower-case names. Throws for what no header can carry. */
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

/** Writes a request, in one piece where it is short. */
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
    // The scratch belongs to the next call: what is not written is copied.
    const unwritten = Uint8Array.prototype.slice.call(first, written, length);
    return { written, rest: isShort ? [unwritten] : [unwritten, body] };
  }
  if (isShort) return { written, rest: NOTHING };
  const ofBody = Math.max(0, socket.write(body, 0, body.length));
  return { written: written + ofBody, rest: ofBody < body.length ? [body.subarray(ofBody)] : NOTHING };
}
