import type { Clock } from '../../../ports/clock.ts';
import type { Database, SqlValue, Statements } from '../../../ports/database.ts';
import type { JobHandler, JobQueue, QueueDefinition } from '../../../ports/job-queue.ts';
import type { Log } from '../../../ports/log.ts';
import type { Secrets } from '../../../ports/secrets.ts';
import { leastIdAt } from '../../../ports/secrets.ts';
import type { SharedState } from '../../../ports/shared-state.ts';
import { type AccountLevel, publishLevel } from '../../credits/ledger/credit-account.ts';
import { type CallLogFilter, matching } from '../log/call-log.ts';
import { chargeOf, IS_CHARGED } from '../settlement/due-charge.ts';
import { correctCharge } from './correct-charge.ts';

/**
 * Calls are priced again by the prices that are now valid for their start, for a price that was wrong. What they cost less is
 * given back, once for each call and price. Calls that would cost more keep their charge.
 */
export type RerateFilter = CallLogFilter & {
  /** As clients write it. */
  readonly model: string;
  readonly from: Date;
  readonly to: Date;
};

export const MOST_RERATED_DAYS = 62;

export interface RerateReport {
  readonly companies: readonly RerateOfCompany[];
  /** Those that would cost more: at most 100 of them. */
  readonly dearer: readonly DearerCall[];
}

interface RerateOfCompany {
  readonly companyId: string;
  /** The calls that cost less now. */
  readonly calls: number;
  /** What they cost, less what was given back when they were priced again before. */
  readonly beforeMicro: bigint;
  readonly afterMicro: bigint;
}

interface DearerCall {
  readonly id: string;
  readonly requestId: string;
  readonly chargeMicro: bigint;
  readonly newMicro: bigint;
}

export const MOST_DEARER = 100;
/** Millions of calls may be read. */
const REPORT_MS = 5 * 60_000;

export async function rerateReport(database: Database, filter: RerateFilter): Promise<RerateReport> {
  return await database.transaction(
    async (transaction) => {
      const { sql, values } = differences(filter);
      const companies = await transaction.query<RerateOfCompany>(
        `select company_id as "companyId", count(*)::int as calls, sum(charge_micro - rerated)::bigint as "beforeMicro",
           sum(charge_micro - rerated - given)::bigint as "afterMicro"
         from (${sql}) as calls where given > 0 group by company_id order by company_id`,
        values,
      );
      const dearer = await transaction.query<DearerCall>(
        `select id, request_id as "requestId", charge_micro as "chargeMicro", due as "newMicro"
         from (${sql}) as calls where due > charge_micro order by id limit ${MOST_DEARER}`,
        values,
      );
      return { companies, dearer };
    },
    { timeoutMs: REPORT_MS },
  );
}

export interface RerateParts {
  readonly database: Database;
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
  readonly sharedState: SharedState;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly clock: Clock;
  readonly log: Log;
}

const CALLS_AT_ONCE = 50;

/** Gives back the differences of at most `most` calls. True if there are none left. */
export async function rerateCalls(
  parts: RerateParts,
  filter: RerateFilter,
  { most, signal }: { readonly most: number; readonly signal?: AbortSignal },
): Promise<boolean> {
  const { database, clock } = parts;
  let after: string | null = null;
  for (let seen = 0; seen < most; seen += CALLS_AT_ONCE) {
    signal?.throwIfAborted();
    const calls: readonly RatedCall[] = await listRated(database, filter, after);
    if (calls.length === 0) return true;
    after = calls.at(-1)?.id ?? null;
    await giveBack(parts, calls, new Date(clock.now()));
  }
  return false;
}

/** By id: one that was corrected otherwise meanwhile is passed over, not tried again. */
async function listRated(
  statements: Statements,
  filter: RerateFilter,
  after: string | null,
): Promise<readonly RatedCall[]> {
  const { sql, values } = differences(filter, after);
  return await statements.query<RatedCall>(
    `select id, new_price_id as "priceId", given::bigint as "givenMicro"
     from (${sql}) as calls where given > 0 order by id limit ${CALLS_AT_ONCE}`,
    values,
  );
}

interface RatedCall {
  readonly id: string;
  readonly priceId: string;
  readonly givenMicro: bigint;
}

/** Each in its own transaction: those of several users would lock their accounts in another order than charges do. */
async function giveBack(
  { database, jobQueue, sharedState, secrets, log }: RerateParts,
  calls: readonly RatedCall[],
  now: Date,
): Promise<void> {
  const changed = new Map<string, AccountLevel>();
  for (const { id: callId, givenMicro: creditsMicro, priceId } of calls) {
    const reason = `priced again at price ${priceId}`;
    const made = { id: secrets.newId(), callId, creditsMicro, reason, priceId, now };
    const done = await database.transaction((transaction) => correctCharge(transaction, jobQueue, made));
    if (done.outcome === 'corrected') changed.set(done.level.accountId, done.level);
    if (done.outcome === 'refused') log.warn('a call keeps its charge', { callId, problem: done.problem });
  }
  for (const level of changed.values()) await publishLevel(sharedState, level, log);
}

/**
 * A select of charged calls with the price that is now valid for their start (`new_price_id`), what they cost at it (`due`),
 * what was given back when they were priced before (`rerated`), and what is to be given back (`given`).
 */
function differences(
  filter: RerateFilter,
  after: string | null = null,
): { readonly sql: string; readonly values: readonly SqlValue[] } {
  const values: SqlValue[] = [];
  const value = (one: SqlValue) => `$${values.push(one)}`;
  const { from, to } = filter;
  // By the alias whose price it had, which may be the requested one or the one that served it.
  const chosen = `select *, (select alias from model_prices where id = price_id) as priced_as from calls
      where ${matching(filter, values)} and ${IS_CHARGED} and charge_micro > 0
        and started_at >= ${value(from)}::timestamptz and started_at < ${value(to)}::timestamptz
        and id >= ${value(leastIdAt(from.getTime() - ID_ROOM_MS))}::uuid
        and id < ${value(leastIdAt(to.getTime() + ID_ROOM_MS))}::uuid and id > ${value(after ?? FIRST_ID)}::uuid`;
  const sql = `select *, least(charge_micro - rerated - due, charge_micro - corrected) as given
    from (
      select calls.*, new_price_id, ${DUE}::bigint as due, coalesce(rerated, 0) as rerated, coalesce(corrected, 0) as corrected
      from (${chosen}) as calls
      left join (select call_id, prompt_bound, completion_bound from withheld_usage
        where resolution is distinct from 'POSTED') as withheld on withheld.call_id = calls.id
      cross join lateral (select id as new_price_id, prompt_micro, cached_micro, completion_micro, cache_write_micro
        from model_prices where alias = priced_as and in_force_from <= started_at
        order by in_force_from desc limit 1) as price
      left join lateral (select sum(credits_micro) as corrected, array_agg(price_id) as price_ids,
          sum(credits_micro) filter (where price_id is not null) as rerated
        from charge_corrections where call_id = calls.id) as correction on true
      where calls.price_id <> new_price_id and not new_price_id = any (coalesce(price_ids, '{}'))) as calls`;
  return { sql, values };
}

const ID_ROOM_MS = 24 * 60 * 60_000;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** For as many tokens as the call was charged for. */
const DUE = chargeOf('least(prompt_tokens, prompt_bound)', 'least(completion_tokens, completion_bound)');

/** As the job's data has it. */
export function storedFilter({ from, to, minChargeMicro, ...rest }: RerateFilter) {
  return {
    ...rest,
    from: from.toISOString(),
    to: to.toISOString(),
    minChargeMicro: String(minChargeMicro ?? 0),
  };
}

/** The filter as JSON. Continues what the request that enqueued it has begun. */
export const RERATE_QUEUE: QueueDefinition = {
  name: 'rerate-calls',
  retries: 5,
  retryDelaySeconds: 60,
  retryDelayMaxSeconds: 3_600,
  runSeconds: 3_600,
  heartbeatSeconds: 60,
};

export function createRerateHandler(parts: RerateParts): JobHandler {
  return async ({ data, signal }) => {
    const { from, to, minChargeMicro, ...given } = data.filter as ReturnType<typeof storedFilter>;
    const filter = {
      ...given,
      from: new Date(from),
      to: new Date(to),
      minChargeMicro: BigInt(minChargeMicro),
    };
    await rerateCalls(parts, filter, { most: Number.POSITIVE_INFINITY, signal });
  };
}
