import { NEWS_RANK } from '../../subscriptions/news.ts';
import type { Effect } from '../effect.ts';
import { followedOutcome, followSubscription } from '../follow-subscription.ts';

/** `customer.subscription.resumed`: a paused one goes on; the credits come with the next paid invoice. */
export const subscriptionResumed: Effect = async (event, context) =>
  followedOutcome(
    event,
    await followSubscription(event, context, { rank: NEWS_RANK.changed, statusIfUntold: 'ACTIVE' }),
  );
