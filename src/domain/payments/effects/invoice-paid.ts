import { findPlan, type Plan } from '../../catalog/plan.ts';
import type { Invoice } from '../../credits/invoices/invoice.ts';
import { findByProviderId } from '../../subscriptions/subscription.ts';
import {
  amountOf,
  type Effect,
  type EffectContext,
  type EffectOutcome,
  type KeptEvent,
  post,
  waitKeys,
} from '../effect.ts';
import {
  currencyIn,
  fieldsIn,
  idIn,
  listIn,
  minorIn,
  momentIn,
  ourIdIn,
  planWithPrice,
  priceOfLine,
  textIn,
} from '../provider-objects.ts';
import { findEventInvoice, mirrorInvoice, refundReason } from './invoice-changed.ts';

/** Of the posting that a paid invoice of a subscription makes; its id is the provider's invoice. */
const PLAN_GRANT_SOURCE = 'plan-invoice';

/**
 * `invoice.paid`, also outside of the provider: our own invoice for usage is settled and its company freed; that of a
 * subscription brings the period's credits, once an invoice and once a period. An invoice of anything else, a pack's
 * too, is only kept: a pack's credits come with its checkout.
 */
export const invoicePaid: Effect = async (event, context) => {
  const found = await findEventInvoice(event, context);
  if (found.outcome === 'not-yet') return found.because;
  const { companyId, providerInvoiceId, subscriptionId } = found;
  const grant: Grant =
    subscriptionId === null
      ? { outcome: 'none', why: 'it is of no subscription' }
      : await decideGrant(event, context, subscriptionId);
  if (grant.outcome === 'not-yet') return grant.because;
  const toRefund = refundReason(event, found);
  if (toRefund !== null) return { outcome: 'failed', reason: toRefund, companyId };
  const mirrored = await mirrorInvoice(event, context, found, { status: 'PAID', otherwise: 'PAID' });
  if (mirrored.outcome === 'refused') return mirrored.because;
  const { invoice } = mirrored;
  const isGranted =
    grant.outcome === 'grant' &&
    subscriptionId !== null &&
    (await give(event, context, { companyId, subscriptionId, grant }));
  await sendReceipt(event, context, invoice, isGranted && grant.outcome === 'grant' ? grant : null);
  const why = grant.outcome === 'none' ? grant.why : 'the period has its credits already';
  return {
    outcome: 'applied',
    did:
      isGranted && grant.outcome === 'grant'
        ? `invoice ${providerInvoiceId} is paid: ${grant.creditsMicro} micro-credits`
        : `invoice ${providerInvoiceId} is paid; no credits: ${why}`,
    companyId,
    arrived: waitKeys({ invoice: providerInvoiceId, payment: idIn(event.object.payment_intent) }),
  };
};

/** False where this invoice, or another one for the same period, has brought its credits before. */
async function give(
  event: KeptEvent,
  context: EffectContext,
  {
    companyId,
    subscriptionId,
    grant,
  }: { companyId: string; subscriptionId: string; grant: Extract<Grant, { outcome: 'grant' }> },
): Promise<boolean> {
  const invoiceId = idIn(event.object.id);
  if (invoiceId === null) return false;
  const written = await context.transaction.query(
    `insert into plan_grants (provider_invoice_id, company_id, plan_id, provider_subscription_id, kind, period_start,
       credits_micro, amount_minor, currency, provider_payment_intent_id, provider_charge_id, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
     on conflict do nothing returning provider_invoice_id`,
    [
      invoiceId,
      companyId,
      grant.planId,
      subscriptionId,
      grant.kind,
      grant.periodStart,
      grant.creditsMicro,
      grant.amountMinor,
      grant.currency,
      idIn(event.object.payment_intent),
      idIn(event.object.charge),
      context.now,
    ],
  );
  if (written.length === 0) return false;
  await post(context, {
    accountId: companyId,
    type: 'SUBSCRIPTION_GRANT',
    amountMicro: grant.creditsMicro,
    contra: 'grants',
    sourceKind: PLAN_GRANT_SOURCE,
    sourceId: invoiceId,
    reason: `${grant.kind === 'PERIOD' ? 'period' : 'change of plan'} from ${grant.periodStart.toISOString()}`,
  });
  return true;
}

async function sendReceipt(
  event: KeptEvent,
  context: EffectContext,
  invoice: Invoice,
  grant: Extract<Grant, { outcome: 'grant' }> | null,
): Promise<void> {
  const paid = minorIn(event.object.amount_paid) ?? invoice.amountMinor;
  if (paid <= 0n || invoice.kind === 'PACK') return;
  const plan = grant === null ? null : await findPlan(context.transaction, grant.planId);
  const item = plan !== null ? `Plan ${plan.name}` : invoice.kind === 'POSTPAID' ? 'Usage' : 'Invoice';
  await context.tellAdmins({
    kind: 'receipt',
    companyId: invoice.companyId,
    fact: `receipt:invoice:${invoice.id}`,
    data: {
      item,
      amount: amountOf(paid, invoice.currency),
      paidAt: invoice.paidAt ?? event.happenedAt,
      ...(grant === null ? {} : { creditsMicro: grant.creditsMicro }),
      ...(invoice.number === null ? {} : { invoiceNumber: invoice.number }),
      ...(invoice.hostedUrl === null ? {} : { invoiceUrl: invoice.hostedUrl }),
    },
  });
}

/** The credits that a paid invoice of a subscription brings. */
type Grant =
  | {
      readonly outcome: 'grant';
      readonly kind: 'PERIOD' | 'PRORATION';
      readonly planId: string;
      readonly creditsMicro: bigint;
      readonly periodStart: Date;
      readonly amountMinor: bigint;
      readonly currency: string;
    }
  | { readonly outcome: 'none'; readonly why: string }
  | { readonly outcome: 'not-yet'; readonly because: EffectOutcome };

type Line = Readonly<Record<string, unknown>>;

/**
 * By why the provider made the invoice: a new period brings the plan's credits whole; a change in the middle of one
 * brings what its lines come to, never a whole plan for a part of its price; anything else brings nothing. What cost
 * nothing (a trial, a coupon for all of it) brings nothing.
 */
async function decideGrant(event: KeptEvent, context: EffectContext, subscriptionId: string): Promise<Grant> {
  const invoice = event.object;
  const total = minorIn(invoice.total) ?? minorIn(invoice.amount_due) ?? minorIn(invoice.amount_paid) ?? 0n;
  const paid = invoice.paid_out_of_band === true ? total : (minorIn(invoice.amount_paid) ?? 0n);
  if (paid <= 0n) return { outcome: 'none', why: 'nothing was paid' };
  const reason = textIn(invoice.billing_reason);
  const lines = listIn(invoice.lines);
  switch (reason) {
    case 'subscription_create':
    case 'subscription_cycle':
    case null:
      return await wholePeriod(event, context, { subscriptionId, lines, paid });
    case 'subscription_update':
      return await prorated(event, context, { lines, paid, total });
    default:
      return { outcome: 'none', why: `${reason} brings no credits` };
  }
}

async function wholePeriod(
  event: KeptEvent,
  context: EffectContext,
  { subscriptionId, lines, paid }: { subscriptionId: string; lines: readonly Line[]; paid: bigint },
): Promise<Grant> {
  const isWhole = (line: Line) =>
    line.proration !== true && line.type !== 'invoiceitem' && (minorIn(line.amount) ?? 0n) >= 0n;
  const line = lines.find(isWhole);
  if (line === undefined && lines.length > 0)
    return { outcome: 'none', why: 'no line is for a whole period' };
  const priceId = line === undefined ? null : priceOfLine(line);
  const plan = await planFor(event, context, priceId, subscriptionId);
  if (plan === null) {
    const because: EffectOutcome = {
      outcome: 'deferred',
      reason: `invoice ${event.object.id} is for price ${priceId} of subscription ${subscriptionId}, and no plan of ours is`,
      waitsFor: waitKeys({ price: priceId, subscription: subscriptionId }),
    };
    return { outcome: 'not-yet', because };
  }
  const currency = currencyIn(event.object.currency) ?? plan.currency;
  if (currency !== plan.currency) return wrongCurrency(event, plan, currency);
  if (plan.creditsMicro === 0n) return { outcome: 'none', why: 'the plan brings no credits' };
  const period = fieldsIn(line?.period);
  const periodStart =
    momentIn(period.start) ??
    momentIn(event.object.period_start) ??
    momentIn(event.object.created) ??
    event.happenedAt;
  const { id: planId, creditsMicro } = plan;
  return { outcome: 'grant', kind: 'PERIOD', planId, creditsMicro, periodStart, amountMinor: paid, currency };
}

/**
 * Each line stands for the same share of its plan's credits as it is of its plan's price, those given back with a
 * minus. Of that counts as much as was really paid: a balance that the customer had with the provider was paid for,
 * and brought its credits, before.
 */
async function prorated(
  event: KeptEvent,
  context: EffectContext,
  { lines, paid, total }: { lines: readonly Line[]; paid: bigint; total: bigint },
): Promise<Grant> {
  const scale = 1_000_000n;
  let scaled = 0n;
  let latest: { readonly plan: Plan; readonly periodStart: Date } | null = null;
  for (const line of lines) {
    const amount = minorIn(line.amount) ?? 0n;
    const priceId = priceOfLine(line);
    const plan = priceId === null ? null : await planFor(event, context, priceId, null);
    if (plan === null || plan.priceMinor === 0n) continue;
    if (plan.currency !== (currencyIn(event.object.currency) ?? plan.currency)) continue;
    scaled += (plan.creditsMicro * amount * scale) / plan.priceMinor;
    const periodStart = momentIn(fieldsIn(line.period).start) ?? event.happenedAt;
    if (amount > 0n) latest = { plan, periodStart };
  }
  if (latest === null || scaled <= 0n) return { outcome: 'none', why: 'the change brings no credits' };
  const due = paid < total ? (scaled * paid) / total : scaled;
  const creditsMicro = due / scale;
  if (creditsMicro <= 0n) return { outcome: 'none', why: 'the change brings no credits' };
  const { plan, periodStart } = latest;
  const { id: planId, currency } = plan;
  return {
    outcome: 'grant',
    kind: 'PRORATION',
    planId,
    creditsMicro,
    periodStart,
    amountMinor: paid,
    currency,
  };
}

/** By the line's price; else by what we wrote on it; else the plan that the subscription has here. */
async function planFor(
  event: KeptEvent,
  { transaction }: EffectContext,
  priceId: string | null,
  subscriptionId: string | null,
): Promise<Plan | null> {
  const planId = await planWithPrice(transaction, priceId, ourIdIn(event.object, 'planId'));
  if (planId !== null) return await findPlan(transaction, planId);
  const subscription = subscriptionId === null ? null : await findByProviderId(transaction, subscriptionId);
  return subscription === null ? null : await findPlan(transaction, subscription.planId);
}

function wrongCurrency(event: KeptEvent, plan: Plan, currency: string): Grant {
  const reason = `invoice ${event.object.id} was paid in ${currency}, its plan ${plan.id} costs ${plan.currency}`;
  return { outcome: 'not-yet', because: { outcome: 'failed', reason } };
}
