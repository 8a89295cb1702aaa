import { beforeEach, describe, expect, test } from 'bun:test';
import { periodEnd } from '../../src/payment-sandbox/billing/subscription-state.ts';
import { done } from '../contracts/payment-provider.contract.ts';
import { until } from '../doubles/until.ts';
import { useSandbox } from './sandbox-under-test.ts';
import { createSubscriber } from './subscriber.ts';

const { sandbox, database } = useSandbox();

beforeEach(async () => {
  // What earlier tests left behind does not live on while this one moves the clock.
  await database.query('update payment_sandbox_objects set due_at = null');
  sandbox.received.length = 0;
});

describe('renewals', () => {
  const { shop, card, pass, state, storyOf, started } = createSubscriber(() => sandbox, 'renewals');

  describe('P-22 subscriptions use a clock that can be moved', () => {
    test('a checkout starts one: created, its first invoice, active, then the session', async () => {
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

    test('a failing card makes it past due, is retried, and finally ends it', async () => {
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

    test('a card that works again in time makes it active again', async () => {
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

    test('a subscription canceled at the period’s end ends then, without another invoice', async () => {
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

  test('a restart keeps everything: objects, the moved clock, the switches and undelivered events', async () => {
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
});

describe('changes of plan', () => {
  const { card, pass, state, storyOf, started } = createSubscriber(() => sandbox, 'changes');

  describe('P-22 trials and changes of plan', () => {
    async function yearlyPrice(): Promise<string> {
      const { body: product } = await sandbox.call('POST', '/v1/products', { name: 'Yearly' });
      const price = { product: String(product.id), unit_amount: '49000', currency: 'usd' };
      const { body } = await sandbox.call('POST', '/v1/prices', { ...price, 'recurring[interval]': 'year' });
      return String(body.id);
    }

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

    test('within a trial a price of another interval charges nothing, and the trial goes on', async () => {
      const { id, body } = await started({ trial_period_days: '14' });
      const priceId = await yearlyPrice();
      const wanted = { 'items[0][price]': priceId, proration_behavior: 'always_invoice' };
      const { body: changed } = await sandbox.call('POST', `/v1/subscriptions/${id}`, wanted);
      const { current_period_end, latest_invoice } = body;
      expect(changed).toMatchObject({ status: 'trialing', current_period_end, latest_invoice });
      await pass(15);
      expect(sandbox.objectsOf('invoice.paid').map(({ amount_paid }) => amount_paid)).toEqual([0, 49_000]);
    });

    test('a trial that ends without a card pauses it, and it can be resumed', async () => {
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

    test('an invoice whose finalization fails stays a draft with the reason', async () => {
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

  test('a subscription of the 31st returns to the 31st, and of 29 February to the 29th', () => {
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
});
