import type Stripe from 'stripe';
import type { Card, Kept } from '../object-kinds.ts';
import { invalid } from '../refusal.ts';
import { subscriptionItemShape, subscriptionShape } from '../shapes/subscription.ts';
import { idIn, need, type Turn } from '../turn.ts';
import { finalizeInvoice } from './invoicing.ts';
import { payInvoice } from './pay-invoice.ts';
import { periodEnd } from './periods.ts';
import { draftFor } from './subscription-invoice.ts';
import { dueOf } from './subscription-standing.ts';

export interface WantedSubscription {
  readonly customer: string;
  readonly lines: readonly { readonly price: Stripe.Price; readonly quantity: number }[];
  readonly metadata: Stripe.Metadata;
  readonly trialDays: number | null;
  readonly missingCard: Stripe.Subscription.TrialSettings.EndBehavior.MissingPaymentMethod;
}

export interface StartedSubscription {
  readonly subscription: Stripe.Subscription;
  readonly invoice: Stripe.Invoice;
}

const DAY = 86_400;

/** With its first invoice, tried at once. A trial's first invoice asks for nothing and is paid by that. */
export async function startSubscription(
  turn: Turn,
  wanted: WantedSubscription,
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
  const subscription = subscriptionShape(id, turn.now, {
    customer: wanted.customer,
    currency: first.price.currency,
    items,
    periodEnd: trialEnd ?? periodEnd(turn.now, turn.now, recurring),
    trialEnd,
    missingCard: wanted.missingCard,
    status: trialEnd === null ? 'incomplete' : 'trialing',
    metadata: wanted.metadata,
  });
  const period = { start: subscription.current_period_start, end: subscription.current_period_end };
  const isTrial = trialEnd !== null;
  const draft = await draftFor(turn, subscription, { reason: 'subscription_create', period, isTrial });
  const begun: Kept<'subscription'> = {
    body: { ...subscription, latest_invoice: draft.id },
    hidden: { upcomingSaidFor: null, trialEndSaid: false },
  };
  await turn.objects.put('subscription', begun.body, { hidden: begun.hidden, dueAt: dueOf(begun) });
  await turn.emit('customer.subscription.created', begun.body);

  const finalized = await finalizeInvoice(turn, draft);
  const isOpen = finalized.outcome === 'finalized' && finalized.invoice.status === 'open';
  const invoice = isOpen ? (await payInvoice(turn, finalized.invoice, card)).invoice : finalized.invoice;
  const { body } = await need(turn, 'subscription', id, 'id');
  return { subscription: { ...body, latest_invoice: idIn(body.latest_invoice) }, invoice };
}
