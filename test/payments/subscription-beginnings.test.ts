import { beforeAll, describe, expect, test } from 'bun:test';
import { currentSubscription, findByProviderId } from '../../src/domain/subscriptions/subscription.ts';
import { useMemoryDatabase } from '../setup/use-memory-database.ts';
import { makeCompany, makePlan, openPayments, type PaymentsUnderTest } from './payments-under-test.ts';
import { RECORDED_AT, secondId } from './recorded-events.ts';
import {
  invoiceEvent,
  newSubscription,
  subscriptionEvent,
  subscriptionSession,
  wireSubscription,
} from './subscription-facts.ts';

const database = useMemoryDatabase();
let payments: PaymentsUnderTest;
beforeAll(async () => {
  payments = openPayments(database);
});

async function world() {
  const company = await makeCompany(database);
  const plan = await makePlan(database);
  const subscription = newSubscription(company, plan.priceId);
  const kept = async () => await findByProviderId(database, subscription.id);
  return { company, plan, subscription, kept };
}

describe('a subscription that begins', () => {
  test('billing bug 24: duplicates and second ids make no second subscription, and no credits come with it', async () => {
    const { company, subscription } = await world();
    const event = subscriptionEvent('created', subscription, { status: 'active' });
    for (const one of [event, event, secondId(event)]) await payments.receive(one);
    const rows = await database.query('select 1 from subscriptions where company_id = $1', [company.id]);
    expect(rows).toHaveLength(1);
    expect(await payments.balance(company.id)).toBe(0n);
  });

  test('P-20 a paid checkout alone activates it, by our own plan; an unpaid one does not', async () => {
    for (const [payment_status, status] of [
      ['paid', 'ACTIVE'],
      ['unpaid', 'INCOMPLETE'],
    ] as const) {
      const { company, plan, subscription, kept } = await world();
      const session = subscriptionSession(subscription, { payment_status, metadata: { planId: plan.id } });
      await payments.receive(session);
      expect(await kept()).toMatchObject({ status, planId: plan.id, companyId: company.id });
      expect(await payments.balance(company.id)).toBe(0n);
    }
  });

  test('P-20 where the provider knows more than the checkout, that is kept', async () => {
    const { subscription, kept } = await world();
    payments.known.set(
      subscription.id,
      wireSubscription(subscription, { status: 'trialing', trial_end: RECORDED_AT + 86_400 }),
    );
    await payments.receive(subscriptionSession(subscription, { payment_status: 'no_payment_required' }));
    expect(await kept()).toMatchObject({ status: 'TRIALING', isActive: true });
  });

  test('P-24 of an unknown customer or price it waits, and comes once they are there', async () => {
    const { plan } = await world();
    const stranger = newSubscription({ id: crypto.randomUUID(), customerId: 'cus_stranger' }, plan.priceId);
    const event = subscriptionEvent('created', stranger);
    expect(await payments.receive(event)).toMatchObject({ outcome: 'deferred' });
    const company = await makeCompany(database);
    await database.query(`update companies set provider_customer_id = 'cus_stranger' where id = $1`, [
      company.id,
    ]);
    await payments.events.wake(['customer:cus_stranger']);
    expect(await payments.statusOf(event)).toBe('PROCESSED');
    expect(await currentSubscription(database, company.id)).toMatchObject({
      providerSubscriptionId: stranger.id,
    });
  });

  test('P-23 a trial that ends is told once', async () => {
    const { company, subscription } = await world();
    const event = subscriptionEvent('trial_will_end', subscription);
    for (const one of [event, event, secondId(event)]) await payments.receive(one);
    expect(await payments.mails(company.id)).toEqual(['trial-ending']);
  });

  test('billing bug 22: two live subscriptions of one company are told to a person', async () => {
    const { company, subscription, plan } = await world();
    await payments.receive(subscriptionEvent('updated', subscription));
    await payments.receive(subscriptionEvent('updated', newSubscription(company, plan.priceId)));
    expect(
      payments.entries.some(({ level, context }) => level === 'error' && context.companyId === company.id),
    ).toBe(true);
    expect(invoiceEvent('paid', subscription).object.subscription).toBe(subscription.id);
  });
});
