import type { PaymentEvents } from '../domain/payments/payment-events.ts';
import { readBody } from '../http/read-body.ts';
import type { ServiceApp } from '../http/service-app.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { PaymentProvider } from '../ports/payment-provider.ts';

export interface PaymentWebhookParts {
  readonly paymentEvents: Pick<PaymentEvents, 'receive'>;
  readonly provider: Pick<PaymentProvider, 'verifyEvent'>;
  readonly clock: Clock;
  readonly log: Log;
}

export const WEBHOOK_PATH = '/payments/webhook';
const MAX_BYTES = 1024 * 1024;
const BODY_TIMEOUT_MS = 15_000;
const SIGNATURE_HEADER = 'stripe-signature';

/**
 * Where the payment provider tells what happened. The bytes are taken as they are, and nothing of them is looked at
 * before their signature holds: 400 in plain text for what does not. 200 once the event is kept and applied, or kept
 * to be applied later, the second time too; 500 for a fault of our own, so that the provider sends it again.
 */
export function addPaymentWebhook(app: ServiceApp, parts: PaymentWebhookParts): void {
  const { paymentEvents, provider, clock, log } = parts;
  app.post(WEBHOOK_PATH, async (context) => {
    const request = context.req.raw;
    const body = await readBody(request, { maxBytes: MAX_BYTES, timeoutMs: BODY_TIMEOUT_MS, clock });
    if (body.outcome !== 'read') {
      const why = {
        'too-large': `The payload is larger than ${MAX_BYTES} bytes.`,
        'too-slow': 'The payload did not arrive in time.',
        broken: 'The payload could not be read.',
      };
      return refusal(why[body.outcome]);
    }
    const verdict = provider.verifyEvent(body.bytes, request.headers.get(SIGNATURE_HEADER));
    const requestId = context.get('requestId');
    if (verdict.outcome === 'refused') {
      const reason = verdict.message.split('\n')[0];
      log.warn('a payment event was refused', { requestId, reason, bytes: body.bytes.length });
      return refusal(verdict.message);
    }
    const { id: eventId, type: eventType } = verdict.event;
    // What is thrown becomes a 500 in the service's last resort, and is in its log.
    const { outcome } = await paymentEvents.receive(verdict.event);
    log.info('a payment event was taken', { requestId, eventId, eventType, outcome });
    return Response.json({ received: true });
  });
}

function refusal(text: string): Response {
  return new Response(`Webhook Error: ${text}`, {
    status: 400,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
  });
}
