import type { Database, Statements } from '../../ports/database.ts';

/**
 * An invariant of the books. `faults` is a select of one text column with a row for each fault. It is a single
 * statement, so it sees one snapshot and can run while calls are charged. It is set-based: the compared rows stay in
 * the database, whatever their number.
 */
export interface AuditCheck {
  /** The invariant, worded to follow `checked that`. */
  readonly holds: string;
  readonly faults: string;
}

/** A check that a single statement cannot make. Values that are compared with each other come from one statement. */
export interface ComputedCheck {
  readonly holds: string;
  find(statements: Statements, limit: number): Promise<readonly string[]>;
}

/** Per check: a thousand faults have a common cause. */
const MOST_FAULTS = 1_000;
/** A check reads every row, possibly hundreds of millions. */
const CHECK_TIMEOUT_MS = 4 * 60 * 60_000;

export interface CheckedBooks {
  readonly faults: readonly string[];
  /** True if there are more faults than are listed. */
  readonly isCut: boolean;
}

export async function runCheck(database: Database, check: AuditCheck | ComputedCheck): Promise<CheckedBooks> {
  const faults = await readForLong(database, async (statements) => {
    if ('find' in check) return await check.find(statements, MOST_FAULTS + 1);
    const rows = await statements.query<{ fault: string }>(
      `select fault from (${check.faults}) as found (fault) limit ${MOST_FAULTS + 1}`,
    );
    return rows.map(({ fault }) => fault);
  });
  return { faults: faults.slice(0, MOST_FAULTS), isCut: faults.length > MOST_FAULTS };
}

/**
 * Sorts and hashes millions of rows in memory. Merge joins are off because they would sort large inputs. Behind a
 * pooler, `jit` may be on.
 */
const FOR_LARGE_READS = `set local work_mem = '256MB'; set local enable_mergejoin = off; set local jit = off`;

export async function readForLong<T>(
  database: Database,
  work: (statements: Statements) => Promise<T>,
): Promise<T> {
  return await database.transaction(
    async (transaction) => {
      // The embedded engine has one process and little memory.
      if (database.engine === 'postgres') await transaction.script(FOR_LARGE_READS);
      return await work(transaction);
    },
    { timeoutMs: CHECK_TIMEOUT_MS },
  );
}
