import { createExpiringMap } from './expiring-map.ts';

interface Window {
  readonly start: number;
  /** Fixed when the window begins: a changed `windowMs` counts from the next window on. */
  readonly end: number;
  used: number;
}

export interface Windows {
  /** The running window, if one runs. */
  running(key: string): Readonly<Window> | undefined;
  /** Counts in the running window, or begins one. */
  count(key: string, amount: number, windowMs: number): void;
  /** Leaves every window alone but the one that began then, if it still runs. */
  correct(key: string, start: number, delta: number): void;
}

export function createWindows({ now }: { now: () => number }): Windows {
  const windows = createExpiringMap<Window>({ now, expiresAt: (window) => window.end });
  return {
    running: (key) => windows.get(key),

    count(key, amount, windowMs) {
      const running = windows.get(key);
      if (running) running.used += amount;
      else windows.set(key, { start: now(), end: now() + windowMs, used: amount });
    },

    correct(key, start, delta) {
      const running = windows.get(key);
      if (running?.start !== start) return;
      running.used = Math.min(Math.max(running.used + delta, 0), Number.MAX_SAFE_INTEGER);
    },
  };
}
