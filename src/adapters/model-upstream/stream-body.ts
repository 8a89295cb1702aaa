import type { Clock } from '../../ports/clock.ts';
import type { BodyRead, UpstreamBody } from '../../ports/model-upstream.ts';

/** A body that is a stream of the runtime's. */
export function streamBody(stream: ReadableStream<Uint8Array>, clock: Pick<Clock, 'after'>): UpstreamBody {
  const reader = stream.getReader();
  return {
    read: (idleMs) => within(idleMs, clock, nextOf(reader)),
    cancel: () => void reader.cancel().catch(() => {}),
  };
}

/** A body in one piece. `cancel` ends it before it has arrived. */
export function wholeBody(
  load: () => Promise<Uint8Array<ArrayBuffer>>,
  clock: Pick<Clock, 'after'>,
  cancel: () => void,
): UpstreamBody {
  let loading: Promise<BodyRead> | null = null;
  const loaded = load;
  return {
    read(idleMs) {
      if (loading !== null) return null;
      loading = loaded().then(
        (bytes) => (bytes.length === 0 ? null : bytes),
        () => 'broken' as const,
      );
      return within(idleMs, clock, loading);
    },
    cancel,
  };
}

async function nextOf(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<BodyRead> {
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return null;
      if (value.length > 0) return value as Uint8Array<ArrayBuffer>;
    }
  } catch {
    return 'broken';
  }
}

async function within(
  idleMs: number,
  clock: Pick<Clock, 'after'>,
  reading: Promise<BodyRead>,
): Promise<BodyRead> {
  if (idleMs === Number.POSITIVE_INFINITY) return await reading;
  const late = Promise.withResolvers<'idle'>();
  const timer = clock.after(idleMs, () => late.resolve('idle'));
  try {
    return await Promise.race([reading, late.promise]);
  } finally {
    timer.cancel();
  }
}
