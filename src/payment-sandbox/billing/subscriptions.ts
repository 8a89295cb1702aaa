import type Stripe from 'stripe';
import { invalid } from '../api-errors.ts';
import { invoiceItemShape, subscriptionItemShape, subscriptionShape } from '../objects/billing.ts';
import { discountShape, planShape } from '../objects/catalog.ts';
import type { Card, PaidShare, StoredObject, Trial } from '../state/object-store.ts';
import { idIn, need, type Turn } from '../state/transaction.ts';
import {
  discountOf,
  draftFor,
  finalizeInvoice,
  paidShareOf,
  productName,
  upcomingInvoice,
} from './invoices.ts';
import { cardOf, closeInvoice, payInvoice } from './payments.ts';
import {
  DAY,
  dueOf,
  endSubscription,
  nextEnd,
  periodEnd,
  plusMonths,
  updateSubscription,
} from './subscription-state.ts';

type Subscription = StoredObject<'subscription'>;

interface SubscriptionParams extends Trial {
  readonly customer: string;
  readonly lines: readonly { readonly price: Stripe.Price; readonly quantity: number }[];
  readonly metadata: Stripe.Metadata;
  readonly coupon?: Stripe.Coupon | null;
  readonly automaticTax?: boolean;
}

interface StartedSubscription {
  readonly subscription: Stripe.Subscription;
  readonly invoice: Stripe.Invoice;
}

/**
 * Creates the subscription and its first invoice, and tries to collect it. The first invoice of a trial is 0 and
 * therefore paid.
 */
export async function startSubscription(
  turn: Turn,
  wanted: SubscriptionParams,
  card: Card,
): Promise<StartedSubscription> {
  const first = wanted.lines[0];
  const recurring = first?.price.recurring ?? null;
  if (first === undefined || recurring === null) {
    throw invalid('A subscription needs at least one recurring price.', 'items');
  }
  const id = turn.newId('sub_1');
  const trialEnd = wanted.trialDays === null ? null : turn.now + wanted.trialDays * DAY;
  const items = wanted.lines.map(({ price, quantity }) =>
    subscriptionItemShape(turn.newId('si_', 14), turn.now, { subscription: id, price, quantity }),
  );
  const plain = subscriptionShape(id, turn.now, {
    customer: wanted.customer,
    currency: first.price.currency,
    items,
    periodEnd: trialEnd ?? periodEnd(turn.now, turn.now, recurring),
    trialEnd,
    missingCard: wanted.missingCard,
    status: trialEnd === null ? 'incomplete' : 'trialing',
    metadata: wanted.metadata,
    automaticTax: wanted.automaticTax ?? false,
  });
  const subscription = { ...plain, discount: discounted(turn, plain, wanted.coupon ?? null) };
  const period = { start: subscription.current_period_start, end: subscription.current_period_end };
  const isTrial = trialEnd !== null;
  const draft = await draftFor(turn, subscription, { reason: 'subscription_create', period, isTrial });
  const begun: StoredObject<'subscription'> = {
    body: { ...subscription, latest_invoice: draft.id, ...(isTrial ? {} : usedDiscount(subscription)) },
    hidden: { upcomingSaidFor: null, trialEndSaid: false, paidShare: paidShareOf(draft) },
  };
  await turn.objects.put('subscription', begun.body, { hidden: begun.hidden, dueAt: dueOf(begun) });
  await turn.emit('customer.subscription.created', begun.body);

  const finalized = await finalizeInvoice(turn, draft);
  const isOpen = finalized.outcome === 'finalized' && finalized.invoice.status === 'open';
  const invoice = isOpen ? (await payInvoice(turn, finalized.invoice, card)).invoice : finalized.invoice;
  const { body } = await need(turn, 'subscription', id, 'id');
  return { subscription: { ...body, latest_invoice: idIn(body.latest_invoice) }, invoice };
}

export interface SubscriptionChanges {
  readonly metadata?: Stripe.Metadata | undefined;
  readonly cancelAtPeriodEnd?: boolean | undefined;
  readonly endsTrialNow?: boolean | undefined;
  readonly pause?: Stripe.Subscription.PauseCollection | null | undefined;
  /** Replaces the price of the first item. */
  readonly price?: { readonly price: Stripe.Price; readonly quantity: number } | undefined;
  /** Null removes the current one. */
  readonly coupon?: Stripe.Coupon | null | undefined;
  readonly proration: 'create_prorations' | 'always_invoice' | 'none';
}

/**
 * A change of plan within a period credits the unused time at the old price and charges the remaining time at the new
 * one: immediately, with the next invoice, or not at all. A price with another interval begins a new period, which is
 * invoiced immediately, with a credit for the unused time. Within a trial nothing is charged, and the trial goes on.
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
    ...(wanted.coupon === undefined ? {} : { discount: discounted(turn, body, wanted.coupon) }),
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
    body.status !== 'trialing' &&
    !isSameInterval(old.price, wanted.price.price)
  ) {
    if (wanted.proration !== 'none') await creditUnused(turn, kept, old);
    await beginPeriod(turn, kept, { ...changes, billing_cycle_anchor: turn.now }, 'subscription_update');
  } else {
    const changed = await updateSubscription(turn, kept, changes);
    const isProrated = wanted.proration !== 'none' && body.status !== 'trialing';
    if (wanted.price !== undefined && old !== undefined && isProrated) {
      await prorate(turn, changed, old, wanted.proration === 'always_invoice');
    }
  }
  return await need(turn, 'subscription', body.id, 'id');
}

/** A paused subscription begins a new period now. */
export async function resumeSubscription(turn: Turn, kept: Subscription): Promise<Subscription> {
  if (kept.body.status !== 'paused') {
    throw invalid('You can only resume subscriptions that are in the status `paused`.');
  }
  const resumed = await updateSubscription(
    turn,
    kept,
    { status: 'active', billing_cycle_anchor: turn.now },
    {},
    'customer.subscription.resumed',
  );
  await beginPeriod(turn, resumed, {}, 'subscription_update');
  return await need(turn, 'subscription', kept.body.id, 'id');
}

/** Performs the step that is due: a warning, an announcement, an end or a new period. */
export async function subscriptionDue(turn: Turn, kept: Subscription): Promise<void> {
  const { body, hidden } = kept;
  if (body.status === 'incomplete') {
    await updateSubscription(turn, kept, { status: 'incomplete_expired', ended_at: turn.now });
  } else if (body.status === 'trialing' && !hidden.trialEndSaid && turn.now < (body.trial_end ?? 0)) {
    await updateSubscription(turn, kept, {}, { trialEndSaid: true }, 'customer.subscription.trial_will_end');
  } else if (turn.now < body.current_period_end) {
    await announceInvoice(turn, kept);
  } else if (body.cancel_at_period_end) {
    await endSubscription(turn, kept, 'cancellation_requested');
  } else if (body.status === 'trialing') {
    await endTrial(turn, kept);
  } else {
    await beginPeriod(turn, kept);
  }
}

export function refuseEnded({ body }: Subscription): void {
  if (body.status !== 'canceled' && body.status !== 'incomplete_expired') return;
  throw invalid('A canceled subscription can only update its cancellation_details and metadata.');
}

/** Only the event is stored, not the invoice. */
async function announceInvoice(turn: Turn, kept: Subscription): Promise<void> {
  const invoice = await upcomingInvoice(turn, kept.body);
  await updateSubscription(turn, kept, {}, { upcomingSaidFor: kept.body.current_period_end });
  await turn.emit('invoice.upcoming', invoice);
}

async function endTrial(turn: Turn, kept: Subscription): Promise<void> {
  const { body } = kept;
  const { hidden } = await need(turn, 'customer', String(body.customer), 'customer');
  const missing = body.trial_settings?.end_behavior.missing_payment_method ?? 'create_invoice';
  if (hidden.card === 'none' && missing === 'pause') {
    await updateSubscription(turn, kept, { status: 'paused' }, {}, 'customer.subscription.paused');
  } else if (hidden.card === 'none' && missing === 'cancel') {
    await endSubscription(turn, kept, 'payment_failed');
  } else {
    await beginPeriod(turn, kept, { status: 'active' });
  }
}

/** The next period begins with its invoice, whether or not it is paid: the status follows the payment. */
async function beginPeriod(
  turn: Turn,
  kept: Subscription,
  changes: Partial<Stripe.Subscription> = {},
  reason: Stripe.Invoice.BillingReason = 'subscription_cycle',
): Promise<void> {
  const body = { ...kept.body, ...changes };
  const start = reason === 'subscription_cycle' ? body.current_period_end : turn.now;
  const end = nextEnd(body, start);
  const draft = await draftFor(turn, body, { reason, period: { start, end } });
  const moved = {
    ...changes,
    ...usedDiscount(body),
    current_period_start: start,
    current_period_end: end,
    latest_invoice: draft.id,
  };
  await updateSubscription(turn, kept, moved, { upcomingSaidFor: null, paidShare: paidShareOf(draft) });
  if (body.pause_collection !== null) return await stayPaused(turn, draft, body.pause_collection.behavior);
  await collect(turn, draft);
}

/** Finalizes an invoice and charges the customer's card. */
async function collect(turn: Turn, draft: Stripe.Invoice): Promise<void> {
  const finalized = await finalizeInvoice(turn, draft);
  if (finalized.outcome === 'failed' || finalized.invoice.status !== 'open') return;
  await payInvoice(turn, finalized.invoice, await cardOf(turn, finalized.invoice));
}

/** Collection is paused: the invoice stays a draft or is closed unpaid. */
async function stayPaused(
  turn: Turn,
  draft: Stripe.Invoice,
  behavior: Stripe.Subscription.PauseCollection.Behavior,
): Promise<void> {
  if (behavior === 'keep_as_draft') return;
  const finalized = await finalizeInvoice(turn, draft);
  if (finalized.outcome === 'failed' || finalized.invoice.status !== 'open') return;
  await closeInvoice(turn, finalized.invoice, behavior === 'void' ? 'void' : 'uncollectible');
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

function discounted(
  turn: Turn,
  { id, customer }: Stripe.Subscription,
  coupon: Stripe.Coupon | null,
): Stripe.Discount | null {
  if (coupon === null) return null;
  const months = coupon.duration === 'repeating' ? coupon.duration_in_months : null;
  const end = months === null ? null : plusMonths(turn.now, months);
  const given = { coupon, customer: String(customer), subscription: id, end };
  return discountShape(turn.newId('di_1'), turn.now, given);
}

/** A coupon for one invoice is removed once that is created. */
function usedDiscount({ discount }: Stripe.Subscription): Partial<Stripe.Subscription> {
  return discount?.coupon.duration === 'once' ? { discount: null } : {};
}

/**
 * Both lines are net and show no discount: unused time at the discount with which the period was invoiced, the
 * remaining time at the current coupon. Unused time is credited at the previous price, whether or not it was paid.
 */
async function prorate(
  turn: Turn,
  kept: Subscription,
  old: Stripe.SubscriptionItem,
  invoicesNow: boolean,
): Promise<void> {
  const { body } = kept;
  const now = body.items.data[0];
  if (now === undefined) return;
  await creditUnused(turn, kept, old);
  const share = shareOfNow(turn, body, now);
  await addProration(turn, body, {
    item: now,
    amount: restOf(turn, body, now, share),
    words: 'Remaining time on',
  });
  await updateSubscription(turn, kept, {}, { paidShare: share });
  if (invoicesNow) await invoiceChange(turn, body);
}

async function creditUnused(
  turn: Turn,
  { body, hidden }: Subscription,
  item: Stripe.SubscriptionItem,
): Promise<void> {
  const amount = -restOf(turn, body, item, hidden.paidShare ?? { net: 1, gross: 1 });
  await addProration(turn, body, { item, amount, words: 'Unused time on' });
}

/** The cost of the rest of the period. */
function restOf(
  turn: Turn,
  body: Stripe.Subscription,
  { price, quantity }: Stripe.SubscriptionItem,
  { net, gross }: PaidShare,
): number {
  const whole = body.current_period_end - body.current_period_start;
  const left = Math.max(0, body.current_period_end - turn.now);
  const full = (price.unit_amount ?? 0) * (quantity ?? 1);
  return Math.round((full * (net / gross) * left) / Math.max(1, whole));
}

interface Proration {
  readonly item: Stripe.SubscriptionItem;
  readonly amount: number;
  readonly words: string;
}

/** The item is added to the next invoice. */
async function addProration(
  turn: Turn,
  body: Stripe.Subscription,
  { item, amount, words }: Proration,
): Promise<void> {
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

function shareOfNow(turn: Turn, body: Stripe.Subscription, item: Stripe.SubscriptionItem): PaidShare {
  const coupon = discountOf(body, turn.now)?.coupon;
  const gross = (item.price.unit_amount ?? 0) * (item.quantity ?? 1);
  if (coupon === undefined || gross === 0) return { net: 1, gross: 1 };
  const percent = coupon.percent_off;
  if (percent !== null) return { net: 100 - percent, gross: 100 };
  return { net: Math.max(0, gross - (coupon.amount_off ?? 0)), gross };
}

async function invoiceChange(turn: Turn, body: Stripe.Subscription): Promise<void> {
  const period = { start: turn.now, end: body.current_period_end };
  const draft = await draftFor(turn, body, { reason: 'subscription_update', period, onlyPending: true });
  const kept = await need(turn, 'subscription', body.id, 'id');
  await updateSubscription(turn, kept, { latest_invoice: draft.id });
  await collect(turn, draft);
}
