import type Stripe from 'stripe';
import { invalid } from '../refusal.ts';
import { refundShape } from '../shapes/payment.ts';
import { differences, type Turn } from '../turn.ts';

export interface WantedRefund {
  /** Undefined is all that is left. */
  readonly amount: number | undefined;
  readonly reason: Stripe.Refund.Reason | null;
  readonly metadata: Stripe.Metadata;
}

/** The charge counts what was given back in all; it is `refunded` only when that is everything. */
export async function refundCharge(
  turn: Turn,
  charge: Stripe.Charge,
  wanted: WantedRefund,
): Promise<Stripe.Refund> {
  if (!charge.paid) throw invalid(`Charge ${charge.id} has not been paid.`, 'charge');
  const left = charge.amount_captured - charge.amount_refunded;
  if (left === 0) {
    const message = `Charge ${charge.id} has already been refunded.`;
    throw invalid(message, undefined, 'charge_already_refunded');
  }
  const amount = wanted.amount ?? left;
  if (amount > left) {
    const [asked, rest] = [amount, left].map((minor) => `${minor} ${charge.currency}`);
    throw invalid(`Refund amount (${asked}) is greater than unrefunded amount on charge (${rest})`, 'amount');
  }
  const { reason, metadata } = wanted;
  const refund = refundShape(turn.newId('re_3'), turn.now, { charge, amount, reason, metadata });
  const after: Stripe.Charge = {
    ...charge,
    amount_refunded: charge.amount_refunded + amount,
    refunded: amount === left,
  };
  await turn.objects.put('refund', refund, { hidden: {} });
  await turn.objects.put('charge', after, { hidden: {} });
  await turn.emit('charge.refunded', after, differences(charge, after));
  return refund;
}
