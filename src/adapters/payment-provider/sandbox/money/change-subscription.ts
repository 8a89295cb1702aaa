import type Stripe from 'stripe';
import type { Kept } from '../object-kinds.ts';
import { invalid } from '../refusal.ts';
import { planShape } from '../shapes/catalog.ts';
import { invoiceItemShape } from '../shapes/invoice.ts';
import { need, type Turn } from '../turn.ts';
import { finalizeInvoice } from './invoicing.ts';
import { cardOf, payInvoice } from './pay-invoice.ts';
import { beginPeriod } from './renew-subscription.ts';
import { draftFor, productName } from './subscription-invoice.ts';
import { keepSubscription } from './subscription-standing.ts';

type Subscription = Kept<'subscription'>;

export interface SubscriptionChanges {
  readonly metadata?: Stripe.Metadata | undefined;
  readonly cancelAtPeriodEnd?: boolean | undefined;
  readonly endsTrialNow?: boolean | undefined;
  readonly pause?: Stripe.Subscription.PauseCollection | null | undefined;
  /** Another price in the place of the first item's. */
  readonly price?: { readonly price: Stripe.Price; readonly quantity: number } | undefined;
  readonly proration: 'create_prorations' | 'always_invoice' | 'none';
}

export function refuseEnded({ body }: Subscription): void {
  if (body.status !== 'canceled' && body.status !== 'incomplete_expired') return;
  throw invalid('A canceled subscription can only update its cancellation_details and metadata.');
}

/**
 * A change of plan within a period gives back what is left of the old price and takes what is left of the new: at
 * once, with the next invoice, or not at all. A price of another interval begins a new period, and is invoiced.
 */
export async function changeSubscription(
  turn: Turn,
  kept: Subscription,
  wanted: SubscriptionChanges,
): Promise<Subscription> {
  refuseEnded(kept);
  const { body } = kept;
  const old = body.items.data[0];
  const changes: Partial<Stripe.Subscription> = {
    ...(wanted.metadata === undefined ? {} : { metadata: { ...body.metadata, ...wanted.metadata } }),
    ...(wanted.pause === undefined ? {} : { pause_collection: wanted.pause }),
    ...(wanted.cancelAtPeriodEnd === undefined ? {} : cancellation(turn, body, wanted.cancelAtPeriodEnd)),
  };
  if (wanted.price !== undefined && old !== undefined) {
    const { price, quantity } = wanted.price;
    const item: Stripe.SubscriptionItem = { ...old, price, quantity, plan: planShape(price) };
    changes.items = { ...body.items, data: [item, ...body.items.data.slice(1)] };
  }
  if (wanted.endsTrialNow === true && body.status === 'trialing') {
    const ended = {
      ...changes,
      trial_end: turn.now,
      billing_cycle_anchor: turn.now,
      status: 'active' as const,
    };
    await beginPeriod(turn, kept, ended, 'subscription_update');
  } else if (
    wanted.price !== undefined &&
    old !== undefined &&
    !isSameInterval(old.price, wanted.price.price)
  ) {
    await beginPeriod(turn, kept, { ...changes, billing_cycle_anchor: turn.now }, 'subscription_update');
  } else {
    const changed = await keepSubscription(turn, kept, changes);
    const isProrated = wanted.proration !== 'none' && body.status !== 'trialing';
    if (wanted.price !== undefined && old !== undefined && isProrated) {
      await prorate(turn, changed, old, wanted.proration === 'always_invoice');
    }
  }
  return await need(turn, 'subscription', body.id, 'id');
}

function cancellation(
  turn: Turn,
  body: Stripe.Subscription,
  atPeriodEnd: boolean,
): Partial<Stripe.Subscription> {
  const reason = atPeriodEnd ? ('cancellation_requested' as const) : null;
  const details = { comment: null, feedback: null, ...body.cancellation_details, reason };
  return {
    cancel_at_period_end: atPeriodEnd,
    cancel_at: atPeriodEnd ? body.current_period_end : null,
    canceled_at: atPeriodEnd ? turn.now : null,
    cancellation_details: details,
  };
}

function isSameInterval(one: Stripe.Price, other: Stripe.Price): boolean {
  const [a, b] = [one.recurring, other.recurring];
  return a?.interval === b?.interval && a?.interval_count === b?.interval_count;
}

async function prorate(
  turn: Turn,
  { body }: Subscription,
  old: Stripe.SubscriptionItem,
  invoicesNow: boolean,
): Promise<void> {
  const now = body.items.data[0];
  if (now === undefined) return;
  const whole = body.current_period_end - body.current_period_start;
  const left = Math.max(0, body.current_period_end - turn.now);
  const share = ({ price, quantity }: Stripe.SubscriptionItem) =>
    Math.round(((price.unit_amount ?? 0) * (quantity ?? 1) * left) / Math.max(1, whole));
  const parts = [
    { item: old, amount: -share(old), words: 'Unused time on' },
    { item: now, amount: share(now), words: 'Remaining time on' },
  ];
  for (const { item, amount, words } of parts) {
    const made = invoiceItemShape(turn.newId('ii_1'), turn.now, {
      customer: String(body.customer),
      invoice: null,
      amount,
      currency: body.currency,
      description: `${words} ${await productName(turn, item.price)}`,
      period: { start: turn.now, end: body.current_period_end },
      proration: true,
      price: item.price,
      item,
      metadata: body.metadata,
    });
    await turn.objects.put('invoiceitem', made, { hidden: {} });
    await turn.emit('invoiceitem.created', made);
  }
  if (invoicesNow) await invoiceChange(turn, body);
}

async function invoiceChange(turn: Turn, body: Stripe.Subscription): Promise<void> {
  const period = { start: turn.now, end: body.current_period_end };
  const draft = await draftFor(turn, body, { reason: 'subscription_update', period, onlyPending: true });
  const kept = await need(turn, 'subscription', body.id, 'id');
  await keepSubscription(turn, kept, { latest_invoice: draft.id });
  const finalized = await finalizeInvoice(turn, draft);
  if (finalized.outcome === 'failed' || finalized.invoice.status !== 'open') return;
  await payInvoice(turn, finalized.invoice, await cardOf(turn, finalized.invoice));
}

/** A paused one begins a new period now. */
export async function resumeSubscription(turn: Turn, kept: Subscription): Promise<Subscription> {
  if (kept.body.status !== 'paused') {
    throw invalid('You can only resume subscriptions that are in the status `paused`.');
  }
  const resumed = await keepSubscription(
    turn,
    kept,
    { status: 'active', billing_cycle_anchor: turn.now },
    {},
    'customer.subscription.resumed',
  );
  await beginPeriod(turn, resumed, {}, 'subscription_update');
  return await need(turn, 'subscription', kept.body.id, 'id');
}
