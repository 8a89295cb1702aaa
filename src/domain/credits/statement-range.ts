import type { Statements } from '../../ports/database.ts';

/**
 * Versions are given out under the account's lock, so a version that is there has all lower ones before it, for good:
 * a range of versions is a part of the books that never changes again. Times are those at which a transaction began;
 * it may have waited for the lock, so they are in order only up to that wait. So periods are cut by version: up to
 * the last one that began before the period's end. Neighbouring periods then share no transaction and miss none.
 *
 * There is no index by time, which every charge would pay for: the end is looked for by halving the versions, and then
 * backwards through at most this much time, which is longer than any statement may wait.
 */
const LONGEST_WAIT = "interval '1 hour'";

/** The highest version of a transaction of the account that began before `at`; 0 where there is none. */
export async function lastVersionBefore(
  statements: Statements,
  accountId: string,
  at: Date,
): Promise<bigint> {
  const [row] = await statements.query<{ version: bigint }>(
    `with recursive search (low, high) as (
       select 0::bigint, version + 1 from credit_accounts where id = $1
       union all
       select case when probe.is_before then middle + 1 else low end,
         case when probe.is_before then high else middle end
       from (select low, high, (low + high) / 2 as middle from search where low < high) as halved
       cross join lateral (
         select coalesce((
           select created_at < $2::timestamptz + ${LONGEST_WAIT} from credit_transactions
           where account_id = $1 and version >= middle order by version limit 1), false) as is_before) as probe)
     select coalesce((
       select version from credit_transactions
       where account_id = $1 and version <= (select max(low) from search) and created_at < $2::timestamptz
       order by version desc limit 1), 0)::bigint as version`,
    [accountId, at],
  );
  return row?.version ?? 0n;
}
