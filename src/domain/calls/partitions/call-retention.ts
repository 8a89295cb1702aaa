import type { Clock } from '../../../ports/clock.ts';
import type { Database, DatabaseFailure, Transaction } from '../../../ports/database.ts';
import type { JobHandler } from '../../../ports/job-queue.ts';
import type { Log } from '../../../ports/log.ts';
import { leastIdAt } from '../../../ports/secrets.ts';
import { retentionQueue } from '../../retention/retention-queue.ts';
import { addUpAddressRefusals, purgeAddressRefusals } from '../log/address-refusals.ts';
import { purgeResolvedUsage } from '../settlement/withheld-usage.ts';
import { COST_ALIAS, COST_SUMS, COSTED_CALLS, COSTS_OF_CALLS } from '../usage/margins.ts';
import { ALL_KEYS, COUNTED_CALLS, SUMS_OF_CALLS, USAGE_SUMS } from '../usage/usage-report.ts';
import { purgeSubjectSums } from '../usage/usage-subjects.ts';
import {
  type CallPartitionParts,
  hasPartitionsLock,
  LOCK_TIMEOUT,
  listCallPartitions,
  OTHER_CALLS,
  openCallPartitions,
} from './call-partitions.ts';

interface RetireCallsParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Whole months besides the current one; 0 keeps all calls. */
  readonly keepMonths: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** The minimum, whatever is set: by then repeats are answered, months added up and invoiced, and journals replayed. */
const LEAST_DAYS = 45;
/** Enough to read a partition of a hundred million calls. Only late calls of the same partition wait for it. */
const TRANSACTION_MS = 2 * 60 * 60_000;
const LOCK_NOT_AVAILABLE = '55P03';

/** `already-gone`: another process retired it first, and this one continues with the next partition. */
type Retired = 'retired' | 'already-gone' | 'not-now' | 'not-proved';

/**
 * Deletes calls past their retention, one whole partition at a time. Their sums are stored in the same transaction, and only
 * if the books account for all of them: every charge in the ledger, every call in the usage of its day. Otherwise the calls
 * stay and an error is logged. Returns the number of partitions deleted.
 */
export async function retireCalls(parts: RetireCallsParts, signal?: AbortSignal): Promise<number> {
  const { database, clock, log, keepMonths } = parts;
  if (keepMonths === 0) return 0;
  const horizonId = leastIdAt(horizonMs(clock.now(), keepMonths));
  const past = (await listCallPartitions(database)).filter(({ beforeId }) => beforeId <= horizonId);
  let gone = 0;
  for (const { name, beforeId } of past) {
    signal?.throwIfAborted();
    const retired = await retire(parts, name, beforeId);
    if (retired === 'already-gone') continue;
    if (retired !== 'retired') return gone;
    gone += 1;
    log.info('calls past their retention were deleted', { partition: name });
  }
  // Calls that arrived after their partition was dropped, or while no partitions were created.
  const horizon = past.at(-1)?.beforeId ?? (await retiredBefore(database));
  if (horizon !== null) await retire(parts, OTHER_CALLS, horizon);
  return gone;
}

/** The first moment whose calls are kept. */
function horizonMs(nowMs: number, keepMonths: number): number {
  const now = new Date(nowMs);
  return Math.min(
    Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - keepMonths),
    nowMs - LEAST_DAYS * DAY_MS,
  );
}

async function retiredBefore(database: Database): Promise<string | null> {
  const [row] = await database.query<{ before: string }>('select before_id as before from calls_retirement');
  return row?.before ?? null;
}

/** Retires a whole partition; of the default partition, only the calls before this id. */
async function retire(
  { database, clock, log }: RetireCallsParts,
  partition: string,
  beforeId: string,
): Promise<Retired> {
  const isWhole = partition !== OTHER_CALLS;
  const gone = isWhole
    ? `not materialized (select * from ${partition})`
    : `(delete from ${partition} where id < '${beforeId}' returning *)`;
  let retired: Retired = 'not-now';
  const notProved = new Error('the books lack some of these calls');
  const work = async (transaction: Transaction) => {
    if (!(await hasPartitionsLock(transaction))) return;
    // The lock below keeps late calls of this partition out until the transaction ends.
    if (isWhole && !(await isThere(transaction, partition))) {
      retired = 'already-gone';
      return;
    }
    if (isWhole) await transaction.script(`lock table ${partition} in share row exclusive mode`);
    const [row] = await transaction.query<{ lacking: bigint }>(keepSums(gone));
    if (row?.lacking !== 0n || (await transaction.query(LACKING_USAGE)).length > 0) throw notProved;
    if ((await transaction.query(LACKING_COSTS)).length > 0) throw notProved;
    await transaction.query(
      `insert into calls_retirement as present (before_id, retired_at) values ($1, $2)
       on conflict (only_row) do update set before_id = greatest(present.before_id, excluded.before_id),
         retired_at = excluded.retired_at`,
      [beforeId, new Date(clock.now())],
    );
    if (isWhole) await transaction.script(`${LOCK_TIMEOUT}; drop table ${partition}`);
    retired = 'retired';
  };
  try {
    await database.transaction(work, { timeoutMs: TRANSACTION_MS });
    return retired;
  } catch (error) {
    // A long query is reading calls; the next run tries again.
    if ((error as Partial<DatabaseFailure>).sqlState === LOCK_NOT_AVAILABLE) return 'not-now';
    if (error !== notProved) throw error;
    log.error('calls are kept past their time, because the books lack some of them: run `turnpike audit`', {
      before: beforeId,
    });
    return 'not-proved';
  }
}

/** False if another process retired it first. */
async function isThere(transaction: Transaction, partition: string): Promise<boolean> {
  return (await listCallPartitions(transaction)).some(({ name }) => name === partition);
}

/**
 * Adds their sums to those of calls retired earlier, at the granularity of usage_days, and counts the charges that the ledger
 * lacks.
 */
const keepSums = (gone: string) => `with gone as ${gone},
  summed as (
    insert into retired_usage as present (company_id, key_id, day, alias, ${USAGE_SUMS.join(', ')})
    select company_id, coalesce(key_id, '${ALL_KEYS}'::uuid), day, alias, ${SUMS_OF_CALLS}
    from (select *, (started_at at time zone 'utc')::date as day from gone) as dated
    where ${COUNTED_CALLS}
    group by grouping sets ((company_id, day, alias, key_id), (company_id, day, alias))
    having grouping(key_id) = 1 or key_id is not null
    on conflict (company_id, key_id, day, alias) do update
      set ${USAGE_SUMS.map((column) => `${column} = present.${column} + excluded.${column}`).join(', ')}),
  costed as (
    insert into retired_costs as present (company_id, day, alias, target_id, ${COST_SUMS.join(', ')})
    select company_id, (started_at at time zone 'utc')::date, ${COST_ALIAS}, coalesce(target_id, ''), ${COSTS_OF_CALLS}
    from gone where ${COSTED_CALLS}
    group by 1, 2, 3, 4
    on conflict (company_id, day, alias, target_id) do update
      set ${COST_SUMS.map((column) => `${column} = present.${column} + excluded.${column}`).join(', ')})
  select count(*) as lacking
  from (select id, coalesce(payer_id, company_id) as payer, charge_micro from gone where charge_micro <> 0) as charged
  left join credit_transactions as posted on posted.source_kind = 'call' and posted.source_id = charged.id::text
    and posted.account_id = payer
  left join credit_transactions as later on later.source_kind = 'withheld-usage' and later.source_id = charged.id::text
    and later.account_id = payer
  where coalesce(posted.amount_micro, 0) + coalesce(later.amount_micro, 0) <> -charge_micro`;

const LACKING_USAGE = `select 1 from retired_usage as retired
  left join usage_days as kept using (company_id, key_id, day, alias)
  where kept.calls is null or ${USAGE_SUMS.map((column) => `kept.${column} < retired.${column}`).join(' or ')} limit 1`;

const LACKING_COSTS = `select 1 from retired_costs as retired
  left join cost_days as kept using (company_id, day, alias, target_id)
  where kept.calls is null or ${COST_SUMS.map((column) => `kept.${column} < retired.${column}`).join(' or ')} limit 1`;

/** Creates the partitions for the time ahead and deletes calls past their retention. */
export const CALLS_RETENTION_QUEUE = retentionQueue('calls-retention', { runSeconds: 4 * 3_600 });
/** Every hour: it rarely finds anything to do, and an installation may run only for some hours of the day. */
export const CALLS_RETENTION_CRON = '17 * * * *';

/** The handler of CALLS_RETENTION_QUEUE. */
export function createCallsRetentionHandler(
  parts: CallPartitionParts & RetireCallsParts & { readonly keepNamesMonths: number },
): JobHandler {
  return async ({ signal }) => {
    await openCallPartitions(parts);
    await retireCalls(parts, signal);
    await purgeResolvedUsage(parts.database, signal);
    await purgeAddressRefusals(parts.database, parts.clock.now(), signal);
    await addUpAddressRefusals(parts.database, parts.clock.now(), signal);
    const { keepNamesMonths: keepMonths, database, clock } = parts;
    await purgeSubjectSums(database, { keepMonths, nowMs: clock.now(), signal });
  };
}
