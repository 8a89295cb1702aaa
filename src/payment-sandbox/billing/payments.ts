import type Stripe from 'stripe';
import { invalid } from '../api-errors.ts';
import { chargeShape, type GivenPayment, paymentIntentShape, refundShape } from '../objects/payments.ts';
import type { Card } from '../state/object-store.ts';
import { differences, idIn, need, storeUpdate, type Turn } from '../state/transaction.ts';
import { DAY, subscriptionFailed, subscriptionPaid } from './subscription-state.ts';

interface TriedInvoice {
  readonly result: 'paid' | 'declined' | 'requires_action';
  readonly invoice: Stripe.Invoice;
}

/** The wait after each failed attempt to collect a subscription's invoice; after the last one, the subscription ends. */
const NEXT_TRY_SECONDS = [3 * DAY, 5 * DAY, 7 * DAY];

export async function cardOf(turn: Turn, invoice: Stripe.Invoice): Promise<Card> {
  const { hidden } = await need(turn, 'customer', String(invoice.customer), 'customer');
  return hidden.card;
}

/** One attempt to pay an open invoice. A declined card is a result rather than an error: its changes are kept. */
export async function payInvoice(turn: Turn, invoice: Stripe.Invoice, card: Card): Promise<TriedInvoice> {
  if (invoice.status === 'paid') throw invalid('Invoice is already paid', undefined, 'invoice_already_paid');
  if (invoice.status !== 'open') throw invalid('This invoice can no longer be paid.');
  const { result, intent } = await takePayment(
    turn,
    {
      amount: invoice.amount_remaining,
      currency: invoice.currency,
      customer: idIn(invoice.customer),
      invoice: invoice.id,
      description: invoice.subscription === null ? invoice.description : 'Subscription update',
      metadata: {},
      email: invoice.customer_email,
      name: invoice.customer_name,
      intentId: idIn(invoice.payment_intent),
    },
    card,
  );
  const tried: Stripe.Invoice = {
    ...invoice,
    attempt_count: invoice.attempt_count + 1,
    attempted: true,
    payment_intent: intent.id,
    charge: idIn(intent.latest_charge),
  };
  if (result === 'paid') {
    return { result, invoice: await settlePaid(turn, tried, { amountPaid: invoice.amount_remaining }) };
  }
  return { result, invoice: await settleFailed(turn, tried, result) };
}

/** Records a payment made outside the provider, also for an uncollectible invoice. */
export async function payOutOfBand(turn: Turn, invoice: Stripe.Invoice): Promise<Stripe.Invoice> {
  if (invoice.status === 'paid') throw invalid('Invoice is already paid', undefined, 'invoice_already_paid');
  if (invoice.status !== 'open' && invoice.status !== 'uncollectible')
    throw invalid('This invoice can no longer be paid.');
  const settled = { ...invoice, paid_out_of_band: true };
  return await settlePaid(turn, settled, { amountPaid: invoice.amount_remaining });
}

export async function settlePaid(
  turn: Turn,
  invoice: Stripe.Invoice,
  { amountPaid }: { amountPaid: number },
): Promise<Stripe.Invoice> {
  const paid: Stripe.Invoice = {
    ...invoice,
    status: 'paid',
    paid: true,
    attempted: true,
    amount_paid: amountPaid,
    amount_remaining: 0,
    next_payment_attempt: null,
    status_transitions: { ...invoice.status_transitions, paid_at: turn.now },
  };
  await turn.objects.put('invoice', paid, { hidden: {} });
  await turn.emit('invoice.paid', paid);
  if (!paid.paid_out_of_band) await turn.emit('invoice.payment_succeeded', paid);
  await subscriptionPaid(turn, paid);
  return paid;
}

async function settleFailed(
  turn: Turn,
  invoice: Stripe.Invoice,
  result: 'declined' | 'requires_action',
): Promise<Stripe.Invoice> {
  const isRetried = invoice.subscription !== null && invoice.collection_method === 'charge_automatically';
  const waitSeconds = isRetried ? NEXT_TRY_SECONDS[invoice.attempt_count - 1] : undefined;
  const next = waitSeconds === undefined ? null : turn.now + waitSeconds;
  const failed: Stripe.Invoice = { ...invoice, next_payment_attempt: next };
  await turn.objects.put('invoice', failed, { hidden: {}, dueAt: next });
  if (result === 'requires_action') await turn.emit('invoice.payment_action_required', failed);
  await turn.emit('invoice.payment_failed', failed);
  await subscriptionFailed(turn, failed);
  return failed;
}

/** Closes an invoice unpaid, so that nothing more is collected. */
export async function closeInvoice(
  turn: Turn,
  invoice: Stripe.Invoice,
  status: 'void' | 'uncollectible',
): Promise<Stripe.Invoice> {
  if (invoice.status !== 'open' && invoice.status !== 'uncollectible') {
    throw invalid(`You can only pass in open invoices. This invoice isn't open: it is ${invoice.status}.`);
  }
  const isVoid = status === 'void';
  const transition = isVoid ? { voided_at: turn.now } : { marked_uncollectible_at: turn.now };
  const closed: Stripe.Invoice = {
    ...invoice,
    status,
    next_payment_attempt: null,
    status_transitions: { ...invoice.status_transitions, ...transition },
  };
  await turn.objects.put('invoice', closed, { hidden: {} });
  if (isVoid) await returnBalance(turn, invoice);
  await turn.emit(isVoid ? 'invoice.voided' : 'invoice.marked_uncollectible', closed);
  return closed;
}

/** What a void invoice had taken of the customer's balance is on it again. */
async function returnBalance(turn: Turn, invoice: Stripe.Invoice): Promise<void> {
  const taken = (invoice.ending_balance ?? invoice.starting_balance) - invoice.starting_balance;
  if (taken === 0) return;
  const { body: customer, hidden } = await need(turn, 'customer', String(invoice.customer), 'customer');
  const after = { ...customer, balance: customer.balance - taken };
  await storeUpdate(turn, 'customer', customer, after, { hidden, event: 'customer.updated' });
}

interface TakenPayment {
  readonly result: 'paid' | 'declined' | 'requires_action';
  readonly intent: Stripe.PaymentIntent;
}

interface Payer {
  readonly email: string | null;
  readonly name: string | null;
  /** The intent of an earlier attempt at the same payment. */
  readonly intentId: string | null;
}

const DECLINED = 'Your card was declined.';

/** Charges the card. The payment intent records the outcome; an attempt creates a charge unless an action is required. */
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

interface RefundParams {
  /** Undefined refunds the entire remaining amount. */
  readonly amount: number | undefined;
  readonly reason: Stripe.Refund.Reason | null;
  readonly metadata: Stripe.Metadata;
}

/** The charge adds up all refunds; it is `refunded` only once they reach the full amount. */
export async function refundCharge(
  turn: Turn,
  charge: Stripe.Charge,
  wanted: RefundParams,
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
