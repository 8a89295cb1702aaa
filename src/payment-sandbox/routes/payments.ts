import type Stripe from 'stripe';
import { invalid } from '../api-errors.ts';
import { expireCheckout } from '../billing/checkout.ts';
import { productName, taxOf } from '../billing/invoices.ts';
import { refundCharge } from '../billing/payments.ts';
import { portalShape } from '../objects/catalog.ts';
import { lineItemShape, sessionShape } from '../objects/payments.ts';
import type { Params } from '../request-params.ts';
import { idIn, need, type Turn } from '../state/transaction.ts';
import { type Call, filters, listObject, listOf, type Route, trialOf } from './route.ts';

const SESSIONS = '/v1/checkout/sessions';

export const checkoutRoutes: readonly Route[] = [
  { method: 'POST', path: SESSIONS, write: createSession },
  { method: 'POST', path: `${SESSIONS}/:id/expire`, write: expireSession },
  {
    method: 'GET',
    path: SESSIONS,
    read: (objects, call) => {
      const where = filters(call.params, ['customer', 'payment_intent', 'subscription', 'status']);
      return listOf(objects, call, 'checkout.session', SESSIONS, { where });
    },
  },
  {
    method: 'GET',
    path: `${SESSIONS}/:id/line_items`,
    read: async (objects, { id }) => {
      const { hidden } = await need({ objects }, 'checkout.session', id, 'session', 404);
      return listObject(`${SESSIONS}/${id}/line_items`, hidden.lines);
    },
  },
  { method: 'POST', path: '/v1/billing_portal/sessions', write: createPortal },
];

export const paymentRoutes: readonly Route[] = [
  { method: 'POST', path: '/v1/refunds', write: createRefund },
  {
    method: 'GET',
    path: '/v1/refunds',
    read: (objects, call) => {
      const where = filters(call.params, ['charge', 'payment_intent']);
      return listOf(objects, call, 'refund', '/v1/refunds', { where });
    },
  },
  {
    method: 'GET',
    path: '/v1/disputes',
    read: (objects, call) => {
      const where = filters(call.params, ['charge', 'payment_intent']);
      return listOf(objects, call, 'dispute', '/v1/disputes', { where });
    },
  },
  {
    method: 'GET',
    path: '/v1/charges',
    read: (objects, call) => {
      const where = filters(call.params, ['customer', 'payment_intent']);
      return listOf(objects, call, 'charge', '/v1/charges', { where });
    },
  },
  {
    method: 'GET',
    path: '/v1/payment_intents',
    read: (objects, call) => {
      const where = filters(call.params, ['customer']);
      return listOf(objects, call, 'payment_intent', '/v1/payment_intents', { where });
    },
  },
];

const MAX_LINES = 100;
const SHORTEST_SECONDS = 30 * 60;
const LONGEST_SECONDS = 24 * 3_600;

async function createSession(turn: Turn, { params }: Call): Promise<Stripe.Checkout.Session> {
  const mode = params.choice('mode', ['payment', 'subscription'] as const);
  if (mode === undefined) throw invalid('Missing required param: mode.', 'mode', 'parameter_missing');
  const customer = params.text('customer', 255) ?? null;
  if (customer !== null) await need(turn, 'customer', customer, 'customer');
  const lines = await linesOf(turn, params);
  const currency = lines[0]?.currency ?? 'usd';
  if (lines.some((line) => line.currency !== currency)) {
    throw invalid('All prices on a Checkout Session must have the same currency.', 'line_items');
  }
  const wanted = params.text('currency', 3) ?? currency;
  if (wanted !== currency) {
    const message = `The price specified supports currencies of \`${currency}\`. This doesn't match the expected currency: \`${wanted}\`.`;
    throw invalid(message, 'line_items[0][price]');
  }
  refuseWrongMode(mode, lines);
  const data = params.group('subscription_data');
  const taxes = taxesOf(params, customer);
  const subscription =
    mode === 'subscription'
      ? { metadata: data?.metadata() ?? {}, ...trialOf(data), automaticTax: taxes.isAutomatic }
      : null;
  const sum = lines.reduce((total, line) => total + line.amount_total, 0);
  const amount = (subscription?.trialDays ?? null) === null ? sum : 0;
  const id = turn.newId('cs_test_a1', 58);
  const session = sessionShape(id, turn.now, {
    mode,
    amount,
    tax: taxes.isAutomatic ? taxOf(amount) : null,
    collectsTaxIds: taxes.collectsIds,
    currency,
    customer,
    customerEmail: params.text('customer_email', 512) ?? null,
    clientReferenceId: params.text('client_reference_id', 200) ?? null,
    metadata: params.metadata() ?? {},
    successUrl: urlOf(params, 'success_url', true) ?? '',
    cancelUrl: urlOf(params, 'cancel_url', false) ?? null,
    expiresAt: expiryOf(turn, params),
    paymentMethodTypes: cardOnly(params),
    cardCollection:
      params.choice('payment_method_collection', ['always', 'if_required'] as const) ?? 'always',
    url: `${turn.baseUrl}/checkout/${id}`,
  });
  const paymentMetadata = params.group('payment_intent_data')?.metadata() ?? {};
  await turn.objects.put('checkout.session', session, {
    hidden: { lines, paymentMetadata, subscription },
    dueAt: session.expires_at,
  });
  return session;
}

/** For an existing customer, both update the customer, which the request must allow. */
function taxesOf(
  params: Params,
  customer: string | null,
): { readonly isAutomatic: boolean; readonly collectsIds: boolean } {
  const isAutomatic = params.group('automatic_tax')?.flag('enabled') ?? false;
  const collectsIds = params.group('tax_id_collection')?.flag('enabled') ?? false;
  const update = params.group('customer_update');
  const updates = (name: string) => update?.choice(name, ['auto', 'never'] as const) === 'auto';
  if (customer !== null && isAutomatic && !updates('address')) {
    const message =
      "Automatic tax calculation in Checkout requires a valid address on the Customer. Add a valid address to the Customer or set either `customer_update[address]` to 'auto' or `customer_update[shipping]` to 'auto' to save the address entered in Checkout to the Customer.";
    throw invalid(message, undefined, 'customer_tax_location_invalid');
  }
  if (customer !== null && collectsIds && !updates('name')) {
    const message =
      'Tax ID collection requires updating business name on the customer. To enable tax ID collection for an existing customer, please set `customer_update[name]` to `auto`.';
    throw invalid(message, 'tax_id_collection');
  }
  return { isAutomatic, collectsIds };
}

async function linesOf(turn: Turn, params: Params): Promise<Stripe.LineItem[]> {
  const groups = params.groups('line_items');
  if (groups.length === 0)
    throw invalid('Missing required param: line_items.', 'line_items', 'parameter_missing');
  if (groups.length > MAX_LINES) throw invalid(`At most ${MAX_LINES} line items.`, 'line_items');
  const lines: Stripe.LineItem[] = [];
  for (const group of groups) {
    const id = group.needed('price', 255);
    const { body: price } = await need(turn, 'price', id, group.named('price'));
    if (!price.active) {
      const message = `The price specified is inactive. This field only accepts active prices.`;
      throw invalid(message, group.named('price'));
    }
    const quantity = group.whole('quantity', { min: 1, max: 999_999 });
    if (quantity === undefined) {
      const message = 'Quantity is required. Add `quantity` to `line_items`.';
      throw invalid(message, group.named('quantity'), 'parameter_missing');
    }
    const description = await productName(turn, price);
    lines.push(lineItemShape(turn.newId('li_1'), { price, quantity, description }));
  }
  return lines;
}

function refuseWrongMode(mode: 'payment' | 'subscription', lines: readonly Stripe.LineItem[]): void {
  const isRecurring = (line: Stripe.LineItem) => line.price?.type === 'recurring';
  if (mode === 'payment' && lines.some(isRecurring)) {
    const message =
      'You specified `payment` mode but passed a recurring price. Either switch to `subscription` mode or use only one-time prices.';
    throw invalid(message, 'mode');
  }
  if (mode === 'subscription' && !lines.every(isRecurring)) {
    const message = 'You must provide at least one recurring price in `subscription` mode when using prices.';
    throw invalid(message, 'line_items');
  }
}

function urlOf(params: Params, name: string, isNeeded: boolean): string | undefined {
  const url = isNeeded ? params.needed(name) : params.text(name);
  if (url === undefined) return undefined;
  const parsed = URL.parse(url);
  if (parsed !== null && (parsed.protocol === 'http:' || parsed.protocol === 'https:')) return url;
  throw invalid('Not a valid URL', name, 'url_invalid');
}

function expiryOf(turn: Turn, params: Params): number {
  const given = params.whole('expires_at', { max: 99_999_999_999 });
  if (given === undefined) return turn.now + LONGEST_SECONDS;
  if (given < turn.now + SHORTEST_SECONDS) {
    throw invalid(
      'The `expires_at` timestamp must be at least 30 minutes from Checkout Session creation.',
      'expires_at',
    );
  }
  if (given > turn.now + LONGEST_SECONDS) {
    throw invalid(
      'The `expires_at` timestamp must be less than 24 hours from Checkout Session creation.',
      'expires_at',
    );
  }
  return given;
}

/** The sandbox supports only cards. */
function cardOnly(params: Params): string[] {
  const wanted = params.texts('payment_method_types');
  const other = wanted.find((one) => one !== 'card');
  if (other !== undefined) {
    throw invalid(
      `The payment method type provided: ${other.slice(0, 40)} is invalid: this sandbox takes card only.`,
      'payment_method_types',
    );
  }
  return ['card'];
}

async function expireSession(turn: Turn, { id }: Call): Promise<Stripe.Checkout.Session> {
  const kept = await need(turn, 'checkout.session', id, 'session', 404);
  if (kept.body.status === 'open') return (await expireCheckout(turn, kept)).body;
  const message = `Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status of \`${kept.body.status}\`.`;
  throw invalid(message, 'session');
}

async function createPortal(turn: Turn, { params }: Call): Promise<Stripe.BillingPortal.Session> {
  const customer = params.needed('customer', 255);
  await need(turn, 'customer', customer, 'customer');
  const id = turn.newId('bps_1');
  const returnUrl = urlOf(params, 'return_url', false) ?? null;
  const session = portalShape(id, turn.now, { customer, returnUrl, url: `${turn.baseUrl}/portal/${id}` });
  await turn.objects.put('billing_portal.session', session, { hidden: {} });
  return session;
}

const REASONS = ['duplicate', 'fraudulent', 'requested_by_customer'] as const;

async function createRefund(turn: Turn, { params }: Call): Promise<Stripe.Refund> {
  const charge = await chargeOf(turn, params.text('charge', 255), params.text('payment_intent', 255));
  return await refundCharge(turn, charge, {
    amount: params.whole('amount', { min: 1 }),
    reason: params.choice('reason', REASONS) ?? null,
    metadata: params.metadata() ?? {},
  });
}

async function chargeOf(
  turn: Turn,
  chargeId: string | undefined,
  intentId: string | undefined,
): Promise<Stripe.Charge> {
  if (chargeId !== undefined) return (await need(turn, 'charge', chargeId, 'charge')).body;
  if (intentId === undefined) {
    throw invalid(
      'One of the following params should be provided for this request: payment_intent or charge.',
    );
  }
  const { body: intent } = await need(turn, 'payment_intent', intentId, 'payment_intent');
  const latest = idIn(intent.latest_charge);
  if (latest === null || intent.status !== 'succeeded') {
    const message = `This PaymentIntent (${intent.id}) does not have a successful charge to refund.`;
    throw invalid(message, 'payment_intent');
  }
  return (await need(turn, 'charge', latest, 'charge')).body;
}
