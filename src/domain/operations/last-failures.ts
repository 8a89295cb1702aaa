import type { Statements } from '../../ports/database.ts';

export interface TargetFailure {
  readonly targetId: string;
  /** In a word, as connect, late or 503. */
  readonly reason: string;
  readonly failedAt: Date;
}

const MOST_ENTRIES = 2_000;

/** The last failure of each model target since then, by what its callers logged. */
export async function lastFailures(statements: Statements, since: Date): Promise<readonly TargetFailure[]> {
  return await statements.query<TargetFailure>(
    `select distinct on ("targetId") * from (
       select context ->> 'targetId' as "targetId", left(coalesce(context ->> 'reason', 'unknown'), 200) as reason,
         timestamp as "failedAt"
       from log_entries where level = 'warn' and timestamp >= $1 and message = 'a model target failed'
       order by timestamp desc limit ${MOST_ENTRIES}) as failure
     where "targetId" is not null order by "targetId", "failedAt" desc`,
    [since],
  );
}
