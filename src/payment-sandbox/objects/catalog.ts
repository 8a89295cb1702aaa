import type Stripe from 'stripe';

export function productShape(
  id: string,
  created: number,
  given: Pick<Stripe.Product, 'name' | 'description' | 'active' | 'metadata'>,
): Stripe.Product {
  return {
    id,
    object: 'product',
    active: given.active,
    created,
    default_price: null,
    description: given.description,
    features: [],
    images: [],
    livemode: false,
    metadata: given.metadata,
    name: given.name,
    package_dimensions: null,
    shippable: null,
    statement_descriptor: null,
    tax_code: null,
    type: 'service',
    unit_label: null,
    updated: created,
    url: null,
  };
}

interface GivenPrice {
  readonly product: string;
  readonly currency: string;
  readonly unitAmount: number;
  readonly recurring: { readonly interval: Stripe.Price.Recurring.Interval; readonly count: number } | null;
  readonly nickname: string | null;
  readonly lookupKey: string | null;
  readonly active: boolean;
  readonly metadata: Stripe.Metadata;
}

export function priceShape(id: string, created: number, given: GivenPrice): Stripe.Price {
  return {
    id,
    object: 'price',
    active: given.active,
    billing_scheme: 'per_unit',
    created,
    currency: given.currency,
    custom_unit_amount: null,
    livemode: false,
    lookup_key: given.lookupKey,
    metadata: given.metadata,
    nickname: given.nickname,
    product: given.product,
    recurring:
      given.recurring === null
        ? null
        : {
            aggregate_usage: null,
            interval: given.recurring.interval,
            interval_count: given.recurring.count,
            trial_period_days: null,
            usage_type: 'licensed',
          },
    tax_behavior: 'unspecified',
    tiers_mode: null,
    transform_quantity: null,
    type: given.recurring === null ? 'one_time' : 'recurring',
    unit_amount: given.unitAmount,
    unit_amount_decimal: String(given.unitAmount),
  };
}

/** The older format of a recurring price, which subscriptions and invoices still contain as well. */
export function planShape(price: Stripe.Price): Stripe.Plan {
  return {
    id: price.id,
    object: 'plan',
    active: price.active,
    aggregate_usage: null,
    amount: price.unit_amount,
    amount_decimal: price.unit_amount_decimal,
    billing_scheme: 'per_unit',
    created: price.created,
    currency: price.currency,
    interval: price.recurring?.interval ?? 'month',
    interval_count: price.recurring?.interval_count ?? 1,
    livemode: false,
    metadata: price.metadata,
    nickname: price.nickname,
    product: price.product,
    tiers_mode: null,
    transform_usage: null,
    trial_period_days: null,
    usage_type: 'licensed',
  };
}

export function customerShape(
  id: string,
  created: number,
  given: { name: string | null; email: string | null; description: string | null; metadata: Stripe.Metadata },
): Stripe.Customer {
  return {
    id,
    object: 'customer',
    address: null,
    balance: 0,
    created,
    currency: null,
    default_source: null,
    delinquent: false,
    description: given.description,
    discount: null,
    email: given.email,
    invoice_prefix: id.slice(-8).toUpperCase(),
    invoice_settings: {
      custom_fields: null,
      default_payment_method: null,
      footer: null,
      rendering_options: null,
    },
    livemode: false,
    metadata: given.metadata,
    name: given.name,
    next_invoice_sequence: 1,
    phone: null,
    preferred_locales: [],
    shipping: null,
    tax_exempt: 'none',
    test_clock: null,
  };
}

interface GivenCoupon {
  readonly percentOff: number | null;
  readonly amountOff: number | null;
  readonly currency: string | null;
  readonly duration: Stripe.Coupon.Duration;
  readonly months: number | null;
}

export function couponShape(id: string, created: number, given: GivenCoupon): Stripe.Coupon {
  return {
    id,
    object: 'coupon',
    amount_off: given.amountOff,
    created,
    currency: given.currency,
    duration: given.duration,
    duration_in_months: given.months,
    livemode: false,
    max_redemptions: null,
    metadata: {},
    name: null,
    percent_off: given.percentOff,
    redeem_by: null,
    times_redeemed: 0,
    valid: true,
  };
}

export function discountShape(
  id: string,
  start: number,
  given: { coupon: Stripe.Coupon; customer: string; subscription: string; end: number | null },
): Stripe.Discount {
  return {
    id,
    object: 'discount',
    checkout_session: null,
    coupon: given.coupon,
    customer: given.customer,
    end: given.end,
    invoice: null,
    invoice_item: null,
    promotion_code: null,
    start,
    subscription: given.subscription,
    subscription_item: null,
  };
}

export function endpointShape(
  id: string,
  created: number,
  given: { url: string; enabledEvents: string[]; apiVersion: string | null; description: string | null },
): Stripe.WebhookEndpoint {
  return {
    id,
    object: 'webhook_endpoint',
    api_version: given.apiVersion,
    application: null,
    created,
    description: given.description,
    enabled_events: given.enabledEvents,
    livemode: false,
    metadata: {},
    status: 'enabled',
    url: given.url,
  };
}

export function portalShape(
  id: string,
  created: number,
  given: { customer: string; returnUrl: string | null; url: string },
): Stripe.BillingPortal.Session {
  return {
    id,
    object: 'billing_portal.session',
    configuration: 'bpc_sandbox',
    created,
    customer: given.customer,
    flow: null,
    livemode: false,
    locale: null,
    on_behalf_of: null,
    return_url: given.returnUrl,
    url: given.url,
  };
}
