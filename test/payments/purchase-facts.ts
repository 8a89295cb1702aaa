import type { ProviderEvent } from '../../src/ports/payment-provider.ts';
import type { MadeCompany, MadePurchase } from './payments-under-test.ts';
import { madeEvent, RECORDED_AT } from './recorded-events.ts';

type Fields = Record<string, unknown>;

/** The checkout of a pack was gone through and paid. */
export function paidSession(
  company: MadeCompany,
  purchase: MadePurchase,
  changes: Fields = {},
): ProviderEvent {
  return madeEvent({
    type: 'checkout.session.completed',
    object: {
      id: purchase.sessionId,
      customer: company.customerId,
      payment_intent: purchase.paymentId,
      client_reference_id: purchase.id,
      metadata: { purchaseId: purchase.id, companyId: company.id },
      ...changes,
    },
  });
}

/** So much of the charge was given back in all. */
export function refundOf(
  company: MadeCompany,
  purchase: MadePurchase,
  refunded: number,
  changes: Fields & { readonly amount?: number } = {},
): ProviderEvent {
  const amount = changes.amount ?? 1_000;
  return madeEvent({
    type: 'charge.refunded',
    created: RECORDED_AT + 100 + refunded,
    object: {
      id: purchase.chargeId,
      customer: company.customerId,
      payment_intent: purchase.paymentId,
      amount,
      amount_captured: amount,
      amount_refunded: refunded,
      refunded: refunded === amount,
      metadata: { purchaseId: purchase.id },
      ...changes,
    },
  });
}
