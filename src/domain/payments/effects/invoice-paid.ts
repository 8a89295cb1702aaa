import { findPlan } from '../../catalog/plan.ts';
import type { Invoice } from '../../credits/invoice.ts';
import { decideGrant, type Grant } from '../decide-grant.ts';
import { type Effect, type EffectContext, type KeptEvent, waitKeys } from '../effect.ts';
import { findEventInvoice, mirrorInvoice } from '../mirror-invoice.ts';
import { amountOf } from '../tell-admins.ts';
import { idIn, minorIn } from '../wire-fields.ts';
import { post } from './complete-purchase.ts';

/** Of the posting that a paid invoice of a subscription makes; its id is the provider's invoice. */
export const PLAN_GRANT_SOURCE = 'plan-invoice';

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
  if (found.known?.status === 'VOID') {
    const reason = `invoice ${providerInvoiceId} was paid, but is void here: what was paid has to be given back`;
    return { outcome: 'failed', reason, companyId };
  }
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
