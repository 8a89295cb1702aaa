import type { WireObject } from '../../ports/payment-provider.ts';
import type { SubscriptionState } from '../subscriptions/news.ts';
import { isEnded, type SubscriptionStatus } from '../subscriptions/subscription.ts';
import { momentIn, textIn } from './wire-fields.ts';

const STATUSES: ReadonlyMap<string, SubscriptionStatus> = new Map([
  ['incomplete', 'INCOMPLETE'],
  ['trialing', 'TRIALING'],
  ['active', 'ACTIVE'],
  ['past_due', 'PAST_DUE'],
  ['unpaid', 'UNPAID'],
  ['paused', 'PAUSED'],
  ['canceled', 'CANCELED'],
  ['incomplete_expired', 'INCOMPLETE_EXPIRED'],
]);

export function statusIn(value: unknown): SubscriptionStatus | null {
  return STATUSES.get(textIn(value) ?? '') ?? null;
}

/** Null where its status is none that we know. */
export function readSubscription(subscription: WireObject, planId: string | null): SubscriptionState | null {
  const status = statusIn(subscription.status);
  if (status === null) return null;
  const currentPeriodEnd = momentIn(subscription.current_period_end);
  const cancelAtPeriodEnd = subscription.cancel_at_period_end === true;
  const planned = momentIn(subscription.cancel_at) ?? (cancelAtPeriodEnd ? currentPeriodEnd : null);
  const ended = momentIn(subscription.ended_at) ?? momentIn(subscription.canceled_at);
  return {
    status,
    planId,
    currentPeriodStart: momentIn(subscription.current_period_start),
    currentPeriodEnd,
    cancelAtPeriodEnd,
    trialEnd: momentIn(subscription.trial_end),
    endDate: isEnded(status) ? ended : planned,
  };
}
