/**
 * The version of the provider's API that requests are made in, webhook endpoints are registered with and events are
 * interpreted in (P-25): the last one whose shapes the client's types know.
 */
export const PROVIDER_API_VERSION = '2023-10-16';

/**
 * The payment provider, or the sandbox with the same API. Parameters have our names. Objects keep the provider's names
 * (`WireObject`), so that the same code reads the payload of an event and an object that was retrieved.
 *
 * Every write takes an idempotency key made from our ids: the same key and input have one effect, however often and by
 * however many processes they are sent.
 */
export interface PaymentProvider {
  /** Another one for each provider, mode and account: what was opened under another identity cannot be used under this one. */
  readonly identity: string;

  createProduct(params: ProductParams, idempotencyKey: string): Promise<ProviderAnswer<Created>>;
  createPrice(params: PriceParams, idempotencyKey: string): Promise<ProviderAnswer<Created>>;
  /** Without an idempotency key, like `setPriceActive`: repeating it changes nothing, and a key would suppress a later change back. */
  renameProduct(productId: string, name: string): Promise<ProviderAnswer<Created>>;
  /** An archived price (false) cannot be bought any more; existing subscriptions keep it. */
  setPriceActive(priceId: string, active: boolean): Promise<ProviderAnswer<Created>>;
  createCustomer(params: CustomerParams, idempotencyKey: string): Promise<ProviderAnswer<Created>>;

  /** Without an idempotency key: repeating it changes nothing. */
  updateCustomer(customerId: string, params: CustomerProfile): Promise<ProviderAnswer<Created>>;

  createCheckoutSession(
    params: CheckoutParams,
    idempotencyKey: string,
  ): Promise<ProviderAnswer<OpenedCheckout>>;
  /** The session can no longer be paid. `refused` if it is already paid or expired. */
  expireCheckoutSession(sessionId: string, idempotencyKey: string): Promise<ProviderAnswer<WireObject>>;
  createPortalSession(params: PortalParams, idempotencyKey: string): Promise<ProviderAnswer<OpenedPortal>>;
  /**
   * Changes the subscription at once and charges the proration immediately. If that payment fails, the result is `refused`
   * and nothing has changed.
   */
  changeSubscriptionPrice(
    params: PriceChangeParams,
    idempotencyKey: string,
  ): Promise<ProviderAnswer<WireObject>>;
  /** Previews the invoice of the change. It has no id and may include the next period. */
  previewPriceChange(params: PriceChangeParams): Promise<ProviderAnswer<WireObject>>;
  cancelSubscription(
    subscriptionId: string,
    when: 'now' | 'period-end',
    idempotencyKey: string,
  ): Promise<ProviderAnswer<WireObject>>;
  /** Creates and finalizes an invoice: it is open and has its number and due date. Repeating it after a failure continues. */
  createInvoice(params: InvoiceParams, idempotencyKey: string): Promise<ProviderAnswer<WireObject>>;
  /** Marks an open invoice as paid outside of the provider, e.g. by bank transfer. */
  markInvoicePaid(invoiceId: string, idempotencyKey: string): Promise<ProviderAnswer<WireObject>>;
  /** The invoice can no longer be paid. */
  voidInvoice(invoiceId: string, idempotencyKey: string): Promise<ProviderAnswer<WireObject>>;
  /**
   * Takes an amount off an issued invoice: off what is due or, if it is paid, to the customer's balance. A note of the invoice
   * with this metadata is returned instead of creating another. `refused` for other invoices.
   */
  createCreditNote(params: CreditNoteParams, idempotencyKey: string): Promise<ProviderAnswer<Created>>;
  refund(params: RefundParams, idempotencyKey: string): Promise<ProviderAnswer<MadeRefund>>;

  retrieveProduct(productId: string): Promise<ProviderAnswer<WireObject>>;
  retrievePrice(priceId: string): Promise<ProviderAnswer<WireObject>>;
  retrieveCheckoutSession(sessionId: string): Promise<ProviderAnswer<WireObject>>;
  retrieveSubscription(subscriptionId: string): Promise<ProviderAnswer<WireObject>>;
  retrieveInvoice(invoiceId: string): Promise<ProviderAnswer<WireObject>>;
  /** In the order of the invoice; an event shows only the first ten. */
  listInvoiceLines(invoiceId: string, page?: Page): Promise<ProviderAnswer<Listed<WireObject>>>;
  retrieveCharge(chargeId: string): Promise<ProviderAnswer<WireObject>>;
  /** Expanded with its latest charge. */
  retrievePaymentIntent(paymentIntentId: string): Promise<ProviderAnswer<WireObject>>;
  /** Expanded with its charge. */
  retrieveDispute(disputeId: string): Promise<ProviderAnswer<WireObject>>;
  /** Expanded with its refund. */
  retrieveCreditNote(creditNoteId: string): Promise<ProviderAnswer<WireObject>>;
  /** Newest first, in every state. */
  listSubscriptions(customerId: string, page?: Page): Promise<ProviderAnswer<Listed<WireObject>>>;
  /** Newest first, including failed ones. */
  listCharges(params: ListParams): Promise<ProviderAnswer<Listed<WireObject>>>;
  /** Newest first, in every state, with their first ten lines. */
  listInvoices(params: ListParams): Promise<ProviderAnswer<Listed<WireObject>>>;
  /** Newest first, expanded with their charges. */
  listDisputes(params: ListParams): Promise<ProviderAnswer<Listed<WireObject>>>;
  /** Newest first; of all charges, or of one. */
  listRefunds(
    params: Partial<ListParams> & { readonly chargeId?: string },
  ): Promise<ProviderAnswer<Listed<WireObject>>>;
  /** Newest first, expanded with their refunds. */
  listCreditNotes(params: ListParams): Promise<ProviderAnswer<Listed<WireObject>>>;
  /** Newest first; the provider keeps them for 30 days. */
  listEvents(params: EventListParams): Promise<ProviderAnswer<Listed<ProviderEvent>>>;

  /** Only this response contains the secret. If it is lost, delete the endpoint and create it again. */
  createWebhookEndpoint(
    params: EndpointParams,
    idempotencyKey: string,
  ): Promise<ProviderAnswer<CreatedEndpoint>>;
  listWebhookEndpoints(page?: Page): Promise<ProviderAnswer<Listed<WebhookEndpoint>>>;
  /** Without an idempotency key: deleting again gives `not-found`, which callers accept. */
  deleteWebhookEndpoint(endpointId: string): Promise<ProviderAnswer<Created>>;

  /** Verifies the signature of the raw bytes. Nothing of an event is read before that. */
  verifyEvent(rawBody: Uint8Array<ArrayBuffer>, signatureHeader: string | null): EventVerdict;
}

export type ProviderAnswer<T> =
  | { readonly outcome: 'done'; readonly value: T }
  | { readonly outcome: 'failed'; readonly failure: ProviderFailure };

export interface ProviderFailure {
  /** After `unavailable` it is unknown whether the write took effect: send it again with the same key. */
  readonly reason: 'unavailable' | 'refused' | 'rate-limited' | 'not-found';
  /** The provider's message, which may be shown to users. */
  readonly message: string;
  /** The provider's error code, e.g. resource_missing; null if it gave none. */
  readonly code: string | null;
}

/** An object in the provider's format of the pinned version. An upcoming invoice has no id. */
export interface WireObject {
  readonly id?: string | undefined;
  readonly object?: string | undefined;
  readonly [field: string]: unknown;
}

type Metadata = Readonly<Record<string, string>>;

export interface Created {
  readonly id: string;
}

interface ProductParams {
  readonly name: string;
  readonly description?: string | undefined;
  readonly metadata: Metadata;
}

export interface PriceParams {
  readonly productId: string;
  readonly amountMinor: bigint;
  readonly currency: string;
  /** Null for a one-time price. */
  readonly recurring: {
    readonly interval: 'day' | 'week' | 'month' | 'year';
    readonly intervalCount: number;
  } | null;
  readonly metadata: Metadata;
}

interface CustomerParams {
  readonly name: string;
  readonly email: string | null;
  readonly metadata: Metadata;
}

/** The customer's details on invoices; null for none. */
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

export interface CheckoutParams {
  readonly mode: 'payment' | 'subscription';
  readonly priceId: string;
  readonly quantity: number;
  /** One that the price has. Without it the provider chooses by the buyer's country where the price has several. */
  readonly currency?: string | undefined;
  readonly customerId: string | null;
  /** Returned as client_reference_id. */
  readonly referenceId: string;
  /** Set on the session and on the payment or subscription that it creates: the provider does not copy it. */
  readonly metadata: Metadata;
  /** `{CHECKOUT_SESSION_ID}` in it is replaced by the session's id. */
  readonly successUrl: string;
  readonly cancelUrl: string;
  /** Subscriptions only; null for none. */
  readonly trialDays?: number | null | undefined;
  readonly taxes?: CheckoutTaxes | undefined;
}

/** How the checkout page handles taxes. The provider stores the address and name that the buyer enters. */
export interface CheckoutTaxes {
  readonly isAutomatic: boolean;
  readonly collectsTaxIds: boolean;
}

export interface PriceChangeParams {
  readonly subscriptionId: string;
  /** The item of the subscription that gets the price. */
  readonly itemId: string;
  readonly priceId: string;
}

interface OpenedCheckout {
  readonly id: string;
  readonly url: string;
  readonly expiresAtMs: number;
}

interface PortalParams {
  readonly customerId: string;
  readonly returnUrl: string;
}

interface OpenedPortal {
  readonly id: string;
  readonly url: string;
}

export interface InvoiceParams {
  readonly customerId: string;
  readonly currency: string;
  readonly daysUntilDue: number;
  readonly description: string;
  readonly lines: readonly InvoiceLine[];
  readonly metadata: Metadata;
  /**
   * An invoice of the customer with this metadata created since then is continued instead of creating another: the provider
   * forgets idempotency keys after a day, and the first response may have been lost.
   */
  readonly madeSinceMs?: number | undefined;
}

interface CreditNoteParams {
  readonly invoiceId: string;
  readonly amountMinor: bigint;
  readonly memo: string;
  readonly metadata: Metadata;
}

export interface InvoiceLine {
  readonly description: string;
  readonly amountMinor: bigint;
  /** The period of the line, in milliseconds since the epoch. */
  readonly period?: { readonly startMs: number; readonly endMs: number } | undefined;
}

interface RefundParams {
  /** Of a payment intent or of a charge. */
  readonly paymentId: string;
  /** Null refunds the rest. */
  readonly amountMinor: bigint | null;
  readonly reason?: 'duplicate' | 'fraudulent' | 'requested_by_customer' | undefined;
  readonly metadata: Metadata;
}

interface MadeRefund {
  readonly id: string;
  readonly amountMinor: bigint;
  readonly status: string | null;
}

export interface Page {
  /** 1 to 100, the default. */
  readonly limit?: number | undefined;
  /** The last id of the previous page. */
  readonly after?: string | undefined;
}

export interface Listed<T> {
  readonly items: readonly T[];
  readonly hasMore: boolean;
  /** The cursor of the next page. Unreadable items are omitted, so it may not be the id of any of these. */
  readonly lastId?: string | undefined;
}

export interface ListParams extends Page {
  /** At or after, in milliseconds since the epoch; the provider counts in whole seconds. */
  readonly sinceMs: number;
  /** At or before; default: up to the newest. */
  readonly untilMs?: number | undefined;
}

export interface EventListParams extends ListParams {
  /** Only events that no endpoint has acknowledged. */
  readonly undeliveredOnly?: boolean | undefined;
  /** At most 20. */
  readonly eventKinds?: readonly string[] | undefined;
}

export interface ProviderEvent {
  readonly id: string;
  readonly type: string;
  /** Events with null or another version than ours are not interpreted. */
  readonly apiVersion: string | null;
  readonly createdAtMs: number;
  readonly livemode: boolean;
  readonly object: WireObject;
  readonly previousAttributes: Readonly<Record<string, unknown>> | null;
  /** The event as received, to be stored. */
  readonly payload: Readonly<Record<string, unknown>>;
}

export type EventVerdict =
  | { readonly outcome: 'verified'; readonly event: ProviderEvent }
  | { readonly outcome: 'refused'; readonly message: string };

interface EndpointParams {
  readonly url: string;
  readonly eventKinds: readonly string[];
  readonly description?: string | undefined;
}

interface CreatedEndpoint {
  readonly id: string;
  readonly secret: string;
}

export interface WebhookEndpoint {
  readonly id: string;
  readonly url: string;
  readonly eventKinds: readonly string[];
  readonly apiVersion: string | null;
}
