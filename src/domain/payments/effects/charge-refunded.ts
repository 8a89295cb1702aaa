import { findInvoice, findInvoiceByProviderId, type Invoice } from '../../credits/invoices/invoice.ts';
import {
  type Effect,
  type EffectContext,
  type EffectOutcome,
  type StoredPaymentEvent,
  waitKeys,
} from '../effect.ts';
import { findPlanGrant } from '../plan-grants.ts';
import { currencyIn, idIn, isUnreadable, lockCompany, minorIn, ourIdIn } from '../provider-objects.ts';
import { type CreditPackPurchase, purchaseOf, purchaseOfInvoice } from '../purchase.ts';
import { paidBy, type Refunded, take } from './returned-money.ts';

type FoundCharge =
  | { readonly outcome: 'found'; readonly refunded: Refunded }
  | { readonly outcome: 'not-yet'; readonly because: EffectOutcome };

/**
 * `charge.refunded`: the credits that the charge granted are taken back in proportion, also below zero (P-21). A charge
 * that granted none, as for a usage invoice, is recorded without credits: the refund is a gift, and the usage stays
 * paid.
 */
export const chargeRefunded: Effect = async (event, context) => {
  const chargeId = idIn(event.object.id);
  if (chargeId === null) return { outcome: 'failed', reason: 'the charge has no id' };
  const found = await findCharge(event, context);
  if (found.outcome === 'not-yet') return found.because;
  const { refunded } = found;
  const { companyId } = refunded;
  const { amount, amount_refunded, currency: named } = event.object;
  const currency = currencyIn(named);
  // Read as none, or as missing, they would take nothing, too much, or credits for money of another currency.
  if (isUnreadable(amount) || isUnreadable(amount_refunded) || (named != null && currency === null)) {
    const reason = `what was refunded of charge ${chargeId} cannot be read as money: compare it with the payment provider, and take its credits with "turnpike adjust-credits"`;
    return { outcome: 'failed', reason, companyId };
  }
  if (currency !== null && currency !== refunded.currency) {
    const reason = `charge ${chargeId} is in ${currency}, what it paid for costs ${refunded.currency}`;
    return { outcome: 'failed', reason, companyId };
  }
  const amountMinor = minorIn(amount) ?? refunded.amountMinor;
  const reportedMinor = minorIn(amount_refunded) ?? (event.object.refunded === true ? amountMinor : 0n);
  if (reportedMinor <= 0n || amountMinor <= 0n || reportedMinor > amountMinor) {
    return {
      outcome: 'failed',
      reason: `${reportedMinor} of ${amountMinor} cannot be given back`,
      companyId,
    };
  }
  await lockCompany(context.transaction, companyId);
  if (await isCountedIn(context, chargeId, event.happenedAt)) {
    return { outcome: 'applied', did: 'it was counted at the provider before', companyId };
  }
  return await take(context, chargeId, refunded, {
    ...{ amountMinor: paidBy(refunded, amountMinor), reportedMinor, refundedAt: event.happenedAt },
  });
};

export async function findCharge(event: StoredPaymentEvent, context: EffectContext): Promise<FoundCharge> {
  const { transaction } = context;
  const { object } = event;
  const chargeId = idIn(object.id);
  const paymentId = idIn(object.payment_intent);
  const invoiceId = idIn(object.invoice);
  const purchaseId = ourIdIn(object, 'purchaseId');
  const purchase = await purchaseOf(transaction, { paymentId, purchaseId });
  // A charge that names no payment belongs to the purchase whose id we wrote on it.
  const isItsPayment =
    paymentId === null ||
    purchase?.providerPaymentIntentId === null ||
    purchase?.providerPaymentIntentId === paymentId;
  if (purchase !== null && isItsPayment && purchase.status === 'COMPLETED') return foundPurchase(purchase);
  const grant = await findPlanGrant(transaction, { invoiceId, chargeId, paymentId });
  if (grant !== null) return { outcome: 'found', refunded: { kind: 'PLAN_GRANT', ...grant } };
  const invoice =
    invoiceId === null
      ? await invoiceOfRefunds(context, chargeId)
      : await findInvoiceByProviderId(transaction, invoiceId);
  if (invoice !== null && invoice.status === 'PAID' && invoice.kind !== 'PACK') {
    const { id, companyId, amountMinor, currency } = invoice;
    return {
      outcome: 'found',
      refunded: { kind: 'INVOICE', id, companyId, grantedMicro: 0n, amountMinor, currency },
    };
  }
  const bought = invoice?.kind === 'PACK' ? await purchaseOfInvoice(transaction, invoice.id) : null;
  if (bought !== null && bought.status === 'COMPLETED') return foundPurchase(bought);
  const reason = `nothing that is paid here was paid by charge ${chargeId}`;
  const waitsFor = waitKeys({ payment: paymentId, invoice: invoiceId, purchase: purchase?.id ?? purchaseId });
  return { outcome: 'not-yet', because: { outcome: 'deferred', reason, waitsFor } };
}

function foundPurchase(purchase: CreditPackPurchase): FoundCharge {
  return { outcome: 'found', refunded: refundedPurchase(purchase) };
}

export function refundedPurchase(purchase: CreditPackPurchase): Refunded {
  const { id, companyId, creditsMicro: grantedMicro, currency } = purchase;
  const amountMinor = purchase.amountMinor + purchase.taxMinor;
  return { kind: 'PURCHASE', id, companyId, grantedMicro, amountMinor, currency };
}

/** The usage invoice whose charge was refunded before; null if there is none. */
async function invoiceOfRefunds(
  { transaction }: EffectContext,
  chargeId: string | null,
): Promise<Invoice | null> {
  const [known] = await transaction.query<{ id: string }>(
    `select source_id as id from charge_refunds where charge_id = $1 and source_kind = 'INVOICE'`,
    [chargeId],
  );
  return known === undefined ? null : await findInvoice(transaction, known.id);
}

/** After a failed refund the refunds were counted at the provider: amounts reported before that are included in the count. */
async function isCountedIn(
  { transaction }: EffectContext,
  chargeId: string,
  happenedAt: Date,
): Promise<boolean> {
  const rows = await transaction.query(
    'select 1 from charge_refunds where charge_id = $1 and counted_at >= $2',
    [chargeId, happenedAt],
  );
  return rows.length > 0;
}
