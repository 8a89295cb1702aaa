import { createStripeProvider } from '../../src/adapters/payment-provider/stripe.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { HANDLED_EVENT_KINDS } from '../../src/domain/payments/apply-event.ts';
import { createPaymentSandbox, type PaymentSandbox } from '../../src/payment-sandbox/server.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Database } from '../../src/ports/database.ts';
import type { PaymentProvider, ProviderEvent } from '../../src/ports/payment-provider.ts';
import { createManualClock, type ManualClock } from '../doubles/manual-clock.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { until } from '../doubles/until.ts';
import { useDatabase } from '../setup/use-database.ts';
import { useResource } from '../setup/use-resource.ts';

export const WEBHOOK_SECRET = 'whsec_under_test';

export interface Received {
  readonly status: number;
  readonly event: ProviderEvent | null;
  readonly refusal: string | null;
  readonly signature: string | null;
}

/** The sandbox behind a real socket, the provider's client in front of it, and a receiver of its events. */
export interface SandboxUnderTest {
  readonly url: string;
  readonly webhookUrl: string;
  readonly provider: PaymentProvider;
  readonly clock: ManualClock;
  /** Real time goes on without anything happening on the way, as while a process is down. */
  leap(ms: number): void;
  /** Once every event that was emitted has been brought or given up. */
  settled(): Promise<void>;
  readonly received: Received[];
  /** The statuses of the next answers to events; after them 200. */
  readonly answers: number[];
  /** Of those that were verified, in order. */
  types(): string[];
  objectsOf(type: string): Record<string, unknown>[];
  /** Form-encoded, as the wire wants it; the answer's body. */
  call(method: string, path: string, parameters?: Record<string, string>, key?: string): Promise<Called>;
  own(path: string, body: object): Promise<Response>;
  click(path: string, form?: Record<string, string>): Promise<Response>;
  /** Another process on the same data. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface Called {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Fields;
}

export interface Fields {
  readonly [name: string]: unknown;
}

type SandboxChanges = Pick<Parameters<typeof createPaymentSandbox>[0], 'approveHost'>;

/** The sandbox and its database, from before the first test of this scope until after its last one. */
export function useSandbox(
  changes: SandboxChanges = {},
  useOwn: typeof useDatabase = useDatabase,
): {
  readonly sandbox: SandboxUnderTest;
  readonly database: Database;
} {
  const database = useOwn({ beforeClose: () => opened?.close() });
  let opened: SandboxUnderTest | undefined;
  const sandbox = useResource(async () => {
    opened = await openSandbox(database, changes);
    // It is closed before its database.
    return { ...opened, close: async () => {} };
  });
  return { sandbox, database };
}

export async function openSandbox(
  database: Database,
  changes: SandboxChanges = {},
): Promise<SandboxUnderTest> {
  const clock = createManualClock();
  let leaptMs = 0;
  const shifted: Clock = { ...clock, now: () => clock.now() + leaptMs };
  const log = createSilentLog();
  const received: Received[] = [];
  const answers: number[] = [];
  let sandbox: PaymentSandbox;
  // A connection that is closed while idle fails the next request on it, and this clock never comes to a second attempt.
  const network = { hostname: '127.0.0.1', port: 0, idleTimeout: 0 };
  const server = Bun.serve({ ...network, fetch: (request) => sandbox.fetch(request) });
  const url = `http://127.0.0.1:${server.port}`;
  const options = {
    secretKey: 'sk_test_any',
    webhookSecrets: [WEBHOOK_SECRET],
    apiUrl: url,
    clock: shifted,
    log,
  };
  const provider = createStripeProvider({ ...options, maxRetries: 0 });
  const receiver = Bun.serve({
    ...network,
    async fetch(request) {
      const signature = request.headers.get('stripe-signature');
      const verdict = provider.verifyEvent(new Uint8Array(await request.arrayBuffer()), signature);
      const isVerified = verdict.outcome === 'verified';
      const status = isVerified ? (answers.shift() ?? 200) : 400;
      received.push({
        status,
        event: isVerified ? verdict.event : null,
        refusal: isVerified ? null : verdict.message,
        signature,
      });
      return new Response('taken', { status });
    },
  });
  const webhookUrl = `http://127.0.0.1:${receiver.port}/payments/webhook`;
  const open = async () => {
    sandbox = createPaymentSandbox({
      clock: shifted,
      secrets: createSystemSecrets(),
      log,
      database,
      baseUrl: () => url,
      webhookUrl: () => webhookUrl,
      webhookSecret: WEBHOOK_SECRET,
      eventKinds: HANDLED_EVENT_KINDS,
      ...changes,
    });
    await sandbox.begin();
  };
  await open();

  return {
    url,
    webhookUrl,
    provider,
    clock,
    leap: (ms) => {
      leaptMs += ms;
    },
    settled: () =>
      until(async () => {
        const answer = await fetch(`${url}/sandbox/deliveries?limit=1000`);
        const { data } = (await answer.json()) as { data: { state: string }[] };
        return data.every(({ state }) => state !== 'pending');
      }),
    received,
    answers,
    types: () => received.flatMap(({ event }) => event?.type ?? []),
    objectsOf: (type) =>
      received.flatMap(({ event }) =>
        event?.type === type ? [event.object as Record<string, unknown>] : [],
      ),
    async call(method, path, parameters = {}, key) {
      const form = new URLSearchParams(parameters).toString();
      const hasBody = method === 'POST';
      const headers = {
        authorization: 'Bearer sk_test_any',
        ...(hasBody ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      };
      const address = `${url}${path}${hasBody || form === '' ? '' : `?${form}`}`;
      const answer = await fetch(address, { method, headers, ...(hasBody ? { body: form } : {}) });
      return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Fields };
    },
    own: (path, body) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    click: (path, form = {}) =>
      fetch(`${url}${path}`, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual' }),
    async restart() {
      await sandbox.close();
      await open();
    },
    async close() {
      await server.stop(true);
      await receiver.stop(true);
      await sandbox.close();
    },
  };
}
