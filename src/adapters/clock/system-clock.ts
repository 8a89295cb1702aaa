import type { Clock, Timer } from '../../ports/clock.ts';
import { createCoarseTimers } from './coarse-timers.ts';

/** The longest delay that setTimeout takes; a longer one would run at once. About 24.8 days. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** Delays from here on may run a tick late. */
const COARSE_FROM_MS = 1_000;

export function createSystemClock(): Clock {
  const coarse = createCoarseTimers();
  return {
    now: Date.now,
    after: (delayMs, work) =>
      delayMs >= COARSE_FROM_MS ? coarse.after(delayMs, work) : after(delayMs, work),
    turn,
    sleep,
  };
}

function after(delayMs: number, work: () => void): Timer {
  let leftMs = Math.max(0, delayMs);
  let timeout: ReturnType<typeof setTimeout>;
  const arm = () => {
    const stepMs = Math.min(leftMs, LONGEST_DELAY_MS);
    leftMs -= stepMs;
    timeout = setTimeout(() => (leftMs > 0 ? arm() : work()), stepMs);
    timeout.unref();
  };
  arm();
  return { cancel: () => clearTimeout(timeout) };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      timer.cancel();
      // A signal may live as long as the process: what it no longer needs must not stay on it.
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = after(delayMs, end);
    signal?.addEventListener('abort', end);
  });
}
