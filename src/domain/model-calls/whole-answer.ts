import type { Clock } from '../../ports/clock.ts';
import type { EndSignal, UpstreamAnswer } from '../../ports/model-upstream.ts';
import { createCallAbort } from './call-abort.ts';

/** An answer that is read whole before it counts as one. */
export interface WholeAnswer<Answer> {
  readonly maxBytes: number;
  /** Until the last byte. */
  readonly timeoutMs: number;
  /** `status` leaves the time until then to the upstream's own time-out. */
  readonly timedFrom: 'send' | 'status';
  /** Null, or a throw, where it is no answer of the endpoint. */
  parse(text: string): Answer | null;
}

/** The time that an answer has. */
export interface Deadline {
  /** Aborts when the caller's does, and when the time is up. */
  readonly signal: EndSignal;
  isPast(): boolean;
  /** The status is there. */
  noteStatus(): void;
  cancel(): void;
}

export function createDeadline(
  clock: Clock,
  caller: EndSignal,
  { timeoutMs, timedFrom }: Pick<WholeAnswer<unknown>, 'timeoutMs' | 'timedFrom'>,
): Deadline {
  const signal = createCallAbort();
  let isPast = false;
  caller.addEventListener('abort', signal.abort);
  const start = () =>
    clock.after(timeoutMs, () => {
      isPast = true;
      signal.abort();
    });
  let timer = timedFrom === 'send' ? start() : null;
  return {
    signal,
    isPast: () => isPast,
    noteStatus() {
      timer ??= start();
    },
    cancel() {
      timer?.cancel();
      caller.removeEventListener('abort', signal.abort);
    },
  };
}

/** Null where it is larger than it may be. Rejects where the upstream breaks off, and when the time is up. */
export async function readWhole(
  { body }: UpstreamAnswer,
  { maxBytes }: Pick<WholeAnswer<unknown>, 'maxBytes'>,
  deadline: Deadline,
): Promise<string | null> {
  deadline.noteStatus();
  const ended = Promise.withResolvers<'broken'>();
  const end = () => ended.resolve('broken');
  deadline.signal.addEventListener('abort', end);
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  try {
    for (;;) {
      const next = await Promise.race([body.read(Number.POSITIVE_INFINITY), ended.promise]);
      if (next === null) return text + decoder.decode();
      if (typeof next === 'string') throw new Error('the answer broke off');
      size += next.length;
      if (size > maxBytes) return null;
      text += decoder.decode(next, { stream: true });
    }
  } finally {
    deadline.signal.removeEventListener('abort', end);
    // Of an answer that has ended this does nothing.
    body.cancel();
  }
}

export function parsed<Answer>({ parse }: WholeAnswer<Answer>, text: string | null): Answer | null {
  if (text === null) return null;
  try {
    return parse(text);
  } catch {
    return null;
  }
}
