import type { Clock } from '../../../ports/clock.ts';
import type { Database, Statements } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import { leastIdAt } from '../../../ports/secrets.ts';

/** The time span that a partition of calls covers. */
type PartitionSpan = 'month' | 'week' | 'day';

interface CallPartition {
  readonly name: string;
  /** The first id of the partition; null is unbounded. */
  readonly fromId: string | null;
  /** The first id after the partition. */
  readonly beforeId: string;
}

export interface CallPartitionParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly span: PartitionSpan;
}

interface Span {
  readonly fromMs: number;
  readonly beforeMs: number;
}

/** The default partition, for ids outside all others. */
export const OTHER_CALLS = 'calls_other';
/** An arbitrary number: the advisory lock under which the partitions are changed. */
const PARTITIONS_LOCK = 7_261_918;
/** How many spans after the current one get partitions, so that the job may fail to run for a while. */
const SPANS_AHEAD = { month: 3, week: 6, day: 14 } as const;
const DAY_MS = 24 * 60 * 60 * 1000;
/** 1970 began on a Thursday; weeks begin on Mondays. */
const FIRST_MONDAY_MS = 4 * DAY_MS;
/**
 * Statements on calls queue behind one that waits for a lock. This time-out is short enough that no commit is journaled
 * because of it.
 */
export const LOCK_TIMEOUT = "set local lock_timeout = '1s'";

/** Tries to lock the partitions for changes until the transaction ends. */
export async function hasPartitionsLock(statements: Statements): Promise<boolean> {
  const [row] = await statements.query<{ taken: boolean }>('select pg_try_advisory_xact_lock($1) as taken', [
    PARTITIONS_LOCK,
  ]);
  return row?.taken === true;
}

/** Ordered by time, without the default partition. */
export async function listCallPartitions(statements: Statements): Promise<readonly CallPartition[]> {
  const rows = await statements.query<{ name: string; bound: string }>(
    `select child.relname::text as name, pg_get_expr(child.relpartbound, child.oid) as bound
     from pg_inherits join pg_class as child on child.oid = inhrelid where inhparent = 'calls'::regclass`,
  );
  const partitions = rows.flatMap(({ name, bound }): CallPartition[] => {
    const [, fromId = null, beforeId] = /FROM \((?:MINVALUE|'([^']+)')\) TO \('([^']+)'\)/.exec(bound) ?? [];
    return beforeId === undefined ? [] : [{ name, fromId, beforeId }];
  });
  return partitions.sort((one, other) => (one.beforeId < other.beforeId ? -1 : 1));
}

/**
 * Creates the partitions for the time ahead. It may run at any time and in several processes: only one does the work. If it
 * did not run for long, calls were written to `calls_other` and stay there: a span with calls in it gets no partition, so
 * that nothing is moved and nothing blocks. Returns the number of partitions created.
 */
export async function openCallPartitions({
  database,
  clock,
  log,
  span,
}: CallPartitionParts): Promise<number> {
  const required = spansFrom(clock.now(), span);
  if (missing(required, await listCallPartitions(database)).length === 0) return 0;
  const made = await database.transaction(async (transaction) => {
    if (!(await hasPartitionsLock(transaction))) return [];
    await transaction.script(LOCK_TIMEOUT);
    const names: string[] = [];
    for (const { fromMs, beforeMs } of missing(required, await listCallPartitions(transaction))) {
      const [fromId, beforeId] = [leastIdAt(fromMs), leastIdAt(beforeMs)];
      const strays = await transaction.query(
        `select 1 from ${OTHER_CALLS} where id >= $1::uuid and id < $2::uuid limit 1`,
        [fromId, beforeId],
      );
      if (strays.length > 0) continue;
      const name = `calls_from_${new Date(fromMs).toISOString().slice(0, 10).replaceAll('-', '_')}`;
      // Created separately and then attached, because that does not block writes of calls.
      await transaction.script(`create table ${name} (like calls including all);
        alter table calls attach partition ${name} for values from ('${fromId}') to ('${beforeId}')`);
      names.push(name);
    }
    return names;
  });
  if (made.length > 0) log.info('partitions of calls were made', { partitions: made });
  return made.length;
}

/** The current span and those after it. */
function spansFrom(nowMs: number, span: PartitionSpan): readonly Span[] {
  const starts = Array.from({ length: SPANS_AHEAD[span] + 2 }, (_, ahead) => startOf(nowMs, span, ahead));
  return starts.slice(0, -1).map((fromMs, index) => ({ fromMs, beforeMs: starts[index + 1] ?? fromMs }));
}

function startOf(nowMs: number, span: PartitionSpan, ahead: number): number {
  if (span === 'month') {
    const now = new Date(nowMs);
    return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead);
  }
  if (span === 'day') return (Math.floor(nowMs / DAY_MS) + ahead) * DAY_MS;
  const week = Math.floor((nowMs - FIRST_MONDAY_MS) / (7 * DAY_MS)) + ahead;
  return FIRST_MONDAY_MS + week * 7 * DAY_MS;
}

/**
 * The spans that have no partition yet. After a change of the setting only the rest of one may be missing: a month's
 * partition may end within a week.
 */
function missing(required: readonly Span[], present: readonly CallPartition[]): readonly Span[] {
  return required.flatMap(({ fromMs, beforeMs }) => {
    const covered = present.map(({ fromId, beforeId }) => [timeOf(fromId), timeOf(beforeId)] as const);
    const begun = covered.filter(([from, before]) => from <= fromMs && before > fromMs);
    const free = Math.max(fromMs, ...begun.map(([, before]) => before));
    const isTaken = free >= beforeMs || covered.some(([from, before]) => from < beforeMs && before > free);
    return isTaken ? [] : [{ fromMs: free, beforeMs }];
  });
}

function timeOf(id: string | null): number {
  return id === null ? Number.NEGATIVE_INFINITY : Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
}
