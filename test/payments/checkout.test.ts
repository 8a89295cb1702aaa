import { describe, expect, test } from 'bun:test';
import { findCompany } from '../../src/domain/accounts/company.ts';
import {
  createBillingPortal,
  createCreditPackCheckout,
  ensureCustomer,
} from '../../src/domain/payments/checkout.ts';
import { createSubscriptionCheckout } from '../../src/domain/payments/subscription-checkout.ts';
import { currentSubscription } from '../../src/domain/subscriptions/subscription.ts';
import { until } from '../doubles/until.ts';
import { CREDIT } from './payments-under-test.ts';
import { countingCalls, failing } from './shop-under-test.ts';
import { useShop } from './use-payments.ts';

const { database, shop } = useShop();

const pricedPlan = async (changes = {}) => (await shop.pricedPlan(changes)).id;

describe('the checkout of a pack', () => {
  test('it is charged in the currency of the pack, which its price must have at the provider', async () => {
    const companyId = await shop.newCompany();
    const pack = await shop.newPack();
    const open = () => createCreditPackCheckout(shop.parts, { companyId, creditPackId: pack.id });
    expect(await open()).toMatchObject({ outcome: 'opened' });
    await database.query(`update credit_packs set currency = 'eur' where id = $1`, [pack.id]);
    const message = expect.stringContaining('the expected currency: `eur`');
    expect(await open()).toEqual({ outcome: 'provider-failed', message });
  });

  test('an unsold pack, an unknown pack and an unknown company are refused', async () => {
    const companyId = await shop.newCompany();
    const pack = await shop.newPack();
    await database.query(`update credit_packs set status = 'RETIRED' where id = $1`, [pack.id]);
    for (const creditPackId of [pack.id, crypto.randomUUID()]) {
      expect(await createCreditPackCheckout(shop.parts, { companyId, creditPackId })).toEqual({
        outcome: 'no-such-pack',
      });
    }
    const { id: creditPackId } = await shop.newPack();
    const unknownCompany = { companyId: crypto.randomUUID(), creditPackId };
    expect(await createCreditPackCheckout(shop.parts, unknownCompany)).toEqual({
      outcome: 'no-such-company',
    });
  });

  test('billing bug 10: each repeated checkout is a purchase of its own, and only a paid one is granted', async () => {
    const companyId = await shop.newCompany();
    const [first] = [await shop.openPack(companyId), await shop.openPack(companyId)];
    await shop.pay(first.page.providerSessionId);
    await shop.pay(first.page.providerSessionId);
    expect(await shop.payments.balance(companyId)).toBe(1_000n * CREDIT);
  });
});

test('one customer per company, also under concurrent requests; and it has a portal', async () => {
  const companyId = await shop.newCompany();
  const both = await Promise.all([0, 1].map(() => ensureCustomer(shop.parts, companyId)));
  const customerId = await shop.customerOf(companyId);
  expect(both).toEqual([
    { outcome: 'ensured', customerId },
    { outcome: 'ensured', customerId },
  ]);
  const { provider, calls } = countingCalls(shop.sandbox.provider);
  await ensureCustomer({ ...shop.parts, provider }, companyId);
  expect(calls.size).toBe(0);
  expect(await createBillingPortal(shop.parts, companyId)).toMatchObject({
    outcome: 'opened',
    url: expect.stringMatching(/^http/),
  });
});

test('a customer of another company is not used: nothing is bought in its name', async () => {
  const [first, second] = [await shop.newCompany(), await shop.newCompany()];
  const ensured = await ensureCustomer(shop.parts, first);
  if (ensured.outcome !== 'ensured') throw new Error(ensured.outcome);
  const createCustomer = async () => ({ outcome: 'done', value: { id: ensured.customerId } }) as const;
  const parts = { ...shop.parts, provider: { ...shop.sandbox.provider, createCustomer } };
  await expect(ensureCustomer(parts, second)).rejects.toThrow('cannot be linked');
  expect(await findCompany(database, second)).toMatchObject({ providerCustomerId: null });
});

describe('the checkout of a plan', () => {
  test('P-20 P-22 is paid on the provider’s page: subscribed, with its credits once', async () => {
    const companyId = await shop.newCompany();
    const planId = await pricedPlan();
    await shop.pay(await shop.openPlan(companyId, planId));
    expect(await currentSubscription(database, companyId)).toMatchObject({
      status: 'ACTIVE',
      isActive: true,
      planId,
    });
    expect(await shop.payments.balance(companyId)).toBe(3_000n * CREDIT);
    const second = await createSubscriptionCheckout(shop.parts, { companyId, planId });
    expect(second).toMatchObject({ outcome: 'subscribed-already' });
    await shop.sandbox.own('/sandbox/clock', { advance_seconds: 32 * 86_400 });
    await shop.balanceBecomes(companyId, 6_000n * CREDIT);
  });

  test('P-22 a trial is offered to a company that never subscribed, and grants its credits once', async () => {
    const companyId = await shop.newCompany();
    const planId = await pricedPlan({ trialDays: 7, trialCreditsMicro: 500n * CREDIT });
    await shop.pay(await shop.openPlan(companyId, planId));
    await shop.balanceBecomes(companyId, 500n * CREDIT);
    const trial = await currentSubscription(database, companyId);
    expect(trial).toMatchObject({ status: 'TRIALING' });
    await shop.sandbox.provider.cancelSubscription(
      trial?.providerSubscriptionId ?? '',
      'now',
      `end:${companyId}`,
    );
    await until(async () => {
      await shop.handOn();
      return (await currentSubscription(database, companyId))?.status === 'CANCELED';
    });
    await shop.pay(await shop.openPlan(companyId, planId));
    await shop.balanceBecomes(companyId, 3_500n * CREDIT);
  });

  test('P-29 POSTPAID plans, inactive ones and those without a price are not sold', async () => {
    const companyId = await shop.newCompany();
    const plans = [
      [await shop.newPlan({ billingMode: 'POSTPAID' }), 'by-agreement'],
      [await shop.newPlan({ billingMode: 'POSTPAID', active: false }), 'not-for-sale'],
      [await shop.newPlan({ active: false }), 'not-for-sale'],
      [await shop.newPlan({ name: 'Unpriced' }), 'not-for-sale'],
    ] as const;
    for (const [{ id: planId }, outcome] of plans) {
      const opened = await createSubscriptionCheckout(shop.parts, { companyId, planId });
      expect<object>(opened).toMatchObject({ outcome, message: expect.any(String) });
    }
    const unknown = { companyId, planId: crypto.randomUUID() };
    expect(await createSubscriptionCheckout(shop.parts, unknown)).toEqual({ outcome: 'no-such-plan' });
  });

  test('billing bug 22: at most one page is open per company: the same for the same plan, closed for another', async () => {
    const companyId = await shop.newCompany();
    const [planId, otherId] = [await pricedPlan(), await pricedPlan()];
    const same = await Promise.all(
      [0, 1].map(() => createSubscriptionCheckout(shop.parts, { companyId, planId })),
    );
    expect(same[0]).toEqual(same[1] as (typeof same)[0]);
    const other = await createSubscriptionCheckout(shop.parts, { companyId, planId: otherId });
    if (same[0]?.outcome !== 'opened' || other.outcome !== 'opened') throw new Error('not opened');
    const first = await shop.sandbox.provider.retrieveCheckoutSession(same[0].page.providerSessionId);
    expect(first).toMatchObject({ value: { status: 'expired' } });
    await shop.pay(other.page.providerSessionId);
    expect(await currentSubscription(database, companyId)).toMatchObject({ planId: otherId });
  });

  test('billing bug 22: no second page opens while the event of a paid one is in transit', async () => {
    const companyId = await shop.newCompany();
    const [planId, otherId] = [await pricedPlan(), await pricedPlan()];
    await shop.sandbox.click(`/checkout/${await shop.openPlan(companyId, planId)}/pay`);
    const second = await createSubscriptionCheckout(shop.parts, { companyId, planId: otherId });
    expect(second).toMatchObject({ outcome: 'subscribed-already' });
    await shop.handOn();
  });

  test('an unavailable provider is reported, and the next try opens the page', async () => {
    const companyId = await shop.newCompany();
    const planId = await pricedPlan();
    const away = { ...shop.sandbox.provider, createCheckoutSession: failing<never>('away') };
    const failed = await createSubscriptionCheckout({ ...shop.parts, provider: away }, { companyId, planId });
    expect(failed).toEqual({ outcome: 'provider-failed', message: 'away' });
    expect(await createSubscriptionCheckout(shop.parts, { companyId, planId })).toMatchObject({
      outcome: 'opened',
    });
  });
});
