import { describe, expect, test } from 'bun:test';
import {
  archivePrices,
  retireCreditPack,
  retirePlan,
  updateCreditPack,
  updatePlan,
} from '../../src/domain/catalog/change-offer.ts';
import { createCreditPack, findCreditPack, listCreditPacks } from '../../src/domain/catalog/credit-pack.ts';
import {
  createPlan,
  findPlan,
  findPlanByPrice,
  listPlans,
  syncAllPlansProviderPricing,
} from '../../src/domain/catalog/plan.ts';
import { listPlanRates } from '../../src/domain/catalog/plan-rates.ts';
import { createCreditPackCheckout } from '../../src/domain/payments/checkout.ts';
import { createSubscriptionCheckout } from '../../src/domain/payments/subscription-checkout.ts';
import { ensureDemoCatalog } from '../../src/start/demo/demo-catalog.ts';
import { openMemoryDatabase } from '../doubles/memory-database.ts';
import { CREDIT } from './payments-under-test.ts';
import { countingCalls, failing, PACK, PLAN } from './shop-under-test.ts';
import { useShop } from './use-payments.ts';

const { database, shop } = useShop();

const priceOf = async (id: string | null) => (await shop.sandbox.call('GET', `/v1/prices/${id}`)).body;

describe('credit packs', () => {
  test('P-10 when the provider fails no pack is created, and its message is returned', async () => {
    const before = await database.query('select 1 from credit_packs');
    const { secrets, clock, sandbox } = shop;
    for (const step of ['createProduct', 'createPrice'] as const) {
      const provider = { ...sandbox.provider, [step]: failing('The provider is away.') };
      const created = await createCreditPack({ database, provider, secrets, clock }, PACK);
      expect(created).toMatchObject({
        outcome: 'provider-failed',
        message: expect.stringContaining('The provider is away.'),
      });
    }
    const broken = { ...sandbox.provider, createPrice: () => Promise.reject(new Error('broken')) };
    const error = await createCreditPack({ database, provider: broken, secrets, clock }, PACK).catch(
      (reason) => reason,
    );
    expect(error).toMatchObject({ message: 'broken' });
    expect(await database.query('select 1 from credit_packs')).toHaveLength(before.length);
  });

  test('P-10 billing bug 21: an amount that the currency cannot represent, or any other invalid value, is refused by its field', async () => {
    const { secrets, clock, sandbox } = shop;
    const wrong: [object, string][] = [
      [{ price: '1000.5', currency: 'jpy' }, 'price'],
      [{ price: 0 }, 'price'],
      [{ currency: 'xyz' }, 'currency'],
      [{ creditsMicro: 0n }, 'credits'],
      [{ creditsMicro: 10n ** 18n }, 'credits'],
      [{ name: ' ' }, 'name'],
      [{ name: 'x'.repeat(201) }, 'name'],
      [{ sortOrder: 1.5 }, 'sortOrder'],
    ];
    for (const [changes, field] of wrong) {
      const provider = sandbox.provider;
      const created = await createCreditPack({ database, provider, secrets, clock }, { ...PACK, ...changes });
      expect([changes, created]).toMatchObject([changes, { outcome: 'invalid', field }]);
    }
    const yen = await shop.newPack({ price: '1500', currency: 'JPY' });
    expect(await priceOf(yen.providerPriceId)).toMatchObject({ unit_amount: 1_500, currency: 'jpy' });
  });

  test('P-17 active ones are listed by sortOrder', async () => {
    const [last, first] = [await shop.newPack({ sortOrder: 900 }), await shop.newPack({ sortOrder: -900 })];
    await database.query(`update credit_packs set status = 'RETIRED' where id = $1`, [last.id]);
    const listed = (await listCreditPacks(database)).map(({ id }) => id);
    expect(listed[0]).toBe(first.id);
    expect(listed).not.toContain(last.id);
    expect(await findCreditPack(database, last.id)).toMatchObject({ status: 'RETIRED' });
  });
});

describe('plans', () => {
  test('P-9 P-16 only active plans without a price, and not POSTPAID, get one; the others are returned unchanged', async () => {
    const plan = await shop.newPlan();
    expect(plan).toMatchObject({
      needsProviderPricing: true,
      providerPriceId: null,
      currency: 'usd',
      priceMinor: 2_900n,
    });
    const postpaid = await shop.newPlan({ billingMode: 'POSTPAID', price: 0, creditsMicro: 0n });
    const inactive = await shop.newPlan({ active: false });
    expect(await shop.sync()).toMatchObject({ outcome: 'synced' });
    const priced = await findPlan(database, plan.id);
    expect(priced).toMatchObject({ needsProviderPricing: false });
    expect(await priceOf(priced?.providerPriceId ?? '')).toMatchObject({
      unit_amount: 2_900,
      recurring: { interval: 'month' },
    });
    for (const { id } of [postpaid, inactive]) {
      expect(await findPlan(database, id)).toMatchObject({
        providerPriceId: null,
        needsProviderPricing: false,
      });
    }
    const again = await shop.sync();
    const plans = again.outcome === 'synced' ? again.plans : [];
    expect(plans.find(({ id }) => id === plan.id)).toEqual(priced ?? undefined);
    expect(plans.map(({ id }) => id)).not.toContain(postpaid.id);
    expect((await listPlans(database, { activeOnly: true })).map(({ id }) => id)).not.toContain(inactive.id);
  });

  test('P-9 two concurrent syncs create one price per plan, and both return it', async () => {
    for (const name of ['A', 'B', 'C']) await shop.newPlan({ name });
    const { provider, calls } = countingCalls(shop.sandbox.provider);
    const [one, two] = await Promise.all(
      [0, 1].map(() => syncAllPlansProviderPricing({ ...shop.pricing, provider })),
    );
    expect(one).toEqual(two);
    expect(calls.get('createPrice')).toBe(3);
  });

  test('P-9 a failure of the provider names the plan; the next run continues with the existing product', async () => {
    const plan = await shop.newPlan({ name: 'Unlucky' });
    const broken = { ...shop.sandbox.provider, createPrice: failing<{ id: string }>('No prices today.') };
    const failed = await syncAllPlansProviderPricing({ ...shop.pricing, provider: broken });
    expect(failed).toEqual({ outcome: 'provider-failed', message: 'Plan "Unlucky": No prices today.' });
    const { providerProductId } = (await findPlan(database, plan.id)) ?? {};
    await shop.sync();
    expect(await findPlan(database, plan.id)).toMatchObject({
      providerProductId,
      needsProviderPricing: false,
    });
  });

  test('P-16 an invalid plan is refused by its field', async () => {
    const parts = { statements: database, secrets: shop.secrets, clock: shop.clock };
    for (const [changes, field] of [
      [{ price: -1 }, 'price'],
      [{ trialDays: 0 }, 'trialDays'],
      [{ trialDays: 731 }, 'trialDays'],
      [{ billingMode: 'POSTPAID', trialDays: 7 }, 'trialDays'],
      [{ trialDays: 7, trialCreditsMicro: -1n }, 'trialCredits'],
      [{ trialCreditsMicro: 1n }, 'trialCredits'],
      [{ creditsMicro: 0n }, 'credits'],
      [{ name: '' }, 'name'],
    ] as const) {
      expect(await createPlan(parts, { ...PLAN, ...changes })).toMatchObject({ outcome: 'invalid', field });
    }
  });

  test('a plan may be free of charge', async () => {
    expect(await shop.newPlan({ price: 0 })).toMatchObject({ priceMinor: 0n, needsProviderPricing: true });
  });
});

describe('changes of plans and packs', () => {
  const parts = () => ({ ...shop.pricing, clock: shop.clock });
  const activeAt = async (priceId: string | null) => (await priceOf(priceId)).active;

  test('new terms of a plan create a new price; the previous one is archived and keeps its rate', async () => {
    for (const changes of [
      { price: 39 },
      { creditsMicro: 4_000n * CREDIT },
      { interval: 'YEAR' },
      { currency: 'eur' },
    ] as const) {
      const before = await shop.pricedPlan();
      const changed = await updatePlan(parts(), before.id, { ...PLAN, ...changes });
      if (changed.outcome !== 'changed') throw new Error(changed.outcome);
      const { plan } = changed;
      expect(plan.providerPriceId).not.toBe(before.providerPriceId);
      expect(plan).toMatchObject({
        providerProductId: before.providerProductId,
        needsProviderPricing: false,
      });
      expect([await activeAt(before.providerPriceId), await activeAt(plan.providerPriceId)]).toEqual([
        false,
        true,
      ]);
      expect(await listPlanRates(database, before.providerPriceId)).toMatchObject([
        { planId: plan.id, priceMinor: before.priceMinor, creditsMicro: before.creditsMicro },
      ]);
      expect(await findPlanByPrice(database, before.providerPriceId)).toEqual(plan);
    }
  });

  test('a change of name, trial, position or expiry keeps the price; the product at the provider is renamed', async () => {
    const before = await shop.pricedPlan();
    const terms = { trialDays: 14, trialCreditsMicro: 5n, creditsExpireAfterDays: 90, sortOrder: -7 };
    const changed = await updatePlan(parts(), before.id, { ...PLAN, name: 'Basic II', ...terms });
    expect(changed).toMatchObject({
      outcome: 'changed',
      plan: { ...terms, name: 'Basic II', providerPriceId: before.providerPriceId },
    });
    const { body } = await shop.sandbox.call('GET', `/v1/products/${before.providerProductId}`);
    expect(body.name).toBe('Basic II');
    expect((await listPlans(database, { activeOnly: true }))[0]?.id).toBe(before.id);
  });

  test('a retired plan is not sold and its price archived; reactivated it has the same price, or a new one', async () => {
    const before = await shop.pricedPlan();
    expect(await retirePlan(parts(), before.id)).toMatchObject({ plan: { active: false } });
    expect(await retirePlan(parts(), before.id)).toMatchObject({ outcome: 'changed' });
    expect(await activeAt(before.providerPriceId)).toBe(false);
    const companyId = await shop.newCompany();
    const refused = await createSubscriptionCheckout(shop.parts, { companyId, planId: before.id });
    expect(refused).toMatchObject({ outcome: 'not-for-sale' });
    expect(await updatePlan(parts(), before.id, PLAN)).toMatchObject({
      plan: { active: true, providerPriceId: before.providerPriceId },
    });
    expect(await activeAt(before.providerPriceId)).toBe(true);
    await updatePlan(parts(), before.id, { ...PLAN, active: false, price: 99 });
    const hidden = await findPlan(database, before.id);
    expect([hidden?.active, await activeAt(hidden?.providerPriceId ?? '')]).toEqual([false, false]);
    await updatePlan(parts(), before.id, { ...PLAN, price: 99 });
    const again = await findPlan(database, before.id);
    expect(await priceOf(again?.providerPriceId ?? '')).toMatchObject({ unit_amount: 9_900, active: true });
  });

  test('a failure of the provider changes nothing; a price that it did not archive is archived by the job', async () => {
    const before = await shop.pricedPlan();
    for (const step of ['createPrice', 'renameProduct'] as const) {
      const provider = { ...shop.sandbox.provider, [step]: failing('The provider is away.') };
      const changed = await updatePlan({ ...parts(), provider }, before.id, { ...PLAN, name: 'X', price: 1 });
      expect(changed).toEqual({ outcome: 'provider-failed', message: 'The provider is away.' });
      expect(await findPlan(database, before.id)).toMatchObject({ name: 'Basic', priceMinor: 2_900n });
    }
    const provider = { ...shop.sandbox.provider, setPriceActive: failing<{ id: string }>('Not now.') };
    expect(await updatePlan({ ...parts(), provider }, before.id, { ...PLAN, price: 2 })).toMatchObject({
      outcome: 'changed',
    });
    expect(await activeAt(before.providerPriceId)).toBe(true);
    expect(await archivePrices(parts())).toBeGreaterThan(0);
    expect(await activeAt(before.providerPriceId)).toBe(false);
    expect(await archivePrices(parts())).toBe(0);
  });

  test('two concurrent changes create one price; the second is rejected with a retry message', async () => {
    const before = await shop.pricedPlan();
    const { provider, calls } = countingCalls(shop.sandbox.provider);
    const change = () => updatePlan({ ...parts(), provider }, before.id, { ...PLAN, price: 77 });
    const outcomes = (await Promise.all([change(), change()])).map(({ outcome }) => outcome);
    expect(outcomes.sort()).toEqual(['busy', 'changed']);
    expect(calls.get('createPrice')).toBe(1);
    expect(await change()).toMatchObject({ outcome: 'changed' });
    expect(calls.get('createPrice')).toBe(1);
  });

  test('the billing mode of a plan cannot change, and invalid values are refused by their field', async () => {
    const { id } = await shop.pricedPlan();
    for (const [changes, field] of [
      [{ billingMode: 'POSTPAID' }, 'billingMode'],
      [{ creditsExpireAfterDays: 0 }, 'creditsExpireAfterDays'],
      [{ creditsExpireAfterDays: 3_651 }, 'creditsExpireAfterDays'],
      [{ sortOrder: 1e9 }, 'sortOrder'],
      [{ price: -1 }, 'price'],
    ] as const) {
      const refused = await updatePlan(parts(), id, { ...PLAN, ...changes });
      expect(refused).toMatchObject({ outcome: 'invalid', field });
    }
    expect(await updatePlan(parts(), shop.secrets.newId(), PLAN)).toEqual({ outcome: 'no-such-plan' });
  });

  test('a checkout page opened before a plan changed is closed, and the next one has the new price', async () => {
    const { id: planId } = await shop.pricedPlan();
    const companyId = await shop.newCompany();
    const open = () => shop.openPlan(companyId, planId);
    const first = await open();
    expect(await open()).toBe(first);
    await shop.clock.advance(1_000);
    await updatePlan(parts(), planId, { ...PLAN, price: 59 });
    const second = await open();
    expect(second).not.toBe(first);
    const session = async (id: string) =>
      (await shop.sandbox.call('GET', `/v1/checkout/sessions/${id}`)).body;
    expect(await session(first)).toMatchObject({ status: 'expired' });
    expect(await session(second)).toMatchObject({ amount_total: 5_900 });
  });

  test('a pack at another price gets a new one, a started purchase keeps its terms, and retiring a pack is final', async () => {
    const pack = await shop.newPack();
    const companyId = await shop.newCompany();
    const begun = await createCreditPackCheckout(shop.parts, { companyId, creditPackId: pack.id });
    if (begun.outcome !== 'opened') throw new Error(begun.outcome);
    const wanted = { ...PACK, price: '12', creditsMicro: 2_000n * CREDIT, sortOrder: 5 };
    const changed = await updateCreditPack(parts(), pack.id, wanted);
    if (changed.outcome !== 'changed') throw new Error(changed.outcome);
    expect(changed.pack).toMatchObject({ priceMinor: 1_200n, creditsMicro: 2_000n * CREDIT, sortOrder: 5 });
    expect(changed.pack.providerPriceId).not.toBe(pack.providerPriceId);
    expect(await activeAt(pack.providerPriceId)).toBe(false);
    await shop.pay(begun.page.providerSessionId);
    await shop.balanceBecomes(companyId, 1_000n * CREDIT);
    expect(await retireCreditPack(parts(), pack.id)).toMatchObject({ pack: { status: 'RETIRED' } });
    expect(await retireCreditPack(parts(), pack.id)).toMatchObject({ outcome: 'changed' });
    expect(await activeAt(changed.pack.providerPriceId)).toBe(false);
    expect(await updateCreditPack(parts(), pack.id, PACK)).toMatchObject({ outcome: 'retired' });
    const gone = await createCreditPackCheckout(shop.parts, { companyId, creditPackId: pack.id });
    expect(gone).toEqual({ outcome: 'no-such-pack' });
  });
});

test('the demo catalog is created once, and an interrupted start is continued', async () => {
  const { secrets, log, pricing } = shop;
  const own = await openMemoryDatabase();
  try {
    const parts = { ...pricing, database: own, secrets, log };
    const broken = { ...pricing.provider, createPrice: failing<{ id: string }>('away') };
    expect(await ensureDemoCatalog({ ...parts, provider: broken })).toBe('failed');
    expect(await listCreditPacks(own)).toEqual([]);
    expect(await ensureDemoCatalog(parts)).toBe('filled');
    expect(await ensureDemoCatalog(parts)).toBe('found');
    expect((await listCreditPacks(own)).map(({ name }) => name)).toEqual(['Starter', 'Team', 'Scale']);
    const plans = await listPlans(own, { activeOnly: true });
    expect(plans.filter(({ needsProviderPricing }) => needsProviderPricing)).toEqual([]);
    expect(plans).toHaveLength(3);
  } finally {
    await own.close();
  }
});
