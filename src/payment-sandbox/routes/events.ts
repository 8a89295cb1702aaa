import type Stripe from 'stripe';
import { PROVIDER_API_VERSION } from '../../ports/payment-provider.ts';
import { invalid } from '../api-errors.ts';
import { endpointShape } from '../objects/catalog.ts';
import { MAX_ENDPOINTS } from '../state/events.ts';
import { need, type Turn, type World } from '../state/transaction.ts';
import { type Call, listOf, type Route } from './route.ts';

export const eventRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/events',
    read: (objects, call) => {
      const { params } = call;
      const one = params.text('type', 100);
      const several = params.texts('types');
      if (several.length > MAX_KINDS) throw invalid(`At most ${MAX_KINDS} types.`, 'types');
      const anyOfTypes = one !== undefined ? [one] : several.length > 0 ? several : undefined;
      const delivered = params.flag('delivery_success');
      return listOf(objects, call, 'event', '/v1/events', { anyOfTypes, delivered });
    },
  },
  { method: 'POST', path: '/v1/webhook_endpoints', write: createEndpoint },
  { method: 'DELETE', path: '/v1/webhook_endpoints/:id', write: deleteEndpoint },
  {
    method: 'GET',
    path: '/v1/webhook_endpoints',
    read: (objects, call) => listOf(objects, call, 'webhook_endpoint', '/v1/webhook_endpoints'),
  },
];

interface DefaultEndpoint {
  readonly url: string;
  readonly secret: string;
  readonly eventKinds: readonly string[];
}

const ID = 'we_sandbox_default';
const MANY = 100;

/**
 * On a fresh machine no endpoint is registered, so one is created at start from the current settings, unless one with
 * the same address and secret exists.
 */
export async function ensureEndpoint(world: World, wanted: DefaultEndpoint): Promise<void> {
  await world.change(async (turn) => {
    const { data } = await turn.objects.list('webhook_endpoint', { where: { url: wanted.url }, limit: MANY });
    for (const { id } of data) {
      const kept = await turn.objects.find('webhook_endpoint', id);
      if (id !== ID && kept?.hidden.secret === wanted.secret) {
        await turn.objects.remove('webhook_endpoint', ID);
        return;
      }
    }
    const endpoint = endpointShape(ID, turn.now, {
      url: wanted.url,
      enabledEvents: [...wanted.eventKinds],
      apiVersion: PROVIDER_API_VERSION,
      description: 'Made by the sandbox for the backend of the same start',
    });
    await turn.objects.put('webhook_endpoint', endpoint, { hidden: { secret: wanted.secret } });
  });
}

const MAX_KINDS = 20;

/** Only this answer contains the secret. */
async function createEndpoint(turn: Turn, { params }: Call): Promise<Stripe.WebhookEndpoint> {
  const url = params.needed('url');
  const parsed = URL.parse(url);
  if (parsed === null || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')) {
    throw invalid('Invalid URL: an absolute one is needed.', 'url', 'url_invalid');
  }
  const enabledEvents = params.texts('enabled_events');
  if (enabledEvents.length === 0) {
    throw invalid('Missing required param: enabled_events.', 'enabled_events', 'parameter_missing');
  }
  const version = params.text('api_version', 40) ?? PROVIDER_API_VERSION;
  if (version !== PROVIDER_API_VERSION) {
    throw invalid(`Invalid api_version: this sandbox knows ${PROVIDER_API_VERSION} only.`, 'api_version');
  }
  const { data } = await turn.objects.list('webhook_endpoint', { limit: MAX_ENDPOINTS });
  if (data.length >= MAX_ENDPOINTS) {
    throw invalid(`You have reached the maximum of ${MAX_ENDPOINTS} test webhook endpoints.`);
  }
  const secret = turn.newId('whsec_', 32);
  const endpoint = endpointShape(turn.newId('we_1'), turn.now, {
    url,
    enabledEvents,
    apiVersion: version,
    description: params.text('description') ?? null,
  });
  await turn.objects.put('webhook_endpoint', endpoint, { hidden: { secret } });
  return { ...endpoint, secret };
}

async function deleteEndpoint(turn: Turn, { id }: Call): Promise<Stripe.DeletedWebhookEndpoint> {
  await need(turn, 'webhook_endpoint', id, 'webhook_endpoint', 404);
  await turn.objects.remove('webhook_endpoint', id);
  return { id, object: 'webhook_endpoint', deleted: true };
}
