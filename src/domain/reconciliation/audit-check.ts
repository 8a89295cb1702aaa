import type { Database } from '../../ports/database.ts';

/**
 * One thing that must hold in the books. `faults` is a select of one text column, a row for each fault, in a single
 * statement: so it sees one moment, and can run while calls are charged. It is set-based: what it compares stays in
 * the database, however many rows there are.
 */
export interface AuditCheck {
  /** What holds, to be read after `checked that`. */
  readonly holds: string;
  readonly faults: string;
}

/** Of each check: who finds a thousand faults looks for one cause. */
const MOST_FAULTS = 1_000;
/** A check reads every row, of which there may be hundreds of millions. */
const CHECK_TIMEOUT_MS = 4 * 60 * 60_000;

export interface CheckedBooks {
  readonly faults: readonly string[];
  /** More of them than are told. */
  readonly isCut: boolean;
}

export async function runCheck(database: Database, { faults }: AuditCheck): Promise<CheckedBooks> {
  const rows = await database.transaction(
    (transaction) =>
      transaction.query<{ fault: string }>(
        `select fault from (${faults}) as found (fault) limit ${MOST_FAULTS + 1}`,
      ),
    { timeoutMs: CHECK_TIMEOUT_MS },
  );
  return { faults: rows.slice(0, MOST_FAULTS).map(({ fault }) => fault), isCut: rows.length > MOST_FAULTS };
}
