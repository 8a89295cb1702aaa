import type { WireObject } from '../../ports/payment-provider.ts';
import {
  type KeptSubscription,
  keepSubscription,
  type ToldSubscription,
} from '../subscriptions/keep-subscription.ts';
import { NEWS_RANK, type NewsRank, type SubscriptionState, type ToldBy } from '../subscriptions/news.ts';
import {
  findByProviderId,
  liveSubscriptions,
  type Subscription,
  type SubscriptionStatus,
} from '../subscriptions/subscription.ts';
import { companyOf, linkCustomer, lockCompany } from './company-of.ts';
import { type EffectContext, type EffectOutcome, type KeptEvent, waitKeys } from './effect.ts';
import { planOf, priceOf } from './plan-of.ts';
import { readSubscription } from './read-subscription.ts';
import { fieldsIn, idIn, ourIdIn } from './wire-fields.ts';

export interface Following {
  readonly rank: NewsRank;
  /** What the kind of event says, whatever stands in the object. */
  readonly status?: SubscriptionStatus;
  /** Where the object tells none. */
  readonly statusIfUntold?: SubscriptionStatus;
}

export type Followed =
  | { readonly outcome: 'followed'; readonly companyId: string; readonly kept: Settled }
  | { readonly outcome: 'not-yet'; readonly because: EffectOutcome };

type Settled = Extract<KeptSubscription, { readonly subscription: Subscription }>;

/**
 * Brings our subscription to what an event tells of it. Later news count over earlier ones by the provider's own
 * time; of two in one second the provider is asked how it stands now. Where it does not know, the payloads decide:
 * each says what it changed from.
 */
export async function followSubscription(
  event: KeptEvent,
  context: EffectContext,
  following: Following,
): Promise<Followed> {
  const { transaction, now, newId, asked } = context;
  const id = idIn(event.object.id);
  if (id === null) return notYet({ outcome: 'failed', reason: 'the subscription has no id' });
  const customerId = idIn(event.object.customer);
  const ours = ourIdIn(event.object, 'companyId');
  const companyId = await companyOf(transaction, { customerId, subscriptionId: id, companyId: ours });
  if (companyId === null) {
    const reason = `no company of ours is customer ${customerId}`;
    return notYet({
      outcome: 'deferred',
      reason,
      waitsFor: waitKeys({ customer: customerId, subscription: id }),
    });
  }
  const current = following.rank === NEWS_RANK.ended ? null : (asked.get(id) ?? null);
  const state = await stateIn(event, context, following, current);
  if (state === null) {
    const reason = `subscription ${id} has a status that we do not know`;
    return notYet({ outcome: 'failed', reason, companyId });
  }
  const withoutPlan =
    state.planId === null ? await judgeUnknownPrice(event, context, { id, companyId }) : null;
  if (withoutPlan !== null) return notYet(withoutPlan);
  await lockCompany(transaction, companyId);
  const kept = await keep(event, context, {
    newId: newId(),
    providerSubscriptionId: id,
    companyId,
    state,
    by: { toldAt: event.happenedAt, rank: following.rank, eventId: event.providerEventId },
    isCurrent: current !== null,
    now,
    graceMs: context.pastDueGraceMs,
  });
  if (kept.outcome === 'unclear') return notYet({ outcome: 'ask', subscriptionId: id });
  if (!('subscription' in kept)) {
    const reason = `subscription ${id} cannot be kept: ${kept.outcome}`;
    return notYet({ outcome: 'failed', reason, companyId });
  }
  await linkCustomer(transaction, companyId, customerId);
  await warnOfSecond(context, companyId);
  return { outcome: 'followed', companyId, kept };
}

/** `unclear` only as long as the provider was not asked. */
async function keep(
  event: KeptEvent,
  context: EffectContext,
  told: ToldSubscription,
): Promise<KeptSubscription> {
  const { transaction, asked } = context;
  const kept = await keepSubscription(transaction, told);
  if (kept.outcome !== 'unclear' || !asked.has(told.providerSubscriptionId)) return kept;
  if (await isEarlier(event, context, kept.kept)) {
    return { outcome: 'stale', subscription: kept.subscription, before: kept.subscription };
  }
  return await keepSubscription(transaction, told, 'apply');
}

/** A new subscription waits for its plan; one that we have keeps the plan that it had. */
async function judgeUnknownPrice(
  event: KeptEvent,
  { transaction, log }: EffectContext,
  { id, companyId }: { readonly id: string; readonly companyId: string },
): Promise<EffectOutcome | null> {
  const priceId = priceOf(event.object);
  if ((await findByProviderId(transaction, id)) === null) {
    const reason = `subscription ${id} is of price ${priceId}, which no plan of ours has`;
    return { outcome: 'deferred', reason, waitsFor: waitKeys({ price: priceId, subscription: id }) };
  }
  log.error('a subscription was changed to a price that no plan has; its plan stays', {
    companyId,
    subscriptionId: id,
    priceId,
  });
  return null;
}

/** What most effects of subscriptions answer. */
export function followedOutcome(event: KeptEvent, followed: Followed): EffectOutcome {
  if (followed.outcome === 'not-yet') return followed.because;
  const { kept, companyId } = followed;
  const { status, planId } = kept.subscription;
  return {
    outcome: 'applied',
    did: `subscription ${idIn(event.object.id)}: ${kept.outcome}, ${status}, plan ${planId}`,
    companyId,
    arrived: waitKeys({ subscription: idIn(event.object.id), customer: idIn(event.object.customer) }),
  };
}

async function stateIn(
  event: KeptEvent,
  { transaction }: EffectContext,
  { status, statusIfUntold }: Following,
  current: WireObject | null,
): Promise<SubscriptionState | null> {
  const object = current ?? event.object;
  const planId = await planOf(transaction, object);
  if (current !== null) return readSubscription(current, planId);
  const forced = status === undefined ? object : { ...object, status: status.toLowerCase() };
  const told = statusIfUntold === undefined ? forced : { status: statusIfUntold.toLowerCase(), ...forced };
  const state = readSubscription(told, planId);
  const isEnd = status === 'CANCELED' && state !== null && state.endDate === null;
  return isEnd ? { ...state, endDate: event.happenedAt } : state;
}

/** Of two changes in one second: the kept one was made from what this one tells, and not the other way round. */
async function isEarlier(event: KeptEvent, { transaction }: EffectContext, kept: ToldBy): Promise<boolean> {
  const [row] = await transaction.query<{ payload: Readonly<Record<string, unknown>> }>(
    'select payload from provider_events where provider_event_id = $1',
    [kept.eventId],
  );
  const data = fieldsIn(row?.payload.data);
  const isMadeFromThis = isMadeFrom(fieldsIn(data.previous_attributes), event.object);
  const isThisMadeFrom = isMadeFrom(event.previousAttributes ?? {}, fieldsIn(data.object));
  return isMadeFromThis && !isThisMadeFrom;
}

function isMadeFrom(
  previous: Readonly<Record<string, unknown>>,
  object: Readonly<Record<string, unknown>>,
): boolean {
  const plain = Object.entries(previous).filter(([, value]) => value === null || typeof value !== 'object');
  return plain.length > 0 && plain.every(([name, value]) => object[name] === value);
}

async function warnOfSecond({ transaction, log }: EffectContext, companyId: string): Promise<void> {
  const live = await liveSubscriptions(transaction, companyId);
  if (live.length < 2) return;
  const subscriptionIds = live.map(({ providerSubscriptionId }) => providerSubscriptionId);
  log.error('a company pays for more than one subscription: cancel all but one at the payment provider', {
    companyId,
    subscriptionIds,
  });
}

function notYet(because: EffectOutcome): Followed {
  return { outcome: 'not-yet', because };
}
