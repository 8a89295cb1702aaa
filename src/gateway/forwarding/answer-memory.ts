import { type MemoryShare, UNCOUNTED_BYTES } from '../../http/memory-limit.ts';
import type { EndSignal } from '../../ports/model-upstream.ts';
import type { Refusal } from '../admission/refusals.ts';

/** For an answer that has no room in the memory. */
export const MEMORY_FULL = {
  name: 'unavailable',
  message: 'Too many large answers are being read right now. Retry shortly.',
  retryAfterMs: 2_000,
} as const satisfies Refusal;

/** The response with these bytes, which the share holds until the client has read them or has left. */
export function countedResponse(
  bytes: Uint8Array<ArrayBuffer>,
  share: MemoryShare,
  clientSignal: EndSignal,
  init: ResponseInit,
): Response {
  const isCounted = bytes.length > UNCOUNTED_BYTES;
  if (!isCounted) share.release();
  return new Response(isCounted ? countedBody(bytes, clientSignal, share.release) : bytes, init);
}

/** The body of a large answer: `onEnd` runs once the client has read all of it or has left. */
function countedBody(
  bytes: Uint8Array<ArrayBuffer>,
  clientSignal: EndSignal,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  let left: Uint8Array | null = bytes;
  const end = () => {
    left = null;
    clientSignal.removeEventListener('abort', end);
    onEnd();
  };
  if (clientSignal.aborted) end();
  else clientSignal.addEventListener('abort', end);
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (left === null || left.length === 0) {
          end();
          controller.close();
          return;
        }
        controller.enqueue(left.subarray(0, UNCOUNTED_BYTES));
        left = left.subarray(UNCOUNTED_BYTES);
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}
