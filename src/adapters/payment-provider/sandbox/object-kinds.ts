import type Stripe from 'stripe';

/** Every kind of object the sandbox keeps, in the shape of the pinned version; the client's types prove it. */
export interface Bodies {
  product: Stripe.Product;
  price: Stripe.Price;
  customer: Stripe.Customer;
  'checkout.session': Stripe.Checkout.Session;
  payment_intent: Stripe.PaymentIntent;
  charge: Stripe.Charge;
  refund: Stripe.Refund;
  subscription: Stripe.Subscription;
  invoice: Stripe.Invoice;
  invoiceitem: Stripe.InvoiceItem;
  event: Stripe.Event;
  webhook_endpoint: Stripe.WebhookEndpoint;
  'billing_portal.session': Stripe.BillingPortal.Session;
}

export type Kind = keyof Bodies;

/** What a card does when it is charged. `none` is a customer without one. */
export type Card = 'works' | 'declines' | 'requires_action' | 'none';

export const cards: readonly Card[] = ['works', 'declines', 'requires_action', 'none'];

/** What the provider knows of an object and does not show. */
export interface Hidden {
  customer: { readonly card: Card };
  'checkout.session': {
    readonly lines: readonly Stripe.LineItem[];
    readonly paymentMetadata: Stripe.Metadata;
    readonly subscription: SubscriptionWish | null;
  };
  subscription: {
    /** Of which period's end it was said that an invoice comes. */
    readonly upcomingSaidFor: number | null;
    readonly trialEndSaid: boolean;
  };
  webhook_endpoint: { readonly secret: string };
}

export interface SubscriptionWish {
  readonly metadata: Stripe.Metadata;
  readonly trialDays: number | null;
  readonly missingCard: Stripe.Subscription.TrialSettings.EndBehavior.MissingPaymentMethod;
}

export type HiddenOf<K extends Kind> = K extends keyof Hidden ? Hidden[K] : Readonly<Record<string, never>>;

export interface Kept<K extends Kind> {
  readonly body: Bodies[K];
  readonly hidden: HiddenOf<K>;
}
