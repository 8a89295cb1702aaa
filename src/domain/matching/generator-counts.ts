/** What one process has computed since it started. Time is the clock's. */
export interface GeneratorCounts {
  /** A batch of pairs has ended: so many were scored, so many failed, and it took so long. */
  note(ended: { readonly processed: number; readonly failed: number; readonly tookMs: number }): void;
  batchBegins(): void;
  read(): CountsNow;
}

export interface CountsNow {
  readonly totalProcessed: number;
  readonly totalErrors: number;
  /** Spent on batches of pairs, from the claim to the commit. */
  readonly busyMs: number;
  /** Scored in the last 60 seconds. */
  readonly lastMinute: number;
  readonly lastProcessedAtMs: number | null;
  /** Batches begun, of changes and of pairs: the number of the current one. */
  readonly batches: number;
}

export const NO_COUNTS: CountsNow = {
  totalProcessed: 0,
  totalErrors: 0,
  busyMs: 0,
  lastMinute: 0,
  lastProcessedAtMs: null,
  batches: 0,
};

const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;

export function createGeneratorCounts(clock: { now(): number }): GeneratorCounts {
  let counts = NO_COUNTS;
  /** By second; at most 61 of them. */
  const bySecond = new Map<number, number>();

  function lastMinute(): number {
    const from = clock.now() - MINUTE_MS;
    let sum = 0;
    for (const [second, count] of bySecond) {
      if ((second + 1) * SECOND_MS <= from || second * SECOND_MS > clock.now()) bySecond.delete(second);
      else sum += count;
    }
    return sum;
  }

  return {
    batchBegins() {
      counts = { ...counts, batches: counts.batches + 1 };
    },
    note({ processed, failed, tookMs }) {
      const nowMs = clock.now();
      const second = Math.floor(nowMs / SECOND_MS);
      lastMinute();
      if (processed > 0) bySecond.set(second, (bySecond.get(second) ?? 0) + processed);
      counts = {
        ...counts,
        totalProcessed: counts.totalProcessed + processed,
        totalErrors: counts.totalErrors + failed,
        busyMs: counts.busyMs + tookMs,
        lastProcessedAtMs: processed > 0 ? nowMs : counts.lastProcessedAtMs,
      };
    },
    read: () => ({ ...counts, lastMinute: lastMinute() }),
  };
}

export function sumOfCounts(all: readonly CountsNow[]): CountsNow {
  return all.reduce(
    (sum, one) => ({
      totalProcessed: sum.totalProcessed + one.totalProcessed,
      totalErrors: sum.totalErrors + one.totalErrors,
      busyMs: sum.busyMs + one.busyMs,
      lastMinute: sum.lastMinute + one.lastMinute,
      lastProcessedAtMs: latest(sum.lastProcessedAtMs, one.lastProcessedAtMs),
      batches: sum.batches + one.batches,
    }),
    NO_COUNTS,
  );
}

function latest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}
