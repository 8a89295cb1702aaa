import { createStripeProvider } from '../src/adapters/payment-provider/stripe.ts';
import { removeOldIdempotencyKeys } from '../src/domain/calls/idempotency/key-claims.ts';
import { createMailOutbox } from '../src/domain/mail/outbox.ts';
import { readDisputes } from '../src/domain/payments/disputes.ts';
import { createPaymentEvents } from '../src/domain/payments/payment-events.ts';
import { reconcile } from '../src/domain/payments/reconcile.ts';
import type { PaymentProvider } from '../src/ports/payment-provider.ts';
import { KEEP_IDEMPOTENCY_KEYS_MS, type ProcessPorts } from './gateway-process.ts';

export const WEBHOOK_URL = 'http://backend.simulated/payments/webhook';
export const WEBHOOK_SECRET = 'whsec_simulated';

/** Each process has an address of its own for it, by which the simulated network knows who calls. */
export function openProvider(ports: Pick<ProcessPorts, 'clock' | 'log'>, caller: string): PaymentProvider {
  const place = {
    secretKey: 'sk_test_simulated',
    apiUrl: `http://${caller}.sandbox.simulated`,
    maxRetries: 0,
  };
  return createStripeProvider({ ...ports, ...place, webhookSecrets: [WEBHOOK_SECRET] });
}

/** How often the jobs of the platform run. */
const EVENTS_MS = 60_000;
const RECONCILE_MS = 10 * 60_000;
const DISPUTES_MS = 15 * 60_000;
const IDEMPOTENCY_MS = 10 * 60_000;

/** Takes payment events and runs the jobs that concern money, as the backend and the workers do. */
export function openPlatformProcess(ports: ProcessPorts, provider: PaymentProvider) {
  const { database, sharedState, clock, secrets, log } = ports;
  const jobQueue = { enqueue: async () => secrets.newId() };
  const mail = createMailOutbox({ jobQueue, secrets, clock, log, messageIdDomain: 'mail.example' });
  const pastDueGraceMs = 7 * 86_400_000;
  const parts = { database, sharedState, provider, mail, secrets, clock, log, pastDueGraceMs };
  const paymentEvents = createPaymentEvents(parts);
  const reconciling = { ...parts, paymentEvents };

  function every(periodMs: number, work: () => Promise<unknown>): void {
    const run = () =>
      void work()
        .catch(() => {})
        .then(() => clock.after(periodMs, run));
    // What came due while no process ran is made up for.
    clock.after(1_000, run);
  }
  every(EVENTS_MS, () => paymentEvents.retryDue());
  every(RECONCILE_MS, () => reconcile(reconciling));
  every(DISPUTES_MS, () => readDisputes(reconciling));
  every(IDEMPOTENCY_MS, () =>
    removeOldIdempotencyKeys({ database, clock, log, keepMs: KEEP_IDEMPOTENCY_KEYS_MS }),
  );

  return {
    /** The status of the answer. */
    async webhook(body: Uint8Array<ArrayBuffer>, signature: string | null): Promise<number> {
      const verdict = provider.verifyEvent(body, signature);
      if (verdict.outcome !== 'verified') return 400;
      return await paymentEvents.receive(verdict.event).then(
        () => 200,
        () => 500,
      );
    },
    /** All that waits, once, as the jobs would do it in time. */
    async catchUp(): Promise<void> {
      await reconcile(reconciling);
      await readDisputes(reconciling);
      await paymentEvents.retryDue();
    },
  };
}
