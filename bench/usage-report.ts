import { createSystemClock } from '../src/adapters/clock/system-clock.ts';
import { migrate } from '../src/adapters/database/migrate.ts';
import { openPostgres } from '../src/adapters/database/postgres.ts';
import { addUpUsageMonths } from '../src/domain/calls/usage/usage-months.ts';
import { type UsageDimension, usageReport } from '../src/domain/calls/usage/usage-report.ts';
import type { Database } from '../src/ports/database.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import type { BenchContext, Measurement, Row } from './frame/measurement.ts';
import { median, medianOf } from './frame/median.ts';

const COMPANIES = 10;
const KEYS = 100;
const DAYS = 365;
const FILL_MS = 100_000;
const ROUNDS = 25;
const YEAR = { from: '2025-01-01', to: '2025-12-31' };
const MONTH = { from: '2025-12-01', to: '2025-12-31' };
const ALL_BUT_KEYS: readonly (readonly UsageDimension[])[] = [[], ['model'], ['day']];

/** Twelve times the days may not be twelve times the wait. */
export const usageReports: Measurement = {
  name: 'usage-report',
  what: `usage of a month and of a year in PostgreSQL: ${COMPANIES} companies with ${KEYS} keys each, 6 models, ten million calls`,
  async run(context) {
    const log = createSilentLog();
    const database = await openPostgres({
      url: await context.emptyDatabase(),
      log,
      applicationName: 'bench',
      poolSize: 2,
      maxWaiting: 100,
      connectTimeoutMs: 5_000,
      statementTimeoutMs: 30_000,
    });
    context.whenEnding(database.close);
    await migrate(database);
    await fill(database);
    // The last month counts as the running one, of which only days are known.
    await addUpUsageMonths({ database, log, clock: createSystemClock() }, context.signal);
    await database.script("delete from usage_months_done where month = '2025-12-01'");
    await database.script('analyze usage_months; analyze usage_months_done');
    const companyId = idOf('00', 3);
    const keyId = idOf('03', 42);
    return [
      ...(await compare(context, 'a key, in all and by model', (range) =>
        usageReport(database, { companyId, keyId, ...range, by: [[], ['model']] }),
      )),
      ...(await compare(context, 'a key, also by day: 365 groups', (range) =>
        usageReport(database, { companyId, keyId, ...range, by: ALL_BUT_KEYS }),
      )),
      ...(await compare(context, 'a company, also by day', (range) =>
        usageReport(database, { companyId, keyId: null, ...range, by: ALL_BUT_KEYS }),
      )),
      ...(await compare(context, `a company by its ${KEYS} keys`, (range) =>
        usageReport(database, { companyId, keyId: null, ...range, by: [['key']] }),
      )),
    ];
  },
};

/** A year as it would lie there: written day by day, every key busy with every model. */
async function fill(database: Database): Promise<void> {
  await database.transaction(
    async (transaction) => {
      await transaction.query(
        `insert into companies (id, name) select ${idSql("'00'", 'company')}, 'Bench'
         from generate_series(1, $1::integer) as company`,
        [COMPANIES],
      );
      // Rows of long ago reopen their months, one by one; there are none.
      await transaction.script('alter table usage_days disable trigger reopen_usage_month');
      await transaction.query(
        `insert into usage_days (company_id, key_id, day, alias, calls, failures, prompt_tokens, cached_tokens,
           completion_tokens, charge_micro)
         select ${idSql("'00'", 'company')}, case key when 0 then '00000000-0000-0000-0000-000000000000'::uuid
             else ${idSql("lpad(company::text, 2, '0')", 'key')} end,
           date '2025-01-01' + day, 'svc/' || alias, calls, 0, calls * 1000, calls * 100, calls * 200, calls * 900
         from generate_series(0, $1::integer - 1) as day, generate_series(1, $2::integer) as company,
           generate_series(0, $3::integer) as key,
           unnest('{chat-premium,chat-default,chat-cheap,extract-default,extract-fast,embed-default}'::text[]) as alias,
           lateral (select case key when 0 then 450 else 4 + (key + day) % 2 end as calls) as counted`,
        [DAYS, COMPANIES, KEYS],
      );
      await transaction.script('alter table usage_days enable trigger reopen_usage_month');
    },
    { timeoutMs: FILL_MS },
  );
  await database.script('analyze usage_days');
}

function idSql(prefix: string, number: string): string {
  return `(${prefix} || '000000-0000-8000-8000-' || lpad(${number}::text, 12, '0'))::uuid`;
}

function idOf(prefix: string, number: number): string {
  return `${prefix}000000-0000-8000-8000-${String(number).padStart(12, '0')}`;
}

async function compare(
  { signal }: BenchContext,
  what: string,
  ask: (range: typeof MONTH) => Promise<unknown>,
): Promise<Row[]> {
  const months: number[] = [];
  const years: number[] = [];
  // To warm up.
  for (const range of [MONTH, YEAR]) await ask(range);
  for (let round = 0; round < ROUNDS; round += 1) {
    signal.throwIfAborted();
    months.push(await millisOf(() => ask(MONTH)));
    years.push(await millisOf(() => ask(YEAR)));
  }
  const ratio = median(years.map((year, round) => year / (months[round] ?? Number.NaN)));
  return [
    { label: `${what}: a month`, unit: 'ms', ...medianOf(months) },
    { label: `${what}: a year`, unit: 'ms', ...medianOf(years), beside: { reference: 'a month', ratio } },
  ];
}

async function millisOf(once: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await once();
  return performance.now() - begun;
}
