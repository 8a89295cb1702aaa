import type { Context } from 'hono';
import type { PaymentEvents } from '../domain/payments/payment-events.ts';
import type { ClientAddress } from '../http/client-identity.ts';
import { ACCEPTED_ENCODINGS, readBody, UNKNOWN_ENCODING } from '../http/read-body.ts';
import { isNestedTooDeep, TOO_DEEP } from '../http/read-json.ts';
import type { ServiceApp, ServiceVariables } from '../http/service-app.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { PaymentProvider } from '../ports/payment-provider.ts';
import type { RequestLimits } from './request-limits.ts';

interface PaymentWebhookParts {
  readonly paymentEvents: Pick<PaymentEvents, 'receive'>;
  readonly provider: Pick<PaymentProvider, 'verifyEvent'>;
  readonly clientAddress: ClientAddress;
  readonly requestLimits: Pick<RequestLimits, 'countBadSignature'>;
  readonly clock: Clock;
  readonly log: Log;
}

export const WEBHOOK_PATH = '/payments/webhook';
const MAX_BYTES = 1024 * 1024;
const BODY_TIMEOUT_MS = 15_000;
export const SIGNATURE_HEADER = 'stripe-signature';

/**
 * The payment provider's webhook. Nothing of the body is parsed before its signature is verified: 400 in plain text if
 * it is invalid, and 429 if an address sends too many such requests. Events with a valid signature are not limited. 200
 * once the event is applied, or stored to be applied later, also for a repeated one; 500 for a fault of ours, so that
 * the provider sends it again.
 */
export function addPaymentWebhook(app: ServiceApp, parts: PaymentWebhookParts): void {
  const { paymentEvents, provider, clock, log } = parts;

  /** Beyond the limit nothing is logged either: a flood must not fill the log. */
  async function refuseSignature(
    context: Context<ServiceVariables>,
    message: string,
    bytes: number,
  ): Promise<Response> {
    const address = parts.clientAddress(context.req.raw, context.env?.peerAddress ?? '');
    const counted = await parts.requestLimits.countBadSignature(address);
    if (counted.outcome === 'refused') {
      const seconds = String(Math.ceil(counted.retryAfterMs / 1000));
      return refusal('Too many events with a wrong signature.', 429, { 'retry-after': seconds });
    }
    const reason = message.split('\n')[0];
    log.warn('a payment event was refused', { requestId: context.get('requestId'), reason, bytes });
    return refusal(message);
  }

  app.post(WEBHOOK_PATH, async (context) => {
    const request = context.req.raw;
    const body = await readBody(request, { maxBytes: MAX_BYTES, timeoutMs: BODY_TIMEOUT_MS, clock });
    if (body.outcome === 'unknown-encoding') return refusal(UNKNOWN_ENCODING, 415, ACCEPTED_ENCODINGS);
    if (body.outcome !== 'read') {
      const why = {
        'too-large': `The payload is larger than ${MAX_BYTES} bytes.`,
        'too-slow': 'The payload did not arrive in time.',
        broken: 'The payload could not be read.',
      };
      return refusal(why[body.outcome]);
    }
    const { bytes } = body;
    const signature = request.headers.get(SIGNATURE_HEADER);
    // Only the nesting is checked: verifying the signature parses the body.
    if (signature !== null && isNestedTooDeep(bytes)) {
      return await refuseSignature(context, TOO_DEEP, bytes.length);
    }
    const verdict = provider.verifyEvent(bytes, signature);
    const requestId = context.get('requestId');
    if (verdict.outcome === 'refused') return await refuseSignature(context, verdict.message, bytes.length);
    const { id: eventId, type: eventType } = verdict.event;
    // What is thrown becomes a 500 and is logged by the service's error handler.
    const { outcome } = await paymentEvents.receive(verdict.event);
    log.info('a payment event was taken', { requestId, eventId, eventType, outcome });
    return Response.json({ received: true });
  });
}

function refusal(text: string, status = 400, headers: Record<string, string> = {}): Response {
  return new Response(`Webhook Error: ${text}`, {
    status,
    headers: { ...headers, 'content-type': 'text/plain; charset=utf-8' },
  });
}
