import { beforeEach, describe, expect, test } from 'bun:test';
import { overdueSince } from '../../src/domain/credits/holds/billing-status.ts';
import { HANDLED_EVENT_KINDS } from '../../src/domain/payments/apply-event.ts';
import { receiveMissedEvents, replayPayments } from '../../src/domain/payments/missed-events.ts';
import { reconcile } from '../../src/domain/payments/reconcile.ts';
import type { EventListParams, PaymentProvider, ProviderEvent } from '../../src/ports/payment-provider.ts';
import { useMemoryDatabase } from '../setup/use-database.ts';
import { CREDIT, makeCompany, makePurchase } from './payments-under-test.ts';
import { paidSession } from './purchase-facts.ts';
import { madeEvent, RECORDED_AT } from './recorded-events.ts';
import { failing } from './shop-under-test.ts';
import { useShop } from './use-payments.ts';

const { database, shop } = useShop(useMemoryDatabase);

const HOUR_MS = 60 * 60_000;

/** Lists a fixed set of events as the provider does: newest first, in pages, by whole seconds. */
function listing(events: readonly ProviderEvent[], failAfter = Number.POSITIVE_INFINITY) {
  const newestFirst = events.toReversed();
  const asked: EventListParams[] = [];
  const listEvents: PaymentProvider['listEvents'] = async (wanted) => {
    asked.push(wanted);
    if (asked.length > failAfter) return await failing<never>('unavailable')();
    const { sinceMs, untilMs = Number.POSITIVE_INFINITY, limit = 100, after } = wanted;
    const since = Math.floor(sinceMs / 1000) * 1000;
    const fitting = newestFirst.filter(({ createdAtMs }) => createdAtMs >= since && createdAtMs <= untilMs);
    const start = after === undefined ? 0 : fitting.findIndex(({ id }) => id === after) + 1;
    const items = fitting.slice(start, start + limit);
    const hasMore = fitting.length > start + limit;
    return { outcome: 'done', value: { items, hasMore, lastId: items.at(-1)?.id } };
  };
  return { asked, provider: { ...shop.sandbox.provider, listEvents } };
}

/** Stands in for the inbox: what was received, in order. */
function inbox(failOn: (event: ProviderEvent) => boolean = () => false) {
  const received: string[] = [];
  return {
    received,
    paymentEvents: {
      ...shop.payments.events,
      receive: async (event: ProviderEvent) => {
        if (failOn(event)) throw new Error('the database is unavailable');
        received.push(event.id);
        return { outcome: 'processed', id: event.id } as const;
      },
    },
  };
}

function manyEvents(count: number, createdOf: (at: number) => number): ProviderEvent[] {
  const one = madeEvent({ type: 'customer.subscription.updated' });
  return Array.from({ length: count }, (_, at) => {
    return { ...one, id: `evt_many_${at}`, createdAtMs: createdOf(at) * 1000 };
  });
}

const readUntil = async () =>
  (await database.query<{ at: Date }>('select asked_until as at from payment_reconciliation'))[0]?.at;

/** As the provider lists them for an account with a newer default version. */
const inNewerVersion = (event: ProviderEvent): ProviderEvent => {
  const { subscription, payment_intent: _payment, lines: _lines, ...rest } = event.object;
  const moved = subscription === undefined ? {} : { parent: { subscription_details: { subscription } } };
  const object = { ...rest, ...moved };
  const apiVersion = '2025-03-31.basil';
  const payload = { ...event.payload, api_version: apiVersion, data: { object } };
  return { ...event, apiVersion, object, payload };
};

/** A purchase whose events were lost, as the provider lists them. */
async function lostPurchase() {
  await database.query('delete from payment_reconciliation');
  const { companyId, sessionId } = await shop.openPack();
  await shop.sandbox.click(`/checkout/${sessionId}/pay`);
  await shop.sandbox.settled();
  shop.lose();
  const sinceMs = shop.clock.now() - HOUR_MS;
  const listed = await shop.sandbox.provider.listEvents({ sinceMs, eventKinds: HANDLED_EVENT_KINDS });
  if (listed.outcome !== 'done') throw new Error('no events');
  const events = listed.value.items.toReversed();
  const now = new Date(shop.clock.now());
  return { companyId, events, range: { from: new Date(sinceMs), to: new Date(now.getTime() + HOUR_MS) } };
}

beforeEach(() => database.query('delete from payment_reconciliation'));

describe('reconciliation reads every event', () => {
  test('P-24 with more than 5,000 events since the last run none is skipped, oldest first', async () => {
    const now = Math.floor(shop.clock.now() / 1000);
    const events = manyEvents(6_300, (at) => now - 6_300 + at);
    const { provider } = listing(events);
    const { received, paymentEvents } = inbox();
    expect(await receiveMissedEvents({ ...shop.parts, provider, paymentEvents })).toBe(6_300);
    expect(received).toEqual(events.map(({ id }) => id));
    expect((await readUntil())?.getTime()).toBe(events.at(-1)?.createdAtMs);
  });

  test('P-24 thousands of events in one second are read to the end', async () => {
    const now = Math.floor(shop.clock.now() / 1000);
    const { provider } = listing(manyEvents(4_321, () => now - 500));
    const { received, paymentEvents } = inbox();
    await receiveMissedEvents({ ...shop.parts, provider, paymentEvents });
    expect(new Set(received).size).toBe(4_321);
  });

  test('P-24 after a failure of the provider the reading continues there, and progress is only what was read', async () => {
    const now = Math.floor(shop.clock.now() / 1000);
    const events = manyEvents(6_300, (at) => now - 6_300 * 60 + at * 60);
    const broken = listing(events, 80);
    const first = inbox();
    await receiveMissedEvents({
      ...shop.parts,
      provider: broken.provider,
      paymentEvents: first.paymentEvents,
    });
    expect(first.received.length).toBeGreaterThan(0);
    expect(first.received.length).toBeLessThan(6_300);
    const reached = await readUntil();
    const unread = events.find(({ id }) => !first.received.includes(id));
    expect(reached?.getTime()).toBeLessThanOrEqual(unread?.createdAtMs ?? 0);
    const second = inbox();
    const { provider } = listing(events);
    await receiveMissedEvents({ ...shop.parts, provider, paymentEvents: second.paymentEvents });
    expect(new Set([...first.received, ...second.received]).size).toBe(6_300);
  });

  test('P-24 events during hours in which our clock was ahead are read once it is right again', async () => {
    const now = Math.floor(shop.clock.now() / 1000);
    const events = manyEvents(3, (at) => now - 600 + at * 60);
    const { received, paymentEvents } = inbox();
    const ahead = { ...shop.clock, now: () => shop.clock.now() + 3 * HOUR_MS };
    const { provider: before } = listing(events.slice(0, 2));
    await receiveMissedEvents({ ...shop.parts, clock: ahead, provider: before, paymentEvents });
    const { provider } = listing(events);
    await receiveMissedEvents({ ...shop.parts, provider, paymentEvents });
    expect(received).toContain('evt_many_2');
  });

  test('P-24 an event that could not be stored is read again', async () => {
    const now = Math.floor(shop.clock.now() / 1000);
    const { provider } = listing(manyEvents(3, (at) => now - 10 + at));
    let isDown = true;
    const { received, paymentEvents } = inbox(({ id }) => isDown && id === 'evt_many_1');
    await receiveMissedEvents({ ...shop.parts, provider, paymentEvents });
    expect(await readUntil()).toBeUndefined();
    isDown = false;
    await receiveMissedEvents({ ...shop.parts, provider, paymentEvents });
    expect(received).toContain('evt_many_1');
  });

  test('P-24 after a restore, events that were delivered before are applied: payment and refund', async () => {
    const { companyId, sessionId } = await shop.openPack();
    await shop.sandbox.click(`/checkout/${sessionId}/pay`);
    const session = await shop.call('GET', `/v1/checkout/sessions/${sessionId}`);
    await shop.call('POST', '/v1/refunds', { payment_intent: String(session.payment_intent), amount: '400' });
    await shop.sandbox.settled();
    // The endpoint answered 200 to all of it; the database of an hour ago knows none of it.
    shop.lose();
    expect(await shop.payments.balance(companyId)).toBe(0n);
    await reconcile(shop.parts);
    expect(await shop.payments.balance(companyId)).toBe(600n * CREDIT);
    await reconcile(shop.parts);
    expect(await shop.payments.balance(companyId)).toBe(600n * CREDIT);
  });

  test('P-25 events that the provider lists in another version are applied by their objects in ours', async () => {
    const { companyId, events, range } = await lostPurchase();
    const { provider } = listing(events.map(inNewerVersion));
    expect(await receiveMissedEvents({ ...shop.parts, provider })).toBeGreaterThan(0);
    expect(await shop.payments.balance(companyId)).toBe(1_000n * CREDIT);
    expect(await receiveMissedEvents({ ...shop.parts, provider })).toBe(0);
    expect(await replayPayments({ ...shop.parts, provider }, range)).toMatchObject({ applied: 0 });
    for (const event of events) await shop.payments.receive(event);
    expect(await shop.payments.balance(companyId)).toBe(1_000n * CREDIT);
  });

  test('P-25 what an endpoint of another version delivered is applied by reconciliation, and by a replay', async () => {
    for (const isReplayed of [false, true]) {
      const { companyId, events, range } = await lostPurchase();
      for (const event of events) await shop.payments.events.receive(inNewerVersion(event));
      expect(await shop.payments.balance(companyId)).toBe(0n);
      const { provider } = listing(isReplayed ? events : events.map(inNewerVersion));
      if (isReplayed) await replayPayments({ ...shop.parts, provider }, range);
      else await receiveMissedEvents({ ...shop.parts, provider });
      expect(await shop.payments.balance(companyId)).toBe(1_000n * CREDIT);
    }
  });

  test('P-25 while the provider does not return an object, its event is read again', async () => {
    const { companyId, events } = await lostPurchase();
    const { provider } = listing(events.map(inNewerVersion));
    const silent = { ...provider, retrieveCheckoutSession: failing<never>('unavailable') };
    await receiveMissedEvents({ ...shop.parts, provider: silent });
    expect(await shop.payments.balance(companyId)).toBe(0n);
    expect(await readUntil()).toBeUndefined();
    await receiveMissedEvents({ ...shop.parts, provider });
    expect(await shop.payments.balance(companyId)).toBe(1_000n * CREDIT);
  });

  test('P-29 an invoice that is voided at the provider blocks its company no longer', async () => {
    const { id, customerId } = await makeCompany(database, 'POSTPAID');
    const now = Math.floor(shop.clock.now() / 1000);
    const invoice = { id: `in_${id}`, customer: customerId, subscription: null, due_date: now - 86_400 };
    const event = (type: string, status: string) => {
      const made = madeEvent({ type: 'invoice.finalized', object: { ...invoice, status }, created: now });
      return { ...made, type, payload: { ...made.payload, type } };
    };
    await shop.payments.receive(event('invoice.finalized', 'open'));
    const unpaid = listing([event('invoice.marked_uncollectible', 'uncollectible')]);
    await receiveMissedEvents({ ...shop.parts, provider: unpaid.provider });
    expect(await overdueSince(database, id)).not.toBeNull();
    const { asked, provider } = listing([event('invoice.voided', 'void')]);
    await receiveMissedEvents({ ...shop.parts, provider });
    expect(await overdueSince(database, id)).toBeNull();
    const kinds = asked[0]?.eventKinds ?? [];
    expect(kinds).toEqual([...HANDLED_EVENT_KINDS, 'invoice.voided', 'invoice.marked_uncollectible']);
  });
});

describe('replayPayments', () => {
  test('P-24 a range is replayed completely, and each fact counts once', async () => {
    const { companyId, range } = await lostPurchase();
    const now = shop.clock.now();
    // Reconciliation has moved on: only a replay of the range finds it.
    await database.query(
      `insert into payment_reconciliation (asked_until) values ($1)
       on conflict (only_row) do update set asked_until = $1`,
      [new Date(now + 5 * HOUR_MS)],
    );
    const first = await replayPayments(shop.parts, range);
    if (first.outcome !== 'replayed') throw new Error(first.outcome);
    expect(first.applied).toBeGreaterThan(0);
    expect(await shop.payments.balance(companyId)).toBe(1_000n * CREDIT);
    expect(await replayPayments(shop.parts, range)).toMatchObject({ events: first.events, applied: 0 });
    expect(await shop.payments.balance(companyId)).toBe(1_000n * CREDIT);
    const before = { from: new Date(now - 3 * HOUR_MS), to: new Date(now - 2 * HOUR_MS) };
    expect(await replayPayments(shop.parts, before)).toEqual({ outcome: 'replayed', events: 0, applied: 0 });
  });

  test('an event that had failed is retried', async () => {
    const company = await makeCompany(database);
    const purchase = await makePurchase(database, company.id);
    const event = paidSession(company, purchase, { amount_total: 1 });
    await shop.payments.receive(event);
    expect(await shop.payments.statusOf(event)).toBe('FAILED');
    await database.query('update credit_pack_purchases set amount_minor = 1 where id = $1', [purchase.id]);
    const { provider } = listing([event]);
    const range = { from: new Date(RECORDED_AT * 1000), to: new Date(RECORDED_AT * 1000 + HOUR_MS) };
    expect(await replayPayments({ ...shop.parts, provider }, range)).toMatchObject({ events: 1, applied: 1 });
    expect(await shop.payments.statusOf(event)).toBe('PROCESSED');
  });

  test('an invalid range and an unavailable provider are reported', async () => {
    const now = new Date(shop.clock.now());
    const later = new Date(shop.clock.now() + 1);
    expect(await replayPayments(shop.parts, { from: later, to: now })).toMatchObject({ outcome: 'invalid' });
    const provider = { ...shop.sandbox.provider, listEvents: failing<never>('unavailable') };
    expect(await replayPayments({ ...shop.parts, provider }, { from: now, to: later })).toEqual({
      outcome: 'provider-failed',
      message: 'unavailable',
    });
  });
});
