import Stripe from 'stripe';
import type { Log } from '../../../ports/log.ts';
import {
  PROVIDER_API_VERSION,
  type ProviderAnswer,
  type ProviderFailure,
} from '../../../ports/payment-provider.ts';

export interface ClientOptions {
  readonly secretKey: string;
  /** Replaces the provider's own address, e.g. `http://127.0.0.1:8083` for the sandbox. */
  readonly apiUrl?: string | null | undefined;
  /** For one attempt, including its body. */
  readonly timeoutMs?: number | undefined;
  /**
   * After the first attempt. The client waits half a second to two seconds between them, or as long as `retry-after`
   * says.
   */
  readonly maxRetries?: number | undefined;
}

const TIMEOUT_MS = 8_000;
const MAX_RETRIES = 2;
/** A page of a hundred invoices is a few hundred kilobytes. */
const LARGEST_ANSWER_BYTES = 16 * 1024 * 1024;

export function createClient(options: ClientOptions): Stripe {
  if (options.secretKey.trim() === '')
    throw new Error('The payment provider needs a secret key: it is empty.');
  return new Stripe(options.secretKey, {
    apiVersion: PROVIDER_API_VERSION,
    typescript: true,
    telemetry: false,
    maxNetworkRetries: options.maxRetries ?? MAX_RETRIES,
    timeout: options.timeoutMs ?? TIMEOUT_MS,
    httpClient: Stripe.createFetchHttpClient(fetchWhole),
    ...placeOf(options.apiUrl ?? null),
  });
}

function placeOf(apiUrl: string | null): Pick<Stripe.StripeConfig, 'host' | 'port' | 'protocol'> {
  if (apiUrl === null) return {};
  const { protocol, hostname, port } = new URL(apiUrl);
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new Error(`The payment provider's address must begin with http:// or https://: ${apiUrl}`);
  }
  const isPlain = protocol === 'http:';
  return { host: hostname, port: port || (isPlain ? 80 : 443), protocol: isPlain ? 'http' : 'https' };
}

/**
 * The client's timeout ends when the headers arrive, and it reads a body of any size. Here the body is read within the
 * same timeout and up to a limit. A redirect would send the secret key to another host, so it is an error.
 */
async function fetchWhole(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const answer = await fetch(url, { ...init, redirect: 'error' });
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > LARGEST_ANSWER_BYTES) throw new Error('The payment provider answered with too many bytes.');
    chunks.push(chunk);
  }
  return new Response(new Blob(chunks), { status: answer.status, headers: answer.headers });
}

/** Runs one request (or several that belong together) and converts what the client throws to the port's failure. */
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
 * A conflict (409) means that the same key is still in progress after the client's own retries: like a failure of the
 * provider, it is no decision about the request.
 */
function reasonOf({ statusCode, code, type }: Stripe.errors.StripeError): ProviderFailure['reason'] {
  if (statusCode === 429) return 'rate-limited';
  if (statusCode === 404 || code === 'resource_missing') return 'not-found';
  if (statusCode === undefined || statusCode >= 500 || statusCode === 409) return 'unavailable';
  if (type === 'StripeAPIError' || type === 'StripeConnectionError') return 'unavailable';
  return 'refused';
}
