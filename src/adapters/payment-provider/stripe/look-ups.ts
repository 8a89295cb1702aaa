import type Stripe from 'stripe';
import type { Page, PaymentProvider, ProviderEvent, WireObject } from '../../../ports/payment-provider.ts';
import type { Attempts } from './client.ts';
import { readEvent } from './verify-event.ts';

export const LARGEST_PAGE = 100;

type LookUps = Pick<
  PaymentProvider,
  | 'retrieveProduct'
  | 'retrievePrice'
  | 'retrieveCheckoutSession'
  | 'retrieveSubscription'
  | 'retrieveInvoice'
  | 'listInvoiceLines'
  | 'retrieveCharge'
  | 'retrievePaymentIntent'
  | 'listSubscriptions'
  | 'listDisputes'
  | 'listRefunds'
  | 'listCreditNotes'
  | 'listEvents'
>;

/** What the provider knows, asked again: an event may be old, late or lost. */
export function createLookUps(stripe: Stripe, { answer }: Attempts): LookUps {
  return {
    retrieveProduct: (id) =>
      answer('retrieve product', async () => wireObject(await stripe.products.retrieve(id))),
    retrievePrice: (id) => answer('retrieve price', async () => wireObject(await stripe.prices.retrieve(id))),
    retrieveCheckoutSession: (id) =>
      answer('retrieve checkout session', async () =>
        wireObject(await stripe.checkout.sessions.retrieve(id, { expand: ['line_items'] })),
      ),
    retrieveSubscription: (id) =>
      answer('retrieve subscription', async () => wireObject(await stripe.subscriptions.retrieve(id))),
    retrieveInvoice: (id) =>
      answer('retrieve invoice', async () => wireObject(await stripe.invoices.retrieve(id))),
    listInvoiceLines: (invoiceId, page = {}) =>
      answer('list invoice lines', async () => {
        const { data, has_more } = await stripe.invoices.listLineItems(invoiceId, pageParameters(page));
        return { items: data.map(wireObject), hasMore: has_more };
      }),
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

    listDisputes: ({ sinceMs, ...page }) =>
      answer('list disputes', async () => {
        const created = { gte: inSeconds(sinceMs) };
        const asked = { created, expand: ['data.charge'], ...pageParameters(page) };
        const { data, has_more } = await stripe.disputes.list(asked);
        return { items: data.map(wireObject), hasMore: has_more };
      }),

    listRefunds: ({ sinceMs, chargeId, ...page }) =>
      answer('list refunds', async () => {
        const asked = {
          ...(sinceMs === undefined ? {} : { created: { gte: inSeconds(sinceMs) } }),
          ...(chargeId === undefined ? {} : { charge: chargeId }),
          ...pageParameters(page),
        };
        const { data, has_more } = await stripe.refunds.list(asked);
        return { items: data.map(wireObject), hasMore: has_more };
      }),

    listCreditNotes: ({ sinceMs, ...page }) =>
      answer('list credit notes', async () => {
        const created = { gte: inSeconds(sinceMs) };
        const asked = { created, expand: ['data.refund'], ...pageParameters(page) };
        const { data, has_more } = await stripe.creditNotes.list(asked);
        return { items: data.map(wireObject), hasMore: has_more };
      }),

    listEvents: ({ sinceMs, untilMs, undeliveredOnly, eventKinds, ...page }) =>
      answer('list events', async () => {
        const asked: Stripe.EventListParams = {
          created: {
            gte: inSeconds(sinceMs),
            ...(untilMs === undefined ? {} : { lte: inSeconds(untilMs) }),
          },
          ...(undeliveredOnly === true ? { delivery_success: false } : {}),
          ...(eventKinds === undefined ? {} : { types: [...eventKinds] }),
          ...pageParameters(page),
        };
        const { data, has_more } = await stripe.events.list(asked);
        return { items: data.flatMap(eventsOf), hasMore: has_more, lastId: data.at(-1)?.id };
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

/** Without the client's additions. */
export function wireObject(object: { readonly id?: string; readonly object: string }): WireObject {
  return { ...object };
}

export function inSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
