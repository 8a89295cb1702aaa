import { NEWS_RANK } from '../../subscriptions/news.ts';
import type { Effect } from '../effect.ts';
import { followedOutcome, followSubscription } from '../follow-subscription.ts';

/** `customer.subscription.created`: the subscription has begun, often INCOMPLETE until its first invoice is paid. */
export const subscriptionCreated: Effect = async (event, context) =>
  followedOutcome(event, await followSubscription(event, context, { rank: NEWS_RANK.created }));
