import type Stripe from 'stripe';
import { invalid } from '../api-errors.ts';
import { disputeShape } from '../objects/payments.ts';
import type { Params } from '../request-params.ts';
import { differences, idIn, need, storeUpdate, type Turn } from '../state/transaction.ts';

const STATES = ['needs_response', 'under_review', 'won', 'lost', 'warning_closed'] as const;
const ENDS: readonly string[] = ['won', 'lost', 'warning_closed'];
const FAILURES = ['failed', 'canceled'] as const;

/**
 * The customer's bank disputes a charge, or decides a dispute. Parameters: `payment_intent` or `charge`, `amount`,
 * `status`.
 */
export async function disputeCharge(turn: Turn, params: Params): Promise<Stripe.Dispute> {
  const status = params.choice('status', STATES) ?? 'needs_response';
  const charge = await disputedCharge(turn, params);
  const { data } = await turn.objects.list('dispute', { where: { charge: charge.id }, limit: 1 });
  const [before] = data;
  if (before !== undefined) {
    // A bank may reverse its decision.
    const isReversal = [before.status, status].sort().join() === 'lost,won';
    if (ENDS.includes(before.status) && !isReversal)
      throw invalid(`Dispute ${before.id} is ${before.status} already.`);
    const after = { ...before, status };
    const event = ENDS.includes(status) ? 'charge.dispute.closed' : 'charge.dispute.updated';
    await storeUpdate(turn, 'dispute', before, after, { hidden: {}, event });
    return after;
  }
  const amount = params.whole('amount', { min: 1, max: charge.amount }) ?? charge.amount;
  const dispute = disputeShape(turn.newId('dp_1'), turn.now, { charge, amount, status });
  await turn.objects.put('dispute', dispute, { hidden: {} });
  await turn.objects.put('charge', { ...charge, disputed: true }, { hidden: {} });
  await turn.emit('charge.dispute.created', dispute);
  if (ENDS.includes(status)) await turn.emit('charge.dispute.closed', dispute);
  return dispute;
}

async function disputedCharge(turn: Turn, params: Params): Promise<Stripe.Charge> {
  const intentId = params.text('payment_intent', 255);
  const chargeId =
    intentId === undefined
      ? params.needed('charge', 255)
      : idIn((await need(turn, 'payment_intent', intentId, 'payment_intent')).body.latest_charge);
  return (await need(turn, 'charge', chargeId ?? '', 'charge')).body;
}

/** The bank returns a refund, which is then deducted from the refunded amount of its charge. */
export async function failRefund(turn: Turn, params: Params): Promise<Stripe.Refund> {
  const status = params.choice('status', FAILURES) ?? 'failed';
  const { body: refund } = await need(turn, 'refund', params.needed('refund', 255), 'refund');
  if (refund.status === 'failed' || refund.status === 'canceled') {
    throw invalid(`Refund ${refund.id} is ${refund.status} already.`);
  }
  const failed: Stripe.Refund = { ...refund, status, failure_reason: 'lost_or_stolen_card' };
  const { body: charge } = await need(turn, 'charge', idIn(refund.charge) ?? '', 'charge');
  const after = {
    ...charge,
    amount_refunded: Math.max(0, charge.amount_refunded - refund.amount),
    refunded: false,
  };
  await turn.objects.put('refund', failed, { hidden: {} });
  await turn.objects.put('charge', after, { hidden: {} });
  await turn.emit('charge.refund.updated', failed, differences(refund, failed));
  return failed;
}
