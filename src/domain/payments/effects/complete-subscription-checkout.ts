import { keepSubscription } from '../../subscriptions/keep-subscription.ts';
import { NEWS_RANK } from '../../subscriptions/news.ts';
import { findByProviderId } from '../../subscriptions/subscription.ts';
import { companyOf, linkCustomer, lockCompany } from '../company-of.ts';
import { type Effect, type EffectContext, type KeptEvent, waitKeys } from '../effect.ts';
import { planOf } from '../plan-of.ts';
import { readSubscription } from '../read-subscription.ts';
import { idIn, ourIdIn, textIn, uuidIn } from '../wire-fields.ts';

/**
 * A checkout of a plan has ended: the company has its customer and its subscription. The credits of the first period
 * come with the paid invoice, not with this. Where the subscription's own events have not come yet its state is asked
 * from the provider; where that does not know, the paid session itself says that it is active.
 */
export const completeSubscriptionCheckout: Effect = async (event, context) => {
  const { transaction } = context;
  const session = event.object;
  const customerId = idIn(session.customer);
  const subscriptionId = idIn(session.subscription);
  const sessionId = idIn(session.id);
  const checkout = await checkoutOf(event, context);
  const companyId =
    checkout?.companyId ??
    (await companyOf(transaction, { customerId, subscriptionId, companyId: ourIdIn(session, 'companyId') }));
  if (companyId === null) {
    const reason = `no company of ours has checkout session ${sessionId} or customer ${customerId}`;
    const waitsFor = waitKeys({ session: sessionId, customer: customerId, subscription: subscriptionId });
    return { outcome: 'deferred', reason, waitsFor };
  }
  const isPaid = ['paid', 'no_payment_required'].includes(textIn(session.payment_status) ?? '');
  const kept = subscriptionId === null ? null : await findByProviderId(transaction, subscriptionId);
  if (subscriptionId !== null && kept === null && !context.asked.has(subscriptionId)) {
    return { outcome: 'ask', subscriptionId };
  }
  const told = subscriptionId === null ? null : (context.asked.get(subscriptionId) ?? null);
  const planId =
    (told === null ? null : await planOf(transaction, told)) ??
    checkout?.planId ??
    (await planOf(transaction, session));
  if (subscriptionId !== null && kept === null && planId === null) {
    const reason = `checkout session ${sessionId} is of a plan that we do not have`;
    return { outcome: 'deferred', reason, waitsFor: waitKeys({ subscription: subscriptionId }) };
  }
  await lockCompany(transaction, companyId);
  await linkCustomer(transaction, companyId, customerId);
  await closeCheckout(context, checkout?.id ?? null, sessionId);
  const arrived = waitKeys({ customer: customerId, subscription: subscriptionId, session: sessionId });
  if (subscriptionId === null || (kept !== null && (kept.status !== 'INCOMPLETE' || !isPaid))) {
    return { outcome: 'applied', did: 'the checkout is complete', companyId, arrived };
  }
  const asTold = told === null ? null : readSubscription(told, planId);
  const state = asTold ?? {
    status: isPaid ? ('ACTIVE' as const) : ('INCOMPLETE' as const),
    planId,
    ...{ currentPeriodStart: null, currentPeriodEnd: null, trialEnd: null, endDate: null },
    cancelAtPeriodEnd: false,
  };
  const outcome = await keepSubscription(transaction, {
    newId: context.newId(),
    providerSubscriptionId: subscriptionId,
    companyId,
    state,
    by: { toldAt: event.happenedAt, rank: NEWS_RANK.paid, eventId: event.providerEventId },
    isCurrent: asTold !== null,
    now: context.now,
    graceMs: context.pastDueGraceMs,
  });
  const did = `the checkout is complete; subscription ${subscriptionId}: ${outcome.outcome}`;
  return { outcome: 'applied', did, companyId, arrived };
};

interface Checkout {
  readonly id: string;
  readonly companyId: string;
  readonly planId: string;
}

async function checkoutOf(event: KeptEvent, { transaction }: EffectContext): Promise<Checkout | null> {
  const session = event.object;
  const ours = ourIdIn(session, 'checkoutId') ?? uuidIn(session.client_reference_id);
  const [row] = await transaction.query<Checkout>(
    `select id, company_id as "companyId", plan_id as "planId" from subscription_checkouts
     where provider_session_id = $1 or id = $2::uuid
     order by provider_session_id is not distinct from $1::text and $1::text is not null desc limit 1`,
    [idIn(session.id), ours],
  );
  return row ?? null;
}

async function closeCheckout(
  { transaction, now }: EffectContext,
  id: string | null,
  sessionId: string | null,
): Promise<void> {
  if (id === null) return;
  await transaction.query(
    `update subscription_checkouts set status = 'COMPLETED', updated_at = $2,
       provider_session_id = coalesce(provider_session_id, $3)
     where id = $1 and status <> 'COMPLETED'`,
    [id, now, sessionId],
  );
}
