import type Stripe from 'stripe';

export function lineItemShape(
  id: string,
  given: { price: Stripe.Price; quantity: number; description: string },
): Stripe.LineItem {
  const amount = (given.price.unit_amount ?? 0) * given.quantity;
  return {
    id,
    object: 'item',
    amount_discount: 0,
    amount_subtotal: amount,
    amount_tax: 0,
    amount_total: amount,
    currency: given.price.currency,
    description: given.description,
    price: given.price,
    quantity: given.quantity,
  };
}

export interface GivenSession {
  readonly mode: 'payment' | 'subscription';
  readonly amount: number;
  readonly currency: string;
  readonly customer: string | null;
  readonly customerEmail: string | null;
  readonly clientReferenceId: string | null;
  readonly metadata: Stripe.Metadata;
  readonly successUrl: string;
  readonly cancelUrl: string | null;
  readonly expiresAt: number;
  readonly paymentMethodTypes: string[];
  readonly cardCollection: Stripe.Checkout.Session.PaymentMethodCollection;
  readonly url: string;
}

export function sessionShape(id: string, created: number, given: GivenSession): Stripe.Checkout.Session {
  const isPayment = given.mode === 'payment';
  return {
    id,
    object: 'checkout.session',
    after_expiration: null,
    allow_promotion_codes: null,
    amount_subtotal: given.amount,
    amount_total: given.amount,
    automatic_tax: { enabled: false, liability: null, status: null },
    billing_address_collection: null,
    cancel_url: given.cancelUrl,
    client_reference_id: given.clientReferenceId,
    client_secret: null,
    consent: null,
    consent_collection: null,
    created,
    currency: given.currency,
    currency_conversion: null,
    custom_fields: [],
    custom_text: {
      after_submit: null,
      shipping_address: null,
      submit: null,
      terms_of_service_acceptance: null,
    },
    customer: given.customer,
    customer_creation: given.customer !== null ? null : isPayment ? 'if_required' : 'always',
    customer_details: null,
    customer_email: given.customerEmail,
    expires_at: given.expiresAt,
    invoice: null,
    invoice_creation: isPayment ? withoutInvoice() : null,
    livemode: false,
    locale: null,
    metadata: given.metadata,
    mode: given.mode,
    payment_intent: null,
    payment_link: null,
    payment_method_collection: given.cardCollection,
    payment_method_configuration_details: null,
    payment_method_options: {},
    payment_method_types: given.paymentMethodTypes,
    payment_status: 'unpaid',
    phone_number_collection: { enabled: false },
    recovered_from: null,
    setup_intent: null,
    shipping_address_collection: null,
    shipping_cost: null,
    shipping_details: null,
    shipping_options: [],
    status: 'open',
    submit_type: null,
    subscription: null,
    success_url: given.successUrl,
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
    ui_mode: 'hosted',
    url: given.url,
  };
}

function withoutInvoice(): Stripe.Checkout.Session.InvoiceCreation {
  return {
    enabled: false,
    invoice_data: {
      account_tax_ids: null,
      custom_fields: null,
      description: null,
      footer: null,
      issuer: null,
      metadata: {},
      rendering_options: null,
    },
  };
}
