import type Stripe from 'stripe';
import { planShape } from './catalog.ts';

export function subscriptionItemShape(
  id: string,
  created: number,
  given: { subscription: string; price: Stripe.Price; quantity: number },
): Stripe.SubscriptionItem {
  return {
    id,
    object: 'subscription_item',
    billing_thresholds: null,
    created,
    discounts: [],
    metadata: {},
    plan: planShape(given.price),
    price: given.price,
    quantity: given.quantity,
    subscription: given.subscription,
    tax_rates: [],
  };
}

interface GivenSubscription {
  readonly customer: string;
  readonly currency: string;
  readonly items: Stripe.SubscriptionItem[];
  readonly periodEnd: number;
  readonly trialEnd: number | null;
  readonly missingCard: Stripe.Subscription.TrialSettings.EndBehavior.MissingPaymentMethod;
  readonly status: Stripe.Subscription.Status;
  readonly metadata: Stripe.Metadata;
  readonly automaticTax: boolean;
}

export function subscriptionShape(
  id: string,
  created: number,
  given: GivenSubscription,
): Stripe.Subscription {
  return {
    id,
    object: 'subscription',
    application: null,
    application_fee_percent: null,
    automatic_tax: { enabled: given.automaticTax, liability: null },
    billing_cycle_anchor: given.trialEnd ?? created,
    billing_cycle_anchor_config: null,
    billing_thresholds: null,
    cancel_at: null,
    cancel_at_period_end: false,
    canceled_at: null,
    cancellation_details: { comment: null, feedback: null, reason: null },
    collection_method: 'charge_automatically',
    created,
    currency: given.currency,
    current_period_end: given.periodEnd,
    current_period_start: created,
    customer: given.customer,
    days_until_due: null,
    default_payment_method: null,
    default_source: null,
    default_tax_rates: [],
    description: null,
    discount: null,
    discounts: [],
    ended_at: null,
    items: {
      object: 'list',
      data: given.items,
      has_more: false,
      url: `/v1/subscription_items?subscription=${id}`,
    },
    latest_invoice: null,
    livemode: false,
    metadata: given.metadata,
    next_pending_invoice_item_invoice: null,
    on_behalf_of: null,
    pause_collection: null,
    payment_settings: {
      payment_method_options: null,
      payment_method_types: ['card'],
      save_default_payment_method: 'off',
    },
    pending_invoice_item_interval: null,
    pending_setup_intent: null,
    pending_update: null,
    schedule: null,
    start_date: created,
    status: given.status,
    test_clock: null,
    transfer_data: null,
    trial_end: given.trialEnd,
    trial_settings: { end_behavior: { missing_payment_method: given.missingCard } },
    trial_start: given.trialEnd === null ? null : created,
  };
}

export interface GivenInvoice {
  readonly customer: Stripe.Customer;
  readonly currency: string;
  readonly billingReason: Stripe.Invoice.BillingReason;
  readonly collectionMethod: Stripe.Invoice.CollectionMethod;
  readonly daysUntilDue: number | null;
  readonly autoAdvance: boolean;
  readonly subscription: Stripe.Subscription | null;
  readonly description: string | null;
  readonly metadata: Stripe.Metadata;
  readonly period: { readonly start: number; readonly end: number };
}

/** A draft without lines. */
export function invoiceShape(id: string, created: number, given: GivenInvoice): Stripe.Invoice {
  const { subscription } = given;
  return {
    id,
    object: 'invoice',
    ...NOTHING_CHARGED,
    ...UNUSED,
    ...customerPart(given.customer),
    auto_advance: given.autoAdvance,
    automatic_tax:
      subscription?.automatic_tax.enabled === true
        ? { enabled: true, liability: { type: 'self' }, status: 'complete' }
        : { enabled: false, liability: null, status: null },
    billing_reason: given.billingReason,
    collection_method: given.collectionMethod,
    created,
    currency: given.currency,
    description: given.description,
    due_date: given.daysUntilDue === null ? null : created + given.daysUntilDue * 86_400,
    effective_at: null,
    hosted_invoice_url: null,
    invoice_pdf: null,
    issuer: { type: 'self' },
    last_finalization_error: null,
    lines: { object: 'list', data: [], has_more: false, url: `/v1/invoices/${id}/lines` },
    livemode: false,
    metadata: given.metadata,
    number: null,
    payment_settings: { default_mandate: null, payment_method_options: null, payment_method_types: null },
    period_end: given.period.end,
    period_start: given.period.start,
    status: 'draft',
    status_transitions: { finalized_at: null, marked_uncollectible_at: null, paid_at: null, voided_at: null },
    subscription: subscription?.id ?? null,
    subscription_details: subscription === null ? null : { metadata: subscription.metadata },
  };
}

function customerPart(customer: Stripe.Customer) {
  return {
    customer: customer.id,
    custom_fields: customer.invoice_settings.custom_fields,
    customer_address: customer.address ?? null,
    customer_email: customer.email,
    customer_name: customer.name ?? null,
    customer_phone: null,
    customer_shipping: null,
    customer_tax_exempt: 'none',
    customer_tax_ids: [],
  } satisfies Partial<Stripe.Invoice>;
}

const NOTHING_CHARGED = {
  amount_due: 0,
  amount_paid: 0,
  amount_remaining: 0,
  amount_shipping: 0,
  attempt_count: 0,
  attempted: false,
  charge: null,
  ending_balance: null,
  next_payment_attempt: null,
  paid: false,
  paid_out_of_band: false,
  payment_intent: null,
  post_payment_credit_notes_amount: 0,
  pre_payment_credit_notes_amount: 0,
  starting_balance: 0,
  subtotal: 0,
  subtotal_excluding_tax: 0,
  tax: null,
  total: 0,
  total_discount_amounts: [],
  total_excluding_tax: 0,
  total_tax_amounts: [],
} satisfies Partial<Stripe.Invoice>;

/** Fields that the sandbox does not use but the API always has. */
const UNUSED = {
  account_country: 'US',
  account_name: 'Payment sandbox',
  account_tax_ids: null,
  application: null,
  application_fee_amount: null,
  default_payment_method: null,
  default_source: null,
  default_tax_rates: [],
  discount: null,
  discounts: [],
  footer: null,
  from_invoice: null,
  latest_revision: null,
  on_behalf_of: null,
  quote: null,
  receipt_number: null,
  rendering: null,
  rendering_options: null,
  shipping_cost: null,
  shipping_details: null,
  statement_descriptor: null,
  test_clock: null,
  transfer_data: null,
  webhooks_delivered_at: null,
} satisfies Partial<Stripe.Invoice>;

export interface GivenLine {
  readonly amount: number;
  readonly currency: string;
  readonly description: string | null;
  readonly period: { readonly start: number; readonly end: number };
  readonly proration: boolean;
  readonly quantity: number | null;
  readonly price: Stripe.Price | null;
  readonly item: Stripe.SubscriptionItem | null;
  readonly invoiceItem: string | null;
  readonly metadata: Stripe.Metadata;
  /** For the line of a period. A proration is already net and shows no discount. */
  readonly discount?: { readonly id: string; readonly amount: number } | undefined;
}

/** The lines that an invoice shows in events and answers; `/lines` has all of them. */
const SHOWN_LINES = 10;

/** The object as the API shows it: invoices, also nested or in lists, have only their first lines. */
export function shown(body: object): object {
  if ('object' in body && body.object === 'list' && 'data' in body && Array.isArray(body.data)) {
    return { ...body, data: body.data.map((one: object) => shown(one)) };
  }
  if (isInvoice(body)) return withFirstLines(body);
  const nested = Object.entries(body).filter(([, value]) => isInvoice(value) && hasMore(value));
  if (nested.length === 0) return body;
  return { ...body, ...Object.fromEntries(nested.map(([name, value]) => [name, withFirstLines(value)])) };
}

function isInvoice(value: unknown): value is Stripe.Invoice {
  return typeof value === 'object' && value !== null && 'object' in value && value.object === 'invoice';
}

function hasMore(invoice: Stripe.Invoice): boolean {
  return invoice.lines.data.length > SHOWN_LINES;
}

function withFirstLines(invoice: Stripe.Invoice): Stripe.Invoice {
  if (!hasMore(invoice)) return invoice;
  const data = invoice.lines.data.slice(0, SHOWN_LINES);
  return { ...invoice, lines: { ...invoice.lines, data, has_more: true } };
}

export function invoiceLineShape(
  id: string,
  invoice: string | null,
  given: GivenLine,
): Stripe.InvoiceLineItem {
  const { amount, price, item, invoiceItem, discount } = given;
  return {
    id,
    object: 'line_item',
    amount,
    amount_excluding_tax: amount,
    currency: given.currency,
    description: given.description,
    discount_amounts: discount === undefined ? [] : [{ amount: discount.amount, discount: discount.id }],
    discountable: !given.proration,
    discounts: discount === undefined ? [] : [discount.id],
    invoice,
    ...(invoiceItem === null ? {} : { invoice_item: invoiceItem }),
    livemode: false,
    metadata: given.metadata,
    period: given.period,
    plan: price?.type === 'recurring' ? planShape(price) : null,
    price,
    proration: given.proration,
    proration_details: { credited_items: null },
    quantity: given.quantity,
    subscription: item?.subscription ?? null,
    ...(item === null ? {} : { subscription_item: item.id }),
    tax_amounts: [],
    tax_rates: [],
    type: invoiceItem === null ? 'subscription' : 'invoiceitem',
    unit_amount_excluding_tax: String(amount),
  };
}

interface GivenInvoiceItem {
  readonly customer: string;
  readonly invoice: string | null;
  readonly amount: number;
  readonly currency: string;
  readonly description: string | null;
  readonly period: { readonly start: number; readonly end: number };
  readonly proration: boolean;
  readonly price: Stripe.Price | null;
  readonly item: Stripe.SubscriptionItem | null;
  readonly metadata: Stripe.Metadata;
}

export function invoiceItemShape(id: string, date: number, given: GivenInvoiceItem): Stripe.InvoiceItem {
  return {
    id,
    object: 'invoiceitem',
    amount: given.amount,
    currency: given.currency,
    customer: given.customer,
    date,
    description: given.description,
    discountable: !given.proration,
    discounts: [],
    invoice: given.invoice,
    livemode: false,
    metadata: given.metadata,
    period: given.period,
    plan: given.price?.type === 'recurring' ? planShape(given.price) : null,
    price: given.price,
    proration: given.proration,
    quantity: 1,
    subscription: given.item?.subscription ?? null,
    ...(given.item === null ? {} : { subscription_item: given.item.id }),
    tax_rates: [],
    test_clock: null,
    unit_amount: given.amount,
    unit_amount_decimal: String(given.amount),
  };
}

interface GivenCreditNote {
  readonly invoice: Stripe.Invoice;
  readonly amount: number;
  readonly type: Stripe.CreditNote.Type;
  readonly refund: string | null;
  readonly balanceTransaction: string | null;
  readonly outOfBand: number | null;
  readonly memo: string | null;
  readonly metadata: Stripe.Metadata;
}

export function creditNoteShape(id: string, created: number, given: GivenCreditNote): Stripe.CreditNote {
  const { invoice, amount, type, refund, balanceTransaction, outOfBand, memo, metadata } = given;
  return {
    ...{ id, object: 'credit_note', amount, amount_shipping: 0, created, currency: invoice.currency },
    customer: String(invoice.customer),
    customer_balance_transaction: balanceTransaction,
    ...{ discount_amount: 0, discount_amounts: [], effective_at: created, invoice: invoice.id },
    lines: { object: 'list', data: [], has_more: false, url: `/v1/credit_notes/${id}/lines` },
    ...{ livemode: false, memo, metadata, number: `${invoice.number}-CN-${id.slice(-4)}` },
    ...{
      out_of_band_amount: outOfBand,
      pdf: '',
      reason: null,
      refund,
      shipping_cost: null,
      status: 'issued',
    },
    ...{ subtotal: amount, subtotal_excluding_tax: amount, tax_amounts: [], total: amount },
    ...{ total_excluding_tax: amount, type, voided_at: null },
  };
}
