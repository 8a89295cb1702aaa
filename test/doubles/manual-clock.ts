import type { Clock, Timer } from '../../src/ports/clock.ts';

export interface ManualClock extends Clock {
  /** Moves time on, running what becomes due at its own moment, in order; what it sets off settles in between. */
  advance(ms: number): Promise<void>;
  /** Sets the wall clock ahead or back; timers and measured durations are not affected. */
  step(ms: number): void;
  /** Timers and sleeps that were not ended: 0 after a clean stop. */
  pendingTimers(): number;
}

interface Due {
  readonly at: number;
  readonly work: () => void;
}

/** A clock that moves only when a test advances it. */
export function createManualClock(startMs = Date.UTC(2030, 0, 1)): ManualClock {
  let nowMs = startMs;
  let steppedMs = 0;
  const timers = new Set<Due>();

  function after(delayMs: number, work: () => void): Timer {
    const due: Due = { at: nowMs + Math.max(0, delayMs), work };
    timers.add(due);
    return { cancel: () => void timers.delete(due) };
  }

  function nextUntil(endMs: number): Due | null {
    let next: Due | null = null;
    // A Set keeps the order of insertion: of two timers due together, the one set first runs first.
    for (const due of timers) if (due.at <= endMs && (next === null || due.at < next.at)) next = due;
    return next;
  }

  return {
    now: () => nowMs + steppedMs,
    uptimeMs: () => nowMs - startMs,
    after,
    turn: () => new Promise((resolve) => setImmediate(resolve)),
    sleep: (delayMs, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const end = () => {
          timer.cancel();
          signal?.removeEventListener('abort', end);
          resolve();
        };
        const timer = after(delayMs, end);
        signal?.addEventListener('abort', end);
      }),
    async advance(ms) {
      const endMs = nowMs + ms;
      await settle();
      for (let due = nextUntil(endMs); due !== null; due = nextUntil(endMs)) {
        timers.delete(due);
        nowMs = Math.max(nowMs, due.at);
        due.work();
        await settle();
      }
      nowMs = endMs;
    },
    step(ms) {
      steppedMs += ms;
    },
    pendingTimers: () => timers.size,
  };
}

/** A few turns of the event loop: chains of promises end, answers from sockets and threads may take longer. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
