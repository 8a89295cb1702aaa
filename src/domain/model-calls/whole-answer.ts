import type { Clock } from '../../ports/clock.ts';
import type { EndSignal, UpstreamAnswer, UpstreamTarget } from '../../ports/model-upstream.ts';
import { createCallAbort } from './call-abort.ts';

/** An answer that is read whole before it is accepted. */
export interface WholeAnswer<Answer> {
  readonly maxBytes: number;
  /** Until the last byte. */
  readonly timeoutMs: number;
  /** With `status`, the time until the status is limited by the upstream's own time-out. */
  readonly timedFrom: 'send' | 'status';
  /** Returns null or throws if the text is not an answer of the endpoint. */
  parse(text: string, target: UpstreamTarget): Answer | null;
}

/** The time limit of an answer. */
export interface Deadline {
  /** Aborts when the caller's signal does, and when the time is up. */
  readonly signal: EndSignal;
  isPast(): boolean;
  /** The status has arrived. */
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

/** Null if it is too large. Rejects if the upstream breaks off, and when the time is up. */
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
    // Does nothing if the answer has ended.
    body.cancel();
  }
}

export function parsed<Answer>(
  { parse }: WholeAnswer<Answer>,
  text: string | null,
  target: UpstreamTarget,
): Answer | null {
  if (text === null) return null;
  try {
    return parse(text, target);
  } catch {
    return null;
  }
}
