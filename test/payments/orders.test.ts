import { expect, test } from 'bun:test';
import type { ProviderEvent } from '../../src/ports/payment-provider.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { CREDIT, makeCompany, makePlan } from './payments-under-test.ts';
import { madeEvent, RECORDED_AT } from './recorded-events.ts';
import { drawSchedule, orders, refundStory, type Story, subscriptionStory } from './schedules.ts';
import {
  invoiceEvent,
  type MadeSubscription,
  newSubscription,
  subscriptionEvent,
  subscriptionSession,
} from './subscription-facts.ts';
import { usePayments } from './use-payments.ts';

const { database, payments } = usePayments();

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
    const inOrder = await lifeStory(isCanceled);
    expect(new Set(inOrder.events.map(({ type }) => type)).size).toBe(isCanceled ? 14 : 13);
    for (const event of inOrder.events) await payments.receive(event);
    const expected = await inOrder.stand();
    for (let seed = 1; seed <= 5; seed += 1) {
      const { events, stand } = await lifeStory(isCanceled);
      const schedule = drawSchedule(events, createSeededRandom(seed));
      for (const event of [...schedule, ...events]) await payments.receive(event);
      expect([isCanceled, seed, await stand()]).toEqual([isCanceled, seed, expected]);
      for (const event of schedule) expect(await payments.statusOf(event)).toBe('PROCESSED');
    }
  }
});

const DAY = 86_400;
const day = (days: number) => RECORDED_AT + Math.round(days * DAY);
const MONTH = 31;

/** A subscription in all fourteen kinds of events, which ends past due or, with `isCanceled`, canceled. */
async function lifeStory(isCanceled: boolean): Promise<Story> {
  const company = await makeCompany(database);
  const basic = await makePlan(database);
  const pro = await makePlan(database, { credits: 12_000n, priceMinor: 9_900n });
  const first = newSubscription(company, basic.priceId);
  return {
    companyId: company.id,
    events: [...firstMonth(first, basic.id), ...secondMonth({ ...first, priceId: pro.priceId }, isCanceled)],
    async stand() {
      const [subscription] = await database.query(
        `select plan_id = $2 as is_pro, status, is_active, current_period_start, current_period_end, cancel_at_period_end,
           trial_end, past_due_since, end_date from subscriptions where provider_subscription_id = $1`,
        [first.id, pro.id],
      );
      const invoices = await database.query(
        `select kind, status, amount_minor, period_start, due_at, paid_at is not null as is_paid from invoices
         where company_id = $1 order by right(provider_invoice_id, 1)`,
        [company.id],
      );
      const failures = await database.query(
        'select attempt, failed_at, next_attempt_at from failed_payments where company_id = $1 order by attempt',
        [company.id],
      );
      return {
        subscription,
        invoices: [...invoices],
        failures: [...failures],
        credits: await payments.balance(company.id),
      };
    },
  };
}

const period = (from: number) => ({ current_period_start: from, current_period_end: from + MONTH * DAY });

/** A trial that is paused, resumed and paid; a part is refunded. */
function firstMonth(first: MadeSubscription, planId: string): ProviderEvent[] {
  const trial = { trial_end: day(3), current_period_end: day(3) };
  return [
    subscriptionSession(first, { metadata: { planId } }),
    subscriptionEvent('created', first, { status: 'trialing', ...trial }, { created: day(0) }),
    subscriptionEvent('trial_will_end', first, { status: 'trialing', ...trial }, { created: day(0.5) }),
    subscriptionEvent('paused', first, { status: 'paused', ...trial }, { created: day(3) }),
    subscriptionEvent('resumed', first, { status: 'active', ...period(day(3)) }, { created: day(3.5) }),
    invoiceEvent('finalized', first, { status: 'open', amount_paid: 0 }, { created: day(3.6) }),
    invoiceEvent('paid', first, {}, { created: day(3.7) }),
    madeEvent({
      type: 'charge.refunded',
      created: day(5),
      object: {
        ...{ id: `ch_${first.id}_0`, payment_intent: `pi_${first.id}_0`, invoice: `in_${first.id}_0` },
        ...{ customer: first.company.customerId, amount: 2_900, amount_refunded: 1_000, refunded: false },
      },
    }),
  ];
}

/** Another plan, whose invoice stays open: past due, active for a day, and past due again. */
function secondMonth(later: MadeSubscription, isCanceled: boolean): ProviderEvent[] {
  const invoice = {
    ...{ id: `in_${later.id}_1`, status: 'open', due_date: day(40) },
    ...{ amount_due: 9_900, total: 9_900, amount_paid: 0 },
  };
  const at = (days: number) => ({ month: 1, created: day(days) });
  const open = { ...invoice, attempt_count: 1 };
  const draft = { ...invoice, status: 'draft', due_date: null };
  const moved = { ...invoice, attempt_count: 2, due_date: day(60) };
  const changed = (days: number, object: object, previous: Record<string, unknown> | null = null) =>
    subscriptionEvent('updated', later, { ...period(day(34)), ...object }, { created: day(days), previous });
  const canceled = { status: 'canceled', ended_at: day(39), ...period(day(34)) };
  return [
    invoiceEvent('upcoming', later, { amount_due: 9_900 }, at(30)),
    changed(34, { status: 'active' }),
    invoiceEvent('finalization_failed', later, draft, at(34.1)),
    invoiceEvent('finalized', later, invoice, at(34.2)),
    invoiceEvent('payment_action_required', later, open, at(34.3)),
    changed(34.4, { status: 'past_due' }, { status: 'active' }),
    changed(35, { status: 'active' }, { status: 'past_due' }),
    changed(36, { status: 'past_due' }, { status: 'active' }),
    invoiceEvent('payment_failed', later, moved, at(37)),
    changed(38, { status: 'past_due', cancel_at_period_end: true }, { cancel_at_period_end: false }),
    ...(isCanceled ? [subscriptionEvent('deleted', later, canceled, { created: day(39) })] : []),
  ];
}
