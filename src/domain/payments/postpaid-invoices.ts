import type { Clock } from '../../ports/clock.ts';
import type { Database, Transaction } from '../../ports/database.ts';
import type { JobHandler, JobQueue } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import type { PaymentProvider, WireObject } from '../../ports/payment-provider.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { takeOverdueInvoices } from '../credits/holds/billing-status.ts';
import { findInvoice, type Invoice, type SettledInvoice } from '../credits/invoices/invoice.ts';
import { listNotesToMake, noteMade } from '../credits/invoices/invoice-credits.ts';
import { INVOICE_ISSUED_QUEUE } from '../credits/invoices/monthly-invoices.ts';
import { attachProviderInvoice } from '../credits/invoices/provider-invoices.ts';
import type { MailOutbox } from '../mail/outbox.ts';
import { postCash } from './cash/cash.ts';
import { ensureCustomer, forCustomer } from './checkout.ts';
import { amountOf, createAdminMailer } from './effect.ts';
import type { PaymentEvents } from './payment-events.ts';
import { idIn, momentIn, textIn, uuidIn } from './provider-objects.ts';

export interface PostpaidInvoiceParts {
  readonly database: Database;
  readonly provider: Pick<
    PaymentProvider,
    | 'createCustomer'
    | 'updateCustomer'
    | 'createInvoice'
    | 'retrieveInvoice'
    | 'markInvoicePaid'
    | 'voidInvoice'
    | 'createCreditNote'
  >;
  readonly paymentEvents: Pick<PaymentEvents, 'wake'>;
  readonly mail: Pick<MailOutbox, 'send'>;
  readonly secrets: Pick<Secrets, 'sha256'>;
  readonly clock: Clock;
  readonly log: Log;
}

const DAY_MS = 24 * 60 * 60_000;
const OVERDUE_AT_ONCE = 100;

/**
 * The handler of INVOICE_ISSUED_QUEUE: a usage invoice is created at the provider, so that it can be paid there, and
 * mailed; one that was settled by hand is closed there. The days until it is due count from its creation here, so that
 * a retry requests the same. A failed run is retried, also days later: it first looks for an invoice that an earlier
 * run created at the provider. It runs again for each correction of the invoice, and makes its credit note.
 */
export function createInvoiceIssuer(parts: PostpaidInvoiceParts): JobHandler {
  return async ({ data }) => {
    const invoiceId = uuidIn(data.invoiceId);
    const invoice = invoiceId === null ? null : await findInvoice(parts.database, invoiceId);
    if (invoice === null) throw new Error('the job names no invoice of ours');
    if (invoice.status === 'PAID' || invoice.status === 'VOID') {
      await closeAtProvider(parts, invoice);
      return invoice.status === 'PAID' ? await creditAtProvider(parts, invoice) : undefined;
    }
    if (invoice.kind !== 'POSTPAID' || (invoice.status !== 'OPEN' && invoice.providerInvoiceId === null))
      return;
    if (invoice.providerInvoiceId !== null) {
      await mailInvoice(parts, invoice);
      return await creditAtProvider(parts, invoice);
    }
    const issued = await issue(parts, invoice);
    // It may have been settled by hand while the provider was called.
    const isSettled = issued.outcome === 'issued' && issued.invoice.status !== 'OPEN';
    if (isSettled) return await closeAtProvider(parts, issued.invoice);
    // The company is notified even if the invoice cannot be paid online for now.
    if (issued.outcome === 'issued' || issued.reason === 'refused') {
      await mailInvoice(parts, issued.outcome === 'issued' ? issued.invoice : invoice);
    }
    if (issued.outcome === 'failed') {
      throw new Error(`the payment provider did not take invoice ${invoice.id}: ${issued.message}`);
    }
    await creditAtProvider(parts, issued.invoice);
  };
}

/** Makes the credit notes of charges that were corrected after the invoice was made. */
async function creditAtProvider(
  { database, provider, log }: PostpaidInvoiceParts,
  { id, providerInvoiceId, status }: Invoice,
): Promise<void> {
  if (providerInvoiceId === null) return;
  const notes = await listNotesToMake(database, id);
  if (notes.length > 0 && status === 'UNCOLLECTIBLE') {
    // The provider makes none for it. Less of it is owed here, which is all that counts until somebody pays it.
    return log.warn('an uncollectible invoice has corrections: lower it at the payment provider', {
      invoiceId: id,
      providerInvoiceId,
    });
  }
  for (const note of notes) {
    const { correctionId, version, amountMinor, memo } = note;
    const made = await provider.createCreditNote(
      {
        ...{ invoiceId: providerInvoiceId, amountMinor, memo },
        metadata: { correctionId, version: String(version) },
      },
      `correction:${correctionId}:${version}`,
    );
    if (made.outcome === 'failed') throw new Error(`credit note of invoice ${id}: ${made.failure.message}`);
    await noteMade(database, note, made.value.id);
  }
}

/**
 * Mails the admins of a POSTPAID company that an invoice is overdue and blocks their calls: once per invoice, because
 * the mails and the mark on the invoice are in one transaction. Returns the number of invoices.
 */
export async function mailOverdueInvoices(
  { database, mail, clock, log }: Pick<PostpaidInvoiceParts, 'database' | 'mail' | 'clock' | 'log'>,
  signal?: AbortSignal,
): Promise<number> {
  let mailed = 0;
  for (;;) {
    signal?.throwIfAborted();
    const count = await database.transaction(async (transaction) => {
      const now = new Date(clock.now());
      const invoices = await takeOverdueInvoices(transaction, { now, limit: OVERDUE_AT_ONCE });
      const mailAdmins = createAdminMailer(transaction, mail);
      for (const invoice of invoices) {
        const { id, companyId, dueAt } = invoice;
        const data = { ...asMailed(invoice), dueAt: dueAt ?? now };
        await mailAdmins({ kind: 'invoice-overdue', companyId, fact: `invoice-overdue:${id}`, data });
      }
      return invoices.length;
    });
    mailed += count;
    if (count < OVERDUE_AT_ONCE) break;
  }
  if (mailed > 0) log.info('overdue invoices were mailed', { invoices: mailed });
  return mailed;
}

interface InvoiceByHandParts {
  readonly database: Database;
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
}

/**
 * An operator settles an invoice, PAID outside the provider or VOID, and a job reports it to the provider. The job is
 * in the same transaction, so that the provider's invoice does not stay open to be paid a second time.
 */
export async function settleByHand(
  { database, jobQueue }: InvoiceByHandParts,
  invoiceId: string,
  settle: (transaction: Transaction) => Promise<SettledInvoice>,
): Promise<SettledInvoice> {
  return await database.transaction(async (transaction) => {
    const settled = await settle(transaction);
    const isOurs = settled.outcome === 'settled' || settled.outcome === 'already-settled';
    if (isOurs) await postSettledCash(transaction, settled.invoice);
    if (isOurs && settled.invoice.providerInvoiceId !== null) {
      await jobQueue.enqueue(INVOICE_ISSUED_QUEUE.name, { invoiceId }, { within: transaction });
    }
    return settled;
  });
}

/**
 * Money that arrived by bank transfer, for example. An invoice that the provider reported as paid already has its cash.
 */
async function postSettledCash(transaction: Transaction, invoice: Invoice): Promise<void> {
  const { id, companyId, currency, amountMinor, settledByHandAt, status } = invoice;
  if (status !== 'PAID' || settledByHandAt === null) return;
  await postCash(transaction, {
    ...{ companyId, account: 'received', currency, amountMinor, outside: true, happenedAt: settledByHandAt },
    ...{ sourceKind: 'invoice', sourceId: id },
  });
}

/**
 * The provider's invoice follows ours: paid out of band, or void. One that is closed there stays as it is; if a
 * customer paid it, its own event says that the payment must be refunded.
 */
async function closeAtProvider(
  { provider, log }: PostpaidInvoiceParts,
  { id, providerInvoiceId, status }: Invoice,
): Promise<void> {
  if (providerInvoiceId === null) return;
  const names = { invoiceId: id, providerInvoiceId, status };
  const found = await provider.retrieveInvoice(providerInvoiceId);
  if (found.outcome === 'failed') {
    if (found.failure.reason !== 'not-found') throw new Error(`invoice ${id}: ${found.failure.message}`);
    log.warn('the payment provider does not know an invoice that was settled by hand', names);
    return;
  }
  const present = textIn(found.value.status);
  if (present === 'draft') {
    log.error(
      'an invoice that was settled by hand is a draft at the payment provider: delete it there',
      names,
    );
  }
  if (present !== 'open' && present !== 'uncollectible') return;
  const closed =
    status === 'PAID'
      ? await provider.markInvoicePaid(providerInvoiceId, `invoice:${id}:paid-out-of-band`)
      : await provider.voidInvoice(providerInvoiceId, `invoice:${id}:void`);
  if (closed.outcome === 'failed') throw new Error(`invoice ${id}: ${closed.failure.message}`);
  log.info('the payment provider has an invoice as it was settled by hand', names);
}

type Issued =
  | { readonly outcome: 'issued'; readonly invoice: Invoice }
  | { readonly outcome: 'failed'; readonly reason: string; readonly message: string };

async function issue(parts: PostpaidInvoiceParts, invoice: Invoice): Promise<Issued> {
  const { id, companyId, currency, amountMinor, periodStart, periodEnd } = invoice;
  const customer = await ensureCustomer(parts, companyId);
  if (customer.outcome !== 'ensured') {
    const message = customer.outcome === 'provider-failed' ? customer.message : customer.outcome;
    return { outcome: 'failed', reason: customer.outcome, message };
  }
  const dueMs = (invoice.dueAt ?? invoice.createdAt).getTime() - invoice.createdAt.getTime();
  const month = periodStart?.toISOString().slice(0, 7) ?? '';
  const period =
    periodStart === null || periodEnd === null
      ? {}
      : { period: { startMs: periodStart.getTime(), endMs: periodEnd.getTime() } };
  const params = {
    currency,
    daysUntilDue: Math.max(1, Math.round(dueMs / DAY_MS)),
    description: `Usage ${month}`,
    lines: [{ description: `Usage ${month}`, amountMinor, ...period }],
    metadata: { invoiceId: id, companyId },
    // A day earlier, because clocks differ.
    madeSinceMs: invoice.createdAt.getTime() - DAY_MS,
  };
  const made = await forCustomer(parts, companyId, customer.customerId, (customerId, key) =>
    parts.provider.createInvoice({ ...params, customerId }, `invoice:${id}${key}`),
  );
  if (made.outcome === 'failed') return { outcome: 'failed', ...made.failure };
  return { outcome: 'issued', invoice: await attach(parts, invoice, made.value) };
}

async function attach(
  { database, paymentEvents }: PostpaidInvoiceParts,
  invoice: Invoice,
  made: WireObject,
): Promise<Invoice> {
  const providerInvoiceId = idIn(made.id);
  if (providerInvoiceId === null) throw new Error(`invoice ${invoice.id} came without an id`);
  const names = {
    providerInvoiceId,
    number: textIn(made.number, 100),
    hostedUrl: textIn(made.hosted_invoice_url),
    dueAt: momentIn(made.due_date),
  };
  const attached = await database.transaction((transaction) =>
    attachProviderInvoice(transaction, invoice.id, names),
  );
  if (attached.outcome === 'has-another') {
    throw new Error(
      `invoice ${invoice.id} is ${attached.providerInvoiceId} at the provider, not ${providerInvoiceId}`,
    );
  }
  await paymentEvents.wake([`invoice:${providerInvoiceId}`]);
  return attached.outcome === 'attached' ? attached.invoice : invoice;
}

async function mailInvoice({ database, mail, log }: PostpaidInvoiceParts, invoice: Invoice): Promise<void> {
  const { id, companyId, periodStart, periodEnd, dueAt } = invoice;
  if (periodStart === null || periodEnd === null || dueAt === null) {
    log.error('an invoice without a period or a due date is not mailed', { invoiceId: id });
    return;
  }
  await database.transaction((transaction) =>
    createAdminMailer(
      transaction,
      mail,
    )({
      kind: 'invoice-issued',
      companyId,
      fact: `invoice-issued:${id}`,
      data: { ...asMailed(invoice), periodStart, periodEnd, dueAt },
    }),
  );
}

function asMailed({ id, number, amountMinor, currency, hostedUrl }: Invoice) {
  return {
    invoiceNumber: number ?? id,
    amount: amountOf(amountMinor, currency),
    ...(hostedUrl === null ? {} : { invoiceUrl: hostedUrl }),
  };
}
