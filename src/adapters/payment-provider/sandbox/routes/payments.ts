import type Stripe from 'stripe';
import { refundCharge } from '../money/refund-charge.ts';
import { invalid } from '../refusal.ts';
import { idIn, need, type Turn } from '../turn.ts';
import { type Call, filters, listOf, type Route } from './route.ts';

const REASONS = ['duplicate', 'fraudulent', 'requested_by_customer'] as const;

async function createRefund(turn: Turn, { params }: Call): Promise<Stripe.Refund> {
  const charge = await chargeOf(turn, params.text('charge', 255), params.text('payment_intent', 255));
  return await refundCharge(turn, charge, {
    amount: params.whole('amount', { min: 1 }),
    reason: params.choice('reason', REASONS) ?? null,
    metadata: params.metadata() ?? {},
  });
}

async function chargeOf(
  turn: Turn,
  chargeId: string | undefined,
  intentId: string | undefined,
): Promise<Stripe.Charge> {
  if (chargeId !== undefined) return (await need(turn, 'charge', chargeId, 'charge')).body;
  if (intentId === undefined) {
    throw invalid(
      'One of the following params should be provided for this request: payment_intent or charge.',
    );
  }
  const { body: intent } = await need(turn, 'payment_intent', intentId, 'payment_intent');
  const latest = idIn(intent.latest_charge);
  if (latest === null || intent.status !== 'succeeded') {
    const message = `This PaymentIntent (${intent.id}) does not have a successful charge to refund.`;
    throw invalid(message, 'payment_intent');
  }
  return (await need(turn, 'charge', latest, 'charge')).body;
}

export const paymentRoutes: readonly Route[] = [
  { method: 'POST', path: '/v1/refunds', write: createRefund },
  {
    method: 'GET',
    path: '/v1/refunds',
    read: (objects, call) => {
      const where = filters(call.params, ['charge', 'payment_intent']);
      return listOf(objects, call, 'refund', '/v1/refunds', { where });
    },
  },
  {
    method: 'GET',
    path: '/v1/charges',
    read: (objects, call) => {
      const where = filters(call.params, ['customer', 'payment_intent']);
      return listOf(objects, call, 'charge', '/v1/charges', { where });
    },
  },
  {
    method: 'GET',
    path: '/v1/payment_intents',
    read: (objects, call) => {
      const where = filters(call.params, ['customer']);
      return listOf(objects, call, 'payment_intent', '/v1/payment_intents', { where });
    },
  },
];
