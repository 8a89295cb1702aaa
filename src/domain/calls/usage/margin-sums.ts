import type { Clock } from '../../../ports/clock.ts';
import type { Database } from '../../../ports/database.ts';
import { ALL_KEYS } from './usage-report.ts';

interface MarginSumParts {
  readonly database: Database;
  readonly clock: Clock;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** By then calls that started on the day have ended, except those delayed by an outage, which reopen it. */
const DAYS_AFTER = 4;
/** By the database's clock: a later call of such a day reopens it, see the migration. */
const DAYS_REOPENED = 3;
const TRANSACTION_MS = 2 * 60_000;
const AT_ONCE = 1_000;

/**
 * Adds up costs and charges of all companies: of every day that is over, and by company of every month that is over. It may
 * run at any time, also concurrently, and be killed at any point; without it reports are correct, only slower. Returns the
 * number of days and months added up.
 */
export async function addUpMargins(
  { database, clock }: MarginSumParts,
  signal?: AbortSignal,
): Promise<number> {
  const before = new Date(clock.now() - DAYS_AFTER * DAY_MS).toISOString().slice(0, 10);
  let added = 0;
  for (const { open, sum } of [DAYS, MONTHS]) {
    for (const { first } of await database.query<{ first: string }>(open, [before])) {
      signal?.throwIfAborted();
      await addUp(database, first, sum);
      added += 1;
    }
  }
  return added;
}

/** Takes the lock first, in a separate statement, so that the next ones see everything that was written under it. */
async function addUp(database: Database, first: string, sum: readonly string[]): Promise<void> {
  await database.transaction(
    async (transaction) => {
      await transaction.query(
        `select pg_advisory_xact_lock(hashtextextended('platform ' || date_trunc('month', $1::date)::date::text, 0))`,
        [first],
      );
      for (const statement of sum) await transaction.query(statement, [first]);
    },
    { timeoutMs: TRANSACTION_MS },
  );
}

/** Days or months that are not added up yet, starting with the first call. */
const open = (of: 'day' | 'month', done: string) => `
  select to_char(first, 'YYYY-MM-DD') as first
  from generate_series(
    (select date_trunc('${of}', min(day)::timestamp) from usage_days where key_id = '${ALL_KEYS}'),
    date_trunc('${of}', least($1::date, current_date - ${DAYS_REOPENED})::timestamp) - interval '1 ${of}',
    interval '1 ${of}') as first
  where not exists (select 1 from ${done} as done where done.${of} = first::date)
  order by 1 limit ${AT_ONCE}`;

const DAYS = {
  open: open('day', 'platform_days_done'),
  sum: [
    'delete from platform_days where day = $1::date',
    `insert into platform_days (day, alias, target_id, calls, charge_micro, cost_micro)
     select day, alias, target_id, sum(calls), sum(charge_micro), sum(cost_micro) from cost_days where day = $1::date
     group by 1, 2, 3
     union all
     select day, '', '', sum(calls - failures), sum(charge_micro), 0 from usage_days
     where day = $1::date and key_id = '${ALL_KEYS}' group by 1`,
    'insert into platform_days_done (day) values ($1::date) on conflict do nothing',
  ],
};

const MONTHS = {
  open: open('month', 'company_cost_months_done'),
  sum: [
    'delete from company_cost_months where month = $1::date',
    `insert into company_cost_months (month, company_id, calls, charge_micro, cost_micro)
     select $1::date, company_id, sum(calls), sum(charge_micro), sum(cost_micro) from cost_days
     where day >= $1::date and day < $1::date + interval '1 month' group by 2`,
    'insert into company_cost_months_done (month) values ($1::date) on conflict do nothing',
  ],
};
