import type Stripe from 'stripe';
import type { PaymentProvider } from '../../../ports/payment-provider.ts';
import { API_VERSION } from './client.ts';
import type { Attempts } from './failures.ts';
import { pageParameters } from './look-ups.ts';
import { idOf } from './selling.ts';

type Endpoints = Pick<
  PaymentProvider,
  'createWebhookEndpoint' | 'listWebhookEndpoints' | 'deleteWebhookEndpoint'
>;

type EventKinds = Stripe.WebhookEndpointCreateParams['enabled_events'];

/** Where the provider sends its events, always in our version. */
export function createWebhookEndpoints(stripe: Stripe, { answer }: Attempts): Endpoints {
  return {
    createWebhookEndpoint: ({ url, eventKinds, description }, idempotencyKey) =>
      answer('create webhook endpoint', async () => {
        const { id, secret } = await stripe.webhookEndpoints.create(
          {
            url,
            enabled_events: [...eventKinds] as EventKinds,
            api_version: API_VERSION,
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
