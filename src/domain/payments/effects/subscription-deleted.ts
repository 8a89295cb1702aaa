import { NEWS_RANK } from '../../subscriptions/news.ts';
import type { Effect } from '../effect.ts';
import { followedOutcome, followSubscription } from '../follow-subscription.ts';

/** `customer.subscription.deleted`: it has ended for good. What was bought stays. */
export const subscriptionDeleted: Effect = async (event, context) =>
  followedOutcome(
    event,
    await followSubscription(event, context, { rank: NEWS_RANK.ended, status: 'CANCELED' }),
  );
