import { streamBody } from '../../src/adapters/model-upstream/stream-body.ts';
import type { UpstreamBody } from '../../src/ports/model-upstream.ts';
import { stoppedClock } from './stopped-clock.ts';

/** A response's body as an upstream hands it out; it is never idle. */
export function bodyOf(response: Response): UpstreamBody {
  return streamBody(response.body ?? new ReadableStream({ start: (one) => one.close() }), stoppedClock);
}

/** The rest of a body; rejects where it is not whole. */
export async function textIn(body: UpstreamBody): Promise<string> {
  const decoder = new TextDecoder();
  for (let text = ''; ; ) {
    const next = await body.read(Number.POSITIVE_INFINITY);
    if (next === null) return text + decoder.decode();
    if (typeof next === 'string') throw new Error(next);
    text += decoder.decode(next, { stream: true });
  }
}

/** As the runtime's servers want it. */
export function readableOf(body: UpstreamBody): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        const next = await body.read(Number.POSITIVE_INFINITY);
        if (next === null) controller.close();
        else if (typeof next === 'string') controller.error(new Error(next));
        else controller.enqueue(next);
      },
      cancel: () => body.cancel(),
    },
    { highWaterMark: 0 },
  );
}
