import { joinChunks } from '../http/join-chunks.ts';
import type { Clock } from '../ports/clock.ts';
import type { UpstreamAnswer } from '../ports/model-upstream.ts';

export interface GatherBounds {
  readonly maxBytes: number;
  /** Between two chunks. */
  readonly idleMs: number;
  readonly clock: Clock;
}

export type Gathered =
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
