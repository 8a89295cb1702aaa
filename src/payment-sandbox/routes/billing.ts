import type Stripe from 'stripe';
import { cardError, invalid, refusal } from '../api-errors.ts';
import { createCreditNote } from '../billing/credit-notes.ts';
import { draftInvoice, finalizeInvoice, lineOfItem, withLines } from '../billing/invoices.ts';
import { cardOf, closeInvoice, payInvoice, payOutOfBand } from '../billing/payments.ts';
import { previewChange } from '../billing/preview.ts';
import { endSubscription } from '../billing/subscription-state.ts';
import {
  changeSubscription,
  refuseEnded,
  resumeSubscription,
  startSubscription,
} from '../billing/subscriptions.ts';
import { invoiceItemShape } from '../objects/billing.ts';
import type { Params } from '../request-params.ts';
import { idIn, need, type Turn } from '../state/transaction.ts';
import { type Call, failing, filters, listObject, listOf, type Reply, type Route, trialOf } from './route.ts';

export const subscriptionRoutes: readonly Route[] = [
  { method: 'POST', path: '/v1/subscriptions', write: createSubscription },
  { method: 'POST', path: '/v1/subscriptions/:id', write: updateSubscription },
  { method: 'DELETE', path: '/v1/subscriptions/:id', write: cancelSubscription },
  {
    method: 'POST',
    path: '/v1/subscriptions/:id/resume',
    write: async (turn, { id }) =>
      (await resumeSubscription(turn, await need(turn, 'subscription', id, 'id', 404))).body,
  },
  {
    method: 'GET',
    path: '/v1/subscriptions',
    read: (objects, call) => {
      const { status, ...where } = filters(call.params, ['customer', 'status']);
      const isOne = status !== undefined && status !== 'all';
      // Without a status, the provider omits canceled subscriptions.
      const more = {
        where: isOne ? { ...where, status } : where,
        leavesOutCanceled: status === undefined,
      };
      return listOf(objects, call, 'subscription', '/v1/subscriptions', more);
    },
  },
];

const INVOICES = '/v1/invoices';
const CREDIT_NOTES = '/v1/credit_notes';

export const invoiceRoutes: readonly Route[] = [
  { method: 'GET', path: `${INVOICES}/upcoming`, preview: previewUpcoming },
  { method: 'POST', path: INVOICES, write: createInvoice },
  { method: 'POST', path: '/v1/invoiceitems', write: createItem },
  { method: 'POST', path: CREDIT_NOTES, write: (turn, { params }) => createCreditNote(turn, params) },
  {
    method: 'GET',
    path: CREDIT_NOTES,
    read: (objects, call) => {
      const where = filters(call.params, ['customer', 'invoice']);
      return listOf(objects, call, 'credit_note', CREDIT_NOTES, { where });
    },
  },
  { method: 'POST', path: `${INVOICES}/:id/finalize`, write: finalize },
  { method: 'POST', path: `${INVOICES}/:id/pay`, write: pay },
  {
    method: 'POST',
    path: `${INVOICES}/:id/void`,
    write: async (turn, { id }) =>
      await closeInvoice(turn, (await need(turn, 'invoice', id, 'invoice', 404)).body, 'void'),
  },
  {
    method: 'POST',
    path: `${INVOICES}/:id/mark_uncollectible`,
    write: async (turn, { id }) =>
      await closeInvoice(turn, (await need(turn, 'invoice', id, 'invoice', 404)).body, 'uncollectible'),
  },
  {
    method: 'GET',
    path: INVOICES,
    read: (objects, call) => {
      const where = filters(call.params, ['customer', 'subscription', 'status', 'collection_method']);
      return listOf(objects, call, 'invoice', INVOICES, { where });
    },
  },
  {
    method: 'GET',
    path: `${INVOICES}/:id/lines`,
    read: async (objects, { id, params }) => {
      const { body } = await need({ objects }, 'invoice', id, 'invoice', 404);
      const limit = params.whole('limit', { min: 1, max: 100 }) ?? 10;
      const after = params.text('starting_after', 255);
      const from = body.lines.data.findIndex((line) => line.id === after) + 1;
      const data = body.lines.data.slice(from, from + limit);
      return listObject(`${INVOICES}/${id}/lines`, data, from + limit < body.lines.data.length);
    },
  },
  {
    method: 'GET',
    path: '/v1/invoiceitems',
    read: (objects, call) => {
      const where = filters(call.params, ['customer', 'invoice']);
      return listOf(objects, call, 'invoiceitem', '/v1/invoiceitems', { where });
    },
  },
];

const PRORATIONS = ['create_prorations', 'always_invoice', 'none'] as const;
const INCOMPLETE = ['allow_incomplete', 'error_if_incomplete', 'default_incomplete'] as const;
const PAUSES = ['keep_as_draft', 'mark_uncollectible', 'void'] as const;

async function createSubscription(turn: Turn, { params }: Call): Promise<Stripe.Subscription> {
  const customer = params.needed('customer', 255);
  const { hidden } = await need(turn, 'customer', customer, 'customer');
  const lines = [];
  for (const item of params.groups('items')) {
    const { body: price } = await need(turn, 'price', item.needed('price', 255), item.named('price'));
    lines.push({ price, quantity: item.whole('quantity', { min: 1, max: 999_999 }) ?? 1 });
  }
  const wanted = {
    customer,
    lines,
    metadata: params.metadata() ?? {},
    coupon: await couponOf(turn, params),
    ...trialOf(params),
  };
  return (await startSubscription(turn, wanted, hidden.card)).subscription;
}

async function updateSubscription(turn: Turn, { params, id }: Call): Promise<Stripe.Subscription> {
  const kept = await need(turn, 'subscription', id, 'id', 404);
  const changed = await changeSubscription(turn, kept, {
    metadata: params.metadata(),
    cancelAtPeriodEnd: params.flag('cancel_at_period_end'),
    endsTrialNow: params.text('trial_end', 20) === 'now',
    pause: pauseOf(params),
    price: await newPrice(turn, params, kept.body),
    coupon: params.has('coupon') ? await couponOf(turn, params) : undefined,
    proration: params.choice('proration_behavior', PRORATIONS) ?? 'create_prorations',
  });
  // If this throws, all changes of the request are rolled back.
  if (params.choice('payment_behavior', INCOMPLETE) === 'error_if_incomplete') {
    await refuseUnpaid(turn, kept.body, changed.body);
  }
  return changed.body;
}

async function refuseUnpaid(
  turn: Turn,
  before: Stripe.Subscription,
  after: Stripe.Subscription,
): Promise<void> {
  const invoiceId = idIn(after.latest_invoice);
  if (invoiceId === null || invoiceId === idIn(before.latest_invoice)) return;
  const { body: invoice } = await need(turn, 'invoice', invoiceId, 'invoice');
  if (invoice.status !== 'open') return;
  throw refusal(402, cardError('Your card was declined.', 'card_declined', 'generic_decline'));
}

/** The invoice that a change of price creates immediately, or the subscription's next one. */
async function previewUpcoming(turn: Turn, { params }: Call): Promise<object> {
  const kept = await need(turn, 'subscription', params.needed('subscription', 255), 'subscription');
  const price = await newPrice(turn, params, kept.body, 'subscription_items');
  const proration = params.choice('subscription_proration_behavior', PRORATIONS) ?? 'create_prorations';
  return await previewChange(turn, kept, { price, proration });
}

/** Null if the parameter is missing or empty; an update with an empty one removes the coupon. */
async function couponOf(turn: Turn, params: Params): Promise<Stripe.Coupon | null> {
  const id = params.text('coupon', 255) ?? '';
  return id === '' ? null : (await need(turn, 'coupon', id, 'coupon')).body;
}

function pauseOf(params: Params): Stripe.Subscription.PauseCollection | null | undefined {
  if (!params.has('pause_collection')) return undefined;
  const group = params.group('pause_collection');
  if (group === undefined) return null;
  return { behavior: group.choice('behavior', PAUSES) ?? 'keep_as_draft', resumes_at: null };
}

async function newPrice(
  turn: Turn,
  params: Params,
  subscription: Stripe.Subscription,
  name: 'items' | 'subscription_items' = 'items',
): Promise<{ price: Stripe.Price; quantity: number } | undefined> {
  const item = params.groups(name)[0];
  if (item === undefined) return undefined;
  const itemId = item.text('id', 255);
  const current = subscription.items.data[0];
  if (itemId !== undefined && itemId !== current?.id) {
    const message = `No such subscription item: '${itemId}'`;
    throw invalid(message, item.named('id'), 'resource_missing');
  }
  const priceId = item.text('price', 255) ?? current?.price.id ?? '';
  const { body: price } = await need(turn, 'price', priceId, item.named('price'));
  if (price.recurring === null) throw invalid('The price must be recurring.', item.named('price'));
  if (!price.active && priceId !== current?.price.id) {
    throw invalid(
      'The price specified is inactive. This field only accepts active prices.',
      item.named('price'),
    );
  }
  if (price.currency !== subscription.currency) {
    const message = `The price specified only supports \`${price.currency}\`. This doesn't match the expected currency: \`${subscription.currency}\`.`;
    throw invalid(message, item.named('price'));
  }
  const quantity = item.whole('quantity', { min: 1, max: 999_999 }) ?? current?.quantity ?? 1;
  return { price, quantity };
}

async function cancelSubscription(turn: Turn, { id }: Call): Promise<Stripe.Subscription> {
  const kept = await need(turn, 'subscription', id, 'id', 404);
  refuseEnded(kept);
  return (await endSubscription(turn, kept, 'cancellation_requested')).body;
}

const METHODS = ['charge_automatically', 'send_invoice'] as const;

async function createInvoice(turn: Turn, { params }: Call): Promise<Stripe.Invoice> {
  const { body: customer } = await need(turn, 'customer', params.needed('customer', 255), 'customer');
  const collectionMethod = params.choice('collection_method', METHODS) ?? 'charge_automatically';
  const daysUntilDue = params.whole('days_until_due', { min: 0, max: 3_650 }) ?? null;
  if (collectionMethod === 'send_invoice' && daysUntilDue === null) {
    const message =
      'You must pass `days_until_due` or `due_date` when `collection_method` is `send_invoice`.';
    throw invalid(message, 'days_until_due');
  }
  const given = {
    customer,
    currency: params.text('currency', 3) ?? customer.currency ?? 'usd',
    billingReason: 'manual' as const,
    collectionMethod,
    daysUntilDue,
    autoAdvance: params.flag('auto_advance') ?? false,
    subscription: null,
    description: params.text('description') ?? null,
    metadata: params.metadata() ?? {},
    period: { start: turn.now, end: turn.now },
  };
  return await draftInvoice(turn, given, []);
}

/** Adds the item to the given draft; without one it is pending, and added to the customer's next subscription invoice. */
async function createItem(turn: Turn, { params }: Call): Promise<Stripe.InvoiceItem> {
  const customer = params.needed('customer', 255);
  const { body: owner } = await need(turn, 'customer', customer, 'customer');
  const invoiceId = params.text('invoice', 255);
  const invoice = invoiceId === undefined ? null : (await need(turn, 'invoice', invoiceId, 'invoice')).body;
  if (invoice !== null && invoice.status !== 'draft') {
    throw invalid('This invoice is no longer editable.', 'invoice');
  }
  const amount = params.whole('amount', { min: -99_999_999 });
  if (amount === undefined) throw invalid('Missing required param: amount.', 'amount', 'parameter_missing');
  const currency = params.text('currency', 3) ?? invoice?.currency ?? owner.currency ?? 'usd';
  if (invoice !== null && currency !== invoice.currency) {
    throw invalid(`The currency of the invoice is ${invoice.currency}, not ${currency}.`, 'currency');
  }
  const period = params.group('period');
  const bounds = { min: 0, max: 99_999_999_999 };
  const item = invoiceItemShape(turn.newId('ii_1'), turn.now, {
    customer,
    invoice: invoice?.id ?? null,
    amount,
    currency,
    description: params.text('description') ?? null,
    period: {
      start: period?.whole('start', bounds) ?? turn.now,
      end: period?.whole('end', bounds) ?? turn.now,
    },
    proration: false,
    price: null,
    item: null,
    metadata: params.metadata() ?? {},
  });
  await turn.objects.put('invoiceitem', item, { hidden: {} });
  await turn.emit('invoiceitem.created', item);
  if (invoice === null) return item;
  const filled = withLines(turn, invoice, [lineOfItem(item, null)]);
  await turn.objects.put('invoice', filled, { hidden: {} });
  return item;
}

async function finalize(turn: Turn, { id }: Call): Promise<Stripe.Invoice | Reply> {
  const { body } = await need(turn, 'invoice', id, 'invoice', 404);
  const finalized = await finalizeInvoice(turn, body);
  if (finalized.outcome === 'finalized') return finalized.invoice;
  const { code, message } = finalized.invoice.last_finalization_error ?? {};
  return failing(400, {
    type: 'invalid_request_error',
    message: message ?? 'The invoice could not be finalized.',
    ...(code === undefined ? {} : { code }),
  });
}

async function pay(turn: Turn, { id, params }: Call): Promise<Stripe.Invoice | Reply> {
  const { body } = await need(turn, 'invoice', id, 'invoice', 404);
  if (params.flag('paid_out_of_band') === true) return await payOutOfBand(turn, body);
  const { result, invoice } = await payInvoice(turn, body, await cardOf(turn, body));
  if (result === 'paid') return invoice;
  if (result === 'declined') {
    return failing(402, cardError('Your card was declined.', 'card_declined', 'generic_decline'));
  }
  const message = 'This payment requires additional user action before it can be completed successfully.';
  return failing(402, cardError(message, 'invoice_payment_intent_requires_action'));
}
