import type { SubscriptionStatus } from './subscription.ts';

/** Where a state comes from, and so which of two is the later. */
export interface ToldBy {
  /** The provider's time, in whole seconds. */
  readonly toldAt: Date;
  /** Of what happens in the same second: what can only come first has the lower one. */
  readonly rank: NewsRank;
  readonly eventId: string | null;
}

/** created, then the paid checkout, then any change, then the end. */
export type NewsRank = 0 | 1 | 2 | 3;
export const NEWS_RANK = { created: 0, paid: 1, changed: 2, ended: 3 } as const;

export interface SubscriptionState {
  readonly status: SubscriptionStatus;
  /** Null where the plan is not known: the one before it stays. */
  readonly planId: string | null;
  readonly currentPeriodStart: Date | null;
  readonly currentPeriodEnd: Date | null;
  readonly cancelAtPeriodEnd: boolean;
  readonly trialEnd: Date | null;
  readonly endDate: Date | null;
}

/**
 * Whether news are later than what is kept. Seconds are all that the provider tells, so news of the same second and
 * rank are `unclear`: then whoever can asks the provider how it stands now.
 */
export function judgeNews(kept: ToldBy, news: ToldBy): 'later' | 'earlier' | 'same' | 'unclear' {
  if (news.eventId !== null && news.eventId === kept.eventId) return 'same';
  const difference = news.toldAt.getTime() - kept.toldAt.getTime();
  if (difference !== 0) return difference > 0 ? 'later' : 'earlier';
  if (news.rank !== kept.rank) return news.rank > kept.rank ? 'later' : 'earlier';
  return 'unclear';
}
