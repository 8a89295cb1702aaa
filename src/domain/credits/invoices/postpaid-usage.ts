import type { Statements, Transaction } from '../../../ports/database.ts';
import { leastIdAt } from '../../../ports/secrets.ts';
import { lockCompanyRow } from '../../accounts/company.ts';
import { type BillingMonth, billingMonth } from '../billing-month.ts';
import { lastVersionBefore } from '../ledger/statement.ts';

/** Usage that is not invoiced, of the first month that it can be invoiced for. */
export interface DueUsage {
  readonly month: BillingMonth;
  /** Null if there is nothing to pay: all of it was given back. */
  readonly invoiced: {
    /** Less what was given back of it. */
    readonly usageMicro: bigint;
    readonly firstVersion: bigint;
    readonly lastVersion: bigint;
  } | null;
  readonly late: readonly LateCharge[];
  /** Corrections of these calls. */
  readonly corrections: readonly string[];
}

/** Of a call that began in a month and was charged after its end. */
interface LateCharge {
  readonly version: bigint;
  readonly amountMicro: bigint;
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
 * Takes the usage of the first month that has any and has ended by `before`: it counts as invoiced when the transaction
 * commits. Null if there is none. Usage committed after its month was invoiced goes into the next month. The caller makes the
 * invoice, and then calls `noteInvoiced`.
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
  const next = await nextMonth(transaction, companyId);
  if (next === null) return null;
  const { month, late, bound } = next;
  if (month.end.getTime() > before.getTime()) return null;
  const lateVersions = late.map(({ version }) => version);
  const [taken] = await transaction.query<TakenUsage>(TAKE, [
    ...[companyId, bound, lateVersions, late.map(({ amountMicro }) => amountMicro)],
  ]);
  const { usageMicro, firstVersion, lastVersion } = taken ?? NOTHING;
  const invoiced =
    usageMicro === null || usageMicro === 0n || firstVersion === null
      ? null
      : { usageMicro, firstVersion, lastVersion: lastVersion ?? firstVersion };
  return { month, invoiced, late, corrections: taken?.corrections ?? [] };
}

interface TakenUsage {
  readonly usageMicro: bigint | null;
  readonly firstVersion: bigint | null;
  readonly lastVersion: bigint | null;
  readonly corrections: readonly string[] | null;
}

const NOTHING = { usageMicro: null, firstVersion: null, lastVersion: null };

/** Late charges are beyond the last version; they are skipped when it is their versions' turn. */
const TAKE = `with due as (
    select after_version, invoiced_version, least(until_version, $2::bigint) as last_version
    from postpaid_spans
    where company_id = $1 and ${OPEN} and invoiced_version < least(until_version, $2::bigint)),
  moved as (
    update postpaid_spans as span set invoiced_version = due.last_version
    from due where span.company_id = $1 and span.after_version = due.after_version),
  used as (
    select version, amount_micro, false as is_late
    from due join credit_transactions on account_id = $1 and type = 'USAGE'
      and version > due.invoiced_version and version <= due.last_version
    where not exists (select 1 from usage_before_midnight as taken
      where taken.company_id = $1 and taken.version = credit_transactions.version)
    union all
    select version, amount_micro, true from unnest($3::bigint[], $4::bigint[]) as late (version, amount_micro)),
  credited as (
    update invoice_credits as credit set is_counted = true
    where company_id = $1 and not is_counted and version in (select version from used)
    returning correction_id, credits_micro)
  select (sum(-amount_micro) - (select coalesce(sum(credits_micro), 0) from credited))::bigint as "usageMicro",
    min(version) as "firstVersion", max(version) filter (where not is_late) as "lastVersion",
    (select array_agg(correction_id) from credited) as corrections
  from used`;

/** `invoiceId` is null if there was nothing to pay. */
export async function noteInvoiced(
  transaction: Transaction,
  companyId: string,
  { late, corrections }: DueUsage,
  invoiceId: string | null,
): Promise<void> {
  if (late.length > 0) {
    await transaction.query(
      `insert into usage_before_midnight (company_id, version, invoice_id, amount_micro)
       select $1, version, $2, amount_micro from unnest($3::bigint[], $4::bigint[]) as late (version, amount_micro)`,
      [companyId, invoiceId, late.map(({ version }) => version), late.map(({ amountMicro }) => amountMicro)],
    );
  }
  if (corrections.length > 0) {
    await transaction.query(
      `update invoice_credits set invoice_id = $3 where company_id = $1 and correction_id = any($2::uuid[])
         and amount_minor is null and is_counted and invoice_id is null`,
      [companyId, corrections, invoiceId],
    );
  }
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

interface NextMonth {
  readonly month: BillingMonth;
  /** The last version that was committed in it. */
  readonly bound: bigint;
  readonly late: readonly LateCharge[];
}

/** The month of the first usage that is not invoiced, or a later one if that month already has its invoice. */
async function nextMonth(transaction: Transaction, companyId: string): Promise<NextMonth | null> {
  const [row] = await transaction.query<{ firstAt: Date | null; invoicedUntil: Date | null }>(
    `select min(created_at) as "firstAt",
       (select max(period_end) from invoices where company_id = $1 and kind = 'POSTPAID') as "invoicedUntil"
     from postpaid_spans as span cross join lateral (
       select created_at from credit_transactions as used
       where account_id = $1 and type = 'USAGE' and version > span.invoiced_version
         and version <= coalesce(span.until_version, 9223372036854775807)
         and not exists (select 1 from usage_before_midnight as taken
           where taken.company_id = $1 and taken.version = used.version)
       order by version limit 1) as first
     where company_id = $1 and ${OPEN}`,
    [companyId],
  );
  if (row === undefined || row.firstAt === null) return null;
  const { firstAt, invoicedUntil } = row;
  const month = billingMonth(invoicedUntil !== null && invoicedUntil > firstAt ? invoicedUntil : firstAt);
  const before = billingMonth(new Date(month.start.getTime() - 1));
  // All that was used in the month before may have been charged after it.
  if (invoicedUntil === null || invoicedUntil <= before.start) {
    const late = await chargedLate(transaction, companyId, before);
    if (late.late.length > 0) return { month: before, ...late };
  }
  return { month, ...(await chargedLate(transaction, companyId, month)) };
}

/** A call's id is made when it begins, by the same clock within minutes (`call-log.ts`). */
const ID_ROOM_MS = 5 * 60_000;

/** Charges of calls that began in the month, committed within a day after it. */
async function chargedLate(
  transaction: Transaction,
  companyId: string,
  { start, end }: BillingMonth,
): Promise<Omit<NextMonth, 'month'>> {
  const bound = await lastVersionBefore(transaction, companyId, end);
  const late = await transaction.query<LateCharge>(
    `select version, amount_micro as "amountMicro"
     from postpaid_spans as span
     join credit_transactions as used on account_id = $1 and used.type = 'USAGE' and source_kind = 'call'
       and version > greatest(span.invoiced_version, $2::bigint)
       and version <= coalesce(span.until_version, 9223372036854775807)
     join calls on calls.id = (case when source_kind = 'call' then source_id end)::uuid
     where span.company_id = $1 and created_at < $4::timestamptz + interval '1 day' and source_id < $5
       and calls.id < $5::uuid and started_at >= $3::timestamptz and started_at < $4::timestamptz
       and not exists (select 1 from usage_before_midnight as taken
         where taken.company_id = $1 and taken.version = used.version)
     order by version`,
    [companyId, bound, start, end, leastIdAt(end.getTime() + ID_ROOM_MS)],
  );
  return { bound, late };
}
