import type { EndSignal } from '../../ports/model-upstream.ts';
import type { Refusal } from '../admission/refusals.ts';

/**
 * The memory of a process for answers that are read whole before they are sent: all together have at most `mostBytes`, and
 * those of one company half of it. An answer is counted until its client has read it or has left. Answers of up to
 * 1 MiB are not counted, so ordinary calls are never refused for it.
 */
export interface AnswerMemory {
  share(companyId: string): AnswerShare;
  /** The bytes that are counted now. */
  heldBytes(): number;
}

/** The memory of one answer. */
export interface AnswerShare {
  /** False if the answer, which has this many bytes by now, exceeds the limit. What it held is then released. */
  hold(bytes: number): boolean;
  wasRefused(): boolean;
  release(): void;
}

const UNCOUNTED_BYTES = 1024 * 1024;

export function createAnswerMemory(mostBytes: number): AnswerMemory {
  const byCompany = new Map<string, number>();
  let total = 0;

  function resize(companyId: string, by: number): void {
    total += by;
    const held = (byCompany.get(companyId) ?? 0) + by;
    if (held === 0) byCompany.delete(companyId);
    else byCompany.set(companyId, held);
  }

  return {
    heldBytes: () => total,
    share(companyId) {
      let held = 0;
      let isRefused = false;
      const release = () => {
        if (held > 0) resize(companyId, -held);
        held = 0;
      };
      return {
        hold(bytes) {
          if (bytes <= UNCOUNTED_BYTES) return !isRefused;
          const more = bytes - held;
          const ofCompany = (byCompany.get(companyId) ?? 0) + more;
          isRefused ||= total + more > mostBytes || ofCompany > mostBytes / 2;
          if (isRefused) release();
          else {
            held = bytes;
            resize(companyId, more);
          }
          return !isRefused;
        },
        wasRefused: () => isRefused,
        release,
      };
    },
  };
}

/** For an answer that has no room in the memory. */
export const MEMORY_FULL = {
  name: 'unavailable',
  message: 'Too many large answers are being read right now. Retry shortly.',
  retryAfterMs: 2_000,
} as const satisfies Refusal;

/** The response with these bytes, which the share holds until the client has read them or has left. */
export function countedResponse(
  bytes: Uint8Array<ArrayBuffer>,
  share: AnswerShare,
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
