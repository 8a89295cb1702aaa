import Stripe from 'stripe';
import type { Log } from '../../../ports/log.ts';
import type { ProviderAnswer, ProviderFailure } from '../../../ports/payment-provider.ts';

/** Runs one request (or several that belong together) and turns what the client throws into the port's failure. */
export interface Attempts {
  answer<T>(what: string, work: () => Promise<T>): Promise<ProviderAnswer<T>>;
}

export function createAttempts(log: Log): Attempts {
  return {
    async answer(what, work) {
      try {
        return { outcome: 'done', value: await work() };
      } catch (error) {
        if (!(error instanceof Stripe.errors.StripeError)) throw error;
        const failure = failureOf(error);
        const { reason, code } = failure;
        const status = error.statusCode ?? null;
        const context = { request: what, reason, code, status, providerRequestId: error.requestId ?? null };
        if (status === 401 || status === 403) {
          log.error('the payment provider does not accept our secret key', context);
        } else if (reason === 'unavailable' || reason === 'rate-limited') {
          log.warn('the payment provider did not answer', context);
        } else {
          log.info('the payment provider refused', context);
        }
        return { outcome: 'failed', failure };
      }
    },
  };
}

function failureOf(error: Stripe.errors.StripeError): ProviderFailure {
  return { reason: reasonOf(error), message: error.message, code: error.code ?? null };
}

/**
 * A conflict (409) is the same key still being worked on, after the client's own retries: like a failure of the
 * provider's own it says nothing about what was asked for.
 */
function reasonOf({ statusCode, code, type }: Stripe.errors.StripeError): ProviderFailure['reason'] {
  if (statusCode === 429) return 'rate-limited';
  if (statusCode === 404 || code === 'resource_missing') return 'not-found';
  if (statusCode === undefined || statusCode >= 500 || statusCode === 409) return 'unavailable';
  if (type === 'StripeAPIError' || type === 'StripeConnectionError') return 'unavailable';
  return 'refused';
}
