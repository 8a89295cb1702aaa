import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { PROVIDER_API_VERSION } from '../ports/payment-provider.ts';
import type { Secrets } from '../ports/secrets.ts';
import { invalid, isRefusal, refusal } from './api-errors.ts';
import { shown } from './objects/billing.ts';
import { canonical, createParams, readParameters } from './request-params.ts';
import { invoiceRoutes, subscriptionRoutes } from './routes/billing.ts';
import { catalogRoutes } from './routes/catalog.ts';
import { eventRoutes } from './routes/events.ts';
import { checkoutRoutes, paymentRoutes } from './routes/payments.ts';
import { isReply, type Route } from './routes/route.ts';
import { findReplay, type KeyedRequest, type StoredReply, storeReply } from './state/idempotency.ts';
import type { Kind, ObjectStore } from './state/object-store.ts';
import { need, type World } from './state/transaction.ts';
import type { WebhookDelivery } from './state/webhook-delivery.ts';

interface ApiOptions {
  readonly world: World;
  readonly delivery: WebhookDelivery;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly log: Log;
}

const LONGEST_KEY = 255;
const NO_API_KEY =
  "You did not provide an API key. You need to provide your API key in the Authorization header, using Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY'). See https://stripe.com/docs/api#authentication for details, or we can help at https://support.stripe.com/.";

/** The provider's API: authentication, version, routing and idempotency. */
export function createApi({ world, delivery, clock, secrets, log }: ApiOptions) {
  async function answer(request: Request, requestId: string): Promise<StoredReply & { replayed?: boolean }> {
    const url = new URL(request.url);
    refuseStrangers(request);
    const found = findRoute(request.method, url.pathname);
    if (found === null) {
      const message = `Unrecognized request URL (${request.method}: ${url.pathname.slice(0, 200)}). If you are trying to list objects, remove the trailing slash. If you are trying to retrieve an object, make sure you passed a valid (non-empty) identifier in your code. Please see https://stripe.com/docs or we can help at https://support.stripe.com/.`;
      throw refusal(404, { type: 'invalid_request_error', message });
    }
    const tree = await readParameters(request, url);
    const call = { params: createParams(tree), id: found.id };
    const { route } = found;
    if (route.method === 'GET') {
      const body =
        'read' in route
          ? await route.read(world.objects, call)
          : await world.preview((turn) => route.preview(turn, call));
      const expanded = await expand(world.objects, body, call.params.texts('expand'));
      return { status: 200, body: shown(expanded) };
    }
    const keyed = keyOf(request, found, canonical(tree));
    const origin = { id: requestId, idempotencyKey: keyed?.key ?? null };
    const reply = await world.change(
      async (turn, statements) => {
        const earlier = keyed === null ? null : await findReplay(statements, keyed, clock.now());
        if (earlier !== null) return { status: earlier.status, body: earlier.body, replayed: true };
        const answered = await route.write(turn, call);
        const { status, body } = isReply(answered) ? answered : { status: 200, body: answered };
        const paths = status === 200 ? call.params.texts('expand') : [];
        const made = { status, body: shown(await expand(turn.objects, body, paths)) };
        if (keyed !== null) await storeReply(statements, keyed, made, clock.now());
        return made;
      },
      { request: origin },
    );
    void delivery.nudge();
    return reply;
  }

  function keyOf(request: Request, { route, id }: FoundRoute, parameters: string): KeyedRequest | null {
    const key = request.headers.get('idempotency-key');
    if (key === null || key === '' || request.method !== 'POST') return null;
    if (key.length > LONGEST_KEY) {
      throw invalid(`Idempotency keys are at most ${LONGEST_KEY} characters long.`);
    }
    const path = route.path.replace(':id', id);
    return { key, path, fingerprint: secrets.sha256(parameters).toHex() };
  }

  return async (request: Request): Promise<Response> => {
    const requestId = world.newId('req_', 14);
    const headers: Record<string, string> = {
      'request-id': requestId,
      'stripe-version': PROVIDER_API_VERSION,
    };
    const key = request.headers.get('idempotency-key');
    if (key !== null) headers['idempotency-key'] = key.slice(0, LONGEST_KEY);
    try {
      const { status, body, replayed } = await answer(request, requestId);
      if (replayed === true) headers['idempotent-replayed'] = 'true';
      return Response.json(body, { status, headers });
    } catch (error) {
      if (isRefusal(error)) return Response.json({ error: error.error }, { status: error.status, headers });
      log.error('the payment sandbox failed', { error, requestId });
      const message = 'Something went wrong in the payment sandbox. Its log has the rest.';
      return Response.json({ error: { type: 'api_error', message } }, { status: 500, headers });
    }
  };
}

/** Any key is accepted, because nothing here belongs to anyone. A missing key is refused: it indicates a wrong setting. */
function refuseStrangers({ headers }: Request): void {
  const [scheme = '', credentials = ''] = (headers.get('authorization') ?? '').split(' ');
  const isGiven = /^(?:bearer|basic)$/i.test(scheme) && credentials !== '';
  if (!isGiven) throw refusal(401, { type: 'invalid_request_error', message: NO_API_KEY });
  const version = headers.get('stripe-version');
  if (version !== null && version !== PROVIDER_API_VERSION) {
    throw invalid(
      `Invalid Stripe API version: ${version.slice(0, 40)}. This sandbox speaks ${PROVIDER_API_VERSION}.`,
    );
  }
}

/** Objects that can be retrieved by id, and the parameter that the provider names if there is no such object. */
const retrievable: readonly (readonly [path: string, kind: Kind, param: string])[] = [
  ['/v1/products', 'product', 'id'],
  ['/v1/prices', 'price', 'price'],
  ['/v1/coupons', 'coupon', 'coupon'],
  ['/v1/customers', 'customer', 'id'],
  ['/v1/checkout/sessions', 'checkout.session', 'session'],
  ['/v1/payment_intents', 'payment_intent', 'intent'],
  ['/v1/charges', 'charge', 'id'],
  ['/v1/refunds', 'refund', 'id'],
  ['/v1/disputes', 'dispute', 'dispute'],
  ['/v1/subscriptions', 'subscription', 'id'],
  ['/v1/invoices', 'invoice', 'id'],
  ['/v1/invoiceitems', 'invoiceitem', 'id'],
  ['/v1/credit_notes', 'credit_note', 'id'],
  ['/v1/events', 'event', 'id'],
  ['/v1/webhook_endpoints', 'webhook_endpoint', 'webhook_endpoint'],
];

const retrieveRoutes = retrievable.map(([path, kind, param]): Route => {
  return {
    method: 'GET',
    path: `${path}/:id`,
    read: async (objects, { id }) => (await need({ objects }, kind, id, param, 404)).body,
  };
});

const routes: readonly Route[] = [
  ...catalogRoutes,
  ...checkoutRoutes,
  ...paymentRoutes,
  ...subscriptionRoutes,
  ...invoiceRoutes,
  ...eventRoutes,
  ...retrieveRoutes,
];

/** Found by method and path, with the id as `:id`. No path of the API has two ids, or a word that could be an id. */
interface FoundRoute {
  readonly route: Route;
  readonly id: string;
}

function findRoute(method: string, pathname: string): FoundRoute | null {
  const steps = pathname.split('/');
  for (const route of routes) {
    if (route.method !== method) continue;
    const wanted = route.path.split('/');
    if (wanted.length !== steps.length) continue;
    if (!wanted.every((step, at) => step === steps[at] || (step === ':id' && steps[at] !== ''))) continue;
    const id = steps[wanted.indexOf(':id')] ?? '';
    return { route, id: decoded(id) };
  }
  return null;
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id).slice(0, 255).replaceAll('\0', '').toWellFormed();
  } catch {
    return id.slice(0, 255);
  }
}

const MAX_PATHS = 20;
const MAX_DEPTH = 4;

type Fields = Record<string, unknown>;

/** Replaces ids by whole objects, as requested by `expand[]`: `latest_invoice.payment_intent`, `line_items`. */
async function expand(objects: ObjectStore, body: object, paths: readonly string[]): Promise<object> {
  if (paths.length > MAX_PATHS) throw invalid(`You can expand at most ${MAX_PATHS} properties.`, 'expand');
  let expanded = body as Fields;
  for (const path of paths) {
    const steps = path.split('.');
    if (steps.length > MAX_DEPTH) {
      throw invalid(`You cannot expand more than ${MAX_DEPTH} levels of a property.`, 'expand');
    }
    expanded = await expandStep(objects, expanded, steps, path);
  }
  return expanded;
}

async function expandStep(
  objects: ObjectStore,
  body: Fields,
  [step, ...rest]: readonly string[],
  path: string,
): Promise<Fields> {
  if (step === undefined) return body;
  const value = step === 'line_items' ? await lineItems(objects, body) : body[step];
  if (value === undefined) {
    throw invalid(`This property cannot be expanded (${path.slice(0, 100)}).`, 'expand');
  }
  if (Array.isArray(value)) {
    const each = value.map((one: Fields) => expandStep(objects, one, rest, path));
    return { ...body, [step]: await Promise.all(each) };
  }
  const found = typeof value === 'string' ? ((await objects.findAny(value)) ?? value) : value;
  const isWhole = typeof found === 'object' && found !== null;
  const whole = isWhole ? await expandStep(objects, found as Fields, rest, path) : found;
  return { ...body, [step]: whole };
}

async function lineItems(objects: ObjectStore, { object, id }: Fields): Promise<object | undefined> {
  if (object !== 'checkout.session' || typeof id !== 'string') return undefined;
  const kept = await objects.find('checkout.session', id);
  const url = `/v1/checkout/sessions/${id}/line_items`;
  return { object: 'list', data: kept?.hidden.lines ?? [], has_more: false, url };
}
