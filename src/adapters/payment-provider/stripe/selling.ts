import type Stripe from 'stripe';
import type { Created, PaymentProvider, WireObject } from '../../../ports/payment-provider.ts';
import type { Attempts } from './failures.ts';

type Selling = Pick<
  PaymentProvider,
  | 'createProduct'
  | 'createPrice'
  | 'createCustomer'
  | 'createCheckoutSession'
  | 'expireCheckoutSession'
  | 'createPortalSession'
>;

/** What is sold, to whom, and the two pages of the provider's that a company is sent to. */
export function createSelling(stripe: Stripe, { answer }: Attempts): Selling {
  return {
    createProduct: ({ name, description, metadata }, idempotencyKey) =>
      answer('create product', async () => {
        const wanted = { name, ...(description ? { description } : {}), metadata };
        return idOf(await stripe.products.create(wanted, { idempotencyKey }));
      }),

    createPrice: ({ productId, amountMinor, currency, recurring, metadata }, idempotencyKey) =>
      answer('create price', async () => {
        const wanted: Stripe.PriceCreateParams = {
          product: productId,
          unit_amount: Number(amountMinor),
          currency,
          metadata,
        };
        if (recurring !== null) {
          wanted.recurring = { interval: recurring.interval, interval_count: recurring.intervalCount };
        }
        return idOf(await stripe.prices.create(wanted, { idempotencyKey }));
      }),

    createCustomer: ({ name, email, metadata }, idempotencyKey) =>
      answer('create customer', async () => {
        const wanted = { name, ...(email === null ? {} : { email }), metadata };
        return idOf(await stripe.customers.create(wanted, { idempotencyKey }));
      }),

    createCheckoutSession: (wanted, idempotencyKey) =>
      answer('create checkout session', async () => {
        const session = await stripe.checkout.sessions.create(checkoutParameters(wanted), { idempotencyKey });
        if (session.url === null) throw new Error(`checkout session ${session.id} came without a page`);
        return { id: session.id, url: session.url, expiresAtMs: session.expires_at * 1000 };
      }),

    expireCheckoutSession: (sessionId, idempotencyKey) =>
      answer('expire checkout session', async () =>
        wireObject(await stripe.checkout.sessions.expire(sessionId, {}, { idempotencyKey })),
      ),

    createPortalSession: ({ customerId, returnUrl }, idempotencyKey) =>
      answer('create portal session', async () => {
        const wanted = { customer: customerId, return_url: returnUrl };
        const { id, url } = await stripe.billingPortal.sessions.create(wanted, { idempotencyKey });
        return { id, url };
      }),
  };
}

/**
 * Cards only: of a payment that settles later we would hear by events that are not among the fourteen. The metadata
 * is written three times because the provider does not copy it from the session to what the session makes.
 */
function checkoutParameters(
  wanted: Parameters<PaymentProvider['createCheckoutSession']>[0],
): Stripe.Checkout.SessionCreateParams {
  const { mode, priceId, quantity, customerId, referenceId, metadata, trialDays } = wanted;
  return {
    mode,
    line_items: [{ price: priceId, quantity }],
    payment_method_types: ['card'],
    client_reference_id: referenceId,
    success_url: wanted.successUrl,
    cancel_url: wanted.cancelUrl,
    metadata,
    ...(customerId === null ? {} : { customer: customerId }),
    ...(mode === 'payment'
      ? { payment_intent_data: { metadata } }
      : { subscription_data: { metadata, ...(trialDays ? { trial_period_days: trialDays } : {}) } }),
  };
}

export function idOf({ id }: { readonly id: string }): Created {
  return { id };
}

/** Without the client's additions. */
export function wireObject(object: { readonly id?: string; readonly object: string }): WireObject {
  return { ...object };
}
