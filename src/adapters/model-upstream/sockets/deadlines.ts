import type { Clock, Timer } from '../../../ports/clock.ts';

/** Something that may be late. It is watched from its first deadline until it is left. */
export interface Watched {
  /** By the clock's uptime; infinite where it has all the time. */
  dueMs: number;
  late(): void;
}

/**
 * One timer for all connections, set for whatever is due first. A deadline is a number that is written and later
 * overwritten: what is not late costs nothing else.
 */
export interface Deadlines {
  set(watched: Watched, delayMs: number): void;
  /** By the clock's uptime. */
  setAt(watched: Watched, dueMs: number): void;
  /** From now on it has all the time. */
  clear(watched: Watched): void;
  leave(watched: Watched): void;
}

/** Thousands of connections that end one after the other are checked together. */
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
      // One that was late may have changed the next one's.
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
