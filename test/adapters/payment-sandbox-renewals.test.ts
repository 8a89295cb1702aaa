import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { done } from '../contracts/payment-shop.ts';
import { until } from '../doubles/until.ts';
import { useMemoryDatabase } from '../setup/use-memory-database.ts';
import { openSandbox, type SandboxUnderTest } from './payment-sandbox-under-test.ts';
import { createSubscriber } from './payment-subscriber.ts';

const database = useMemoryDatabase({ beforeClose: () => sandbox.close() });
let sandbox: SandboxUnderTest;

beforeAll(async () => {
  sandbox = await openSandbox(database);
});

beforeEach(async () => {
  // What earlier tests left behind does not live on while this one moves the clock.
  await database.query('update payment_sandbox_objects set due_at = null');
  sandbox.received.length = 0;
});

const { shop, card, pass, state, storyOf, started } = createSubscriber(() => sandbox, 'renewals');

describe('P-22 subscriptions live on a clock that can be moved', () => {
  test('a checkout begins one: created, its first invoice, active, then the session', async () => {
    const { session } = await shop.buy('subscription', 4_900n);
    expect(storyOf(session.subscription)).toEqual([
      'customer.subscription.created',
      'invoice.finalized',
      'invoice.paid',
      'customer.subscription.updated',
      'checkout.session.completed',
    ]);
    const [created] = sandbox.objectsOf('customer.subscription.created');
    expect(created).toMatchObject({ status: 'incomplete', latest_invoice: session.invoice });
    expect(sandbox.received.map(({ event }) => event?.previousAttributes)).toContainEqual({
      status: 'incomplete',
    });
  });

  test('renews each month, announced a week before, with an invoice for the new period', async () => {
    const { id } = await started();
    const first = await state(id);
    sandbox.received.length = 0;
    await pass(31);
    expect(storyOf(id)).toEqual([
      'invoice.upcoming',
      'customer.subscription.updated',
      'invoice.finalized',
      'invoice.paid',
    ]);
    const second = await state(id);
    expect(second).toMatchObject({
      status: 'active',
      current_period_start: first.current_period_end as number,
    });
    expect(sandbox.objectsOf('invoice.paid')[0]).toMatchObject({
      billing_reason: 'subscription_cycle',
      amount_paid: 4_900,
      subscription: id,
      subscription_details: { metadata: { companyId: 'c1' } },
      lines: {
        data: [
          {
            proration: false,
            period: { start: second.current_period_start, end: second.current_period_end },
          },
        ],
      },
    });
    const [upcoming] = sandbox.objectsOf('invoice.upcoming');
    expect(upcoming).not.toHaveProperty('id');
    expect(upcoming).toMatchObject({ billing_reason: 'upcoming', amount_due: 4_900, status: 'draft' });
    sandbox.received.length = 0;
    await pass(365);
    expect(storyOf(id).filter((type) => type === 'invoice.paid')).toHaveLength(12);
  });

  test('renews by itself, with real time', async () => {
    const { id } = await started();
    const before = await state(id);
    sandbox.leap(31 * 86_400_000);
    await sandbox.clock.advance(15_000);
    await until(async () => (await state(id)).current_period_start === before.current_period_end);
    await sandbox.settled();
  });

  test('a failing card makes it past due, is tried again, and ends it at last', async () => {
    const { id, customerId } = await started();
    await card(customerId, 'declines');
    sandbox.received.length = 0;
    await pass(32);
    expect(await state(id)).toMatchObject({ status: 'past_due' });
    expect(sandbox.objectsOf('invoice.payment_failed')[0]).toMatchObject({
      attempt_count: 1,
      next_payment_attempt: expect.any(Number),
      status: 'open',
    });
    await pass(16);
    expect(await state(id)).toMatchObject({
      status: 'canceled',
      ended_at: expect.any(Number),
      cancellation_details: { reason: 'payment_failed' },
    });
    const tries = sandbox.objectsOf('invoice.payment_failed').map((invoice) => invoice.attempt_count);
    expect(tries).toEqual([1, 2, 3, 4]);
    expect(storyOf(id).at(-1)).toBe('customer.subscription.deleted');
    sandbox.received.length = 0;
    await pass(90);
    expect(storyOf(id)).toEqual([]);
  });

  test('a card that is mended in time makes it active again', async () => {
    const { id, customerId } = await started();
    await card(customerId, 'requires_action');
    sandbox.received.length = 0;
    await pass(32);
    expect(storyOf(id).slice(-3)).toEqual([
      'invoice.payment_action_required',
      'invoice.payment_failed',
      'customer.subscription.updated',
    ]);
    expect(await state(id)).toMatchObject({ status: 'past_due' });
    await card(customerId, 'works');
    await pass(3);
    expect(await state(id)).toMatchObject({ status: 'active' });
    expect(storyOf(id).slice(-2)).toEqual(['invoice.paid', 'customer.subscription.updated']);
  });

  test('one that was canceled for the period’s end ends then, without another invoice', async () => {
    const { id } = await started();
    done(await sandbox.provider.cancelSubscription(id, 'period-end', shop.newKey()));
    await sandbox.settled();
    sandbox.received.length = 0;
    await pass(32);
    expect(storyOf(id)).toEqual(['customer.subscription.deleted']);
    expect(await state(id)).toMatchObject({ status: 'canceled' });
    const again = await sandbox.provider.cancelSubscription(id, 'now', shop.newKey());
    expect(again).toMatchObject({ failure: { reason: 'refused' } });
  });
});

test('a restart keeps everything: objects, the moved clock, the switches and what is not yet delivered', async () => {
  const { id } = await started();
  sandbox.answers.push(500);
  await sandbox.own('/sandbox/faults', { drop: 7 });
  await sandbox.own('/sandbox/faults', { drop: 0, duplicate: 3 });
  await sandbox.own('/sandbox/clock', { advance_seconds: 40 * 86_400 });
  await until(() => sandbox.received.some(({ status }) => status === 500));
  const before = await (await fetch(`${sandbox.url}/sandbox/clock`)).json();
  const state1 = await state(id);
  await sandbox.restart();
  expect(await state(id)).toEqual(state1);
  expect(await (await fetch(`${sandbox.url}/sandbox/clock`)).json()).toEqual(before);
  expect(await (await fetch(`${sandbox.url}/sandbox/faults`)).json()).toMatchObject({ drop: 0 });
  const endpoints = await sandbox.call('GET', '/v1/webhook_endpoints');
  expect(endpoints.body.data).toHaveLength(1);
  sandbox.leap(60_000);
  await sandbox.restart();
  await sandbox.settled();
  const failed = sandbox.received.find(({ status }) => status === 500)?.event?.id ?? '';
  const taken = sandbox.received.filter(({ status, event }) => status === 200 && event?.id === failed);
  expect(taken.length).toBeGreaterThan(0);
});
