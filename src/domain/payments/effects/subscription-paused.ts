import { NEWS_RANK } from '../../subscriptions/news.ts';
import type { Effect } from '../effect.ts';
import { followedOutcome, followSubscription } from '../follow-subscription.ts';

/** `customer.subscription.paused`: a trial has ended without a way to pay: not active, and not ended either. */
export const subscriptionPaused: Effect = async (event, context) =>
  followedOutcome(
    event,
    await followSubscription(event, context, { rank: NEWS_RANK.changed, statusIfUntold: 'PAUSED' }),
  );
