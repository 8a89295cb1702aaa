import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { JobHandler } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import type { PaymentProvider, WireObject } from '../../ports/payment-provider.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { listAdmins } from '../accounts/members.ts';
import { findInvoice, type Invoice } from '../credits/invoices/invoice.ts';
import { attachProviderInvoice } from '../credits/invoices/provider-invoices.ts';
import type { MailOutbox, MailToSend } from '../mail/outbox.ts';
import { ensureCustomer } from './checkout.ts';
import { amountOf } from './effect.ts';
import type { PaymentEvents } from './payment-events.ts';
import { idIn, momentIn, textIn, uuidIn } from './provider-objects.ts';

export interface IssueInvoiceParts {
  readonly database: Database;
  readonly provider: Pick<PaymentProvider, 'createCustomer' | 'createInvoice'>;
  readonly paymentEvents: Pick<PaymentEvents, 'wake'>;
  readonly mail: Pick<MailOutbox, 'send'>;
  readonly secrets: Pick<Secrets, 'sha256'>;
  readonly clock: Clock;
  readonly log: Log;
}

const DAY_MS = 24 * 60 * 60_000;

/**
 * The handler of INVOICE_ISSUED_QUEUE: an invoice for usage is made at the provider, so that it can be paid there,
 * and mailed. The days until it is due are counted from when it was made here, so that a repeat asks for the same. A
 * failed run is repeated, and the provider's own key sees to it that it makes no second invoice.
 */
export function createInvoiceIssuer(parts: IssueInvoiceParts): JobHandler {
  return async ({ data }) => {
    const invoiceId = uuidIn(data.invoiceId);
    const invoice = invoiceId === null ? null : await findInvoice(parts.database, invoiceId);
    if (invoice === null) throw new Error('the job names no invoice of ours');
    if (invoice.kind !== 'POSTPAID' || (invoice.status !== 'OPEN' && invoice.providerInvoiceId === null))
      return;
    if (invoice.providerInvoiceId !== null) return await mailInvoice(parts, invoice);
    const issued = await issue(parts, invoice);
    // Whoever owes it is told of it, also where it can only be paid by other ways for now.
    if (issued.outcome === 'issued' || issued.reason === 'refused') {
      await mailInvoice(parts, issued.outcome === 'issued' ? issued.invoice : invoice);
    }
    if (issued.outcome === 'failed') {
      throw new Error(`the payment provider did not take invoice ${invoice.id}: ${issued.message}`);
    }
  };
}

type Issued =
  | { readonly outcome: 'issued'; readonly invoice: Invoice }
  | { readonly outcome: 'failed'; readonly reason: string; readonly message: string };

async function issue(parts: IssueInvoiceParts, invoice: Invoice): Promise<Issued> {
  const { database, provider, secrets, paymentEvents } = parts;
  const { id, companyId, currency, amountMinor, periodStart, periodEnd } = invoice;
  const onCustomer = (customerId: string) => paymentEvents.wake([`customer:${customerId}`]);
  const customer = await ensureCustomer({ database, provider, secrets, onCustomer }, companyId);
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
  const made = await provider.createInvoice(
    {
      customerId: customer.customerId,
      currency,
      daysUntilDue: Math.max(1, Math.round(dueMs / DAY_MS)),
      description: `Usage ${month}`,
      lines: [{ description: `Usage ${month}`, amountMinor, ...period }],
      metadata: { invoiceId: id, companyId },
    },
    `invoice:${id}`,
  );
  if (made.outcome === 'failed') return { outcome: 'failed', ...made.failure };
  return { outcome: 'issued', invoice: await attach(parts, invoice, made.value) };
}

async function attach(
  { database, paymentEvents }: IssueInvoiceParts,
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

async function mailInvoice({ database, mail, log }: IssueInvoiceParts, invoice: Invoice): Promise<void> {
  const { companyId, periodStart, periodEnd, dueAt } = invoice;
  if (periodStart === null || periodEnd === null || dueAt === null) {
    log.error('an invoice without a period or a due date is not mailed', { invoiceId: invoice.id });
    return;
  }
  const times = { periodStart, periodEnd, dueAt };
  await database.transaction(async (transaction) => {
    const admins = await listAdmins(transaction, companyId);
    for (const { email, companyName } of admins) {
      const message: MailToSend = {
        kind: 'invoice-issued',
        to: email,
        companyId,
        dedupeKey: `invoice-issued:${invoice.id}:${email}`,
        data: {
          companyName,
          invoiceNumber: invoice.number ?? invoice.id,
          amount: amountOf(invoice.amountMinor, invoice.currency),
          ...times,
          ...(invoice.hostedUrl === null ? {} : { invoiceUrl: invoice.hostedUrl }),
        },
      };
      await mail.send(message, transaction);
    }
  });
}
