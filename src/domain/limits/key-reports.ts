import type { Clock } from '../../ports/clock.ts';

interface KeyReports {
  /** Counts one more for the key. Returns the count if it is to be logged now, and null if not. */
  note(keyId: string): number | null;
}

/** A count starts again this long after its first. */
export const REPORT_WITHIN_MS = 10 * 60_000;
const MOST_KEYS = 10_000;

/**
 * When to log what a key does repeatedly: at `first`, and each time the count has grown tenfold. A client that repeats it in
 * a loop does not fill the log.
 */
export function createKeyReports({ clock, first }: { clock: Clock; first: number }): KeyReports {
  const counts = new Map<string, { since: number; count: number; next: number }>();
  return {
    note(keyId) {
      const now = clock.now();
      const known = counts.get(keyId);
      const isRunning = known !== undefined && now - known.since < REPORT_WITHIN_MS;
      const entry = isRunning ? known : { since: now, count: 0, next: first };
      entry.count += 1;
      counts.delete(keyId);
      counts.set(keyId, entry);
      if (counts.size > MOST_KEYS) {
        const oldest = counts.keys().next().value;
        if (oldest !== undefined) counts.delete(oldest);
      }
      if (entry.count < entry.next) return null;
      entry.next *= 10;
      return entry.count;
    },
  };
}
