import type { Clock } from '../ports/clock.ts';
import type { Database } from '../ports/database.ts';
import type { Log } from '../ports/log.ts';
import type { ApproveHost } from '../ports/outgoing-addresses.ts';
import type { Secrets } from '../ports/secrets.ts';
import { createApi } from './api.ts';
import { createOwnRoutes } from './control-routes.ts';
import { createPages } from './pages/page-routes.ts';
import { ensureEndpoint } from './routes/events.ts';
import { createSandboxTime } from './sandbox-clock.ts';
import { createWorld } from './state/transaction.ts';
import { createWebhookDelivery } from './state/webhook-delivery.ts';

interface PaymentSandboxOptions {
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly log: Log;
  readonly database: Database;
  /** The address at which a browser reaches the sandbox. A function, because the port may not be known at first. */
  readonly baseUrl: () => string;
  /** The address at which the backend receives events. */
  readonly webhookUrl: () => string;
  readonly webhookSecret: string;
  /** The types of events that the backend handles, for which its endpoint is registered. */
  readonly eventKinds: readonly string[];
  /** Approves the hosts of other endpoints; without it, any host is allowed. */
  readonly approveHost?: ApproveHost | null;
}

export interface PaymentSandbox {
  fetch(request: Request): Promise<Response>;
  /** Called once everything listens: registers the endpoint, resumes pending deliveries and starts the renewals. */
  begin(): Promise<void>;
  /** Called after the listener is closed and before the database is. */
  close(): Promise<void>;
}

/** Replaces the payment provider, with the same API and with pages to click through; its state is in the database. */
export function createPaymentSandbox(options: PaymentSandboxOptions): PaymentSandbox {
  const { clock, database, webhookSecret, eventKinds, approveHost, webhookUrl: ownUrl } = options;
  if (webhookSecret.trim() === '')
    throw new Error('The payment sandbox needs a signing secret: it is empty.');
  const log = options.log.with({ service: 'sandbox' });
  const world = createWorld(options);
  const delivery = createWebhookDelivery({ database, clock, log, approveHost, ownUrl });
  const time = createSandboxTime({ world, database, delivery, clock, log });
  const api = createApi({ ...options, world, delivery, log });
  const own = createOwnRoutes({ world, database, time });
  const pages = createPages({ world, delivery, clock });

  return {
    async fetch(request) {
      const url = new URL(request.url);
      if (request.method === 'GET' && url.pathname === '/healthz') return new Response('ok');
      try {
        return (await pages(request, url)) ?? (await own(request, url)) ?? (await api(request));
      } catch (error) {
        log.error('the payment sandbox failed', { error });
        return new Response('Something went wrong in the payment sandbox. Its log has the rest.', {
          status: 500,
        });
      }
    },
    async begin() {
      await ensureEndpoint(world, { url: options.webhookUrl(), secret: webhookSecret, eventKinds });
      time.begin();
      void delivery.nudge();
    },
    async close() {
      await time.close();
      await delivery.close();
    },
  };
}
