import type Stripe from 'stripe';
import type { Card } from '../object-kinds.ts';
import { invalid } from '../refusal.ts';
import { idIn, need, type Turn } from '../turn.ts';
import { subscriptionFailed, subscriptionPaid } from './subscription-standing.ts';
import { takePayment } from './take-payment.ts';

export interface TriedInvoice {
  readonly result: 'paid' | 'declined' | 'requires_action';
  readonly invoice: Stripe.Invoice;
}

const DAY = 86_400;
/** After each failed try at a subscription's invoice; after the last the subscription ends. */
const NEXT_TRY_SECONDS = [3 * DAY, 5 * DAY, 7 * DAY];

export async function cardOf(turn: Turn, invoice: Stripe.Invoice): Promise<Card> {
  const { hidden } = await need(turn, 'customer', String(invoice.customer), 'customer');
  return hidden.card;
}

/** One try at an open invoice. A refused card is a result: what it changed stays. */
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

/** Money that came another way. */
export async function payOutOfBand(turn: Turn, invoice: Stripe.Invoice): Promise<Stripe.Invoice> {
  if (invoice.status === 'paid') throw invalid('Invoice is already paid', undefined, 'invoice_already_paid');
  if (invoice.status !== 'open') throw invalid('This invoice can no longer be paid.');
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

/** It asks for nothing any more, unpaid. */
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
  await turn.emit(isVoid ? 'invoice.voided' : 'invoice.marked_uncollectible', closed);
  return closed;
}
