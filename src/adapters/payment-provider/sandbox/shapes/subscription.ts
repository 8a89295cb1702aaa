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

export interface GivenSubscription {
  readonly customer: string;
  readonly currency: string;
  readonly items: Stripe.SubscriptionItem[];
  readonly periodEnd: number;
  readonly trialEnd: number | null;
  readonly missingCard: Stripe.Subscription.TrialSettings.EndBehavior.MissingPaymentMethod;
  readonly status: Stripe.Subscription.Status;
  readonly metadata: Stripe.Metadata;
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
    automatic_tax: { enabled: false, liability: null },
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
