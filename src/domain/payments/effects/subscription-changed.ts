import type { WireObject } from '../../../ports/payment-provider.ts';
import { findPlan, type Plan } from '../../catalog/plan.ts';
import { listPlanRates } from '../../catalog/plan-rates.ts';
import { moveExpiry } from '../../credits/ledger/credit-lots.ts';
import {
  findByProviderId,
  isEnded,
  liveSubscriptions,
  type Subscription,
  type SubscriptionStatus,
} from '../../subscriptions/subscription.ts';
import {
  EVENT_RANK,
  type EventOrder,
  type EventRank,
  type IncomingSubscription,
  type SubscriptionState,
  setPastDueSince,
  type UpsertedSubscription,
  upsertSubscription,
} from '../../subscriptions/subscription-updates.ts';
import {
  amountOf,
  askForSubscription,
  type Effect,
  type EffectContext,
  type EffectOutcome,
  requestedState,
  type StoredPaymentEvent,
  waitKeys,
} from '../effect.ts';
import { pastDueRun } from '../event-inbox.ts';
import { trialEndOf, trialSubject } from '../plan-grants.ts';
import {
  companyOf,
  currencyIn,
  fieldsIn,
  idIn,
  linkCustomer,
  lockCompany,
  momentIn,
  ourIdIn,
  planOf,
  priceOf,
  textIn,
} from '../provider-objects.ts';

/** The event types that only update our subscription. */
export const SUBSCRIPTION_EFFECTS: readonly (readonly [type: string, effect: Effect])[] = [
  // It was created, often INCOMPLETE until its first invoice is paid.
  ['customer.subscription.created', following({ rank: EVENT_RANK.created })],
  // Any change: the plan, the period, the status, or that it will be canceled at the end of the period.
  ['customer.subscription.updated', following({ rank: EVENT_RANK.changed })],
  // It has ended. What was bought stays.
  ['customer.subscription.deleted', following({ rank: EVENT_RANK.ended, status: 'CANCELED' })],
  // A trial has ended without a payment method: not active, but not ended either.
  ['customer.subscription.paused', following({ rank: EVENT_RANK.changed, statusIfUntold: 'PAUSED' })],
  // A paused one was resumed; the next paid invoice grants the credits.
  ['customer.subscription.resumed', following({ rank: EVENT_RANK.changed, statusIfUntold: 'ACTIVE' })],
];

function following(rule: Following): Effect {
  return async (event, context) => followedOutcome(event, await followSubscription(event, context, rule));
}

/**
 * `customer.subscription.trial_will_end`: three days before, or at once if a trial is shortened. One notice is sent.
 */
export const subscriptionTrialWillEnd: Effect = async (event, context) => {
  const followed = await followSubscription(event, context, { rank: EVENT_RANK.changed });
  if (followed.outcome === 'not-yet') return followed.because;
  const { companyId, stored } = followed;
  const endsAt = momentIn(event.object.trial_end) ?? stored.subscription.trialEnd;
  const plan = await findPlan(context.transaction, stored.subscription.planId);
  if (endsAt !== null && plan !== null && stored.outcome !== 'ended') {
    await context.mailAdmins({
      kind: 'trial-ending',
      companyId,
      fact: `trial-ending:${idIn(event.object.id)}:${endsAt.toISOString()}`,
      data: { planName: plan.name, endsAt, ...(await trialMail(event, context, stored.subscription, plan)) },
    });
  }
  return followedOutcome(event, followed);
};

/** By the subscription's price, which may be an older one of the plan. */
async function trialMail(
  { object }: StoredPaymentEvent,
  { transaction }: EffectContext,
  { cancelAtPeriodEnd }: Subscription,
  plan: Plan,
) {
  const rates = await listPlanRates(transaction, priceOf(object) ?? '');
  const currency = currencyIn(object.currency) ?? plan.currency;
  const { priceMinor, creditsMicro } = rates.find((rate) => rate.currency === currency) ?? plan;
  return {
    amount: amountOf(priceMinor, currency),
    ...(creditsMicro === 0n ? {} : { creditsMicro }),
    ...(plan.trialCreditsMicro === 0n ? {} : { trialCreditsMicro: plan.trialCreditsMicro }),
    isCanceled: cancelAtPeriodEnd,
  };
}

interface Following {
  readonly rank: EventRank;
  /** The status that the event type implies, whatever the object says. */
  readonly status?: SubscriptionStatus;
  /** If the object has none. */
  readonly statusIfUntold?: SubscriptionStatus;
}

type Followed =
  | { readonly outcome: 'followed'; readonly companyId: string; readonly stored: Settled }
  | { readonly outcome: 'not-yet'; readonly because: EffectOutcome };

type Settled = Extract<UpsertedSubscription, { readonly subscription: Subscription }>;

/**
 * Updates our subscription to what an event reports. Later events take precedence by the provider's own time; for two
 * in the same second the current state is requested from the provider. If that fails, the payloads decide: each
 * contains the previous values of what it changed.
 */
async function followSubscription(
  event: StoredPaymentEvent,
  context: EffectContext,
  following: Following,
): Promise<Followed> {
  const { transaction, now, newId } = context;
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
  await lockCompany(transaction, companyId);
  const current = following.rank === EVENT_RANK.ended ? null : await requestedState(context, id);
  const state = await stateIn(event, context, following, current);
  if (state === null) {
    const reason = `subscription ${id} has a status that we do not know`;
    return notYet({ outcome: 'failed', reason, companyId });
  }
  const withoutPlan =
    state.planId === null ? await judgeUnknownPrice(event, context, { id, companyId }) : null;
  if (withoutPlan !== null) return notYet(withoutPlan);
  const stored = await storeSubscription(event, context, {
    newId: newId(),
    providerSubscriptionId: id,
    companyId,
    state,
    by: { eventAt: event.happenedAt, rank: following.rank, eventId: event.providerEventId },
    isCurrent: current !== null,
    now,
    graceMs: context.pastDueGraceMs,
  });
  if (stored.outcome === 'unclear') return notYet(await askForSubscription(context, id));
  if (!('subscription' in stored)) {
    const reason = `subscription ${id} cannot be kept: ${stored.outcome}`;
    return notYet({ outcome: 'failed', reason, companyId });
  }
  await linkCustomer(transaction, companyId, customerId);
  await moveTrialEnd(context, stored.subscription, id);
  if (stored.subscription.status === 'PAST_DUE') await countGrace(context, stored.subscription, id);
  await reportSecond(context, companyId);
  return { outcome: 'followed', companyId, stored };
}

/** Trial credits last as long as the trial, which may be extended, shortened, or end with the subscription. */
async function moveTrialEnd(
  { transaction }: EffectContext,
  subscription: Subscription,
  providerSubscriptionId: string,
): Promise<void> {
  if (subscription.trialEnd === null) return;
  await moveExpiry(transaction, {
    accountId: subscription.companyId,
    subject: trialSubject(providerSubscriptionId),
    expiresAt: trialEndOf(subscription, subscription.trialEnd),
  });
}

/**
 * The grace period begins with the first event that shows the payment past due, after the last one that does not. All stored
 * events count, so the order in which they arrive does not matter.
 */
async function countGrace(
  { transaction, now, pastDueGraceMs }: EffectContext,
  { id, pastDueSince: known }: Subscription,
  providerSubscriptionId: string,
): Promise<void> {
  const { since, isWhole } = await pastDueRun(transaction, providerSubscriptionId);
  if (since === null || (!isWhole && known !== null && known < since)) return;
  await setPastDueSince(transaction, id, since, { now, graceMs: pastDueGraceMs });
}

/** `unclear` until the provider has returned a state that counts, or none. */
async function storeSubscription(
  event: StoredPaymentEvent,
  context: EffectContext,
  incoming: IncomingSubscription,
): Promise<UpsertedSubscription> {
  const { transaction, subscriptions } = context;
  const upserted = await upsertSubscription(transaction, incoming);
  if (upserted.outcome !== 'unclear' || subscriptions.get(incoming.providerSubscriptionId)?.state !== null)
    return upserted;
  if (await isEarlier(event, context, upserted.stored)) {
    return { outcome: 'stale', subscription: upserted.subscription, before: upserted.subscription };
  }
  return await upsertSubscription(transaction, incoming, 'apply');
}

/** A new subscription waits for its plan; a known one keeps its plan. */
async function judgeUnknownPrice(
  event: StoredPaymentEvent,
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

/** The outcome of most subscription events. */
function followedOutcome(event: StoredPaymentEvent, followed: Followed): EffectOutcome {
  if (followed.outcome === 'not-yet') return followed.because;
  const { stored, companyId } = followed;
  const { status, planId } = stored.subscription;
  return {
    outcome: 'applied',
    did: `subscription ${idIn(event.object.id)}: ${stored.outcome}, ${status}, plan ${planId}`,
    companyId,
    arrived: waitKeys({ subscription: idIn(event.object.id), customer: idIn(event.object.customer) }),
  };
}

async function stateIn(
  event: StoredPaymentEvent,
  { transaction }: EffectContext,
  { status, statusIfUntold }: Following,
  current: WireObject | null,
): Promise<SubscriptionState | null> {
  const object = current ?? event.object;
  const planId = await planOf(transaction, object);
  if (current !== null) return readSubscription(current, planId);
  const forced = status === undefined ? object : { ...object, status: status.toLowerCase() };
  const completed =
    statusIfUntold === undefined ? forced : { status: statusIfUntold.toLowerCase(), ...forced };
  const state = readSubscription(completed, planId);
  const isEnd = status === 'CANCELED' && state !== null && state.endDate === null;
  return isEnd ? { ...state, endDate: event.happenedAt } : state;
}

/**
 * Of two changes in the same second: the stored one was made from what this one reports, and not the other way round.
 */
async function isEarlier(
  event: StoredPaymentEvent,
  { transaction }: EffectContext,
  stored: EventOrder,
): Promise<boolean> {
  const [row] = await transaction.query<{ payload: Readonly<Record<string, unknown>> }>(
    'select payload from provider_events where provider_event_id = $1',
    [stored.eventId],
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

/** Logged each time, and mailed to the operators once: the company is charged for both. */
async function reportSecond(
  { transaction, log, mailSuperAdmins }: EffectContext,
  companyId: string,
): Promise<void> {
  const live = await liveSubscriptions(transaction, companyId);
  if (live.length < 2) return;
  const subscriptionIds = live.map(({ providerSubscriptionId }) => providerSubscriptionId);
  log.error('a company pays for more than one subscription: cancel all but one at the payment provider', {
    companyId,
    subscriptionIds,
  });
  const [newest, other] = live.filter(({ isActive }) => isActive).reverse();
  const plan = newest === undefined ? null : await findPlan(transaction, newest.planId);
  if (newest === undefined || other === undefined || plan === null) return;
  await mailSuperAdmins({
    companyId,
    fact: `operators:second-subscription:${newest.id}`,
    problem: 'second-subscription',
    data: {
      reference: newest.providerSubscriptionId ?? newest.id,
      amount: amountOf(plan.priceMinor, plan.currency),
    },
  });
}

function notYet(because: EffectOutcome): Followed {
  return { outcome: 'not-yet', because };
}

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

function statusIn(value: unknown): SubscriptionStatus | null {
  return STATUSES.get(textIn(value) ?? '') ?? null;
}

/** Null if its status is unknown to us. */
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
