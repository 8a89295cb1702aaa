import type { Statements, Transaction } from '../../../ports/database.ts';
import { lockCompanyRow } from '../../accounts/company.ts';
import { lastVersionBefore } from '../ledger/statement.ts';

/** A calendar month, UTC: from `start`, before `end`. */
interface Month {
  readonly start: Date;
  readonly end: Date;
}

/** Usage that is not invoiced, in the first month that it can be invoiced for. */
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

/** `YYYY-MM`; null for anything else. */
export function monthNamed(text: string): Month | null {
  return /^20\d\d-(0[1-9]|1[0-2])$/.test(text) ? monthOf(new Date(`${text}-01T00:00:00Z`)) : null;
}

/** A span that is not completely invoiced. */
const OPEN = '(until_version is null or invoiced_version < until_version)';

/**
 * Companies with POSTPAID spans that are not completely invoiced, by id. `after` is the last id of the previous page.
 */
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
 * Takes the usage of the first month that has any and has ended by `before`. It is taken once: it counts as invoiced
 * when the transaction commits. Null if there is none. Usage committed after its month was invoiced goes into the next
 * month.
 *
 * The lock is on the company, not on its account: adding up a month may take seconds, in which calls continue to be
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

/** An ended span that is completely invoiced need not be read again. */
async function closeUsedUpSpans(transaction: Transaction, companyId: string): Promise<void> {
  await transaction.query(
    `update postpaid_spans as span set invoiced_version = until_version
     where company_id = $1 and invoiced_version < until_version and not exists (
       select 1 from credit_transactions
       where account_id = $1 and type = 'USAGE' and version > span.invoiced_version and version <= span.until_version)`,
    [companyId],
  );
}

/** The month of the first usage that is not invoiced, or a later one if that month already has its invoice. */
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
