import type Stripe from 'stripe';
import type { Kept } from '../object-kinds.ts';
import { invoiceLineShape, invoiceShape } from '../shapes/invoice.ts';
import { need, type Turn } from '../turn.ts';
import { finalizeInvoice } from './invoicing.ts';
import { cardOf, closeInvoice, payInvoice } from './pay-invoice.ts';
import { periodEnd } from './periods.ts';
import { draftFor, givenFor, linesFor } from './subscription-invoice.ts';
import { endSubscription, keepSubscription } from './subscription-standing.ts';

type Subscription = Kept<'subscription'>;

/** What is due for a subscription at this moment: a warning, an announcement, an end or a new period. */
export async function subscriptionDue(turn: Turn, kept: Subscription): Promise<void> {
  const { body, hidden } = kept;
  if (body.status === 'incomplete') {
    await keepSubscription(turn, kept, { status: 'incomplete_expired', ended_at: turn.now });
  } else if (body.status === 'trialing' && !hidden.trialEndSaid && turn.now < (body.trial_end ?? 0)) {
    await keepSubscription(turn, kept, {}, { trialEndSaid: true }, 'customer.subscription.trial_will_end');
  } else if (turn.now < body.current_period_end) {
    await announceInvoice(turn, kept);
  } else if (body.cancel_at_period_end) {
    await endSubscription(turn, kept, 'cancellation_requested');
  } else if (body.status === 'trialing') {
    await endTrial(turn, kept);
  } else {
    await beginPeriod(turn, kept);
  }
}

/** An invoice that does not exist yet: it has no id, and nothing of it is kept but the event. */
async function announceInvoice(turn: Turn, kept: Subscription): Promise<void> {
  const { body } = kept;
  const start = body.current_period_end;
  const period = { start, end: nextEnd(body, start) };
  const lines = await linesFor(turn, body, { reason: 'upcoming', period });
  const total = lines.reduce((sum, line) => sum + line.amount, 0);
  const shape = invoiceShape('', turn.now, await givenFor(turn, body, 'upcoming'));
  const { id: _, ...invoice } = {
    ...shape,
    amount_due: total,
    amount_remaining: total,
    subtotal: total,
    subtotal_excluding_tax: total,
    total,
    total_excluding_tax: total,
    next_payment_attempt: start,
    period_start: body.current_period_start,
    period_end: start,
    lines: {
      ...shape.lines,
      data: lines.map((line) => invoiceLineShape(turn.newId('il_tmp_1'), null, line)),
      url: `/v1/invoices/upcoming/lines?subscription=${body.id}`,
    },
  };
  await keepSubscription(turn, kept, {}, { upcomingSaidFor: start });
  await turn.emit('invoice.upcoming', invoice);
}

async function endTrial(turn: Turn, kept: Subscription): Promise<void> {
  const { body } = kept;
  const { hidden } = await need(turn, 'customer', String(body.customer), 'customer');
  const missing = body.trial_settings?.end_behavior.missing_payment_method ?? 'create_invoice';
  if (hidden.card === 'none' && missing === 'pause') {
    await keepSubscription(turn, kept, { status: 'paused' }, {}, 'customer.subscription.paused');
  } else if (hidden.card === 'none' && missing === 'cancel') {
    await endSubscription(turn, kept, 'payment_failed');
  } else {
    await beginPeriod(turn, kept, { status: 'active' });
  }
}

/** The next period begins with its invoice, whether or not that is paid: the standing follows the payment. */
export async function beginPeriod(
  turn: Turn,
  kept: Subscription,
  changes: Partial<Stripe.Subscription> = {},
  reason: Stripe.Invoice.BillingReason = 'subscription_cycle',
): Promise<void> {
  const before: Subscription = kept;
  const body = { ...before.body, ...changes };
  const start = reason === 'subscription_cycle' ? body.current_period_end : turn.now;
  const end = nextEnd(body, start);
  const draft = await draftFor(turn, body, { reason, period: { start, end } });
  const moved = {
    ...changes,
    current_period_start: start,
    current_period_end: end,
    latest_invoice: draft.id,
  };
  await keepSubscription(turn, before, moved, { upcomingSaidFor: null });
  if (body.pause_collection !== null) return await keepPaused(turn, draft, body.pause_collection.behavior);
  const finalized = await finalizeInvoice(turn, draft);
  if (finalized.outcome === 'failed' || finalized.invoice.status !== 'open') return;
  await payInvoice(turn, finalized.invoice, await cardOf(turn, finalized.invoice));
}

/** Nothing is collected for the time being: the invoice stays a draft or is closed unpaid. */
async function keepPaused(
  turn: Turn,
  draft: Stripe.Invoice,
  behavior: Stripe.Subscription.PauseCollection.Behavior,
): Promise<void> {
  if (behavior === 'keep_as_draft') return;
  const finalized = await finalizeInvoice(turn, draft);
  if (finalized.outcome === 'failed' || finalized.invoice.status !== 'open') return;
  await closeInvoice(turn, finalized.invoice, behavior === 'void' ? 'void' : 'uncollectible');
}

function nextEnd(subscription: Stripe.Subscription, start: number): number {
  const recurring = subscription.items.data[0]?.price.recurring ?? { interval: 'month', interval_count: 1 };
  return periodEnd(subscription.billing_cycle_anchor, start, recurring);
}
