import type Stripe from 'stripe';
import { changeSubscription, refuseEnded, resumeSubscription } from '../money/change-subscription.ts';
import { startSubscription } from '../money/start-subscription.ts';
import { endSubscription } from '../money/subscription-standing.ts';
import type { Params } from '../params.ts';
import { invalid } from '../refusal.ts';
import { need, type Turn } from '../turn.ts';
import { type Call, filters, listOf, type Route } from './route.ts';

const BEHAVIORS = ['cancel', 'create_invoice', 'pause'] as const;
const PRORATIONS = ['create_prorations', 'always_invoice', 'none'] as const;
const PAUSES = ['keep_as_draft', 'mark_uncollectible', 'void'] as const;

async function createSubscription(turn: Turn, { params }: Call): Promise<Stripe.Subscription> {
  const customer = params.needed('customer', 255);
  const { hidden } = await need(turn, 'customer', customer, 'customer');
  const lines = [];
  for (const item of params.groups('items')) {
    const { body: price } = await need(turn, 'price', item.needed('price', 255), item.named('price'));
    lines.push({ price, quantity: item.whole('quantity', { min: 1, max: 999_999 }) ?? 1 });
  }
  const ending = params.group('trial_settings')?.group('end_behavior');
  const wanted = {
    customer,
    lines,
    metadata: params.metadata() ?? {},
    trialDays: params.whole('trial_period_days', { min: 1, max: 730 }) ?? null,
    missingCard: ending?.choice('missing_payment_method', BEHAVIORS) ?? 'create_invoice',
  };
  return (await startSubscription(turn, wanted, hidden.card)).subscription;
}

async function updateSubscription(turn: Turn, { params, id }: Call): Promise<Stripe.Subscription> {
  const kept = await need(turn, 'subscription', id, 'id', 404);
  const changed = await changeSubscription(turn, kept, {
    metadata: params.metadata(),
    cancelAtPeriodEnd: params.flag('cancel_at_period_end'),
    endsTrialNow: params.text('trial_end', 20) === 'now',
    pause: pauseOf(params),
    price: await newPrice(turn, params, kept.body),
    proration: params.choice('proration_behavior', PRORATIONS) ?? 'create_prorations',
  });
  return changed.body;
}

function pauseOf(params: Params): Stripe.Subscription.PauseCollection | null | undefined {
  if (!params.has('pause_collection')) return undefined;
  const group = params.group('pause_collection');
  if (group === undefined) return null;
  return { behavior: group.choice('behavior', PAUSES) ?? 'keep_as_draft', resumes_at: null };
}

async function newPrice(
  turn: Turn,
  params: Params,
  subscription: Stripe.Subscription,
): Promise<{ price: Stripe.Price; quantity: number } | undefined> {
  const item = params.groups('items')[0];
  if (item === undefined) return undefined;
  const itemId = item.text('id', 255);
  const current = subscription.items.data[0];
  if (itemId !== undefined && itemId !== current?.id) {
    const message = `No such subscription item: '${itemId}'`;
    throw invalid(message, item.named('id'), 'resource_missing');
  }
  const priceId = item.text('price', 255) ?? current?.price.id ?? '';
  const { body: price } = await need(turn, 'price', priceId, item.named('price'));
  if (price.recurring === null) throw invalid('The price must be recurring.', item.named('price'));
  const quantity = item.whole('quantity', { min: 1, max: 999_999 }) ?? current?.quantity ?? 1;
  return { price, quantity };
}

async function cancelSubscription(turn: Turn, { id }: Call): Promise<Stripe.Subscription> {
  const kept = await need(turn, 'subscription', id, 'id', 404);
  refuseEnded(kept);
  return (await endSubscription(turn, kept, 'cancellation_requested')).body;
}

export const subscriptionRoutes: readonly Route[] = [
  { method: 'POST', path: '/v1/subscriptions', write: createSubscription },
  { method: 'POST', path: '/v1/subscriptions/:id', write: updateSubscription },
  { method: 'DELETE', path: '/v1/subscriptions/:id', write: cancelSubscription },
  {
    method: 'POST',
    path: '/v1/subscriptions/:id/resume',
    write: async (turn, { id }) =>
      (await resumeSubscription(turn, await need(turn, 'subscription', id, 'id', 404))).body,
  },
  {
    method: 'GET',
    path: '/v1/subscriptions',
    read: (objects, call) => {
      const { status, ...where } = filters(call.params, ['customer', 'status']);
      const isOne = status !== undefined && status !== 'all';
      // Without a status the provider leaves out what has been canceled.
      const more = {
        where: isOne ? { ...where, status } : where,
        leavesOutCanceled: status === undefined,
      };
      return listOf(objects, call, 'subscription', '/v1/subscriptions', more);
    },
  },
];
