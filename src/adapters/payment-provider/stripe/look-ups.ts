import type Stripe from 'stripe';
import type { Page, PaymentProvider, ProviderEvent } from '../../../ports/payment-provider.ts';
import type { Attempts } from './failures.ts';
import { readEvent } from './read-event.ts';
import { wireObject } from './selling.ts';

type LookUps = Pick<
  PaymentProvider,
  | 'retrieveCheckoutSession'
  | 'retrieveSubscription'
  | 'retrieveInvoice'
  | 'retrieveCharge'
  | 'retrievePaymentIntent'
  | 'listSubscriptions'
  | 'listEvents'
>;

export const LARGEST_PAGE = 100;

/** What the provider knows, asked again: an event may be old, late or lost. */
export function createLookUps(stripe: Stripe, { answer }: Attempts): LookUps {
  return {
    retrieveCheckoutSession: (id) =>
      answer('retrieve checkout session', async () =>
        wireObject(await stripe.checkout.sessions.retrieve(id, { expand: ['line_items'] })),
      ),
    retrieveSubscription: (id) =>
      answer('retrieve subscription', async () => wireObject(await stripe.subscriptions.retrieve(id))),
    retrieveInvoice: (id) =>
      answer('retrieve invoice', async () => wireObject(await stripe.invoices.retrieve(id))),
    retrieveCharge: (id) =>
      answer('retrieve charge', async () => wireObject(await stripe.charges.retrieve(id))),
    retrievePaymentIntent: (id) =>
      answer('retrieve payment intent', async () =>
        wireObject(await stripe.paymentIntents.retrieve(id, { expand: ['latest_charge'] })),
      ),

    listSubscriptions: (customerId, page = {}) =>
      answer('list subscriptions', async () => {
        const asked = { customer: customerId, status: 'all' as const, ...pageParameters(page) };
        const { data, has_more } = await stripe.subscriptions.list(asked);
        return { items: data.map(wireObject), hasMore: has_more };
      }),

    listEvents: ({ sinceMs, undeliveredOnly, eventKinds, ...page }) =>
      answer('list events', async () => {
        const asked: Stripe.EventListParams = {
          created: { gte: Math.floor(sinceMs / 1000) },
          ...(undeliveredOnly === true ? { delivery_success: false } : {}),
          ...(eventKinds === undefined ? {} : { types: [...eventKinds] }),
          ...pageParameters(page),
        };
        const { data, has_more } = await stripe.events.list(asked);
        return { items: data.flatMap(eventsOf), hasMore: has_more };
      }),
  };
}

/** What cannot be read as an event is left out: of those that came by webhook it was refused, too. */
function eventsOf(event: Stripe.Event): ProviderEvent[] {
  const read = readEvent({ ...event }, event.created * 1000);
  return read.outcome === 'event' ? [read.event] : [];
}

export function pageParameters({ limit, after }: Page): { limit: number; starting_after?: string } {
  return { limit: limit ?? LARGEST_PAGE, ...(after === undefined ? {} : { starting_after: after }) };
}
