import type { Clock } from '../../ports/clock.ts';

/**
 * Calls whose credits other calls hold wait here until one of those ends (G-29), first come, first served, per level of a
 * company. A hold may end in another process, which sends no message, so the first in line also tries from time to time.
 */
export interface HoldQueue {
  /** Whether nobody waits: the state of nearly every moment. */
  isEmpty(): boolean;
  /** The first of these levels for which calls wait. One that comes later does not overtake them. */
  waitedFor(tag: string, levels: readonly { readonly level: string }[]): string | null;
  /** Tries until the attempt is no longer held, or the time is over. Null if too many wait already. */
  wait<Attempt>(place: Place, attempt: () => Promise<Held<Attempt>>): Promise<Attempt | null>;
  /** A call of the company has released its holds. */
  released(tag: string): void;
}

interface Place {
  readonly tag: string;
  readonly level: string;
}

interface Held<Attempt> {
  readonly isHeld: boolean;
  readonly value: Attempt;
}

interface Line {
  /** How many wait or try. */
  waiting: number;
  /** Settled when the last in line has left it. */
  last: Promise<unknown>;
  wake: () => void;
}

const TRY_AGAIN_MS = 100;
/** Per company, in this process. */
const MOST_WAITING = 100;

export function createHoldQueue(clock: Clock, waitMs: number): HoldQueue {
  const companies = new Map<string, Map<string, Line>>();

  function lineOf({ tag, level }: Place): Line | null {
    const lines = companies.get(tag) ?? new Map<string, Line>();
    let waiting = 0;
    for (const line of lines.values()) waiting += line.waiting;
    if (waiting >= MOST_WAITING) return null;
    const line = lines.get(level) ?? { waiting: 0, last: Promise.resolve(), wake: () => {} };
    companies.set(tag, lines.set(level, line));
    return line;
  }

  function leave({ tag, level }: Place, line: Line): void {
    line.waiting -= 1;
    if (line.waiting > 0) return;
    const lines = companies.get(tag);
    lines?.delete(level);
    if (lines?.size === 0) companies.delete(tag);
  }

  async function tryUntil<Attempt>(
    line: Line,
    deadlineMs: number,
    attempt: () => Promise<Held<Attempt>>,
  ): Promise<Attempt> {
    for (;;) {
      const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
      // Before the attempt, so that a hold that ends during it is not missed.
      line.wake = wake;
      const { isHeld, value } = await attempt();
      const leftMs = deadlineMs - clock.uptimeMs();
      if (!isHeld || leftMs <= 0) return value;
      const timer = clock.after(Math.min(TRY_AGAIN_MS, leftMs), wake);
      await woken;
      timer.cancel();
    }
  }

  return {
    isEmpty: () => companies.size === 0,
    waitedFor(tag, levels) {
      const lines = companies.get(tag);
      return lines === undefined ? null : (levels.find(({ level }) => lines.has(level))?.level ?? null);
    },
    async wait(place, attempt) {
      const line = lineOf(place);
      if (line === null) return null;
      line.waiting += 1;
      const deadlineMs = clock.uptimeMs() + waitMs;
      const turn = line.last.then(() => tryUntil(line, deadlineMs, attempt));
      line.last = turn.catch(() => {});
      try {
        return await turn;
      } finally {
        leave(place, line);
      }
    },
    released(tag) {
      for (const line of companies.get(tag)?.values() ?? []) line.wake();
    },
  };
}
