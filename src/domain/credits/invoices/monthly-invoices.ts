import type { Clock } from '../../../ports/clock.ts';
import type { Database, Transaction } from '../../../ports/database.ts';
import type { JobHandler, JobQueue, QueueDefinition } from '../../../ports/job-queue.ts';
import type { Log } from '../../../ports/log.ts';
import type { Secrets } from '../../../ports/secrets.ts';
import type { SharedState } from '../../../ports/shared-state.ts';
import { billingMonth, monthNamed } from '../billing-month.ts';
import { MICRO_PER_CREDIT, publishLevel, readLevel } from '../ledger/credit-account.ts';
import { INVOICE_COLUMNS, type Invoice } from './invoice.ts';
import { type AgreedRate, type AgreedTerms, findAgreedTerms } from './postpaid-terms.ts';
import { companiesToInvoice, type DueUsage, noteInvoiced, takeDueUsage } from './postpaid-usage.ts';

export interface MonthlyInvoiceParts {
  readonly database: Database;
  readonly sharedState: SharedState;
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly terms: PostpaidTerms;
}

interface InvoicingRun {
  readonly invoiced: number;
  /** Companies whose invoice failed; the log says why. The others have theirs. */
  readonly failed: readonly string[];
}

const PAGE = 100;
/** The next run continues a company that has more months to invoice. */
const MOST_MONTHS_AT_ONCE = 120;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Adding up ten million charges takes seconds. */
const TRANSACTION_MS = 5 * 60_000;

/**
 * Creates the invoices of every month that has ended and is not invoiced, for all companies that were POSTPAID in it.
 * It may run any number of times, concurrently, and be killed at any point: for each company and month, one transaction
 * takes the usage, creates the invoice and enqueues it. `until` leaves out later months.
 */
export async function invoiceFinishedMonths(
  parts: MonthlyInvoiceParts,
  { until, signal }: { readonly until?: Date; readonly signal?: AbortSignal } = {},
): Promise<InvoicingRun> {
  const { database, clock, log } = parts;
  const thisMonth = billingMonth(new Date(clock.now())).start;
  const before = until === undefined || until > thisMonth ? thisMonth : until;
  // With an explicit month it is invoiced now, whatever invoice day was agreed.
  const isAsAgreed = until === undefined;
  const failed: string[] = [];
  let invoiced = 0;
  let after: string | null = null;
  do {
    const companies = await companiesToInvoice(database, { limit: PAGE, after });
    const agreed = await findAgreedTerms(database, companies);
    for (const companyId of companies) {
      signal?.throwIfAborted();
      try {
        const terms = agreed.get(companyId) ?? null;
        const its = isAsAgreed
          ? billingMonth(new Date(clock.now() - daysToWait(terms) * DAY_MS)).start
          : before;
        invoiced += await invoiceCompany(parts, { companyId, agreed: terms }, its);
      } catch (error) {
        log.error('a company could not be invoiced', { companyId, error });
        failed.push(companyId);
      }
    }
    after = companies.length < PAGE ? null : (companies.at(-1) ?? null);
  } while (after !== null);
  if (invoiced > 0) log.info('months were invoiced', { invoiced });
  return { invoiced, failed };
}

/** The handler of MONTHLY_INVOICES_QUEUE. It fails if a company's invoice does, so that the run is retried. */
export function createMonthlyInvoiceHandler(parts: MonthlyInvoiceParts): JobHandler {
  return async ({ data, signal }) => {
    const month = typeof data.until === 'string' ? monthNamed(data.until) : null;
    const { failed } = await invoiceFinishedMonths(parts, {
      signal,
      ...(month === null ? {} : { until: month.end }),
    });
    if (failed.length > 0) throw new Error(`${failed.length} companies could not be invoiced, see the log`);
  };
}

/** With invoice day 5, a month is invoiced four days after it has ended. */
function daysToWait(agreed: AgreedTerms | null): number {
  return (agreed?.invoiceDay ?? 1) - 1;
}

interface InvoicedCompany {
  readonly companyId: string;
  readonly agreed: AgreedTerms | null;
}

async function invoiceCompany(
  parts: MonthlyInvoiceParts,
  { companyId, agreed }: InvoicedCompany,
  before: Date,
): Promise<number> {
  const { database, sharedState, log } = parts;
  let invoices = 0;
  for (let months = 0; months < MOST_MONTHS_AT_ONCE; months += 1) {
    const made = await database.transaction(
      async (transaction) => {
        const due = await takeDueUsage(transaction, companyId, before);
        if (due === null) return null;
        const { month, invoiced } = due;
        const invoice =
          invoiced === null
            ? null
            : await makeInvoice(parts, transaction, { companyId, agreed }, { month, ...invoiced });
        await noteInvoiced(transaction, companyId, due, invoice?.id ?? null);
        return { invoice, level: await readLevel(transaction, companyId) };
      },
      { timeoutMs: TRANSACTION_MS },
    );
    if (made === null) break;
    if (made.invoice !== null) invoices += 1;
    if (made.level !== null) await publishLevel(sharedState, made.level, log);
  }
  return invoices;
}

async function makeInvoice(
  { jobQueue, secrets, clock, terms }: MonthlyInvoiceParts,
  transaction: Transaction,
  { companyId, agreed }: InvoicedCompany,
  {
    month,
    usageMicro,
    firstVersion,
    lastVersion,
  }: Pick<DueUsage, 'month'> & NonNullable<DueUsage['invoiced']>,
): Promise<Invoice> {
  const rate = agreed?.rate ?? null;
  const dueDays = agreed?.dueDays ?? terms.dueDays;
  const id = secrets.newId();
  const now = new Date(clock.now());
  const [invoice] = await transaction.query<Invoice>(
    `insert into invoices (id, company_id, kind, status, amount_minor, currency, usage_micro, first_version,
       last_version, period_start, period_end, number, due_at, finalized_at, created_at, updated_at)
     values ($1, $2, 'POSTPAID', 'OPEN', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $12)
     returning ${INVOICE_COLUMNS}`,
    [
      id,
      companyId,
      rate === null ? invoiceAmountMinor(usageMicro, terms) : agreedAmountMinor(usageMicro, rate),
      rate?.currency ?? terms.currency,
      usageMicro,
      firstVersion,
      lastVersion,
      month.start,
      month.end,
      numberOf(month.start, id),
      new Date(now.getTime() + dueDays * DAY_MS),
      now,
    ],
  );
  if (invoice === undefined) throw new Error('an invoice was not written');
  await jobQueue.enqueue(INVOICE_ISSUED_QUEUE.name, { invoiceId: id }, { within: transaction });
  return invoice;
}

/** For people to read: the month, and the random end of the id. */
function numberOf(monthStart: Date, id: string): string {
  return `${monthStart.toISOString().slice(0, 7)}-${id.slice(-8).toUpperCase()}`;
}

/** The price of a credit for POSTPAID companies. All exact: no amount of money passes through a float. */
export interface PostpaidTerms {
  /** Three letters, lower case. */
  readonly currency: string;
  /** Minor units in one unit of the currency: 100 for usd, 1 for jpy. */
  readonly minorPerMajor: bigint;
  /** The smallest payable amount, which every amount is a multiple of: 1 for usd, 10 for kwd, 100 for isk. */
  readonly leastMinor: bigint;
  /** In units of the currency, as a decimal: `0.01`. */
  readonly pricePerCredit: string;
  /** Days from creation until an invoice is overdue. */
  readonly dueDays: number;
}

const DECIMAL = /^(\d{1,9})(?:\.(\d{1,12}))?$/;

/** Null unless it is a price above zero. */
export function readPrice(text: string): { readonly units: bigint; readonly scale: bigint } | null {
  const match = DECIMAL.exec(text);
  if (match === null) return null;
  const [, whole = '', fraction = ''] = match;
  const units = BigInt(whole + fraction);
  return units === 0n ? null : { units, scale: 10n ** BigInt(fraction.length) };
}

/** The price of usage, rounded up once to the smallest amount payable in the currency. */
export function invoiceAmountMinor(usageMicro: bigint, terms: PostpaidTerms): bigint {
  const price = readPrice(terms.pricePerCredit);
  if (price === null) throw new Error(`"${terms.pricePerCredit}" is no price of a credit`);
  const exact = usageMicro * price.units * terms.minorPerMajor;
  const step = MICRO_PER_CREDIT * price.scale * terms.leastMinor;
  return ((exact + step - 1n) / step) * terms.leastMinor;
}

/** The same at an agreed rate. */
function agreedAmountMinor(usageMicro: bigint, rate: AgreedRate): bigint {
  const step = rate.creditsMicro * rate.leastMinor;
  return ((usageMicro * rate.priceMinor + step - 1n) / step) * rate.leastMinor;
}

/** Creates the invoices of finished months; `{ until: 'YYYY-MM' }` leaves out later months. */
export const MONTHLY_INVOICES_QUEUE: QueueDefinition = {
  name: 'monthly-invoices',
  retries: 5,
  retryDelaySeconds: 60,
  retryDelayMaxSeconds: 3_600,
  runSeconds: 3_600,
  heartbeatSeconds: 60,
};

/** Daily, so that the next run makes up for a failed one. Some time after midnight, because clocks differ. */
export const MONTHLY_INVOICES_CRON = '20 0 * * *';

/** `{ invoiceId }`, enqueued with the invoice, for the worker that sends it to the payment provider or by mail. */
export const INVOICE_ISSUED_QUEUE: QueueDefinition = {
  name: 'invoice-issued',
  retries: 40,
  retryDelaySeconds: 30,
  retryDelayMaxSeconds: 7_200,
  runSeconds: 120,
  heartbeatSeconds: 30,
};
