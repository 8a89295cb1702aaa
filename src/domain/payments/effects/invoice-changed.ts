import { findPlan } from '../../catalog/plan.ts';
import { listPlanRates } from '../../catalog/plan-rates.ts';
import {
  findInvoice,
  findInvoiceByProviderId,
  type Invoice,
  type InvoiceStatus,
  markInvoicePaid,
  voidInvoice,
} from '../../credits/invoices/invoice.ts';
import { attachProviderInvoice, upsertInvoice } from '../../credits/invoices/provider-invoices.ts';
import { findByProviderId } from '../../subscriptions/subscription.ts';
import {
  amountOf,
  type Effect,
  type EffectContext,
  type EffectOutcome,
  type StoredPaymentEvent,
  waitKeys,
} from '../effect.ts';
import { moveLine, readInvoiceLines } from '../plan-lines.ts';
import {
  companyOf,
  currencyIn,
  fieldsIn,
  idIn,
  listIn,
  lockCompany,
  minorIn,
  momentIn,
  ourIdIn,
  textIn,
  wholeIn,
} from '../provider-objects.ts';

/**
 * `invoice.finalized`: the invoice is open, with its number, page and due date. From that date on it blocks a POSTPAID
 * company (P-29). A late event does not reopen a paid invoice.
 */
export const invoiceFinalized: Effect = async (event, context) => {
  const mirrored = await mirrorEventInvoice(event, context, 'OPEN');
  if (mirrored.outcome === 'refused') return mirrored.because;
  const { companyId, providerInvoiceId, invoice } = mirrored;
  const did = `invoice ${providerInvoiceId} is ${invoice.status}`;
  return { outcome: 'applied', did, companyId, arrived: waitKeys({ invoice: providerInvoiceId }) };
};

/**
 * `invoice.voided` and `invoice.marked_uncollectible`, as by an operator at the provider: a void invoice blocks no company,
 * and the usage that it asked for is written off. An uncollectible one is still owed.
 */
export const invoiceClosed: Effect = async (event, context) => {
  const mirrored = await mirrorEventInvoice(event, context, 'OPEN');
  if (mirrored.outcome === 'refused') return mirrored.because;
  const { companyId, providerInvoiceId, invoice } = mirrored;
  return { outcome: 'applied', did: `invoice ${providerInvoiceId} is ${invoice.status}`, companyId };
};

/** `invoice.finalization_failed`: it stays a draft that is not due until an operator fixes it. */
export const invoiceFinalizationFailed: Effect = async (event, context) => {
  const mirrored = await mirrorEventInvoice(event, context, 'DRAFT');
  if (mirrored.outcome === 'refused') return mirrored.because;
  const { companyId, providerInvoiceId } = mirrored;
  const failure = fieldsIn(event.object.last_finalization_error);
  const reason = textIn(failure.message, 500) ?? textIn(failure.code, 500) ?? 'the provider gives no reason';
  context.log.error('an invoice could not be finalized: see to it at the payment provider', {
    companyId,
    invoiceId: providerInvoiceId,
    reason,
  });
  const did = `invoice ${providerInvoiceId} could not be finalized: ${reason}`.slice(0, 500);
  return { outcome: 'applied', did, companyId };
};

/**
 * `invoice.payment_failed`: recorded and mailed, once per attempt. No credits change, and the subscription's own status
 * decides whether it continues.
 */
export const invoicePaymentFailed: Effect = async (event, context) => {
  const mirrored = await mirrorEventInvoice(event, context, 'OPEN');
  if (mirrored.outcome === 'refused') return mirrored.because;
  const { companyId, providerInvoiceId, invoice } = mirrored;
  const attempt = Math.min(Math.max(0, wholeIn(event.object.attempt_count) ?? 0), 1_000);
  const nextAttemptAt = momentIn(event.object.next_payment_attempt);
  const failure = fieldsIn(event.object.last_finalization_error);
  const reason = textIn(failure.message, 400);
  await context.transaction.query(
    `insert into failed_payments (provider_invoice_id, attempt, company_id, failed_at, next_attempt_at, reason)
     values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
    [providerInvoiceId, attempt, companyId, event.happenedAt, nextAttemptAt, reason],
  );
  if (invoice.status === 'OPEN') {
    await context.mailAdmins({
      kind: 'payment-failed',
      companyId,
      // The same key as for a payment that requires confirmation: one mail is enough.
      fact: `dunning:${providerInvoiceId}:${attempt}`,
      data: {
        amount: amountOf(minorIn(event.object.amount_due) ?? invoice.amountMinor, invoice.currency),
        ...(reason === null ? {} : { reason }),
        ...(nextAttemptAt === null ? {} : { nextAttemptAt }),
        ...(invoice.hostedUrl === null ? {} : { payUrl: invoice.hostedUrl }),
      },
    });
  }
  const did = `attempt ${attempt} to take the money of invoice ${providerInvoiceId} failed`;
  return { outcome: 'applied', did, companyId, arrived: waitKeys({ invoice: providerInvoiceId }) };
};

/**
 * `invoice.payment_action_required`: the bank requires the customer's confirmation. One mail per attempt; nothing is
 * granted.
 */
export const invoicePaymentActionRequired: Effect = async (event, context) => {
  const mirrored = await mirrorEventInvoice(event, context, 'OPEN');
  if (mirrored.outcome === 'refused') return mirrored.because;
  const { companyId, providerInvoiceId, invoice } = mirrored;
  const attempt = wholeIn(event.object.attempt_count) ?? 0;
  if (invoice.status === 'OPEN' && invoice.hostedUrl !== null) {
    await context.mailAdmins({
      kind: 'payment-action-required',
      companyId,
      fact: `dunning:${providerInvoiceId}:${attempt}`,
      data: {
        amount: amountOf(minorIn(event.object.amount_due) ?? invoice.amountMinor, invoice.currency),
        payUrl: invoice.hostedUrl,
        ...(invoice.dueAt === null ? {} : { dueAt: invoice.dueAt }),
      },
    });
  }
  const did = `the payment of invoice ${providerInvoiceId} waits for its customer`;
  return { outcome: 'applied', did, companyId, arrived: waitKeys({ invoice: providerInvoiceId }) };
};

/** `invoice.upcoming`: an invoice that does not exist yet and has no id. It is announced once and not stored. */
export const invoiceUpcoming: Effect = async (event, context) => {
  const { transaction } = context;
  const { object } = event;
  const customerId = idIn(object.customer);
  const subscriptionId = idIn(object.subscription);
  const hints = { customerId, subscriptionId, companyId: ourIdIn(object, 'companyId') };
  const companyId = await companyOf(transaction, hints);
  if (companyId === null) {
    const waitsFor = waitKeys({ customer: customerId, subscription: subscriptionId });
    return { outcome: 'deferred', reason: `no company of ours is customer ${customerId}`, waitsFor };
  }
  const dueAt =
    momentIn(object.next_payment_attempt) ?? momentIn(object.due_date) ?? momentIn(object.period_end);
  const amount = minorIn(object.amount_due) ?? minorIn(object.total);
  const currency = currencyIn(object.currency);
  if (dueAt === null || amount === null || currency === null || amount <= 0n) {
    return { outcome: 'applied', did: 'there is nothing to tell of it', companyId };
  }
  const subscription = subscriptionId === null ? null : await findByProviderId(transaction, subscriptionId);
  const plan = subscription === null ? null : await findPlan(transaction, subscription.planId);
  await context.mailAdmins({
    kind: 'upcoming-invoice',
    companyId,
    fact: `upcoming:${subscriptionId ?? customerId}:${dueAt.toISOString()}`,
    data: {
      ...{ amount: amountOf(amount, currency), dueAt },
      ...(plan === null ? {} : { planName: plan.name }),
      ...(await upcomingCredits(event, context, currency)),
    },
  });
  return {
    outcome: 'applied',
    did: `the company is notified of ${amount} ${currency} on ${dueAt.toISOString()}`,
    companyId,
  };
};

/** The credits that its plan lines will grant; zero if they cannot be determined. */
async function upcomingCredits(
  { object }: StoredPaymentEvent,
  { transaction }: EffectContext,
  currency: string,
): Promise<{ readonly creditsMicro?: bigint }> {
  let creditsMicro = 0n;
  for (const line of readInvoiceLines(listIn(object.lines))) {
    const rates = line.priceId === null ? [] : await listPlanRates(transaction, line.priceId);
    creditsMicro += moveLine(line, rates.find((rate) => rate.currency === currency) ?? null).movedMicro;
  }
  return creditsMicro > 0n ? { creditsMicro } : {};
}

/** Mirrors the invoice of an event; `otherwise` is its status if the event has none. */
async function mirrorEventInvoice(
  event: StoredPaymentEvent,
  context: EffectContext,
  otherwise: InvoiceStatus,
): Promise<MirroredInvoice> {
  const found = await findEventInvoice(event, context);
  if (found.outcome === 'not-yet') return { outcome: 'refused', because: found.because };
  return await mirrorInvoice(event, context, found, { otherwise });
}

/** The company and invoice of an event, before anything is written. */
type FoundInvoice =
  | {
      readonly outcome: 'found';
      readonly companyId: string;
      readonly providerInvoiceId: string;
      readonly subscriptionId: string | null;
      /** Our row of it, if there is one. */
      readonly known: Invoice | null;
      /** One that we created, which may not have its provider id yet. */
      readonly own: Invoice | null;
    }
  | { readonly outcome: 'not-yet'; readonly because: EffectOutcome };

export async function findEventInvoice(
  event: StoredPaymentEvent,
  context: EffectContext,
): Promise<FoundInvoice> {
  const { transaction } = context;
  const providerInvoiceId = idIn(event.object.id);
  if (providerInvoiceId === null) {
    return { outcome: 'not-yet', because: { outcome: 'failed', reason: 'the invoice has no id' } };
  }
  const customerId = idIn(event.object.customer);
  const subscriptionId = idIn(event.object.subscription);
  const known = await findInvoiceByProviderId(transaction, providerInvoiceId);
  const ownId = ourIdIn(event.object, 'invoiceId');
  const ours = known !== null || ownId === null ? null : await findInvoice(transaction, ownId);
  const own = ours?.kind === 'POSTPAID' && ours.providerInvoiceId === null ? ours : null;
  const companyId =
    known?.companyId ??
    own?.companyId ??
    (await companyOf(transaction, {
      customerId,
      subscriptionId,
      companyId: ourIdIn(event.object, 'companyId'),
    }));
  if (companyId === null) {
    const reason = `no company of ours is customer ${customerId} of invoice ${providerInvoiceId}`;
    const waitsFor = waitKeys({ customer: customerId, subscription: subscriptionId });
    return { outcome: 'not-yet', because: { outcome: 'deferred', reason, waitsFor } };
  }
  return { outcome: 'found', companyId, providerInvoiceId, subscriptionId, known, own };
}

/** Why the payment must be refunded; null if it need not. */
export function refundReason(
  event: StoredPaymentEvent,
  { known, own, providerInvoiceId }: Extract<FoundInvoice, { outcome: 'found' }>,
): string | null {
  const invoice = known ?? own;
  if (invoice?.status === 'VOID') {
    return `invoice ${providerInvoiceId} was paid, but is void here: what was paid has to be refunded`;
  }
  const settledAt = invoice?.settledByHandAt ?? null;
  // The event may result from our own report that the invoice was settled elsewhere: that is no second payment.
  if (settledAt === null || event.object.paid_out_of_band === true) return null;
  if ((minorIn(event.object.amount_paid) ?? 0n) <= 0n) return null;
  const payment = idIn(event.object.payment_intent) ?? idIn(event.object.charge);
  const what = payment === null ? 'what was paid there' : `payment ${payment}`;
  return `invoice ${providerInvoiceId} was settled by hand on ${settledAt.toISOString()} and paid again at the provider: ${what} has to be refunded`;
}

type MirroredInvoice =
  | {
      readonly outcome: 'mirrored';
      readonly companyId: string;
      readonly providerInvoiceId: string;
      readonly invoice: Invoice;
    }
  | { readonly outcome: 'refused'; readonly because: EffectOutcome };

/**
 * Stores an invoice as the provider reports it, under the company's lock, and posts to the ledger what its payment or
 * cancellation changes. `status` is the one that the event type implies; without it the invoice's own counts.
 */
export async function mirrorInvoice(
  event: StoredPaymentEvent,
  context: EffectContext,
  found: Extract<FoundInvoice, { outcome: 'found' }>,
  { status, otherwise }: { readonly status?: InvoiceStatus; readonly otherwise: InvoiceStatus },
): Promise<MirroredInvoice> {
  const { transaction, newId } = context;
  const { companyId, providerInvoiceId, subscriptionId, own } = found;
  const wire = event.object;
  await lockCompany(transaction, companyId);
  const names = {
    number: textIn(wire.number, 100),
    hostedUrl: textIn(wire.hosted_invoice_url),
    dueAt: momentIn(wire.due_date),
  };
  if (own !== null) await attachProviderInvoice(transaction, own.id, { providerInvoiceId, ...names });
  const transitions = fieldsIn(wire.status_transitions);
  const incoming = status ?? STATUSES.get(textIn(wire.status) ?? '') ?? otherwise;
  const paidAt = incoming === 'PAID' ? (momentIn(transitions.paid_at) ?? event.happenedAt) : null;
  const amountMinor = minorIn(wire.total) ?? minorIn(wire.amount_due) ?? minorIn(wire.amount_paid) ?? 0n;
  const upserted = await upsertInvoice(transaction, {
    newId: newId(),
    providerInvoiceId,
    companyId,
    kind: await kindOf(context, providerInvoiceId, subscriptionId),
    status: incoming,
    // A negative invoice, which is a credit note, has nothing to pay.
    amountMinor: amountMinor < 0n ? 0n : amountMinor,
    currency: currencyIn(wire.currency) ?? 'usd',
    ...periodOf(event),
    ...names,
    finalizedAt: momentIn(transitions.finalized_at),
    paidAt,
    reportedAt: event.happenedAt,
  });
  if (upserted.outcome === 'of-another-company') {
    const reason = `invoice ${providerInvoiceId} is known as another company's`;
    return { outcome: 'refused', because: { outcome: 'failed', reason, companyId } };
  }
  const { invoice } = upserted;
  if (invoice.status === 'PAID' && incoming === 'PAID') {
    await markInvoicePaid(transaction, { invoiceId: invoice.id, paidAt: paidAt ?? event.happenedAt });
  }
  if (invoice.status === 'VOID' && incoming === 'VOID') {
    await voidInvoice(transaction, { invoiceId: invoice.id, reason: 'voided at the payment provider' });
  }
  return { outcome: 'mirrored', companyId, providerInvoiceId, invoice };
}

const STATUSES: ReadonlyMap<string, InvoiceStatus> = new Map([
  ['draft', 'DRAFT'],
  ['open', 'OPEN'],
  ['paid', 'PAID'],
  ['void', 'VOID'],
  ['uncollectible', 'UNCOLLECTIBLE'],
]);

/** A pack's invoice keeps its kind, whichever of its events arrives first. */
async function kindOf(
  { transaction }: EffectContext,
  providerInvoiceId: string,
  subscriptionId: string | null,
): Promise<'SUBSCRIPTION' | 'PACK' | 'MANUAL'> {
  if (subscriptionId !== null) return 'SUBSCRIPTION';
  const known = await findInvoiceByProviderId(transaction, providerInvoiceId);
  return known?.kind === 'PACK' || known?.kind === 'SUBSCRIPTION' ? known.kind : 'MANUAL';
}

/** The period of the lines that are not prorations; the invoice's own period is the one in which usage was counted. */
function periodOf(event: StoredPaymentEvent): {
  readonly periodStart: Date | null;
  readonly periodEnd: Date | null;
} {
  const lines = listIn(event.object.lines);
  const line = lines.find(({ proration }) => proration !== true) ?? lines[0];
  const period = fieldsIn(line?.period);
  const [periodStart, periodEnd] = [momentIn(period.start), momentIn(period.end)];
  if (periodStart === null || periodEnd === null || periodEnd < periodStart) {
    return { periodStart: null, periodEnd: null };
  }
  return { periodStart, periodEnd };
}
