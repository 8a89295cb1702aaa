import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { PaymentProvider } from '../../ports/payment-provider.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { PaymentEvents } from './payment-events.ts';

/** What selling needs. */
export interface CheckoutParts {
  readonly database: Database;
  readonly provider: Pick<
    PaymentProvider,
    | 'createCustomer'
    | 'createCheckoutSession'
    | 'expireCheckoutSession'
    | 'retrieveCheckoutSession'
    | 'createPortalSession'
  >;
  readonly paymentEvents: Pick<PaymentEvents, 'wake'>;
  readonly secrets: Pick<Secrets, 'newId' | 'sha256'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Where the console is reached from outside, without a slash at its end. */
  readonly consoleUrl: string;
}

/** The provider's page, and where the buyer comes back to. */
export interface OpenedPage {
  readonly url: string;
  readonly providerSessionId: string;
}

export function returnUrls(consoleUrl: string): { readonly successUrl: string; readonly cancelUrl: string } {
  const billing = `${consoleUrl.replace(/\/+$/, '')}/billing`;
  return {
    successUrl: `${billing}?checkout=success&session_id={CHECKOUT_SESSION_ID}`,
    cancelUrl: `${billing}?checkout=canceled`,
  };
}
