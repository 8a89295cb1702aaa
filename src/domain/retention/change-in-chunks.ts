import type { Database, SqlValue } from '../../ports/database.ts';

/** A few milliseconds of work per chunk, so that no other statement waits long for one. */
export const CHUNK_ROWS = 1_000;

interface ChunkedChange {
  /**
   * A delete or update without `returning` that changes at most `chunkRows` rows, selected by a search like
   * `id = any (array(select id from … order by … limit … for update skip locked))`. With `array(…)` the search runs
   * once; with `id in (…)` PostgreSQL may run it again for every row and find other rows each time. With `skip locked`,
   * several processes can work on one table at the same time.
   */
  readonly sql: string;
  readonly values: readonly SqlValue[];
  /** The limit in `sql`. */
  readonly chunkRows?: number;
  /** Unlimited if omitted. */
  readonly maxChunks?: number;
  readonly signal?: AbortSignal | undefined;
}

interface ChangedInChunks {
  readonly rows: number;
  /** False if `maxChunks` was reached and rows may be left. */
  readonly isDone: boolean;
}

/**
 * Deletes or updates many rows in short statements, each in its own transaction: completed chunks persist if the
 * process stops in between. Ends with the first chunk that is not full, so rows that other transactions have locked are
 * left to them or to the next run.
 */
export async function changeInChunks(database: Database, change: ChunkedChange): Promise<ChangedInChunks> {
  const { sql, values, chunkRows = CHUNK_ROWS, maxChunks = Number.POSITIVE_INFINITY, signal } = change;
  let rows = 0;
  for (let chunk = 0; chunk < maxChunks; chunk += 1) {
    signal?.throwIfAborted();
    const [changed] = await database.query<{ count: bigint }>(
      `with changed as (${sql} returning 1) select count(*) from changed`,
      values,
    );
    const count = Number(changed?.count ?? 0);
    rows += count;
    if (count < chunkRows) return { rows, isDone: true };
  }
  return { rows, isDone: false };
}
