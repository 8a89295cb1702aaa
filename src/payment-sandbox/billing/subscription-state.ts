import type Stripe from 'stripe';
import type { StoredObject } from '../state/object-store.ts';
import { idIn, storeUpdate, type Turn } from '../state/transaction.ts';

/**
 * A subscription starts as `incomplete` (or `trialing`), is `active` while its invoices are paid and `past_due` while
 * one is not, and ends as `canceled` or, if it was never paid, `incomplete_expired`; both are final. `paused` is a
 * trial that ended without a card; resuming makes it `active`.
 */

const INCOMPLETE_SECONDS = 23 * 3_600;
/** In seconds, like all times of the API. */
export const DAY = 86_400;
const TRIAL_WARNING_SECONDS = 3 * DAY;

/** When the next step of the subscription is due. */
export function dueOf({ body, hidden }: StoredObject<'subscription'>): number | null {
  const { status, current_period_start: start, current_period_end: end, trial_end: trialEnd } = body;
  if (status === 'trialing' && trialEnd !== null) {
    return hidden.trialEndSaid ? trialEnd : Math.max(body.created, trialEnd - TRIAL_WARNING_SECONDS);
  }
  if (status === 'incomplete') return body.created + INCOMPLETE_SECONDS;
  if (status !== 'active' && status !== 'past_due') return null;
  const isAnnounced = hidden.upcomingSaidFor === end || body.cancel_at_period_end;
  return isAnnounced ? end : Math.min(end, announcedAt(start, end));
}

export async function updateSubscription(
  turn: Turn,
  before: StoredObject<'subscription'>,
  changes: Partial<Stripe.Subscription>,
  hiddenChanges: Partial<StoredObject<'subscription'>['hidden']> = {},
  event: Stripe.Event.Type = 'customer.subscription.updated',
): Promise<StoredObject<'subscription'>> {
  const changed: Stripe.Subscription = { ...before.body, ...changes };
  // The end of the period may have moved.
  const body = changed.cancel_at_period_end ? { ...changed, cancel_at: changed.current_period_end } : changed;
  const hidden = { ...before.hidden, ...hiddenChanges };
  const kept = { body, hidden };
  const rest = { hidden, dueAt: dueOf(kept), event };
  if (event === 'customer.subscription.updated') {
    await storeUpdate(turn, 'subscription', before.body, body, rest);
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
  await updateSubscription(turn, kept, { status: 'active' });
}

export async function subscriptionFailed(turn: Turn, invoice: Stripe.Invoice): Promise<void> {
  const kept = await subscriptionOf(turn, invoice);
  if (kept === null) return;
  const { status } = kept.body;
  const isLastTry = invoice.next_payment_attempt === null && invoice.billing_reason !== 'subscription_create';
  if (isLastTry && (status === 'past_due' || status === 'active')) {
    await endSubscription(turn, kept, 'payment_failed');
  } else if (status === 'active' || status === 'trialing') {
    await updateSubscription(turn, kept, { status: 'past_due' });
  }
}

export async function endSubscription(
  turn: Turn,
  kept: StoredObject<'subscription'>,
  reason: Stripe.Subscription.CancellationDetails.Reason,
): Promise<StoredObject<'subscription'>> {
  const { body } = kept;
  const details = { comment: null, feedback: null, ...body.cancellation_details, reason };
  return await updateSubscription(
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

async function subscriptionOf(
  turn: Turn,
  invoice: Stripe.Invoice,
): Promise<StoredObject<'subscription'> | null> {
  const id = idIn(invoice.subscription);
  return id === null ? null : await turn.objects.find('subscription', id);
}

/**
 * The end of the period that begins at `start`: the anchor's first anniversary after it. Counted from the anchor rather
 * than the last period, so that a subscription of the 31st returns to the 31st after February.
 */
export function periodEnd(
  anchor: number,
  start: number,
  recurring: Pick<Stripe.Price.Recurring, 'interval' | 'interval_count'>,
): number {
  const { interval, interval_count: count } = recurring;
  if (interval === 'day' || interval === 'week') {
    const length = count * (interval === 'day' ? DAY : 7 * DAY);
    return anchor + (Math.floor((start - anchor) / length) + 1) * length;
  }
  const months = count * (interval === 'month' ? 1 : 12);
  let steps = Math.max(0, Math.floor(monthsBetween(anchor, start) / months));
  while (plusMonths(anchor, steps * months) <= start) steps += 1;
  return plusMonths(anchor, steps * months);
}

function monthsBetween(from: number, to: number): number {
  const [one, other] = [new Date(from * 1000), new Date(to * 1000)];
  const years = other.getUTCFullYear() - one.getUTCFullYear();
  return years * 12 + other.getUTCMonth() - one.getUTCMonth();
}

/** The end of the period that begins at `start`. */
export function nextEnd(subscription: Stripe.Subscription, start: number): number {
  const recurring = subscription.items.data[0]?.price.recurring ?? { interval: 'month', interval_count: 1 };
  return periodEnd(subscription.billing_cycle_anchor, start, recurring);
}

/** The same day of a later month, or its last day, in UTC. */
export function plusMonths(seconds: number, months: number): number {
  const from = new Date(seconds * 1000);
  const [year, month] = [from.getUTCFullYear(), from.getUTCMonth() + months];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const day = Math.min(from.getUTCDate(), lastDay);
  const midnight = Date.UTC(from.getUTCFullYear(), from.getUTCMonth(), from.getUTCDate());
  return (Date.UTC(year, month, day) + (from.getTime() - midnight)) / 1000;
}

/** When the invoice of a renewal is announced: a week before, or a seventh of the period if that is shorter. */
function announcedAt(start: number, end: number): number {
  return end - Math.min(7 * DAY, Math.floor((end - start) / 7));
}
