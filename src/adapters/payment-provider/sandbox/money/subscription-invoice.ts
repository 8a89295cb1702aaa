import type Stripe from 'stripe';
import type { GivenInvoice, GivenLine } from '../shapes/invoice.ts';
import { idIn, need, type Turn } from '../turn.ts';
import { draftInvoice } from './invoicing.ts';

interface Wanted {
  readonly reason: Stripe.Invoice.BillingReason;
  readonly period: { readonly start: number; readonly end: number };
  /** A trial's first invoice asks for nothing. */
  readonly isTrial?: boolean;
  /** Only what waits for the customer: changes within a period. */
  readonly onlyPending?: boolean;
}

const MAX_PENDING = 100;

/** What a subscription costs for a period, with the changes that waited for it. Not kept: see `draftFor`. */
export async function linesFor(
  turn: Turn,
  subscription: Stripe.Subscription,
  wanted: Wanted,
): Promise<GivenLine[]> {
  const lines: GivenLine[] = [];
  for (const item of wanted.onlyPending === true ? [] : subscription.items.data) {
    const quantity = item.quantity ?? 1;
    const name = await productName(turn, item.price);
    const description = wanted.isTrial === true ? `Trial period for ${name}` : `${quantity} × ${name}`;
    lines.push({
      amount: wanted.isTrial === true ? 0 : (item.price.unit_amount ?? 0) * quantity,
      currency: subscription.currency,
      description,
      period: wanted.period,
      proration: false,
      quantity,
      price: item.price,
      item,
      invoiceItem: null,
      metadata: subscription.metadata,
    });
  }
  return lines;
}

export async function draftFor(
  turn: Turn,
  subscription: Stripe.Subscription,
  wanted: Wanted,
): Promise<Stripe.Invoice> {
  const pending = await pendingLines(turn, subscription);
  const lines = [...pending.map(({ line }) => line), ...(await linesFor(turn, subscription, wanted))];
  const invoice = await draftInvoice(turn, await givenFor(turn, subscription, wanted.reason), lines);
  for (const { item } of pending) {
    await turn.objects.put('invoiceitem', { ...item, invoice: invoice.id }, { hidden: {} });
  }
  return invoice;
}

export async function givenFor(
  turn: Turn,
  subscription: Stripe.Subscription,
  reason: Stripe.Invoice.BillingReason,
): Promise<GivenInvoice> {
  const customerId = idIn(subscription.customer) ?? '';
  const { body: customer } = await need(turn, 'customer', customerId, 'customer');
  // The window in which use is counted: the period before, and nothing at the very beginning.
  const start = reason === 'subscription_cycle' ? subscription.current_period_start : turn.now;
  return {
    customer,
    currency: subscription.currency,
    billingReason: reason,
    collectionMethod: 'charge_automatically',
    daysUntilDue: null,
    autoAdvance: true,
    subscription,
    description: null,
    metadata: {},
    period: { start, end: turn.now },
  };
}

export async function productName(turn: Turn, price: Stripe.Price): Promise<string> {
  const id = typeof price.product === 'string' ? price.product : price.product.id;
  const product = await turn.objects.find('product', id);
  return product?.body.name ?? 'Subscription';
}

async function pendingLines(
  turn: Turn,
  subscription: Stripe.Subscription,
): Promise<{ item: Stripe.InvoiceItem; line: GivenLine }[]> {
  const where = { subscription: subscription.id, invoice: null };
  const { data } = await turn.objects.list('invoiceitem', { where, limit: MAX_PENDING });
  return data.reverse().map((item) => {
    const owner = subscription.items.data.find((one) => one.id === item.subscription_item) ?? null;
    return { item, line: lineOfItem(item, owner) };
  });
}

export function lineOfItem(item: Stripe.InvoiceItem, owner: Stripe.SubscriptionItem | null): GivenLine {
  const { amount, currency, description, period, proration, quantity, price } = item;
  return {
    amount,
    currency,
    description,
    period,
    proration,
    quantity,
    price,
    item: owner,
    invoiceItem: item.id,
    metadata: item.metadata ?? {},
  };
}
