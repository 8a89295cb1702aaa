import type Stripe from 'stripe';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import {
  type CheckoutTaxes,
  type Created,
  type CustomerProfile,
  type InvoiceParams,
  type PaymentProvider,
  PROVIDER_API_VERSION,
} from '../../ports/payment-provider.ts';
import { type Attempts, type ClientOptions, createAttempts, createClient } from './stripe/client.ts';
import { createLookUps, inSeconds, LARGEST_PAGE, pageParameters, wireObject } from './stripe/look-ups.ts';
import { createEventVerifier } from './stripe/verify-event.ts';

interface StripeProviderOptions extends ClientOptions {
  /** At least one, none empty; two or more while a secret is being replaced. */
  readonly webhookSecrets: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
}

/** Uses the provider's own client, pinned to one API version. The sandbox is called with the same client. */
export function createStripeProvider(options: StripeProviderOptions): PaymentProvider {
  const { webhookSecrets, clock, log } = options;
  const client = createClient(options);
  const attempts = createAttempts(log);
  return {
    identity: identityOf(options),
    ...createSelling(client, attempts),
    ...createBilling(client, attempts),
    ...createLookUps(client, attempts),
    ...createWebhookEndpoints(client, attempts),
    verifyEvent: createEventVerifier({ secrets: webhookSecrets, clock }),
  };
}

/** Each key is of one mode and account. A rolled key counts as another one, which costs open pages and nothing else. */
function identityOf({ apiUrl, secretKey }: ClientOptions): string {
  return new Bun.CryptoHasher('sha256').update(JSON.stringify([apiUrl ?? null, secretKey])).digest('hex');
}

type Selling = Pick<
  PaymentProvider,
  | 'createProduct'
  | 'createPrice'
  | 'renameProduct'
  | 'setPriceActive'
  | 'createCustomer'
  | 'updateCustomer'
  | 'createCheckoutSession'
  | 'expireCheckoutSession'
  | 'createPortalSession'
>;

/** Products, prices and customers, and the two pages of the provider that a company is sent to. */
function createSelling(stripe: Stripe, { answer }: Attempts): Selling {
  return {
    createProduct: ({ name, description, metadata }, idempotencyKey) =>
      answer('create product', async () => {
        const params = { name, ...(description ? { description } : {}), metadata };
        return idOf(await stripe.products.create(params, { idempotencyKey }));
      }),

    createPrice: ({ productId, amountMinor, currency, recurring, metadata }, idempotencyKey) =>
      answer('create price', async () => {
        const params: Stripe.PriceCreateParams = {
          product: productId,
          unit_amount: Number(amountMinor),
          currency,
          metadata,
        };
        if (recurring !== null) {
          params.recurring = { interval: recurring.interval, interval_count: recurring.intervalCount };
        }
        return idOf(await stripe.prices.create(params, { idempotencyKey }));
      }),

    renameProduct: (productId, name) =>
      answer('rename product', async () => idOf(await stripe.products.update(productId, { name }))),

    setPriceActive: (priceId, active) =>
      answer('set price active', async () => idOf(await stripe.prices.update(priceId, { active }))),

    createCustomer: ({ name, email, metadata }, idempotencyKey) =>
      answer('create customer', async () => {
        const params = { name, ...(email === null ? {} : { email }), metadata };
        return idOf(await stripe.customers.create(params, { idempotencyKey }));
      }),

    updateCustomer: (customerId, profile) =>
      answer('update customer', async () =>
        idOf(await stripe.customers.update(customerId, customerParameters(profile))),
      ),

    createCheckoutSession: (params, idempotencyKey) =>
      answer('create checkout session', async () => {
        const session = await createCheckout(stripe, checkoutParameters(params), idempotencyKey);
        if (session.url === null) throw new Error(`checkout session ${session.id} came without a page`);
        return { id: session.id, url: session.url, expiresAtMs: session.expires_at * 1000 };
      }),

    expireCheckoutSession: (sessionId, idempotencyKey) =>
      answer('expire checkout session', async () =>
        wireObject(await stripe.checkout.sessions.expire(sessionId, {}, { idempotencyKey })),
      ),

    createPortalSession: ({ customerId, returnUrl }, idempotencyKey) =>
      answer('create portal session', async () => {
        const params = { customer: customerId, return_url: returnUrl };
        const { id, url } = await stripe.billingPortal.sessions.create(params, { idempotencyKey });
        return { id, url };
      }),
  };
}

/**
 * Cards only: payments that settle later are reported by events that are not among the fourteen. The metadata is also
 * set on what the session creates, because the provider does not copy it there.
 */
function checkoutParameters(
  params: Parameters<PaymentProvider['createCheckoutSession']>[0],
): Stripe.Checkout.SessionCreateParams {
  const { mode, priceId, quantity, currency, customerId, referenceId, metadata, trialDays, taxes } = params;
  return {
    mode,
    line_items: [{ price: priceId, quantity }],
    payment_method_types: ['card'],
    client_reference_id: referenceId,
    success_url: params.successUrl,
    cancel_url: params.cancelUrl,
    metadata,
    ...(currency === undefined ? {} : { currency }),
    ...(customerId === null ? {} : { customer: customerId }),
    ...(taxes === undefined ? {} : taxParameters(taxes, customerId)),
    ...(mode === 'payment'
      ? { payment_intent_data: { metadata } }
      : { subscription_data: { metadata, ...(trialDays ? { trial_period_days: trialDays } : {}) } }),
  };
}

/**
 * Without `adaptive_pricing` an account that has it on charges a buyer abroad in the buyer's currency, with a fee on top, and
 * a later refund or dispute would be reported in that currency, in which nothing was sold here. The parameter is younger
 * than our API version and the client's types: a provider that does not take it has nothing to switch off.
 */
async function createCheckout(
  stripe: Stripe,
  params: Stripe.Checkout.SessionCreateParams,
  idempotencyKey: string,
): Promise<Stripe.Checkout.Session> {
  try {
    const inItsOwnCurrency = { ...params, adaptive_pricing: { enabled: false } };
    return await stripe.checkout.sessions.create(inItsOwnCurrency, { idempotencyKey });
  } catch (error) {
    if (!(error as { param?: string }).param?.startsWith('adaptive_pricing')) throw error;
    return await stripe.checkout.sessions.create(params, { idempotencyKey: `${idempotencyKey}:2` });
  }
}

/** The tax id is printed on invoices as entered: the provider's own tax ids must have a known format. */
function customerParameters({ name, email, address, taxId }: CustomerProfile): Stripe.CustomerUpdateParams {
  const text = (value: string | null) => value ?? '';
  return {
    name,
    ...(email === null ? {} : { email }),
    address:
      address === null
        ? ''
        : {
            ...{ line1: address.line1, line2: text(address.line2), city: text(address.city) },
            ...{
              postal_code: text(address.postalCode),
              state: text(address.state),
              country: address.country,
            },
          },
    invoice_settings: { custom_fields: taxId === null ? '' : [{ name: 'Tax ID', value: taxId }] },
  };
}

/** For an existing customer, the provider must be allowed to store the address and the business name. */
function taxParameters(
  { isAutomatic, collectsTaxIds }: CheckoutTaxes,
  customerId: string | null,
): Partial<Stripe.Checkout.SessionCreateParams> {
  const isKept = customerId !== null && (isAutomatic || collectsTaxIds);
  return {
    ...(isAutomatic ? { automatic_tax: { enabled: true } } : {}),
    ...(collectsTaxIds ? { tax_id_collection: { enabled: true } } : {}),
    ...(isKept ? { customer_update: { address: 'auto', name: 'auto' } } : {}),
  };
}

function idOf({ id }: { readonly id: string }): Created {
  return { id };
}

type Billing = Pick<
  PaymentProvider,
  | 'createInvoice'
  | 'markInvoicePaid'
  | 'voidInvoice'
  | 'createCreditNote'
  | 'refund'
  | 'cancelSubscription'
  | 'changeSubscriptionPrice'
  | 'previewPriceChange'
>;

/** The provider's limit for one invoice. */
const MAX_LINES = 250;

/** Invoices for usage, refunds, and the end of a subscription. */
function createBilling(stripe: Stripe, { answer }: Attempts): Billing {
  /** Each step has its own key, derived from the caller's, so that a repeat finds the steps that were completed. */
  async function makeInvoice(params: InvoiceParams, key: string): Promise<Stripe.Invoice> {
    const { customerId, currency } = params;
    const made = await invoiceMadeBefore(stripe, params);
    if (made !== null && made.status !== 'draft') return made;
    const draft = made ?? (await makeDraft(params, key));
    const present = made === null ? 0 : await lineCount(stripe, draft.id);
    for (const [at, { description, amountMinor, period }] of params.lines.entries()) {
      // Lines are added one after the other, so those that exist are the first ones.
      if (at < present) continue;
      const line: Stripe.InvoiceItemCreateParams = {
        customer: customerId,
        invoice: draft.id,
        currency,
        amount: Number(amountMinor),
        description,
      };
      if (period !== undefined) {
        line.period = { start: inSeconds(period.startMs), end: inSeconds(period.endMs) };
      }
      await stripe.invoiceItems.create(line, { idempotencyKey: `${key}:line:${at}` });
    }
    return await stripe.invoices.finalizeInvoice(draft.id, {}, { idempotencyKey: `${key}:finalize` });
  }

  async function makeDraft(params: InvoiceParams, key: string): Promise<Stripe.Invoice> {
    const { customerId, currency, daysUntilDue, description, metadata } = params;
    return await stripe.invoices.create(
      {
        customer: customerId,
        currency,
        collection_method: 'send_invoice',
        days_until_due: daysUntilDue,
        description,
        metadata,
        auto_advance: false,
        // Only our lines: other pending items of the customer belong to a subscription.
        pending_invoice_items_behavior: 'exclude',
      },
      { idempotencyKey: `${key}:invoice` },
    );
  }

  return {
    async createInvoice(params, idempotencyKey) {
      const count = params.lines.length;
      if (count === 0 || count > MAX_LINES) {
        throw new Error(`an invoice has 1 to ${MAX_LINES} lines, this one ${count}`);
      }
      return await answer('create invoice', async () =>
        wireObject(await makeInvoice(params, idempotencyKey)),
      );
    },

    markInvoicePaid: (invoiceId, idempotencyKey) =>
      answer('mark invoice paid', async () =>
        wireObject(await stripe.invoices.pay(invoiceId, { paid_out_of_band: true }, { idempotencyKey })),
      ),

    changeSubscriptionPrice: ({ subscriptionId, itemId, priceId }, idempotencyKey) =>
      answer('change subscription price', async () => {
        const params = {
          items: [{ id: itemId, price: priceId }],
          proration_behavior: 'always_invoice',
          payment_behavior: 'error_if_incomplete',
        } as const;
        return wireObject(
          await stripe.subscriptions.update(
            subscriptionId,
            { ...params, items: [...params.items] },
            { idempotencyKey },
          ),
        );
      }),

    previewPriceChange: ({ subscriptionId, itemId, priceId }) =>
      answer('preview price change', async () =>
        wireObject(
          await stripe.invoices.retrieveUpcoming({
            subscription: subscriptionId,
            subscription_items: [{ id: itemId, price: priceId }],
            subscription_proration_behavior: 'always_invoice',
          }),
        ),
      ),

    voidInvoice: (invoiceId, idempotencyKey) =>
      answer('void invoice', async () =>
        wireObject(await stripe.invoices.voidInvoice(invoiceId, {}, { idempotencyKey })),
      ),

    createCreditNote: ({ invoiceId, amountMinor, memo, metadata }, idempotencyKey) =>
      answer('create credit note', async () => {
        const made = await noteMadeBefore(stripe, invoiceId, metadata);
        if (made !== null) return idOf(made);
        const { status } = await stripe.invoices.retrieve(invoiceId);
        const amount = Number(amountMinor);
        const params = { invoice: invoiceId, amount, memo, metadata };
        // A status in the key: the invoice may be paid between two attempts.
        return idOf(
          await stripe.creditNotes.create(status === 'paid' ? { ...params, credit_amount: amount } : params, {
            idempotencyKey: `${idempotencyKey}:${status}`,
          }),
        );
      }),

    refund: ({ paymentId, amountMinor, reason, metadata }, idempotencyKey) =>
      answer('refund', async () => {
        const params: Stripe.RefundCreateParams = {
          ...(paymentId.startsWith('ch_') ? { charge: paymentId } : { payment_intent: paymentId }),
          ...(amountMinor === null ? {} : { amount: Number(amountMinor) }),
          ...(reason === undefined ? {} : { reason }),
          metadata,
        };
        const { id, amount, status } = await stripe.refunds.create(params, { idempotencyKey });
        return { id, amountMinor: BigInt(amount), status };
      }),

    cancelSubscription: (subscriptionId, when, idempotencyKey) =>
      answer('cancel subscription', async () => {
        const { subscriptions } = stripe;
        const canceled =
          when === 'now'
            ? await subscriptions.cancel(subscriptionId, {}, { idempotencyKey })
            : await subscriptions.update(subscriptionId, { cancel_at_period_end: true }, { idempotencyKey });
        return wireObject(canceled);
      }),
  };
}

/** The invoice that an earlier attempt created, found by its metadata. */
async function invoiceMadeBefore(stripe: Stripe, params: InvoiceParams): Promise<Stripe.Invoice | null> {
  const { customerId, metadata, madeSinceMs } = params;
  if (madeSinceMs === undefined) return null;
  const marks = Object.entries(metadata);
  const created = { gte: inSeconds(madeSinceMs) };
  const listed = stripe.invoices.list({ customer: customerId, created, limit: LARGEST_PAGE });
  for await (const invoice of listed) {
    if (marks.every(([name, value]) => invoice.metadata?.[name] === value)) return invoice;
  }
  return null;
}

/** The credit note that an earlier attempt created, found by its metadata. */
async function noteMadeBefore(
  stripe: Stripe,
  invoiceId: string,
  metadata: Readonly<Record<string, string>>,
): Promise<Stripe.CreditNote | null> {
  for await (const note of stripe.creditNotes.list({ invoice: invoiceId, limit: LARGEST_PAGE })) {
    if (Object.entries(metadata).every(([name, value]) => note.metadata?.[name] === value)) return note;
  }
  return null;
}

async function lineCount(stripe: Stripe, invoiceId: string): Promise<number> {
  const items = stripe.invoiceItems.list({ invoice: invoiceId, limit: LARGEST_PAGE });
  return (await items.autoPagingToArray({ limit: MAX_LINES })).length;
}

type Endpoints = Pick<
  PaymentProvider,
  'createWebhookEndpoint' | 'listWebhookEndpoints' | 'deleteWebhookEndpoint'
>;

type EventKinds = Stripe.WebhookEndpointCreateParams['enabled_events'];

/** The endpoints that the provider sends its events to, always in our API version. */
function createWebhookEndpoints(stripe: Stripe, { answer }: Attempts): Endpoints {
  return {
    createWebhookEndpoint: ({ url, eventKinds, description }, idempotencyKey) =>
      answer('create webhook endpoint', async () => {
        const { id, secret } = await stripe.webhookEndpoints.create(
          {
            url,
            enabled_events: [...eventKinds] as EventKinds,
            api_version: PROVIDER_API_VERSION,
            ...(description ? { description } : {}),
          },
          { idempotencyKey },
        );
        if (secret === undefined) throw new Error(`webhook endpoint ${id} came without its secret`);
        return { id, secret };
      }),

    listWebhookEndpoints: (page = {}) =>
      answer('list webhook endpoints', async () => {
        const { data, has_more } = await stripe.webhookEndpoints.list(pageParameters(page));
        const items = data.map(({ id, url, enabled_events, api_version }) => {
          return { id, url, eventKinds: enabled_events, apiVersion: api_version };
        });
        return { items, hasMore: has_more };
      }),

    deleteWebhookEndpoint: (endpointId) =>
      answer('delete webhook endpoint', async () => idOf(await stripe.webhookEndpoints.del(endpointId))),
  };
}
