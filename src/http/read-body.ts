import type { Clock } from '../ports/clock.ts';
import type { UpstreamAnswer } from '../ports/model-upstream.ts';

type ReadBody =
  | { outcome: 'read'; bytes: Uint8Array<ArrayBuffer> }
  | { outcome: 'too-large' }
  | { outcome: 'too-slow' }
  | { outcome: 'broken' };

export interface BodyBounds {
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/**
 * The whole body, counted by us: past the runtime's own limit it answers with an empty body, so ours lies
 * below.
 */
export async function readBody(request: Request, bounds: BodyBounds): Promise<ReadBody> {
  const declared = request.headers.get('content-length');
  if (Number(declared ?? 0) > bounds.maxBytes) return { outcome: 'too-large' };
  const late = Promise.withResolvers<ReadBody>();
  const timer = bounds.clock.after(bounds.timeoutMs, () => late.resolve({ outcome: 'too-slow' }));
  try {
    // The server cuts a body at its declared length, so this cannot be longer; it saves the stream.
    if (declared !== null) return await Promise.race([readAtOnce(request), late.promise]);
    if (request.body === null) return { outcome: 'read', bytes: new Uint8Array(0) };
    const reader = request.body.getReader();
    const read = await Promise.race([readChunks(reader, bounds.maxBytes), late.promise]);
    if (read.outcome !== 'read') reader.cancel().catch(() => {});
    return read;
  } catch {
    // The client went away, or its framing was wrong.
    return { outcome: 'broken' };
  } finally {
    timer.cancel();
  }
}

interface GatherBounds {
  readonly maxBytes: number;
  /** Between two chunks. */
  readonly idleMs: number;
  readonly clock: Clock;
}

type Gathered =
  | { readonly outcome: 'whole'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly outcome: 'too-large' | 'idle' | 'broken' };

/** A whole body of an upstream, within bounds. What is not whole is cancelled. */
export async function gatherBody(body: ReadableStream<Uint8Array>, bounds: GatherBounds): Promise<Gathered> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const next = await readWithin(reader, bounds.idleMs, bounds.clock);
    if (next === 'idle' || next === 'broken') return give(next);
    if (next.done) return { outcome: 'whole', bytes: joinChunks(chunks, size) };
    size += next.value.length;
    if (size > bounds.maxBytes) return give('too-large');
    chunks.push(next.value);
  }
  function give(outcome: 'too-large' | 'idle' | 'broken'): Gathered {
    reader.cancel().catch(() => {});
    return { outcome };
  }
}

/** An upstream's whole answer: in one piece where it can be had so, else chunk by chunk. */
export async function gatherAnswer(answer: UpstreamAnswer, bounds: GatherBounds): Promise<Gathered> {
  if (answer.whole === undefined) return await gatherBody(answer.body, bounds);
  const late = Promise.withResolvers<'idle'>();
  const timer = bounds.clock.after(bounds.idleMs, () => late.resolve('idle'));
  try {
    const bytes = await Promise.race([answer.whole(), late.promise]);
    return bytes === 'idle' ? { outcome: 'idle' } : { outcome: 'whole', bytes };
  } catch {
    return { outcome: 'broken' };
  } finally {
    timer.cancel();
  }
}

type Chunk = { done: true; value?: undefined } | { done: false; value: Uint8Array };

/** The next chunk, unless nothing comes for so long, or the upstream breaks off. */
export async function readWithin(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  idleMs: number,
  clock: Clock,
): Promise<Chunk | 'idle' | 'broken'> {
  const late = Promise.withResolvers<'idle'>();
  const timer = clock.after(idleMs, () => late.resolve('idle'));
  try {
    return (await Promise.race([reader.read(), late.promise])) as Chunk | 'idle';
  } catch {
    return 'broken';
  } finally {
    timer.cancel();
  }
}

async function readAtOnce(request: Request): Promise<ReadBody> {
  return { outcome: 'read', bytes: await request.bytes() };
}

async function readChunks(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxBytes: number,
): Promise<ReadBody> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { outcome: 'read', bytes: joinChunks(chunks, size) };
    size += value.length;
    if (size > maxBytes) return { outcome: 'too-large' };
    chunks.push(value);
  }
}

/** Chunks of known total size as one piece. */
function joinChunks(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
