/**
 * The version of the provider's API that requests are made in, webhook endpoints are registered with and events are
 * interpreted in (P-25): the last one whose shapes the client's types know.
 */
export const PROVIDER_API_VERSION = '2023-10-16';

/**
 * What takes the money: the real provider, or the sandbox on the same wire. What is asked for has our names.
 * What comes back as a whole object keeps the provider's (`WireObject`), so that one reader serves an event's
 * payload and the same object asked for again.
 *
 * Every write takes an idempotency key made from our ids: the same key and input have one effect, however often
 * and from however many processes they are sent.
 */
export interface PaymentProvider {
  createProduct(wanted: WantedProduct, idempotencyKey: string): Promise<ProviderAnswer<Created>>;
  createPrice(wanted: WantedPrice, idempotencyKey: string): Promise<ProviderAnswer<Created>>;
  /** Without a key, as `setPriceActive`: the same again changes nothing, and one key would hide a change back. */
  renameProduct(productId: string, name: string): Promise<ProviderAnswer<Created>>;
  /** An archived price (false) sells nothing new; subscriptions that have it go on. */
  setPriceActive(priceId: string, active: boolean): Promise<ProviderAnswer<Created>>;
  createCustomer(wanted: WantedCustomer, idempotencyKey: string): Promise<ProviderAnswer<Created>>;

  /** Without a key: the same again changes nothing. */
  updateCustomer(customerId: string, wanted: CustomerProfile): Promise<ProviderAnswer<Created>>;

  createCheckoutSession(
    wanted: WantedCheckout,
    idempotencyKey: string,
  ): Promise<ProviderAnswer<OpenedCheckout>>;
  /** It can no longer be paid. One that is paid or expired already is `refused`. */
  expireCheckoutSession(sessionId: string, idempotencyKey: string): Promise<ProviderAnswer<WireObject>>;
  createPortalSession(wanted: WantedPortal, idempotencyKey: string): Promise<ProviderAnswer<OpenedPortal>>;
  /**
   * At once, with the rest of the period settled by an invoice that is paid with it: a payment that fails is `refused`,
   * and nothing has changed.
   */
  changeSubscriptionPrice(
    wanted: WantedPriceChange,
    idempotencyKey: string,
  ): Promise<ProviderAnswer<WireObject>>;
  /** The invoice that the change would make, which has no id; it may also show the next period. */
  previewPriceChange(wanted: WantedPriceChange): Promise<ProviderAnswer<WireObject>>;
  cancelSubscription(
    subscriptionId: string,
    when: 'now' | 'period-end',
    idempotencyKey: string,
  ): Promise<ProviderAnswer<WireObject>>;
  /** Made, filled and finalized: open, with its number and due date. Repeating it after a failure goes on with it. */
  createInvoice(wanted: WantedInvoice, idempotencyKey: string): Promise<ProviderAnswer<WireObject>>;
  /** Settles an open invoice outside of the provider, e.g. by bank transfer. */
  markInvoicePaid(invoiceId: string, idempotencyKey: string): Promise<ProviderAnswer<WireObject>>;
  /** It can no longer be paid. */
  voidInvoice(invoiceId: string, idempotencyKey: string): Promise<ProviderAnswer<WireObject>>;
  refund(wanted: WantedRefund, idempotencyKey: string): Promise<ProviderAnswer<MadeRefund>>;

  retrieveProduct(productId: string): Promise<ProviderAnswer<WireObject>>;
  retrievePrice(priceId: string): Promise<ProviderAnswer<WireObject>>;
  retrieveCheckoutSession(sessionId: string): Promise<ProviderAnswer<WireObject>>;
  retrieveSubscription(subscriptionId: string): Promise<ProviderAnswer<WireObject>>;
  retrieveInvoice(invoiceId: string): Promise<ProviderAnswer<WireObject>>;
  /** In the order of the invoice; an event shows only the first ten. */
  listInvoiceLines(invoiceId: string, page?: Page): Promise<ProviderAnswer<Listed<WireObject>>>;
  retrieveCharge(chargeId: string): Promise<ProviderAnswer<WireObject>>;
  /** With its last charge in it. */
  retrievePaymentIntent(paymentIntentId: string): Promise<ProviderAnswer<WireObject>>;
  /** With its charge in it. */
  retrieveDispute(disputeId: string): Promise<ProviderAnswer<WireObject>>;
  /** With its refund in it. */
  retrieveCreditNote(creditNoteId: string): Promise<ProviderAnswer<WireObject>>;
  /** Newest first, in every state. */
  listSubscriptions(customerId: string, page?: Page): Promise<ProviderAnswer<Listed<WireObject>>>;
  /** Newest first, those that failed too. */
  listCharges(asked: AskedSince): Promise<ProviderAnswer<Listed<WireObject>>>;
  /** Newest first, in every state, with their first ten lines in them. */
  listInvoices(asked: AskedSince): Promise<ProviderAnswer<Listed<WireObject>>>;
  /** Newest first, with their charges in them. */
  listDisputes(asked: AskedSince): Promise<ProviderAnswer<Listed<WireObject>>>;
  /** Newest first; of all charges, or of one. */
  listRefunds(
    asked: Partial<AskedSince> & { readonly chargeId?: string },
  ): Promise<ProviderAnswer<Listed<WireObject>>>;
  /** Newest first, with their refunds in them. */
  listCreditNotes(asked: AskedSince): Promise<ProviderAnswer<Listed<WireObject>>>;
  /** Newest first; the provider keeps them for 30 days. */
  listEvents(asked: AskedEvents): Promise<ProviderAnswer<Listed<ProviderEvent>>>;

  /** The secret is in this answer and in no other: a lost one means deleting the endpoint and making it again. */
  createWebhookEndpoint(
    wanted: WantedEndpoint,
    idempotencyKey: string,
  ): Promise<ProviderAnswer<CreatedEndpoint>>;
  listWebhookEndpoints(page?: Page): Promise<ProviderAnswer<Listed<WebhookEndpoint>>>;
  /** Without a key: deleting twice is `not-found`, which is what was wanted. */
  deleteWebhookEndpoint(endpointId: string): Promise<ProviderAnswer<Created>>;

  /** Over the bytes as they came. Nothing of an event is checked before its signature holds. */
  verifyEvent(rawBody: Uint8Array<ArrayBuffer>, signatureHeader: string | null): EventVerdict;
}

export type ProviderAnswer<T> =
  | { readonly outcome: 'done'; readonly value: T }
  | { readonly outcome: 'failed'; readonly failure: ProviderFailure };

export interface ProviderFailure {
  /** Of `unavailable` it is unknown whether the write took effect: send it again with the same key. */
  readonly reason: 'unavailable' | 'refused' | 'rate-limited' | 'not-found';
  /** The provider's own words, fit to be shown. */
  readonly message: string;
  /** The provider's code, e.g. resource_missing; null where it gave none. */
  readonly code: string | null;
}

/** An object as the provider writes it, in the pinned version. An upcoming invoice has no id. */
export interface WireObject {
  readonly id?: string | undefined;
  readonly object?: string | undefined;
  readonly [field: string]: unknown;
}

export type Metadata = Readonly<Record<string, string>>;

export interface Created {
  readonly id: string;
}

export interface WantedProduct {
  readonly name: string;
  readonly description?: string | undefined;
  readonly metadata: Metadata;
}

export interface WantedPrice {
  readonly productId: string;
  readonly amountMinor: bigint;
  readonly currency: string;
  /** Null is a one-time price. */
  readonly recurring: {
    readonly interval: 'day' | 'week' | 'month' | 'year';
    readonly intervalCount: number;
  } | null;
  readonly metadata: Metadata;
}

export interface WantedCustomer {
  readonly name: string;
  readonly email: string | null;
  readonly metadata: Metadata;
}

/** What invoices show of a customer; null is nothing. */
export interface CustomerProfile {
  readonly name: string;
  readonly email: string | null;
  readonly address: {
    readonly line1: string;
    readonly line2: string | null;
    readonly postalCode: string | null;
    readonly city: string | null;
    readonly state: string | null;
    readonly country: string;
  } | null;
  readonly taxId: string | null;
}

export interface WantedCheckout {
  readonly mode: 'payment' | 'subscription';
  readonly priceId: string;
  readonly quantity: number;
  readonly customerId: string | null;
  /** Comes back as client_reference_id. */
  readonly referenceId: string;
  /** Written on the session and on the payment or subscription it makes: the provider copies it to neither. */
  readonly metadata: Metadata;
  /** `{CHECKOUT_SESSION_ID}` in it is replaced by the session's id. */
  readonly successUrl: string;
  readonly cancelUrl: string;
  /** Subscriptions only; null is none. */
  readonly trialDays?: number | null | undefined;
  readonly taxes?: CheckoutTaxes | undefined;
}

/** What the provider does about taxes on its page; the address and name that a buyer enters are kept by it. */
export interface CheckoutTaxes {
  readonly isAutomatic: boolean;
  readonly collectsTaxIds: boolean;
}

export interface WantedPriceChange {
  readonly subscriptionId: string;
  /** The item of the subscription that gets the price. */
  readonly itemId: string;
  readonly priceId: string;
}

export interface OpenedCheckout {
  readonly id: string;
  readonly url: string;
  readonly expiresAtMs: number;
}

export interface WantedPortal {
  readonly customerId: string;
  readonly returnUrl: string;
}

export interface OpenedPortal {
  readonly id: string;
  readonly url: string;
}

export interface WantedInvoice {
  readonly customerId: string;
  readonly currency: string;
  readonly daysUntilDue: number;
  readonly description: string;
  readonly lines: readonly InvoiceLine[];
  readonly metadata: Metadata;
  /**
   * An invoice of the customer with this metadata that was made since then is continued instead of making another: the
   * provider forgets an idempotency key after a day, and the first answer may have been lost.
   */
  readonly madeSinceMs?: number | undefined;
}

export interface InvoiceLine {
  readonly description: string;
  readonly amountMinor: bigint;
  /** What the line is for, in milliseconds since the epoch. */
  readonly period?: { readonly startMs: number; readonly endMs: number } | undefined;
}

export interface WantedRefund {
  /** Of a payment intent or of a charge. */
  readonly paymentId: string;
  /** Null is all that is left. */
  readonly amountMinor: bigint | null;
  readonly reason?: 'duplicate' | 'fraudulent' | 'requested_by_customer' | undefined;
  readonly metadata: Metadata;
}

export interface MadeRefund {
  readonly id: string;
  readonly amountMinor: bigint;
  readonly status: string | null;
}

export interface Page {
  /** 1 to 100, the default. */
  readonly limit?: number | undefined;
  /** The last id of the page before. */
  readonly after?: string | undefined;
}

export interface Listed<T> {
  readonly items: readonly T[];
  readonly hasMore: boolean;
  /** Where the next page begins: items that could not be read are left out, so this may be none of them. */
  readonly lastId?: string | undefined;
}

export interface AskedSince extends Page {
  /** At or after, in milliseconds since the epoch; the provider counts in whole seconds. */
  readonly sinceMs: number;
  /** At or before; without it up to the newest. */
  readonly untilMs?: number | undefined;
}

export interface AskedEvents extends AskedSince {
  /** Only those that no endpoint has acknowledged. */
  readonly undeliveredOnly?: boolean | undefined;
  /** At most 20. */
  readonly eventKinds?: readonly string[] | undefined;
}

export interface ProviderEvent {
  readonly id: string;
  readonly type: string;
  /** Null or another one than ours: not to be interpreted. */
  readonly apiVersion: string | null;
  readonly createdAtMs: number;
  readonly livemode: boolean;
  readonly object: WireObject;
  readonly previousAttributes: Readonly<Record<string, unknown>> | null;
  /** The event as it came, to be kept. */
  readonly payload: Readonly<Record<string, unknown>>;
}

export type EventVerdict =
  | { readonly outcome: 'verified'; readonly event: ProviderEvent }
  | { readonly outcome: 'refused'; readonly message: string };

export interface WantedEndpoint {
  readonly url: string;
  readonly eventKinds: readonly string[];
  readonly description?: string | undefined;
}

export interface CreatedEndpoint {
  readonly id: string;
  readonly secret: string;
}

export interface WebhookEndpoint {
  readonly id: string;
  readonly url: string;
  readonly eventKinds: readonly string[];
  readonly apiVersion: string | null;
}
