import type Stripe from 'stripe';
import { invalid } from '../api-errors.ts';
import { type GivenInvoice, type GivenLine, invoiceLineShape, invoiceShape } from '../objects/billing.ts';
import type { PaidShare } from '../state/object-store.ts';
import { idIn, need, storeUpdate, type Turn } from '../state/transaction.ts';
import { settlePaid } from './payments.ts';
import { nextEnd } from './subscription-state.ts';

/** Stores a draft with its lines and emits its event. */
export async function draftInvoice(
  turn: Turn,
  given: GivenInvoice,
  lines: readonly GivenLine[],
): Promise<Stripe.Invoice> {
  const empty = invoiceShape(turn.newId('in_1'), turn.now, given);
  const invoice = withLines(turn, empty, lines);
  await turn.objects.put('invoice', invoice, { hidden: {} });
  await turn.emit('invoice.created', invoice);
  return invoice;
}

export function withLines(turn: Turn, invoice: Stripe.Invoice, lines: readonly GivenLine[]): Stripe.Invoice {
  const made = lines.map((line) => invoiceLineShape(turn.newId('il_1'), invoice.id, line));
  const data = [...invoice.lines.data, ...made];
  const subtotal = data.reduce((sum, line) => sum + line.amount, 0);
  const discounts = data.flatMap((line) => line.discount_amounts ?? []);
  const off = discounts.reduce((sum, { amount }) => sum + amount, 0);
  const net = subtotal - off;
  const tax = invoice.automatic_tax.enabled ? taxOf(net) : null;
  const total = net + (tax ?? 0);
  const [first] = discounts;
  return {
    ...invoice,
    lines: { ...invoice.lines, data },
    subtotal,
    subtotal_excluding_tax: subtotal,
    total_discount_amounts: first === undefined ? [] : [{ amount: off, discount: first.discount }],
    tax,
    total_tax_amounts: tax === null ? [] : [taxAmount(tax, net)],
    total,
    total_excluding_tax: net,
    amount_due: Math.max(0, total),
    amount_remaining: Math.max(0, total),
  };
}

/** The only tax rate of the sandbox: 20 percent on top, wherever the customer is. */
const TAX_PERCENT = 20;
const TAX_RATE = 'txr_sandbox';

export function taxOf(net: number): number {
  return Math.round((net * TAX_PERCENT) / 100);
}

function taxAmount(amount: number, taxable: number): Stripe.Invoice.TotalTaxAmount {
  return {
    ...{ amount, inclusive: false, tax_rate: TAX_RATE },
    ...{ taxability_reason: 'standard_rated', taxable_amount: taxable },
  };
}

/**
 * The next invoice of a subscription as its renewal would make it now: with pending items, the coupon that is in force by then,
 * and the customer's balance. It does not exist yet and therefore has no id.
 */
export async function upcomingInvoice(
  turn: Turn,
  subscription: Stripe.Subscription,
): Promise<Omit<Stripe.Invoice, 'id'>> {
  const start = subscription.current_period_end;
  const period = { start, end: nextEnd(subscription, start) };
  const pending = await pendingLines(turn, subscription);
  const renewed = await linesFor(turn, subscription, { reason: 'upcoming', period, at: start });
  const given = await givenFor(turn, subscription, 'upcoming');
  const empty = invoiceShape('', turn.now, given);
  const { id: _, ...invoice } = withLines(turn, empty, [...pending.map(({ line }) => line), ...renewed]);
  const { balance } = given.customer;
  const due = Math.max(0, invoice.total + balance);
  return {
    ...invoice,
    ...{ starting_balance: balance, amount_due: due, amount_remaining: due },
    next_payment_attempt: start,
    period_start: subscription.current_period_start,
    period_end: start,
    lines: { ...invoice.lines, url: `/v1/invoices/upcoming/lines?subscription=${subscription.id}` },
  };
}

type Finalized =
  | { readonly outcome: 'finalized'; readonly invoice: Stripe.Invoice }
  | { readonly outcome: 'failed'; readonly invoice: Stripe.Invoice };

const FINALIZATION_FAILED =
  'Automatic tax could not be calculated: the customer’s location is not recognized.';

/** Assigns the number and a page to pay it on. An invoice with no amount due is paid immediately. */
export async function finalizeInvoice(turn: Turn, draft: Stripe.Invoice): Promise<Finalized> {
  if (draft.status !== 'draft') {
    throw invalid("This invoice is already finalized, you can't re-finalize a non-draft invoice.");
  }
  if (await turn.takeSwitch('finalization_failure')) {
    const invoice: Stripe.Invoice = {
      ...draft,
      last_finalization_error: {
        code: 'customer_tax_location_invalid',
        message: FINALIZATION_FAILED,
        type: 'invalid_request_error',
      },
    };
    await turn.objects.put('invoice', invoice, { hidden: {} });
    await turn.emit('invoice.finalization_failed', invoice);
    return { outcome: 'failed', invoice };
  }
  const invoice = await opened(turn, draft);
  await turn.objects.put('invoice', invoice, { hidden: {} });
  await turn.emit('invoice.finalized', invoice);
  if (invoice.amount_due > 0) return { outcome: 'finalized', invoice };
  return { outcome: 'finalized', invoice: await settlePaid(turn, invoice, { amountPaid: 0 }) };
}

/** A credit of the customer is used first; a negative total becomes a credit. */
async function opened(turn: Turn, draft: Stripe.Invoice): Promise<Stripe.Invoice> {
  const { body: customer, hidden } = await need(turn, 'customer', String(draft.customer), 'customer');
  const sequence = customer.next_invoice_sequence ?? 1;
  const left = draft.total + customer.balance;
  const balance = Math.min(0, left);
  const after = { ...customer, next_invoice_sequence: sequence + 1, balance, currency: draft.currency };
  await storeUpdate(turn, 'customer', customer, after, { hidden, event: 'customer.updated' });
  const amountDue = Math.max(0, left);
  return {
    ...draft,
    status: 'open',
    number: `${customer.invoice_prefix}-${String(sequence).padStart(4, '0')}`,
    due_date: draft.due_date === null ? null : turn.now + (draft.due_date - draft.created),
    effective_at: turn.now,
    hosted_invoice_url: `${turn.baseUrl}/invoice/${draft.id}`,
    last_finalization_error: null,
    starting_balance: customer.balance,
    ending_balance: balance,
    amount_due: amountDue,
    amount_remaining: amountDue,
    status_transitions: { ...draft.status_transitions, finalized_at: turn.now },
  };
}

interface InvoicedPeriod {
  readonly reason: Stripe.Invoice.BillingReason;
  readonly period: { readonly start: number; readonly end: number };
  /** The first invoice of a trial charges nothing. */
  readonly isTrial?: boolean;
  /** Only pending items: changes within a period. */
  readonly onlyPending?: boolean;
  /** When the invoice is made, if not now: coupons may have ended by then. */
  readonly at?: number;
}

const MAX_PENDING = 100;

/** The lines of a subscription for a period, without pending items; nothing is stored. */
async function linesFor(
  turn: Turn,
  subscription: Stripe.Subscription,
  wanted: InvoicedPeriod,
): Promise<GivenLine[]> {
  const lines: GivenLine[] = [];
  const { at = turn.now } = wanted;
  let off = discountOf(subscription, at)?.coupon.amount_off ?? 0;
  for (const item of wanted.onlyPending === true ? [] : subscription.items.data) {
    const quantity = item.quantity ?? 1;
    const name = await productName(turn, item.price);
    const description = wanted.isTrial === true ? `Trial period for ${name}` : `${quantity} × ${name}`;
    const amount = wanted.isTrial === true ? 0 : (item.price.unit_amount ?? 0) * quantity;
    const discount = amount === 0 ? null : discountOf(subscription, at);
    const percent = discount?.coupon.percent_off ?? null;
    const taken = percent === null ? Math.min(off, amount) : Math.round((amount * percent) / 100);
    if (percent === null) off -= taken;
    lines.push({
      amount,
      ...(discount === null || taken === 0 ? {} : { discount: { id: discount.id, amount: taken } }),
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

/** The coupon in force, or null. */
export function discountOf(subscription: Stripe.Subscription, now: number): Stripe.Discount | null {
  const { discount } = subscription;
  return discount === null || (discount.end !== null && discount.end <= now) ? null : discount;
}

/** The share of its period's gross price that an invoice charges, after the coupon. */
export function paidShareOf(invoice: Stripe.Invoice): PaidShare {
  const lines = invoice.lines.data.filter(({ type }) => type === 'subscription');
  const gross = lines.reduce((sum, { amount }) => sum + amount, 0);
  const off = lines
    .flatMap(({ discount_amounts: amounts }) => amounts ?? [])
    .reduce((sum, { amount }) => sum + amount, 0);
  return gross === 0 ? { net: 1, gross: 1 } : { net: gross - off, gross };
}

export async function draftFor(
  turn: Turn,
  subscription: Stripe.Subscription,
  wanted: InvoicedPeriod,
): Promise<Stripe.Invoice> {
  const pending = await pendingLines(turn, subscription);
  const lines = [...pending.map(({ line }) => line), ...(await linesFor(turn, subscription, wanted))];
  const invoice = await draftInvoice(turn, await givenFor(turn, subscription, wanted.reason), lines);
  for (const { item } of pending) {
    await turn.objects.put('invoiceitem', { ...item, invoice: invoice.id }, { hidden: {} });
  }
  return invoice;
}

async function givenFor(
  turn: Turn,
  subscription: Stripe.Subscription,
  reason: Stripe.Invoice.BillingReason,
): Promise<GivenInvoice> {
  const customerId = idIn(subscription.customer) ?? '';
  const { body: customer } = await need(turn, 'customer', customerId, 'customer');
  // The period in which usage is counted: the previous one for a renewal, otherwise an empty one.
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
  const own = { subscription: subscription.id, invoice: null };
  const { data } = await turn.objects.list('invoiceitem', { where: own, limit: MAX_PENDING });
  // Items that were added to the customer manually are part of the next invoice of a subscription.
  const byHand = { customer: idIn(subscription.customer), subscription: null, invoice: null };
  const { data: more } = await turn.objects.list('invoiceitem', { where: byHand, limit: MAX_PENDING });
  return [...data.reverse(), ...more.reverse()].map((item) => {
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
