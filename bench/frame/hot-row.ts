import { createSeededRandom } from '../../test/doubles/seeded-random.ts';

interface HotRow {
  readonly perSecond: number;
  readonly processes: number;
  /** What a commit of one call takes while it has the row. */
  readonly commitMs: number;
  readonly callMs: number;
}

export interface Waits {
  /** From the end of a call to its commit. */
  readonly p99Ms: number;
  readonly meanGroup: number;
  /** False where more calls wait at the end than came in the last second. */
  readonly isKeepingUp: boolean;
}

const SIMULATED_MS = 20_000;
const SEED = 11;

/**
 * Calls end at random moments at random processes. A process commits one group at a time, of all that has ended there
 * since; the row serves one commit after the other, in the order in which they ask. So a row that is busy makes groups
 * larger and itself cheaper a call, up to the cost of a call alone.
 */
export function simulateHotRow({ perSecond, processes, commitMs, callMs }: HotRow): Waits {
  const random = createSeededRandom(SEED);
  const uniform = () => (random.below(1_000_000) + 1) / 1_000_001;
  const waiting: number[][] = Array.from({ length: processes }, () => []);
  const asking: number[] = [];
  const isAsking = new Set<number>();
  const waits: number[] = [];
  let groups = 0;
  let rowFreeAt = 0;
  let nextCallAt = 0;

  for (let now = 0; now < SIMULATED_MS; ) {
    const nextCommitAt = asking.length > 0 ? Math.max(rowFreeAt, now) : Number.POSITIVE_INFINITY;
    if (nextCallAt <= nextCommitAt) {
      now = nextCallAt;
      const at = random.below(processes);
      waiting[at]?.push(now);
      if (!isAsking.has(at)) {
        isAsking.add(at);
        asking.push(at);
      }
      nextCallAt = now - (Math.log(uniform()) * 1_000) / perSecond;
      continue;
    }
    now = nextCommitAt;
    const at = asking.shift() ?? 0;
    isAsking.delete(at);
    const group = waiting[at]?.splice(0) ?? [];
    rowFreeAt = now + commitMs + callMs * (group.length - 1);
    groups += 1;
    for (const endedAt of group) waits.push(rowFreeAt - endedAt);
  }
  const left = waiting.reduce((sum, calls) => sum + calls.length, 0);
  return {
    p99Ms: waits.toSorted((one, other) => one - other)[Math.floor(waits.length * 0.99)] ?? 0,
    meanGroup: waits.length / Math.max(1, groups),
    isKeepingUp: left < perSecond,
  };
}
