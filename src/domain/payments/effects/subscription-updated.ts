import { NEWS_RANK } from '../../subscriptions/news.ts';
import type { Effect } from '../effect.ts';
import { followedOutcome, followSubscription } from '../follow-subscription.ts';

/** `customer.subscription.updated`: whatever has changed: the plan, the period, the status, that it will end with its period. */
export const subscriptionUpdated: Effect = async (event, context) =>
  followedOutcome(event, await followSubscription(event, context, { rank: NEWS_RANK.changed }));
