import type { Transaction } from '../../ports/database.ts';
import { isEnded, SUBSCRIPTION_COLUMNS, type Subscription, type SubscriptionStatus } from './subscription.ts';

export interface IncomingSubscription {
  /** The id to use if the subscription is new to us. */
  readonly newId: string;
  readonly providerSubscriptionId: string;
  readonly companyId: string;
  readonly state: SubscriptionState;
  readonly by: EventOrder;
  /** True if the state was requested from the provider after the event arrived: it replaces any stored state. */
  readonly isCurrent: boolean;
  readonly now: Date;
  readonly graceMs: number;
}

export type UpsertedSubscription =
  | {
      readonly outcome: 'added' | 'changed';
      readonly subscription: Subscription;
      readonly before: Subscription | null;
    }
  /** Older than the stored state, a repetition, or about an ended subscription. */
  | {
      readonly outcome: 'stale' | 'ended';
      readonly subscription: Subscription;
      readonly before: Subscription;
    }
  /** From the same second as the stored state: nothing was changed. */
  | { readonly outcome: 'unclear'; readonly stored: EventOrder; readonly subscription: Subscription }
  | { readonly outcome: 'of-another-company' }
  /** A new subscription to a plan that we do not have. */
  | { readonly outcome: 'no-plan' };

type Row = Subscription & {
  readonly eventAt: Date;
  readonly eventRank: EventOrder['rank'];
  readonly lastEventId: string | null;
};

/**
 * Stores what the provider reports about a subscription, in any order and with repetitions. An ended subscription stays
 * ended, and an end counts even if it arrives late. `onUnclear` decides between two events of the same second.
 */
export async function upsertSubscription(
  transaction: Transaction,
  incoming: IncomingSubscription,
  onUnclear: 'say-so' | 'apply' = 'say-so',
): Promise<UpsertedSubscription> {
  const [row] = await transaction.query<Row>(
    `select ${SUBSCRIPTION_COLUMNS}, told_at as "eventAt", told_rank as "eventRank", told_event_id as "lastEventId"
     from subscriptions where provider_subscription_id = $1 for update`,
    [incoming.providerSubscriptionId],
  );
  if (row === undefined) return await add(transaction, incoming);
  const { eventAt, eventRank: rank, lastEventId: eventId, ...before } = row;
  const stored: EventOrder = { eventAt, rank, eventId };
  if (before.companyId !== incoming.companyId) return { outcome: 'of-another-company' };
  if (isEnded(before.status)) return { outcome: 'ended', subscription: before, before };
  const judged =
    incoming.isCurrent || incoming.by.rank === EVENT_RANK.ended ? 'later' : judgeNews(stored, incoming.by);
  if (judged === 'earlier' || judged === 'same') return { outcome: 'stale', subscription: before, before };
  if (judged === 'unclear' && onUnclear === 'say-so')
    return { outcome: 'unclear', stored, subscription: before };
  return { outcome: 'changed', subscription: await change(transaction, incoming, before, stored), before };
}

async function add(transaction: Transaction, incoming: IncomingSubscription): Promise<UpsertedSubscription> {
  const { state, by, now } = incoming;
  if (state.planId === null) return { outcome: 'no-plan' };
  const pastDueSince = state.status === 'PAST_DUE' ? by.eventAt : null;
  const [subscription] = await transaction.query<Subscription>(
    `insert into subscriptions (id, company_id, plan_id, provider_subscription_id, status, is_active,
       current_period_start, current_period_end, cancel_at_period_end, trial_end, past_due_since, end_date, told_at,
       told_rank, told_event_id, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $16)
     returning ${SUBSCRIPTION_COLUMNS}`,
    [
      incoming.newId,
      incoming.companyId,
      state.planId,
      incoming.providerSubscriptionId,
      state.status,
      isActive(state.status, pastDueSince, incoming),
      state.currentPeriodStart,
      state.currentPeriodEnd,
      state.cancelAtPeriodEnd,
      state.trialEnd,
      pastDueSince,
      state.endDate,
      by.eventAt,
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
  incoming: IncomingSubscription,
  before: Subscription,
  stored: EventOrder,
): Promise<Subscription> {
  const { state, now } = incoming;
  const pastDueSince = state.status === 'PAST_DUE' ? (before.pastDueSince ?? incoming.by.eventAt) : null;
  // A requested state may belong to an event older than the stored one.
  const by = incoming.by.eventAt.getTime() < stored.eventAt.getTime() ? stored : incoming.by;
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
      isActive(state.status, pastDueSince, incoming),
      state.currentPeriodStart,
      state.currentPeriodEnd,
      state.cancelAtPeriodEnd,
      state.trialEnd,
      pastDueSince,
      state.endDate,
      by.eventAt,
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
  { now, graceMs }: IncomingSubscription,
): boolean {
  if (status === 'PAST_DUE') return pastDueSince !== null && now.getTime() - pastDueSince.getTime() < graceMs;
  return status === 'ACTIVE' || status === 'TRIALING';
}

/**
 * Sets since when its payment is past due, which other events may show than the one that its state is from. Changes nothing
 * unless it is PAST_DUE.
 */
export async function setPastDueSince(
  transaction: Transaction,
  subscriptionId: string,
  since: Date,
  { now, graceMs }: Pick<IncomingSubscription, 'now' | 'graceMs'>,
): Promise<void> {
  await transaction.query(
    `update subscriptions set past_due_since = $2, is_active = $3, updated_at = $4
     where id = $1 and status = 'PAST_DUE' and past_due_since is distinct from $2`,
    [subscriptionId, since, now.getTime() - since.getTime() < graceMs, now],
  );
}

/** The origin of a state, which determines the later of two. */
export interface EventOrder {
  /** The provider's time, in whole seconds. */
  readonly eventAt: Date;
  /** Orders events of the same second: an event that can only come first has the lower rank. */
  readonly rank: EventRank;
  readonly eventId: string | null;
}

/** Created, then the paid checkout, then any change, then the end. */
export type EventRank = 0 | 1 | 2 | 3;
export const EVENT_RANK = { created: 0, paid: 1, changed: 2, ended: 3 } as const;

export interface SubscriptionState {
  readonly status: SubscriptionStatus;
  /** Null if the plan is unknown: the stored one is kept. */
  readonly planId: string | null;
  readonly currentPeriodStart: Date | null;
  readonly currentPeriodEnd: Date | null;
  readonly cancelAtPeriodEnd: boolean;
  readonly trialEnd: Date | null;
  readonly endDate: Date | null;
}

/**
 * Whether an event is later than the stored state. The provider's times have seconds only, so events of the same second
 * and rank are `unclear`: then the caller asks the provider for the current state if it can.
 */
function judgeNews(stored: EventOrder, news: EventOrder): 'later' | 'earlier' | 'same' | 'unclear' {
  if (news.eventId !== null && news.eventId === stored.eventId) return 'same';
  const difference = news.eventAt.getTime() - stored.eventAt.getTime();
  if (difference !== 0) return difference > 0 ? 'later' : 'earlier';
  if (news.rank !== stored.rank) return news.rank > stored.rank ? 'later' : 'earlier';
  return 'unclear';
}
