import type Stripe from 'stripe';
import type {
  ListParams,
  Page,
  PaymentProvider,
  ProviderEvent,
  WireObject,
} from '../../../ports/payment-provider.ts';
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
  | 'retrieveDispute'
  | 'retrieveCreditNote'
  | 'listCharges'
  | 'listInvoices'
  | 'listSubscriptions'
  | 'listDisputes'
  | 'listRefunds'
  | 'listCreditNotes'
  | 'listEvents'
>;

/** Reads the provider's current state: an event may be old, late or lost. */
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
        const params = { customer: customerId, status: 'all' as const, ...pageParameters(page) };
        const { data, has_more } = await stripe.subscriptions.list(params);
        return { items: data.map(wireObject), hasMore: has_more };
      }),

    retrieveDispute: (id) =>
      answer('retrieve dispute', async () =>
        wireObject(await stripe.disputes.retrieve(id, { expand: ['charge'] })),
      ),
    retrieveCreditNote: (id) =>
      answer('retrieve credit note', async () =>
        wireObject(await stripe.creditNotes.retrieve(id, { expand: ['refund'] })),
      ),

    listCharges: (params) =>
      answer('list charges', async () => listed(await stripe.charges.list(rangeParameters(params)))),
    listInvoices: (params) =>
      answer('list invoices', async () => listed(await stripe.invoices.list(rangeParameters(params)))),
    listDisputes: (params) =>
      answer('list disputes', async () =>
        listed(await stripe.disputes.list({ ...rangeParameters(params), expand: ['data.charge'] })),
      ),

    listRefunds: ({ sinceMs, untilMs, chargeId, ...page }) =>
      answer('list refunds', async () => {
        const params = {
          ...(sinceMs === undefined ? {} : { created: createdIn({ sinceMs, untilMs }) }),
          ...(chargeId === undefined ? {} : { charge: chargeId }),
          ...pageParameters(page),
        };
        // The charge refers to the invoice that it paid; a refund does not.
        const { data, has_more } = await stripe.refunds.list({ ...params, expand: ['data.charge'] });
        return { items: data.map(wireObject), hasMore: has_more };
      }),

    listCreditNotes: (params) =>
      answer('list credit notes', async () =>
        listed(await stripe.creditNotes.list({ ...rangeParameters(params), expand: ['data.refund'] })),
      ),

    listEvents: ({ sinceMs, untilMs, undeliveredOnly, eventKinds, ...page }) =>
      answer('list events', async () => {
        const params: Stripe.EventListParams = {
          created: createdIn({ sinceMs, untilMs }),
          ...(undeliveredOnly === true ? { delivery_success: false } : {}),
          ...(eventKinds === undefined ? {} : { types: [...eventKinds] }),
          ...pageParameters(page),
        };
        const { data, has_more } = await stripe.events.list(params);
        return { items: data.flatMap(eventsOf), hasMore: has_more, lastId: data.at(-1)?.id };
      }),
  };
}

type Range = Pick<ListParams, 'sinceMs' | 'untilMs'>;

function createdIn({ sinceMs, untilMs }: Range): Stripe.RangeQueryParam {
  return { gte: inSeconds(sinceMs), ...(untilMs === undefined ? {} : { lte: inSeconds(untilMs) }) };
}

function rangeParameters({ sinceMs, untilMs, ...page }: ListParams) {
  return { created: createdIn({ sinceMs, untilMs }), ...pageParameters(page) };
}

function listed({
  data,
  has_more,
}: {
  readonly data: readonly { readonly id?: string; readonly object: string }[];
  readonly has_more: boolean;
}) {
  return { items: data.map(wireObject), hasMore: has_more };
}

/** An event that cannot be read is omitted; the webhook refuses it too. */
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
