import type { Statements } from '../../ports/database.ts';

const MOST_AT_ONCE = 1_000;

/** Those whose payment is overdue for longer than the days of grace are active no more. Returns their ids. */
export async function endGrace(
  statements: Statements,
  { now, graceMs }: { readonly now: Date; readonly graceMs: number },
): Promise<readonly string[]> {
  const rows = await statements.query<{ id: string }>(
    `update subscriptions set is_active = false, updated_at = $1
     where id in (select id from subscriptions where is_active and status = 'PAST_DUE' and past_due_since <= $2
       order by id limit ${MOST_AT_ONCE})
     returning id`,
    [now, new Date(now.getTime() - graceMs)],
  );
  return rows.map(({ id }) => id);
}
