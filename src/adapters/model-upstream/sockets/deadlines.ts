import type { Clock, Timer } from '../../../ports/clock.ts';

/** An object with a deadline. It is watched from its first deadline until it is removed. */
export interface Watched {
  /** By the clock's uptime; Infinity for none. */
  dueMs: number;
  late(): void;
}

/**
 * One timer for all connections, set to the earliest deadline. Setting or changing a deadline only writes a number.
 */
export interface Deadlines {
  set(watched: Watched, delayMs: number): void;
  /** By the clock's uptime. */
  setAt(watched: Watched, dueMs: number): void;
  /** Removes the deadline. */
  clear(watched: Watched): void;
  leave(watched: Watched): void;
}

/** The shortest interval between checks, so that thousands of deadlines in a row are checked together. */
const LEAST_GAP_MS = 20;

export function createDeadlines(clock: Pick<Clock, 'after' | 'uptimeMs'>): Deadlines {
  const all = new Set<Watched>();
  let timer: Timer | null = null;
  let timerDueMs = Number.POSITIVE_INFINITY;

  function arm(dueMs: number, nowMs: number): void {
    timer?.cancel();
    timer = null;
    timerDueMs = dueMs;
    if (dueMs < Number.POSITIVE_INFINITY) timer = clock.after(dueMs - nowMs, look);
  }

  function look(): void {
    const nowMs = clock.uptimeMs();
    const late: Watched[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const watched of all) {
      if (watched.dueMs <= nowMs) late.push(watched);
      else if (watched.dueMs < next) next = watched.dueMs;
    }
    arm(Math.max(next, nowMs + LEAST_GAP_MS), nowMs);
    for (const watched of late) {
      // A callback may have changed the next deadline.
      if (watched.dueMs > nowMs) continue;
      watched.dueMs = Number.POSITIVE_INFINITY;
      watched.late();
    }
  }

  function setAt(watched: Watched, dueMs: number): void {
    watched.dueMs = dueMs;
    if (dueMs === Number.POSITIVE_INFINITY) return;
    all.add(watched);
    if (dueMs < timerDueMs) arm(dueMs, clock.uptimeMs());
  }

  return {
    set: (watched, delayMs) => setAt(watched, clock.uptimeMs() + delayMs),
    setAt,
    clear(watched) {
      watched.dueMs = Number.POSITIVE_INFINITY;
    },
    leave(watched) {
      watched.dueMs = Number.POSITIVE_INFINITY;
      if (all.delete(watched) && all.size === 0) arm(Number.POSITIVE_INFINITY, 0);
    },
  };
}
