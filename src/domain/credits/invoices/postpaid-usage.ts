import type { Statements, Transaction } from '../../../ports/database.ts';
import { lockCompanyRow } from '../../accounts/company.ts';
import { lastVersionBefore } from '../ledger/statement.ts';

/** A calendar month, UTC: from `start`, before `end`. */
export interface Month {
  readonly start: Date;
  readonly end: Date;
}

/** Usage that no invoice asks for yet, in the first month that it can be asked for. */
export interface DueUsage {
  readonly month: Month;
  readonly usageMicro: bigint;
  readonly firstVersion: bigint;
  readonly lastVersion: bigint;
}

export function monthOf(at: Date): Month {
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  return { start: new Date(Date.UTC(year, month)), end: new Date(Date.UTC(year, month + 1)) };
}

/** `YYYY-MM`; null for what is none. */
export function monthNamed(text: string): Month | null {
  return /^20\d\d-(0[1-9]|1[0-2])$/.test(text) ? monthOf(new Date(`${text}-01T00:00:00Z`)) : null;
}

/** Of a span that is not wholly invoiced. */
const OPEN = '(until_version is null or invoiced_version < until_version)';

/** Companies with POSTPAID times that are not wholly invoiced, by id. `after` is the last id of the page before. */
export async function companiesToInvoice(
  statements: Statements,
  { limit, after }: { readonly limit: number; readonly after: string | null },
): Promise<readonly string[]> {
  const rows = await statements.query<{ companyId: string }>(
    `select distinct company_id as "companyId" from postpaid_spans
     where ${OPEN} and ($1::uuid is null or company_id > $1)
     order by company_id limit $2`,
    [after, limit],
  );
  return rows.map(({ companyId }) => companyId);
}

/**
 * Takes the usage of the first month that has some and is over by `before`: once, for it counts as invoiced when the
 * transaction commits. Null where there is none. What was committed after its month had been invoiced goes into the
 * next month.
 *
 * The lock is on the company, not on its account: adding up a month may take seconds, in which calls go on being
 * charged. They only add versions above those that are added up here.
 */
export async function takeDueUsage(
  transaction: Transaction,
  companyId: string,
  before: Date,
): Promise<DueUsage | null> {
  await lockCompanyRow(transaction, companyId);
  await closeUsedUpSpans(transaction, companyId);
  const month = await nextMonth(transaction, companyId);
  if (month === null || month.end.getTime() > before.getTime()) return null;
  const bound = await lastVersionBefore(transaction, companyId, month.end);
  const [taken] = await transaction.query<Omit<DueUsage, 'month'>>(
    `with due as (
       select after_version, invoiced_version, least(until_version, $2::bigint) as last_version
       from postpaid_spans
       where company_id = $1 and ${OPEN} and invoiced_version < least(until_version, $2::bigint)),
     moved as (
       update postpaid_spans as span set invoiced_version = due.last_version
       from due where span.company_id = $1 and span.after_version = due.after_version)
     select sum(-amount_micro)::bigint as "usageMicro", min(version) as "firstVersion", max(version) as "lastVersion"
     from due join credit_transactions on account_id = $1 and type = 'USAGE'
       and version > due.invoiced_version and version <= due.last_version
     having count(*) > 0`,
    [companyId, bound],
  );
  if (taken === undefined) throw new Error(`company ${companyId} has due usage in no version`);
  return { month, ...taken };
}

/** A span that has ended, with nothing in it that is not invoiced, need not be looked at again. */
async function closeUsedUpSpans(transaction: Transaction, companyId: string): Promise<void> {
  await transaction.query(
    `update postpaid_spans as span set invoiced_version = until_version
     where company_id = $1 and invoiced_version < until_version and not exists (
       select 1 from credit_transactions
       where account_id = $1 and type = 'USAGE' and version > span.invoiced_version and version <= span.until_version)`,
    [companyId],
  );
}

/** That of the first usage which is not invoiced, or a later one where that month has its invoice already. */
async function nextMonth(transaction: Transaction, companyId: string): Promise<Month | null> {
  const [row] = await transaction.query<{ firstAt: Date | null; invoicedUntil: Date | null }>(
    `select min(created_at) as "firstAt",
       (select max(period_end) from invoices where company_id = $1 and kind = 'POSTPAID') as "invoicedUntil"
     from postpaid_spans as span cross join lateral (
       select created_at from credit_transactions
       where account_id = $1 and type = 'USAGE' and version > span.invoiced_version
         and version <= coalesce(span.until_version, 9223372036854775807)
       order by version limit 1) as first
     where company_id = $1 and ${OPEN}`,
    [companyId],
  );
  if (row === undefined || row.firstAt === null) return null;
  const { firstAt, invoicedUntil } = row;
  return monthOf(invoicedUntil !== null && invoicedUntil > firstAt ? invoicedUntil : firstAt);
}
