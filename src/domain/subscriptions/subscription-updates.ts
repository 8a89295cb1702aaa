import type { Transaction } from '../../ports/database.ts';
import { isEnded, SUBSCRIPTION_COLUMNS, type Subscription, type SubscriptionStatus } from './subscription.ts';

export interface ToldSubscription {
  /** Used where it is new to us. */
  readonly newId: string;
  readonly providerSubscriptionId: string;
  readonly companyId: string;
  readonly state: SubscriptionState;
  readonly by: ToldBy;
  /** How it stands at the provider now, asked for after the event had come: it beats whatever is kept. */
  readonly isCurrent: boolean;
  readonly now: Date;
  readonly graceMs: number;
}

export type KeptSubscription =
  | {
      readonly outcome: 'added' | 'changed';
      readonly subscription: Subscription;
      readonly before: Subscription | null;
    }
  /** Older than what is kept, the same again, or about one that has ended. */
  | {
      readonly outcome: 'stale' | 'ended';
      readonly subscription: Subscription;
      readonly before: Subscription;
    }
  /** Of the same second: nothing was changed. */
  | { readonly outcome: 'unclear'; readonly kept: ToldBy; readonly subscription: Subscription }
  | { readonly outcome: 'of-another-company' }
  /** New, and of a plan that we do not have. */
  | { readonly outcome: 'no-plan' };

type Row = Subscription & {
  readonly toldAt: Date;
  readonly toldRank: ToldBy['rank'];
  readonly toldEventId: string | null;
};

/**
 * Keeps what the provider tells of a subscription, in whatever order and however often. What has ended stays ended;
 * that it has ended counts even if it is told late. `onUnclear` decides between two news of one second.
 */
export async function keepSubscription(
  transaction: Transaction,
  told: ToldSubscription,
  onUnclear: 'say-so' | 'apply' = 'say-so',
): Promise<KeptSubscription> {
  const [row] = await transaction.query<Row>(
    `select ${SUBSCRIPTION_COLUMNS}, told_at as "toldAt", told_rank as "toldRank", told_event_id as "toldEventId"
     from subscriptions where provider_subscription_id = $1 for update`,
    [told.providerSubscriptionId],
  );
  if (row === undefined) return await add(transaction, told);
  const { toldAt, toldRank: rank, toldEventId: eventId, ...before } = row;
  const kept: ToldBy = { toldAt, rank, eventId };
  if (before.companyId !== told.companyId) return { outcome: 'of-another-company' };
  if (isEnded(before.status)) return { outcome: 'ended', subscription: before, before };
  const judged = told.isCurrent || told.by.rank === NEWS_RANK.ended ? 'later' : judgeNews(kept, told.by);
  if (judged === 'earlier' || judged === 'same') return { outcome: 'stale', subscription: before, before };
  if (judged === 'unclear' && onUnclear === 'say-so')
    return { outcome: 'unclear', kept, subscription: before };
  return { outcome: 'changed', subscription: await change(transaction, told, before, kept), before };
}

async function add(transaction: Transaction, told: ToldSubscription): Promise<KeptSubscription> {
  const { state, by, now } = told;
  if (state.planId === null) return { outcome: 'no-plan' };
  const pastDueSince = state.status === 'PAST_DUE' ? by.toldAt : null;
  const [subscription] = await transaction.query<Subscription>(
    `insert into subscriptions (id, company_id, plan_id, provider_subscription_id, status, is_active,
       current_period_start, current_period_end, cancel_at_period_end, trial_end, past_due_since, end_date, told_at,
       told_rank, told_event_id, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $16)
     returning ${SUBSCRIPTION_COLUMNS}`,
    [
      told.newId,
      told.companyId,
      state.planId,
      told.providerSubscriptionId,
      state.status,
      isActive(state.status, pastDueSince, told),
      state.currentPeriodStart,
      state.currentPeriodEnd,
      state.cancelAtPeriodEnd,
      state.trialEnd,
      pastDueSince,
      state.endDate,
      by.toldAt,
      by.rank,
      by.eventId,
      now,
    ],
  );
  if (subscription === undefined) throw new Error('a subscription was not written');
  return { outcome: 'added', subscription, before: null };
}

async function change(
  transaction: Transaction,
  told: ToldSubscription,
  before: Subscription,
  kept: ToldBy,
): Promise<Subscription> {
  const { state, now } = told;
  const pastDueSince = state.status === 'PAST_DUE' ? (before.pastDueSince ?? told.by.toldAt) : null;
  // News that were asked for may be due to an event older than the one that is kept.
  const by = told.by.toldAt.getTime() < kept.toldAt.getTime() ? kept : told.by;
  const [subscription] = await transaction.query<Subscription>(
    `update subscriptions set plan_id = coalesce($2, plan_id), status = $3, is_active = $4,
       current_period_start = coalesce($5, current_period_start),
       current_period_end = coalesce($6, current_period_end), cancel_at_period_end = $7, trial_end = $8,
       past_due_since = $9, end_date = $10, told_at = $11, told_rank = $12, told_event_id = $13, updated_at = $14
     where id = $1 returning ${SUBSCRIPTION_COLUMNS}`,
    [
      before.id,
      state.planId,
      state.status,
      isActive(state.status, pastDueSince, told),
      state.currentPeriodStart,
      state.currentPeriodEnd,
      state.cancelAtPeriodEnd,
      state.trialEnd,
      pastDueSince,
      state.endDate,
      by.toldAt,
      by.rank,
      by.eventId,
      now,
    ],
  );
  if (subscription === undefined) throw new Error('a locked subscription has disappeared');
  return subscription;
}

function isActive(
  status: SubscriptionStatus,
  pastDueSince: Date | null,
  { now, graceMs }: ToldSubscription,
): boolean {
  if (status === 'PAST_DUE') return pastDueSince !== null && now.getTime() - pastDueSince.getTime() < graceMs;
  return status === 'ACTIVE' || status === 'TRIALING';
}

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
function judgeNews(kept: ToldBy, news: ToldBy): 'later' | 'earlier' | 'same' | 'unclear' {
  if (news.eventId !== null && news.eventId === kept.eventId) return 'same';
  const difference = news.toldAt.getTime() - kept.toldAt.getTime();
  if (difference !== 0) return difference > 0 ? 'later' : 'earlier';
  if (news.rank !== kept.rank) return news.rank > kept.rank ? 'later' : 'earlier';
  return 'unclear';
}
