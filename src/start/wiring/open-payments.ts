import { createStripeProvider } from '../../adapters/payment-provider/stripe.ts';
import { WEBHOOK_PATH } from '../../backend/payment-webhook.ts';
import { createAlertDispatch } from '../../domain/alerts/dispatch.ts';
import { HANDLED_EVENT_KINDS } from '../../domain/payments/apply-event.ts';
import { createPaymentEvents, type PaymentEvents } from '../../domain/payments/payment-events.ts';
import { paymentWork } from '../../domain/payments/payment-jobs.ts';
import { auditWork } from '../../domain/reconciliation/audit-work.ts';
import { PAST_DUE_GRACE_MS } from '../../domain/subscriptions/subscription.ts';
import type { Listening } from '../../http/listen.ts';
import { createPaymentSandbox } from '../../payment-sandbox/server.ts';
import type { JobQueue, QueueWork } from '../../ports/job-queue.ts';
import type { PaymentProvider } from '../../ports/payment-provider.ts';
import type { Opening } from '../processes/start-service.ts';
import { configuredAddresses, reachable } from '../settings/addresses.ts';
import { accepted, needed } from '../settings/secrets.ts';
import type { Parts } from './connect.ts';
import { mailOutbox } from './open-mail.ts';
import { openApproveHost } from './open-models.ts';
import { openServer } from './open-server.ts';

export interface Payments {
  readonly provider: PaymentProvider;
  readonly paymentEvents: PaymentEvents;
  /** For a process that has workers. */
  readonly work: readonly QueueWork[];
}

/** The sandbox accepts any key. */
const SANDBOX_KEY = 'sk_test_sandbox';
/** Secret and restricted keys of live mode. */
const LIVE_KEY = /^(?:sk|rk)_live_/;
const NOT_CONFIGURED =
  'No payment provider is set up here, so nothing can be bought: set PAYMENT_PROVIDER_KEY for all services.';

/** `sandboxUrl` is the sandbox of this process; null if another process runs it, or if there is none. */
export function openPayments(opening: Parts, jobQueue: JobQueue, sandboxUrl: string | null): Payments {
  const { database, sharedState, secrets, clock } = opening;
  const log = opening.log.with({ part: 'payments' });
  const provider = openProvider(opening, sandboxUrl);
  const mail = mailOutbox(opening, jobQueue);
  const { eventsKeepDays } = opening.configuration.payments;
  const pastDueGraceMs = PAST_DUE_GRACE_MS;
  const { paymentSandbox, payments } = opening.configuration;
  const parts = {
    ...{ database, sharedState, provider, mail, secrets, clock, log, pastDueGraceMs },
    eventOrigin: {
      isLive: !paymentSandbox && LIVE_KEY.test(payments.secretKey ?? ''),
      account: payments.account,
    },
  };
  const paymentEvents = createPaymentEvents(parts);
  const hasProvider = paymentSandbox || payments.secretKey !== null;
  const work = [
    ...paymentWork({ ...parts, paymentEvents, eventsKeepDays }),
    ...auditWork({ ...parts, hasProvider, alerts: createAlertDispatch({ ...parts, jobQueue }) }),
  ];
  return { provider, paymentEvents, work };
}

export function openProvider(parts: Parts, sandboxUrl: string | null): PaymentProvider {
  const { configuration, clock, log, secrets, ownSecrets } = parts;
  const { payments, paymentSandbox } = configuration;
  // Workers verify no events: without a configured secret, a random one makes verification fail for all of them.
  const webhookSecrets =
    ownSecrets.webhookSecret === null
      ? [secrets.randomBytes(32).toHex()]
      : accepted(ownSecrets, 'webhookSecret');
  const options = { webhookSecrets, clock, log };
  if (paymentSandbox) {
    const apiUrl = sandboxUrl ?? configuredAddresses(configuration).sandbox;
    return createStripeProvider({ ...options, secretKey: SANDBOX_KEY, apiUrl });
  }
  const { secretKey, url: apiUrl } = payments;
  const provider = createStripeProvider({ ...options, secretKey: secretKey ?? 'none', apiUrl });
  return secretKey === null ? withoutProvider(provider) : provider;
}

/** Correctly signed events are still accepted; anything that would call the provider is refused with a reason. */
function withoutProvider(provider: PaymentProvider): PaymentProvider {
  const failure = { reason: 'refused', message: NOT_CONFIGURED, code: null } as const;
  const refuse = async () => ({ outcome: 'failed', failure }) as const;
  const names = Object.keys(provider).filter((name) => name !== 'verifyEvent' && name !== 'identity');
  return { ...provider, ...Object.fromEntries(names.map((name) => [name, refuse])) };
}

interface StartedSandbox extends Listening {
  /** Starts to deliver events. Called once the sandbox and the backend listen at these addresses. */
  begin(addresses: { readonly sandbox: string; readonly backend: string }): Promise<void>;
}

/** Null if the sandbox is off. */
export function startSandbox(opening: Opening): StartedSandbox | null {
  const { configuration, clock, secrets, log, database, ownSecrets } = opening;
  if (!configuration.paymentSandbox) return null;
  let { sandbox: baseUrl, backend: backendUrl } = configuredAddresses(configuration);
  const sandbox = createPaymentSandbox({
    ...{ clock, secrets, log, database },
    baseUrl: () => baseUrl,
    webhookUrl: () => `${backendUrl}${WEBHOOK_PATH}`,
    webhookSecret: needed(ownSecrets, 'webhookSecret'),
    eventKinds: HANDLED_EVENT_KINDS,
    approveHost: openApproveHost(opening),
  });
  opening.whenClosing('payment sandbox', sandbox.close);
  const server = openServer(opening, 'sandbox', 'SANDBOX_PORT', configuration.ports.sandbox, sandbox.fetch);
  opening.whenClosing('server of the payment sandbox', () => server.drain(configuration.shutdownTimeoutMs));
  return {
    ...server,
    async begin(addresses) {
      baseUrl = reachable(addresses.sandbox);
      backendUrl = reachable(addresses.backend);
      await sandbox.begin();
    },
  };
}
