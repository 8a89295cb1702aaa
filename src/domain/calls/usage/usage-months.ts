import type { Clock } from '../../../ports/clock.ts';
import type { Database, Statements } from '../../../ports/database.ts';
import type { JobHandler, QueueDefinition } from '../../../ports/job-queue.ts';
import type { Log } from '../../../ports/log.ts';
import { type Company, listCompanies } from '../../accounts/company.ts';
import { addUpMargins } from './margin-sums.ts';
import { ALL_KEYS, USAGE_SUMS } from './usage-report.ts';
import { ALL_MODELS } from './usage-subjects.ts';

/** Adds up the usage of finished months. */
export const USAGE_MONTHS_QUEUE: QueueDefinition = {
  name: 'usage-months',
  retries: 3,
  retryDelaySeconds: 60,
  retryDelayMaxSeconds: 600,
  runSeconds: 3_600,
  heartbeatSeconds: 60,
};
export const USAGE_MONTHS_CRON = '40 2 * * *';

interface UsageMonthsParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

const PAGE = 100;
const DAY_MS = 24 * 60 * 60 * 1000;
/** By then calls that started in the month have ended, except those delayed by an outage, which reopen it. */
const DAYS_AFTER = 4;
/** By the database's clock: a later call of such a day reopens its month, see the migration. */
const DAYS_REOPENED = 3;
const TRANSACTION_MS = 2 * 60_000;
/** All kinds, listed so that the index by kind and day is used. */
const KINDS = "'PROJECT', 'END_USER', 'TAG'";

/**
 * Adds up every month that is over and not done, separately for each company. It may run at any time, also concurrently, and
 * be killed at any point; without it reports are correct, only slower. Returns the number of months added up.
 */
export async function addUpUsageMonths(
  { database, clock, log }: UsageMonthsParts,
  signal?: AbortSignal,
): Promise<number> {
  const before = new Date(clock.now() - DAYS_AFTER * DAY_MS).toISOString().slice(0, 7);
  let added = 0;
  let after: string | undefined;
  do {
    const companies: readonly Company[] = await listCompanies(database, { limit: PAGE, after });
    for (const { id: companyId } of companies) {
      for (const month of await openMonths(database, companyId, `${before}-01`)) {
        signal?.throwIfAborted();
        await addUp(database, companyId, month);
        added += 1;
      }
    }
    after = companies.length < PAGE ? undefined : companies.at(-1)?.id;
  } while (after !== undefined);
  if (added > 0) log.info('usage of finished months was added up', { added });
  const margins = await addUpMargins({ database, clock }, signal);
  if (margins > 0) log.info('costs of finished days and months were added up', { added: margins });
  return added;
}

/** The handler of USAGE_MONTHS_QUEUE. */
export function createUsageMonthsHandler(parts: UsageMonthsParts): JobHandler {
  return async ({ signal }) => void (await addUpUsageMonths(parts, signal));
}

/**
 * The months that are not added up yet, starting with the company's first call. Rows of the whole company have ALL_KEYS as
 * their key.
 */
async function openMonths(
  statements: Statements,
  companyId: string,
  before: string,
): Promise<readonly string[]> {
  const rows = await statements.query<{ month: string }>(
    `select to_char(month, 'YYYY-MM-DD') as month
     from generate_series(
       (select date_trunc('month', min(day)::timestamp) from usage_days
        where company_id = $1 and key_id = '${ALL_KEYS}'),
       least($2::date, current_date - ${DAYS_REOPENED})::timestamp - interval '1 month', interval '1 month') as month
     where not exists (
       select 1 from usage_months_done as done
       where done.company_id = $1 and done.month = month.month::date and done.has_subjects)
     order by 1`,
    [companyId, before],
  );
  return rows.map(({ month }) => month);
}

const daysOfMonth = (keys: string) =>
  `select * from usage_days where company_id = $1 and ${keys} and day >= $2::date and day < $2::date + interval '1 month'`;

/** Takes the lock first, in a separate statement, so that the next one sees everything that was written under it. */
async function addUp(database: Database, companyId: string, month: string): Promise<void> {
  const sums = USAGE_SUMS.map((column) => `sum(${column})::bigint`).join(', ');
  await database.transaction(
    async (transaction) => {
      await transaction.query(
        `select pg_advisory_xact_lock(hashtextextended($1::uuid::text || $2::date::text, 0))`,
        [companyId, month],
      );
      await transaction.query('delete from usage_months where company_id = $1 and month = $2::date', [
        companyId,
        month,
      ]);
      await transaction.query(
        `insert into usage_months (company_id, key_id, month, alias, day, ${USAGE_SUMS.join(', ')})
         select company_id, key_id, $2::date, coalesce(alias, ''), coalesce(day, $2::date), ${sums}
         from (${daysOfMonth(`key_id = '${ALL_KEYS}'`)} union all ${daysOfMonth(`key_id <> '${ALL_KEYS}'`)}) as days
         group by grouping sets ((company_id, key_id, alias), (company_id, key_id, day))
         -- Those of all keys by model are read together.
         order by grouping(alias), key_id, 4, 5`,
        [companyId, month],
      );
      await transaction.query(
        `delete from usage_subject_months where company_id = $1 and kind in (${KINDS}) and month = $2::date`,
        [companyId, month],
      );
      await transaction.query(
        `insert into usage_subject_months (company_id, kind, month, alias, day, subject, ${USAGE_SUMS.join(', ')})
         select company_id, kind, $2::date,
           case when grouping(alias) = 0 then alias when grouping(day) = 0 then '' else '${ALL_MODELS}' end,
           coalesce(day, $2::date), subject, ${sums}
         from usage_subject_days
         where company_id = $1 and kind in (${KINDS}) and day >= $2::date and day < $2::date + interval '1 month'
         group by grouping sets ((company_id, kind, subject, alias), (company_id, kind, subject, day),
           (company_id, kind, subject))
         order by kind, 4, 5, subject`,
        [companyId, month],
      );
      await transaction.query(
        `insert into usage_months_done (company_id, month, has_subjects) values ($1, $2::date, true)
         on conflict (company_id, month) do update set has_subjects = true`,
        [companyId, month],
      );
    },
    { timeoutMs: TRANSACTION_MS },
  );
}
