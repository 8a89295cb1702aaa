import { beforeEach, describe, expect, test } from 'bun:test';
import { createShop, done } from '../contracts/payment-provider.contract.ts';
import { until } from '../doubles/until.ts';
import { useMemoryDatabase } from '../setup/use-database.ts';
import { useSandbox } from './sandbox-under-test.ts';

const { sandbox } = useSandbox({}, useMemoryDatabase);

beforeEach(() => {
  sandbox.received.length = 0;
  sandbox.answers.length = 0;
});

const shop = createShop(
  () => ({
    provider: sandbox.provider,
    pay: async (id) => void (await sandbox.click(`/checkout/${id}/pay`)),
  }),
  'deliveries',
);

interface Delivery {
  readonly event_id: string;
  readonly event_type: string;
  readonly state: string;
  readonly attempts: number;
  readonly last_status: number | null;
}

async function deliveries(): Promise<Delivery[]> {
  const answer = await fetch(`${sandbox.url}/sandbox/deliveries?limit=1000`);
  return ((await answer.json()) as { data: Delivery[] }).data;
}

const ids = () => sandbox.received.flatMap(({ event }) => event?.id ?? []);

/** Three events in a known order: one refund of the same charge after the other. */
async function refundThrice(): Promise<void> {
  const { session } = await shop.buy('payment', 900n);
  sandbox.received.length = 0;
  await refund(String(session.payment_intent), 3);
}

async function refund(paymentId: string, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    done(await sandbox.provider.refund({ paymentId, amountMinor: 100n, metadata: {} }, shop.newKey()));
  }
}

const refunded = () => sandbox.objectsOf('charge.refunded').map((charge) => charge.amount_refunded);

describe('P-3 events are signed and delivered', () => {
  test('P-21 in order, with the sum of all refunds and its previous value', async () => {
    await refundThrice();
    await until(() => sandbox.received.length === 3);
    expect(refunded()).toEqual([100, 200, 300]);
    expect(sandbox.received.map(({ event }) => event?.previousAttributes)).toEqual([
      { amount_refunded: 0 },
      { amount_refunded: 100 },
      { amount_refunded: 200 },
    ]);
    const [first] = sandbox.objectsOf('charge.refunded');
    expect(first).toMatchObject({
      refunded: false,
      amount: 900,
      payment_intent: expect.any(String),
      refunds: null,
    });
    expect(sandbox.received[0]?.event?.payload).toMatchObject({
      object: 'event',
      api_version: '2023-10-16',
      livemode: false,
      pending_webhooks: 1,
      request: { idempotency_key: expect.stringContaining('deliveries:') },
    });
  });

  test('retried later where they were not accepted, with the same id and a new signature, and then no more', async () => {
    const { session } = await shop.buy('payment');
    sandbox.received.length = 0;
    sandbox.answers.push(500, 503);
    await refund(String(session.payment_intent), 1);
    await until(() => sandbox.received.length === 1);
    await until(async () => (await deliveries())[0]?.attempts === 1);
    const undelivered = { sinceMs: 0, undeliveredOnly: true };
    expect(done(await sandbox.provider.listEvents(undelivered)).items[0]?.id).toBe(ids()[0] ?? '');
    for (const [waitMs, attempts] of [
      [5_000, 2],
      [30_000, 3],
    ] as const) {
      await sandbox.clock.advance(waitMs - 1);
      expect(sandbox.received).toHaveLength(attempts - 1);
      await sandbox.clock.advance(1);
      await until(async () => (await deliveries())[0]?.attempts === attempts);
    }
    expect(new Set(ids()).size).toBe(1);
    expect(new Set(sandbox.received.map(({ signature }) => signature)).size).toBe(3);
    expect((await deliveries())[0]).toMatchObject({ state: 'delivered', attempts: 3, last_status: 200 });
    const left = done(await sandbox.provider.listEvents(undelivered));
    expect(left.items.map((event) => event.id)).not.toContain(ids()[0] ?? '');
  });

  test('seven times at most, and listed as undelivered from then on', async () => {
    const { session } = await shop.buy('payment');
    sandbox.answers.push(...Array.from({ length: 20 }, () => 500));
    await refund(String(session.payment_intent), 1);
    const waits = [5, 30, 120, 600, 3_600, 10_800, 12_000];
    for (const [at, seconds] of waits.entries()) {
      await until(async () => (await deliveries())[0]?.attempts === at + 1);
      // Hours pass at once: each request has what is due by then delivered.
      sandbox.leap(seconds * 1_000);
      await sandbox.call('POST', '/v1/customers', { name: 'Any' });
    }
    expect((await deliveries())[0]).toMatchObject({ state: 'failed', attempts: 7, last_status: 500 });
    sandbox.answers.length = 0;
  });

  test('P-23 only of the types that the endpoint is registered for', async () => {
    await shop.buy('payment');
    expect(sandbox.types()).toEqual(['checkout.session.completed']);
    const all = await sandbox.call('GET', '/v1/events', { 'types[]': 'charge.succeeded' });
    expect((all.body.data as object[]).length).toBeGreaterThan(0);
  });

  test('P-28 to an endpoint that was registered, signed with its own secret', async () => {
    const { provider, webhookUrl } = sandbox;
    const wanted = { url: webhookUrl, eventKinds: ['charge.refunded'] };
    const made = done(await provider.createWebhookEndpoint(wanted, shop.newKey()));
    await refundThrice();
    await until(() => sandbox.received.length === 6);
    expect(
      sandbox.received.filter(({ refusal }) => refusal?.startsWith('No signatures found matching')),
    ).toHaveLength(3);
    done(await provider.deleteWebhookEndpoint(made.id));
  });
});

describe('P-24 the switches', () => {
  const set = (switches: Record<string, number>) => sandbox.own('/sandbox/faults', switches);

  /** A purchase, of which parts are refunded once the switches are set. */
  async function refunds(switches: Record<string, number>, times: number): Promise<string> {
    const { session } = await shop.buy('payment', 900n);
    sandbox.received.length = 0;
    await set(switches);
    await refund(String(session.payment_intent), times);
    return String(session.payment_intent);
  }

  test.each([
    ['duplicate: the same event twice', { duplicate: 2 }, 3, [100, 100, 200, 200, 300], 3],
    ['second_id: the same fact as two events', { second_id: 1 }, 2, [100, 100, 200], 3],
    ['reorder: newest first', { reorder: 3 }, 4, [300, 200, 100, 400], 4],
  ] as const)('%s', async (_, switches, times, arrived, events) => {
    await refunds(switches, times);
    await until(() => sandbox.received.length === arrived.length);
    expect(refunded()).toEqual([...arrived]);
    expect(new Set(ids()).size).toBe(events);
  });

  test('reorder: an incomplete group is still sent', async () => {
    await refunds({ reorder: 3 }, 2);
    expect(sandbox.received).toHaveLength(0);
    await sandbox.clock.advance(30_000);
    await until(() => sandbox.received.length === 2);
    expect(refunded()).toEqual([200, 100]);
    await set({ reorder: 0 });
  });

  test('concurrent: all at the same moment', async () => {
    const payment = await refunds({ concurrent: 3 }, 2);
    expect(sandbox.received).toHaveLength(0);
    await refund(payment, 1);
    await until(() => sandbox.received.length === 3);
    expect(refunded().sort()).toEqual([100, 200, 300]);
  });

  test('delay_ms: late, while the next ones are not', async () => {
    const before = (await deliveries()).filter(({ state }) => state === 'delivered').length;
    await refunds({ delay_ms: 60_000 }, 2);
    await until(() => sandbox.received.length === 1);
    expect(refunded()).toEqual([200]);
    // Until its delivery is noted, a clock that moves on has it sent again.
    await until(
      async () => (await deliveries()).filter(({ state }) => state === 'delivered').length > before + 1,
    );
    await sandbox.clock.advance(60_000);
    await until(() => sandbox.received.length === 2);
    expect(refunded()).toEqual([200, 100]);
  });

  test('drop: never, but listed as undelivered', async () => {
    await refunds({ drop: 1 }, 2);
    await until(() => sandbox.received.length === 1);
    expect(refunded()).toEqual([200]);
    // The delivery of the second is recorded after it has arrived.
    await until(async () => (await deliveries())[0]?.attempts === 1);
    const { items } = done(await sandbox.provider.listEvents({ sinceMs: 0, undeliveredOnly: true }));
    expect(items[0]?.object).toMatchObject({ amount_refunded: 100 });
  });

  test('bad_signature and stale_timestamp: refused once, then valid', async () => {
    const payment = await refunds({ bad_signature: 1 }, 1);
    await until(async () => (await deliveries())[0]?.attempts === 1);
    await set({ stale_timestamp: 1 });
    await refund(payment, 1);
    await until(async () => (await deliveries())[0]?.attempts === 1);
    expect(sandbox.received.map(({ refusal }) => refusal?.slice(0, 28))).toEqual([
      'No signatures found matching',
      'Timestamp outside the tolera',
    ]);
    await sandbox.clock.advance(5_000);
    await until(() => sandbox.received.length === 4);
    expect(refunded()).toEqual([100, 200]);
  });
});
