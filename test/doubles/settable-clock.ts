import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import type { Clock, Timer } from '../../src/ports/clock.ts';

interface SettableClock extends Clock {
  /** Sets the time ahead and runs the timers that are due by then. */
  setAhead(ms: number): void;
  /** How many timers of exactly this delay have neither run nor been cancelled. */
  pending(delayMs: number): number;
}

interface Due {
  readonly delayMs: number;
  readonly atMs: number;
  readonly run: () => void;
  timer: Timer;
}

/**
 * The system clock, which a test can set ahead. So a time-out can be long enough for a busy machine, and the one test
 * that needs it does not wait for it.
 */
export function createSettableClock(): SettableClock {
  const system = createSystemClock();
  const pending = new Set<Due>();
  let aheadMs = 0;
  const uptimeMs = () => system.uptimeMs() + aheadMs;

  function after(delayMs: number, work: () => void): Timer {
    const run = () => {
      pending.delete(due);
      work();
    };
    const timer = system.after(delayMs, run);
    const due: Due = { delayMs, atMs: uptimeMs() + delayMs, run, timer };
    pending.add(due);
    return {
      cancel() {
        pending.delete(due);
        due.timer.cancel();
      },
    };
  }

  return {
    now: () => system.now() + aheadMs,
    uptimeMs,
    after,
    turn: system.turn,
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
    pending: (delayMs) => [...pending].filter((due) => due.delayMs === delayMs).length,
    setAhead(ms) {
      aheadMs += ms;
      for (const due of [...pending].sort((a, b) => a.atMs - b.atMs)) {
        if (!pending.has(due)) continue;
        due.timer.cancel();
        const leftMs = due.atMs - uptimeMs();
        if (leftMs <= 0) due.run();
        else due.timer = system.after(leftMs, due.run);
      }
    },
  };
}
