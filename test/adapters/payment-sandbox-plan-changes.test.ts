import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { periodEnd } from '../../src/payment-sandbox/billing/subscription-state.ts';
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

const { shop, card, pass, state, storyOf, started } = createSubscriber(() => sandbox, 'changes');

describe('P-22 trials and changes of plan', () => {
  test('a trial costs nothing, warns three days before its end, and is then paid', async () => {
    const { id } = await started({ trial_period_days: '14' });
    expect(await state(id)).toMatchObject({ status: 'trialing' });
    await until(() => storyOf(id).includes('invoice.paid'));
    expect(sandbox.objectsOf('invoice.paid')[0]).toMatchObject({
      amount_paid: 0,
      billing_reason: 'subscription_create',
    });
    sandbox.received.length = 0;
    await pass(11);
    expect(storyOf(id)).toEqual(['customer.subscription.trial_will_end']);
    await pass(3);
    expect(storyOf(id).slice(1)).toEqual([
      'customer.subscription.updated',
      'invoice.finalized',
      'invoice.paid',
    ]);
    expect(await state(id)).toMatchObject({ status: 'active' });
  });

  test('a trial that ends without a card pauses it, and resuming goes on', async () => {
    const pausing = { 'trial_settings[end_behavior][missing_payment_method]': 'pause' };
    const { id, customerId } = await started({ trial_period_days: '2', ...pausing }, 'none');
    await pass(3);
    expect(storyOf(id).slice(-2)).toEqual([
      'customer.subscription.trial_will_end',
      'customer.subscription.paused',
    ]);
    expect(await state(id)).toMatchObject({ status: 'paused' });
    await card(customerId, 'works');
    sandbox.received.length = 0;
    expect((await sandbox.call('POST', `/v1/subscriptions/${id}/resume`)).body).toMatchObject({
      status: 'active',
    });
    await until(() => storyOf(id).includes('invoice.paid'));
    expect(storyOf(id)[0]).toBe('customer.subscription.resumed');
  });

  test('a change of plan says what it was, and asks only for the difference', async () => {
    const { id, body } = await started();
    const dearer = await shop.sell('recurring', 9_900n);
    await pass(15);
    sandbox.received.length = 0;
    const item = (body.items as { data: { id: string }[] }).data[0]?.id ?? '';
    const changes = { 'items[0][id]': item, 'items[0][price]': dearer.priceId };
    await sandbox.call('POST', `/v1/subscriptions/${id}`, {
      ...changes,
      proration_behavior: 'always_invoice',
    });
    await until(() => storyOf(id).includes('invoice.paid'));
    const [updated] = sandbox.received.flatMap(({ event }) => (event?.object.id === id ? [event] : []));
    expect(updated?.object).toMatchObject({ items: { data: [{ price: { id: dearer.priceId } }] } });
    expect(updated?.previousAttributes).toHaveProperty('items');
    const [invoice] = sandbox.objectsOf('invoice.paid');
    expect(invoice).toMatchObject({ billing_reason: 'subscription_update' });
    const lines = invoice?.lines as { data: { amount: number; proration: boolean }[] } | undefined;
    const parts = lines?.data ?? [];
    expect(parts.map(({ proration }) => proration)).toEqual([true, true]);
    expect(parts[0]?.amount).toBeLessThan(0);
    expect(invoice?.amount_paid).toBe(parts.reduce((sum, { amount }) => sum + amount, 0));
    expect(invoice?.amount_paid as number).toBeLessThan(5_000);
  });

  test('an invoice whose finalization fails stays a draft and says why', async () => {
    const { id } = await started();
    await sandbox.own('/sandbox/faults', { finalization_failure: 1 });
    sandbox.received.length = 0;
    await pass(31);
    expect(storyOf(id)).toContain('invoice.finalization_failed');
    expect(sandbox.objectsOf('invoice.finalization_failed')[0]).toMatchObject({
      status: 'draft',
      last_finalization_error: { code: 'customer_tax_location_invalid' },
    });
  });
});

test('a subscription of the 31st comes back to the 31st, and of 29 February to the 29th', () => {
  const at = (text: string) => Date.parse(`${text}T10:30:00Z`) / 1000;
  const month = { interval: 'month', interval_count: 1 } as const;
  const ends: string[] = [];
  let start = at('2030-01-31');
  for (let count = 0; count < 4; count += 1) {
    start = periodEnd(at('2030-01-31'), start, month);
    ends.push(new Date(start * 1000).toISOString());
  }
  expect(ends.map((end) => end.slice(5, 10))).toEqual(['02-28', '03-31', '04-30', '05-31']);
  expect(ends.every((end) => end.endsWith('T10:30:00.000Z'))).toBe(true);
  const year = { interval: 'year', interval_count: 1 } as const;
  expect(periodEnd(at('2028-02-29'), at('2031-02-28'), year)).toBe(at('2032-02-29'));
  expect(periodEnd(at('2030-01-01'), at('2030-01-08'), { interval: 'week', interval_count: 2 })).toBe(
    at('2030-01-15'),
  );
});
