import type { Clock } from '../ports/clock.ts';
import { joinChunks } from './join-chunks.ts';

export type ReadBody =
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
    const read = await Promise.race([gather(reader, bounds.maxBytes), late.promise]);
    if (read.outcome !== 'read') reader.cancel().catch(() => {});
    return read;
  } catch {
    // The client went away, or its framing was wrong.
    return { outcome: 'broken' };
  } finally {
    timer.cancel();
  }
}

async function readAtOnce(request: Request): Promise<ReadBody> {
  return { outcome: 'read', bytes: await request.bytes() };
}

async function gather(reader: ReadableStreamDefaultReader<Uint8Array>, maxBytes: number): Promise<ReadBody> {
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
