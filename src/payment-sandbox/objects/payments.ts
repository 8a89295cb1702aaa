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

interface GivenSession {
  readonly mode: 'payment' | 'subscription';
  /** Without tax. */
  readonly amount: number;
  /** Null if it is not calculated. */
  readonly tax: number | null;
  readonly collectsTaxIds: boolean;
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
    amount_total: given.amount + (given.tax ?? 0),
    automatic_tax:
      given.tax === null
        ? { enabled: false, liability: null, status: null }
        : { enabled: true, liability: { type: 'self' }, status: 'complete' },
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
    tax_id_collection: { enabled: given.collectsTaxIds },
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: given.tax ?? 0 },
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

export interface GivenPayment {
  readonly amount: number;
  readonly currency: string;
  readonly customer: string | null;
  readonly invoice: string | null;
  readonly description: string | null;
  readonly metadata: Stripe.Metadata;
}

export function paymentIntentShape(id: string, created: number, given: GivenPayment): Stripe.PaymentIntent {
  return {
    id,
    object: 'payment_intent',
    amount: given.amount,
    amount_capturable: 0,
    amount_details: { tip: {} },
    amount_received: 0,
    application: null,
    application_fee_amount: null,
    automatic_payment_methods: null,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: 'automatic',
    client_secret: `${id}_secret_sandbox`,
    confirmation_method: 'automatic',
    created,
    currency: given.currency,
    customer: given.customer,
    description: given.description,
    invoice: given.invoice,
    last_payment_error: null,
    latest_charge: null,
    livemode: false,
    metadata: given.metadata,
    next_action: null,
    on_behalf_of: null,
    payment_method: null,
    payment_method_configuration_details: null,
    payment_method_options: {},
    payment_method_types: ['card'],
    processing: null,
    receipt_email: null,
    review: null,
    setup_future_usage: null,
    shipping: null,
    source: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: 'requires_payment_method',
    transfer_data: null,
    transfer_group: null,
  };
}

export function chargeShape(
  id: string,
  created: number,
  given: GivenPayment & { paymentIntent: string; paid: boolean; email: string | null; name: string | null },
): Stripe.Charge {
  const { paid } = given;
  return {
    id,
    object: 'charge',
    amount: given.amount,
    amount_captured: paid ? given.amount : 0,
    amount_refunded: 0,
    application: null,
    application_fee: null,
    application_fee_amount: null,
    balance_transaction: paid ? id.replace('ch_', 'txn_') : null,
    billing_details: { address: null, email: given.email, name: given.name, phone: null },
    calculated_statement_descriptor: 'SANDBOX',
    captured: paid,
    created,
    currency: given.currency,
    customer: given.customer,
    description: given.description,
    disputed: false,
    failure_balance_transaction: null,
    failure_code: paid ? null : 'card_declined',
    failure_message: paid ? null : 'Your card was declined.',
    fraud_details: {},
    invoice: given.invoice,
    livemode: false,
    metadata: given.metadata,
    on_behalf_of: null,
    outcome: outcomeOf(paid),
    paid,
    payment_intent: given.paymentIntent,
    payment_method: id.replace('ch_', 'pm_'),
    payment_method_details: { card: cardOf(given.amount, created), type: 'card' },
    receipt_email: null,
    receipt_number: null,
    receipt_url: null,
    refunded: false,
    refunds: null,
    review: null,
    shipping: null,
    source: null,
    source_transfer: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: paid ? 'succeeded' : 'failed',
    transfer_data: null,
    transfer_group: null,
  };
}

function outcomeOf(paid: boolean): Stripe.Charge.Outcome {
  return {
    network_status: paid ? 'approved_by_network' : 'declined_by_network',
    reason: paid ? null : 'generic_decline',
    risk_level: 'normal',
    risk_score: 1,
    seller_message: paid
      ? 'Payment complete.'
      : 'The bank did not return any further details with this decline.',
    type: paid ? 'authorized' : 'issuer_declined',
  };
}

/** Always the same test card. */
function cardOf(amount: number, created: number): Stripe.Charge.PaymentMethodDetails.Card {
  return {
    amount_authorized: amount,
    brand: 'visa',
    checks: { address_line1_check: null, address_postal_code_check: null, cvc_check: 'pass' },
    country: 'US',
    exp_month: 12,
    exp_year: new Date(created * 1000).getUTCFullYear() + 3,
    fingerprint: 'sandboxcard42',
    funding: 'credit',
    installments: null,
    last4: '4242',
    mandate: null,
    network: 'visa',
    network_token: { used: false },
    three_d_secure: null,
    wallet: null,
  };
}

export function refundShape(
  id: string,
  created: number,
  given: {
    charge: Stripe.Charge;
    amount: number;
    reason: Stripe.Refund.Reason | null;
    metadata: Stripe.Metadata;
  },
): Stripe.Refund {
  const { charge, amount, reason, metadata } = given;
  return {
    id,
    object: 'refund',
    amount,
    balance_transaction: id.replace('re_', 'txn_'),
    charge: charge.id,
    created,
    currency: charge.currency,
    destination_details: {
      card: { reference_status: 'pending', reference_type: 'acquirer_reference_number', type: 'refund' },
      type: 'card',
    },
    metadata,
    payment_intent: charge.payment_intent,
    reason,
    receipt_number: null,
    source_transfer_reversal: null,
    status: 'succeeded',
    transfer_reversal: null,
  };
}

export function disputeShape(
  id: string,
  created: number,
  given: { charge: Stripe.Charge; amount: number; status: Stripe.Dispute.Status },
): Stripe.Dispute {
  const { charge, amount, status } = given;
  return {
    id,
    object: 'dispute',
    amount,
    balance_transactions: [],
    charge: charge.id,
    created,
    currency: charge.currency,
    evidence: withoutEvidence(),
    evidence_details: {
      due_by: created + 7 * 86_400,
      has_evidence: false,
      past_due: false,
      submission_count: 0,
    },
    is_charge_refundable: false,
    livemode: false,
    metadata: {},
    payment_intent: charge.payment_intent,
    reason: 'fraudulent',
    status,
  };
}

function withoutEvidence(): Stripe.Dispute.Evidence {
  return {
    ...{ access_activity_log: null, billing_address: null, cancellation_policy: null },
    ...{ cancellation_policy_disclosure: null, cancellation_rebuttal: null, customer_communication: null },
    ...{ customer_email_address: null, customer_name: null, customer_purchase_ip: null },
    ...{ customer_signature: null, duplicate_charge_documentation: null, duplicate_charge_explanation: null },
    ...{ duplicate_charge_id: null, product_description: null, receipt: null, refund_policy: null },
    ...{ refund_policy_disclosure: null, refund_refusal_explanation: null, service_date: null },
    ...{ service_documentation: null, shipping_address: null, shipping_carrier: null, shipping_date: null },
    ...{ shipping_documentation: null, shipping_tracking_number: null, uncategorized_file: null },
    uncategorized_text: null,
  };
}
