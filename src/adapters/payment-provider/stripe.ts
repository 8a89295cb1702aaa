import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { PaymentProvider } from '../../ports/payment-provider.ts';
import { createBilling } from './stripe/billing.ts';
import { type ClientOptions, createClient } from './stripe/client.ts';
import { createAttempts } from './stripe/failures.ts';
import { createLookUps } from './stripe/look-ups.ts';
import { createSelling } from './stripe/selling.ts';
import { createEventVerifier } from './stripe/verify-event.ts';
import { createWebhookEndpoints } from './stripe/webhook-endpoints.ts';

export interface StripeProviderOptions extends ClientOptions {
  /** At least one, none of them empty; two or more while a secret is being replaced. */
  readonly webhookSecrets: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
}

/** The provider's own client, pinned to one version of its wire; the sandbox is reached by the same client. */
export function createStripeProvider(options: StripeProviderOptions): PaymentProvider {
  const { webhookSecrets, clock, log } = options;
  const client = createClient(options);
  const attempts = createAttempts(log);
  return {
    ...createSelling(client, attempts),
    ...createBilling(client, attempts),
    ...createLookUps(client, attempts),
    ...createWebhookEndpoints(client, attempts),
    verifyEvent: createEventVerifier({ secrets: webhookSecrets, clock }),
  };
}
