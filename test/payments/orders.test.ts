import { beforeAll, expect, test } from 'bun:test';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { useDatabase } from '../setup/use-database.ts';
import { lifeStory } from './life-story.ts';
import { CREDIT, openPayments, type PaymentsUnderTest } from './payments-under-test.ts';
import { drawSchedule, orders, refundStory, subscriptionStory } from './schedules.ts';

const database = useDatabase();
let payments: PaymentsUnderTest;
beforeAll(async () => {
  payments = openPayments(database);
});

const SUBSCRIBED = {
  credits: 3_000n * CREDIT,
  subscription: ['ACTIVE', true, true],
  invoices: [{ kind: 'SUBSCRIPTION', status: 'PAID' }],
};
const REFUNDED = {
  credits: 0n,
  purchase: { status: 'COMPLETED' },
  refund: { refunded_minor: 1_000n, left: 0n },
};

test('P-24 a checkout, its subscription and its invoice end the same in all 120 orders', async () => {
  for (const order of orders([0, 1, 2, 3, 4])) {
    const { events, stand } = await subscriptionStory(payments);
    for (const at of order) await payments.receive(events[at] as (typeof events)[number]);
    expect([order, await stand()]).toEqual([order, SUBSCRIBED]);
  }
});

test('P-24 with duplicates and second ids, in random schedules, both sequences end the same', async () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const random = createSeededRandom(seed);
    const isPlan = seed % 2 === 0;
    const { events, stand } = isPlan ? await subscriptionStory(payments) : await refundStory(payments);
    const schedule = drawSchedule(events, random);
    for (const event of schedule) await payments.receive(event);
    expect([seed, await stand()]).toEqual([seed, isPlan ? SUBSCRIBED : REFUNDED]);
    for (const event of schedule) expect(await payments.statusOf(event)).toBe('PROCESSED');
  }
});

test('P-24 all fourteen kinds of events of a subscription, each twice and in any order, end the same', async () => {
  for (const isCanceled of [false, true]) {
    const inOrder = await lifeStory(payments, isCanceled);
    expect(new Set(inOrder.events.map(({ type }) => type)).size).toBe(isCanceled ? 14 : 13);
    for (const event of inOrder.events) await payments.receive(event);
    const expected = await inOrder.stand();
    for (let seed = 1; seed <= 5; seed += 1) {
      const { events, stand } = await lifeStory(payments, isCanceled);
      const schedule = drawSchedule(events, createSeededRandom(seed));
      for (const event of [...schedule, ...events]) await payments.receive(event);
      expect([isCanceled, seed, await stand()]).toEqual([isCanceled, seed, expected]);
      for (const event of schedule) expect(await payments.statusOf(event)).toBe('PROCESSED');
    }
  }
});
