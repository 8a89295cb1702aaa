import type { Clock } from '../../ports/clock.ts';
import type { Database, SqlValue } from '../../ports/database.ts';

export interface LogPrunerParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly keepRows: number;
  readonly keepMs: number;
}

const EVERY_MS = 60_000;
/** Some milliseconds of work each, so that nobody waits long behind one. */
const CHUNK_ROWS = 1_000;
const CHUNKS_AT_ONCE = 20;

const PAST_AGE = 'select id from log_entries where timestamp < $1 order by timestamp, id';
/** Ids only count up: above the newest one less the bound there cannot be more rows than the bound. */
const PAST_NUMBER = `select id from log_entries
  where id <= (select max(id) from log_entries) - $1::bigint order by id`;

/**
 * Deletes entries past their age and past the bound on rows, oldest first. May be called as often as one likes:
 * it looks once a minute, and at every call while it is behind.
 */
export function createLogPruner({ database, clock, keepRows, keepMs }: LogPrunerParts): () => Promise<void> {
  let dueAt = 0;

  async function prune(): Promise<boolean> {
    const oldest = new Date(clock.now() - keepMs);
    const byAge = await deleteChunks(database, PAST_AGE, oldest);
    const byNumber = await deleteChunks(database, PAST_NUMBER, BigInt(keepRows));
    return byAge && byNumber;
  }

  return async () => {
    if (clock.now() < dueAt) return;
    dueAt = clock.now() + EVERY_MS;
    const isDone = await prune();
    if (!isDone) dueAt = 0;
  };
}

/**
 * True when nothing was left to delete. Rows that another process is deleting are left to it. `array(…)` runs the
 * search once; behind `id in (…)` PostgreSQL may run it again for every row, and each time it finds others.
 */
async function deleteChunks(database: Database, which: string, bound: SqlValue): Promise<boolean> {
  for (let chunk = 0; chunk < CHUNKS_AT_ONCE; chunk += 1) {
    const [row] = await database.query<{ deleted: bigint }>(
      `with gone as (
         delete from log_entries
         where id = any (array(${which} limit ${CHUNK_ROWS} for update skip locked)) returning 1
       ) select count(*) as deleted from gone`,
      [bound],
    );
    if (Number(row?.deleted ?? 0) < CHUNK_ROWS) return true;
  }
  return false;
}
