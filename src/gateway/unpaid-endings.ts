import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';

/** Streams that ended without usage cost us and nobody pays: a key that keeps doing so is told of (G-31). */
export interface UnpaidEndings {
  note(keyId: string): void;
}

const SUSPICIOUS = 5;
const WITHIN_MS = 10 * 60_000;
const MOST_KEYS = 10_000;

export function createUnpaidEndings({ clock, log }: { clock: Clock; log: Log }): UnpaidEndings {
  const endings = new Map<string, { since: number; count: number }>();
  return {
    note(keyId) {
      const now = clock.now();
      const known = endings.get(keyId);
      const isRunning = known !== undefined && now - known.since < WITHIN_MS;
      const entry = isRunning ? known : { since: now, count: 0 };
      entry.count += 1;
      endings.delete(keyId);
      endings.set(keyId, entry);
      if (entry.count % SUSPICIOUS === 0) {
        const context = { keyId, count: entry.count, withinMs: WITHIN_MS };
        log.warn('streams of a key keep ending without usage and are not charged', context);
      }
      if (endings.size <= MOST_KEYS) return;
      const oldest = endings.keys().next().value;
      if (oldest !== undefined) endings.delete(oldest);
    },
  };
}
