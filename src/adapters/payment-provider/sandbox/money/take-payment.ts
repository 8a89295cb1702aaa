import type Stripe from 'stripe';
import type { Card } from '../object-kinds.ts';
import { chargeShape, type GivenPayment, paymentIntentShape } from '../shapes/payment.ts';
import { need, type Turn } from '../turn.ts';

export interface TakenPayment {
  readonly result: 'paid' | 'declined' | 'requires_action';
  readonly intent: Stripe.PaymentIntent;
}

interface Payer {
  readonly email: string | null;
  readonly name: string | null;
  /** An earlier try at the same payment. */
  readonly intentId: string | null;
}

export const DECLINED = 'Your card was declined.';

/** Charges the card; the payment's intent remembers what became of it, and a charge every try that reached a bank. */
export async function takePayment(
  turn: Turn,
  given: GivenPayment & Payer,
  card: Card,
): Promise<TakenPayment> {
  const { intentId } = given;
  const earlier = intentId === null ? null : (await need(turn, 'payment_intent', intentId, 'id')).body;
  const intent = earlier ?? paymentIntentShape(turn.newId('pi_3'), turn.now, given);
  if (earlier === null) await turn.emit('payment_intent.created', intent);
  if (card === 'requires_action') return await askForAction(turn, intent);

  const paid = card === 'works';
  const charge = chargeShape(turn.newId('ch_3'), turn.now, { ...given, paymentIntent: intent.id, paid });
  await turn.objects.put('charge', charge, { hidden: {} });
  const tried: Stripe.PaymentIntent = {
    ...intent,
    latest_charge: charge.id,
    status: paid ? 'succeeded' : 'requires_payment_method',
    amount_received: paid ? intent.amount : 0,
    payment_method: paid ? charge.payment_method : null,
    last_payment_error: paid ? null : declinedError(charge.id, card),
    next_action: null,
  };
  await turn.objects.put('payment_intent', tried, { hidden: {} });
  await turn.emit(paid ? 'charge.succeeded' : 'charge.failed', charge);
  await turn.emit(paid ? 'payment_intent.succeeded' : 'payment_intent.payment_failed', tried);
  return { result: paid ? 'paid' : 'declined', intent: tried };
}

async function askForAction(turn: Turn, intent: Stripe.PaymentIntent): Promise<TakenPayment> {
  const waiting: Stripe.PaymentIntent = {
    ...intent,
    status: 'requires_action',
    next_action: { type: 'use_stripe_sdk', use_stripe_sdk: { type: 'three_d_secure_redirect' } },
  };
  await turn.objects.put('payment_intent', waiting, { hidden: {} });
  await turn.emit('payment_intent.requires_action', waiting);
  return { result: 'requires_action', intent: waiting };
}

function declinedError(charge: string, card: Card): Stripe.PaymentIntent.LastPaymentError {
  if (card === 'none') {
    const message = 'This customer has no attached payment source or default payment method.';
    return { code: 'resource_missing', message, type: 'invalid_request_error' };
  }
  return {
    charge,
    code: 'card_declined',
    decline_code: 'generic_decline',
    message: DECLINED,
    type: 'card_error',
  };
}
