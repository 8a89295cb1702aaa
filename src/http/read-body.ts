import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { Clock } from '../ports/clock.ts';
import type { BodyRead, UpstreamBody } from '../ports/model-upstream.ts';
import { joinBytes } from './bytes.ts';
import { type MemoryLimit, type MemoryShare, UNCOUNTED_BYTES } from './memory-limit.ts';

type ReadBody =
  | {
      outcome: 'read';
      bytes: Uint8Array<ArrayBuffer>;
      /** The memory of a large body, for the reader to release; undefined if it is not counted. */
      share?: MemoryShare;
    }
  | { outcome: 'too-large' }
  | { outcome: 'too-slow' }
  | { outcome: 'unknown-encoding' }
  /** `problem` is a sentence for the client, if more is known. */
  | { outcome: 'broken'; problem?: string };

export interface BodyBounds {
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

export interface CountedBodyBounds extends BodyBounds {
  /** For bodies above 1 MB of all companies. */
  readonly memory: MemoryLimit;
}

/** Supported encodings of a request body. zstd is not supported, because the runtime accepts truncated data as complete. */
const INFLATERS = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);
/** RFC 9110 12.5.3: a 415 because of the encoding lists the accepted ones. */
export const ACCEPTED_ENCODINGS = { 'accept-encoding': 'gzip, deflate, br' } as const;
export const UNKNOWN_ENCODING =
  'The Content-Encoding of the body is not supported. Send it uncompressed, or with one of gzip, deflate and br.';

/**
 * A compressed body may inflate to this many times its size, and to a megabyte in any case. Text compresses 5 to 20 times, and
 * gzip up to 1,000: 20 kB of such a request would cost as much time as 20 MB.
 */
const MOST_INFLATION = 50;
const ALWAYS_INFLATED_BYTES = 1024 * 1024;

/** Whether a body is too large by its declared length. */
export function isDeclaredTooLarge({ headers }: Request, maxBytes: number): boolean {
  return Number(headers.get('content-length') ?? 0) > maxBytes;
}

/** What to say of a body that is `too-large`. */
export function tooLargeMessage(request: Request, maxBytes: number): string {
  const tooLarge = `The body is larger than ${maxBytes} bytes`;
  if (!request.headers.has('content-encoding')) return `${tooLarge}.`;
  return `${tooLarge}, or than ${MOST_INFLATION} times its compressed size. Send such a body uncompressed.`;
}

/**
 * Reads the whole body and counts its bytes, because the runtime's own limit would respond with an empty body. A compressed
 * body is inflated in a thread of the runtime, and limited before and after. With a memory limit, a large body holds its
 * declared length before it is read.
 */
export function readBody(request: Request, bounds: BodyBounds): Promise<ReadBody>;
export function readBody(
  request: Request,
  bounds: CountedBodyBounds,
  companyId: string,
): Promise<ReadBody | MemoryFull>;
export function readBody(
  request: Request,
  bounds: BodyBounds & Partial<CountedBodyBounds>,
  companyId = '',
): Promise<ReadBody | MemoryFull> {
  const encoding = request.headers.get('content-encoding');
  const declared = request.headers.get('content-length');
  const isSmall = encoding === null && declared !== null && Number(declared) <= UNCOUNTED_BYTES;
  if (isSmall) return readPlainBody(request, bounds, declared, null);
  const share = bounds.memory?.share(companyId) ?? null;
  const reading =
    encoding === null
      ? readPlainBody(request, bounds, declared, share)
      : readEncodedBody(request, bounds, encoding, declared, share);
  return share === null ? reading : counted(reading, share);
}

interface MemoryFull {
  readonly outcome: 'memory-full';
}

const MEMORY_FULL: MemoryFull = { outcome: 'memory-full' };

/** Passes the share on with the body, or releases it. */
async function counted(
  reading: Promise<ReadBody | MemoryFull>,
  share: MemoryShare,
): Promise<ReadBody | MemoryFull> {
  const read = await reading;
  if (read.outcome === 'read' && read.bytes.length > UNCOUNTED_BYTES) return { ...read, share };
  share.release();
  return read;
}

async function readEncodedBody(
  request: Request,
  bounds: BodyBounds,
  encoding: string,
  declared: string | null,
  share: MemoryShare | null,
): Promise<ReadBody | MemoryFull> {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity') return await readPlainBody(request, bounds, declared, share);
  const inflater = INFLATERS.get(name);
  if (inflater === undefined) return { outcome: 'unknown-encoding' };
  const read = await readPlainBody(request, bounds, declared, share);
  if (read.outcome !== 'read') return read;
  const inflation = Math.max(read.bytes.length * MOST_INFLATION, ALWAYS_INFLATED_BYTES);
  const maxOutputLength = Math.min(bounds.maxBytes, inflation);
  const isLarge = maxOutputLength > UNCOUNTED_BYTES;
  if (isLarge && share?.hold(read.bytes.length + maxOutputLength) === false) return MEMORY_FULL;
  try {
    const inflated = await inflater(read.bytes, { maxOutputLength });
    share?.hold(inflated.length);
    return { outcome: 'read', bytes: new Uint8Array(inflated) };
  } catch (error) {
    const isTooLarge = error instanceof RangeError || (error as { code?: string }).code === TOO_LARGE_CODE;
    return { outcome: isTooLarge ? 'too-large' : 'broken' };
  }
}

const TOO_LARGE_CODE = 'ERR_BUFFER_TOO_LARGE';

function readPlainBody(
  request: Request,
  bounds: BodyBounds,
  declared: string | null,
  share: MemoryShare | null,
): Promise<ReadBody | MemoryFull> {
  if (Number(declared ?? 0) > bounds.maxBytes) return Promise.resolve({ outcome: 'too-large' });
  // The server cuts a body at its declared length, so it cannot be longer; this avoids the stream.
  const isAtOnce = declared !== null && (share === null || share.hold(Number(declared)));
  if (isAtOnce) return readAtOnce(request, bounds);
  return request.body === null
    ? Promise.resolve({ outcome: 'read', bytes: new Uint8Array(0) })
    : readStream(request.body, bounds, share);
}

/** Nearly every call has a declared length: one promise and no race. */
function readAtOnce(request: Request, { clock, timeoutMs }: BodyBounds): Promise<ReadBody> {
  return new Promise((resolve) => {
    const timer = clock.after(timeoutMs, () => resolve({ outcome: 'too-slow' }));
    request.bytes().then(
      (bytes) => {
        timer.cancel();
        resolve({ outcome: 'read', bytes });
      },
      () => {
        timer.cancel();
        resolve({ outcome: 'broken' });
      },
    );
  });
}

async function readStream(
  body: ReadableStream<Uint8Array>,
  bounds: BodyBounds,
  share: MemoryShare | null,
): Promise<ReadBody | MemoryFull> {
  const late = Promise.withResolvers<ReadBody | MemoryFull>();
  const timer = bounds.clock.after(bounds.timeoutMs, () =>
    late.resolve(share?.wasRefused() ? MEMORY_FULL : { outcome: 'too-slow' }),
  );
  try {
    const reader = body.getReader();
    const read = await Promise.race([readChunks(reader, bounds.maxBytes, share), late.promise]);
    if (read.outcome !== 'read') reader.cancel().catch(() => {});
    return read;
  } catch {
    // The client disconnected, or its framing was invalid.
    return { outcome: 'broken' };
  } finally {
    timer.cancel();
  }
}

interface GatherBounds {
  readonly maxBytes: number;
  /** The longest time between two chunks. */
  readonly idleMs: number;
  /** Returns false if there is no memory for this many bytes of the body. */
  readonly hold?: (bytes: number) => boolean;
}

type Gathered =
  | { readonly outcome: 'whole'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly outcome: 'too-large' | 'memory-full' | 'idle' | 'broken' };

/** Reads the whole body of an upstream within limits, and cancels it otherwise. A body in one piece is not copied. */
export function gatherBody(body: UpstreamBody, bounds: GatherBounds): Gathered | Promise<Gathered> {
  const first = body.read(bounds.idleMs);
  // A short answer that arrived with its headers is complete, and is read without waiting.
  if (first instanceof Promise || first === null || typeof first === 'string') {
    return gatherOn(body, bounds, [], first);
  }
  if (first.length > bounds.maxBytes) return gatherOn(body, bounds, [], first);
  const second = body.read(bounds.idleMs);
  return second === null ? { outcome: 'whole', bytes: first } : gatherOn(body, bounds, [first], second);
}

async function gatherOn(
  body: UpstreamBody,
  { maxBytes, idleMs, hold }: GatherBounds,
  chunks: Uint8Array<ArrayBuffer>[],
  first: BodyRead | Promise<BodyRead>,
): Promise<Gathered> {
  let size = chunks.reduce((sum, { length }) => sum + length, 0);
  for (let reading = first; ; reading = body.read(idleMs)) {
    const next = reading instanceof Promise ? await reading : reading;
    if (next === null) return { outcome: 'whole', bytes: joinBytes(chunks, size) };
    const isBytes = typeof next !== 'string';
    if (isBytes) size += next.length;
    const hasRoom = size <= maxBytes && (!isBytes || hold === undefined || hold(size));
    if (!isBytes || !hasRoom) {
      body.cancel();
      return { outcome: isBytes ? (size > maxBytes ? 'too-large' : 'memory-full') : next };
    }
    chunks.push(next);
  }
}

/**
 * The runtime passes on each chunk of a chunked body by itself, for a microsecond and a hundred bytes of memory: 8 MB in
 * chunks of one byte stopped the event loop for seconds and took 500 MB. So a body has at most this many, and one more for
 * each 256 bytes. Clients that write line by line stay far below it.
 */
const MOST_CHUNKS = 20_000;
const CHUNK_BYTES = 256;
const TOO_MANY_CHUNKS: ReadBody = {
  outcome: 'broken',
  problem: 'The body arrives in too many small chunks. Send it with a Content-Length, or in larger chunks.',
};

/**
 * A body without room in the memory is read to its end and discarded: most clients send all of it before they read an answer,
 * and would see a broken connection instead.
 */
async function readChunks(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxBytes: number,
  share: MemoryShare | null,
): Promise<ReadBody | MemoryFull> {
  let chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (let count = 1; ; count += 1) {
    const { done, value } = await reader.read();
    if (done) return share?.wasRefused() ? MEMORY_FULL : { outcome: 'read', bytes: joinBytes(chunks, size) };
    size += value.length;
    if (size > maxBytes) return { outcome: 'too-large' };
    if (count > MOST_CHUNKS + size / CHUNK_BYTES) return TOO_MANY_CHUNKS;
    if (share === null || share.hold(size)) chunks.push(value as Uint8Array<ArrayBuffer>);
    else chunks = [];
  }
}
