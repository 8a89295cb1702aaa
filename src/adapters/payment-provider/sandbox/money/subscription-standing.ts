import type Stripe from 'stripe';
import type { Kept } from '../object-kinds.ts';
import { idIn, keepUpdate, type Turn } from '../turn.ts';
import { announcedAt, TRIAL_WARNING_SECONDS } from './periods.ts';

/**
 * A subscription begins `incomplete` (or `trialing`), is `active` while its invoices are paid and `past_due` while one
 * is not, and ends `canceled` or, never having been paid, `incomplete_expired`: from these two there is no way back.
 * `paused` is a trial that ended without a card; resuming makes it `active`.
 */
const INCOMPLETE_SECONDS = 23 * 3_600;

/** When something is to happen to it next. */
export function dueOf({ body, hidden }: Kept<'subscription'>): number | null {
  const { status, current_period_start: start, current_period_end: end, trial_end: trialEnd } = body;
  if (status === 'trialing' && trialEnd !== null) {
    return hidden.trialEndSaid ? trialEnd : Math.max(body.created, trialEnd - TRIAL_WARNING_SECONDS);
  }
  if (status === 'incomplete') return body.created + INCOMPLETE_SECONDS;
  if (status !== 'active' && status !== 'past_due') return null;
  const isAnnounced = hidden.upcomingSaidFor === end || body.cancel_at_period_end;
  return isAnnounced ? end : Math.min(end, announcedAt(start, end));
}

export async function keepSubscription(
  turn: Turn,
  before: Kept<'subscription'>,
  changes: Partial<Stripe.Subscription>,
  hiddenChanges: Partial<Kept<'subscription'>['hidden']> = {},
  event: Stripe.Event.Type = 'customer.subscription.updated',
): Promise<Kept<'subscription'>> {
  const body: Stripe.Subscription = { ...before.body, ...changes };
  const hidden = { ...before.hidden, ...hiddenChanges };
  const kept = { body, hidden };
  const rest = { hidden, dueAt: dueOf(kept), event };
  if (event === 'customer.subscription.updated') {
    await keepUpdate(turn, 'subscription', before.body, body, rest);
  } else {
    await turn.objects.put('subscription', body, rest);
    await turn.emit(event, body);
  }
  return kept;
}

export async function subscriptionPaid(turn: Turn, invoice: Stripe.Invoice): Promise<void> {
  const kept = await subscriptionOf(turn, invoice);
  if (kept === null || kept.body.latest_invoice !== invoice.id) return;
  const { status } = kept.body;
  if (status !== 'incomplete' && status !== 'past_due' && status !== 'unpaid') return;
  await keepSubscription(turn, kept, { status: 'active' });
}

export async function subscriptionFailed(turn: Turn, invoice: Stripe.Invoice): Promise<void> {
  const kept = await subscriptionOf(turn, invoice);
  if (kept === null) return;
  const { status } = kept.body;
  const isLastTry = invoice.next_payment_attempt === null && invoice.billing_reason !== 'subscription_create';
  if (isLastTry && (status === 'past_due' || status === 'active')) {
    await endSubscription(turn, kept, 'payment_failed');
  } else if (status === 'active' || status === 'trialing') {
    await keepSubscription(turn, kept, { status: 'past_due' });
  }
}

export async function endSubscription(
  turn: Turn,
  kept: Kept<'subscription'>,
  reason: Stripe.Subscription.CancellationDetails.Reason,
): Promise<Kept<'subscription'>> {
  const { body } = kept;
  const details = { comment: null, feedback: null, ...body.cancellation_details, reason };
  return await keepSubscription(
    turn,
    kept,
    {
      status: 'canceled',
      ended_at: turn.now,
      canceled_at: body.canceled_at ?? turn.now,
      cancellation_details: details,
    },
    {},
    'customer.subscription.deleted',
  );
}

async function subscriptionOf(turn: Turn, invoice: Stripe.Invoice): Promise<Kept<'subscription'> | null> {
  const id = idIn(invoice.subscription);
  return id === null ? null : await turn.objects.find('subscription', id);
}
