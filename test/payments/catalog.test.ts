import { beforeAll, describe, expect, test } from 'bun:test';
import { createCreditPack, findCreditPack, listCreditPacks } from '../../src/domain/catalog/credit-pack.ts';
import {
  createPlan,
  findPlan,
  listPlans,
  syncAllPlansProviderPricing,
} from '../../src/domain/catalog/plan.ts';
import { ensureDemoCatalog } from '../../src/start/demo/demo-catalog.ts';
import { openMemoryDatabase } from '../doubles/memory-database.ts';
import { useMemoryDatabase } from '../setup/use-memory-database.ts';
import { CREDIT } from './payments-under-test.ts';
import { countingCalls, failing, openShop, PACK, PLAN, type Shop } from './shop-under-test.ts';

const database = useMemoryDatabase({ beforeClose: () => shop.sandbox.close() });
let shop: Shop;
beforeAll(async () => {
  shop = await openShop(database);
});

const priceOf = async (id: string | null) => (await shop.sandbox.call('GET', `/v1/prices/${id}`)).body;

describe('credit packs', () => {
  test('P-10 P-17 a pack has its product and one-time price at the provider, their ids with us', async () => {
    const pack = await shop.newPack();
    expect(pack).toMatchObject({ status: 'ACTIVE', priceMinor: 1_000n, currency: 'usd', sortOrder: 1 });
    expect(await priceOf(pack.providerPriceId)).toMatchObject({
      unit_amount: 1_000,
      type: 'one_time',
      product: pack.providerProductId,
    });
  });

  test('P-10 a provider that fails leaves no pack, and its words are passed on', async () => {
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

  test('P-10 billing bug 21: what the currency cannot hold, and anything else that is wrong, is refused by its field', async () => {
    const { secrets, clock, sandbox } = shop;
    const wrong: [object, string][] = [
      [{ price: '1000.5', currency: 'jpy' }, 'price'],
      [{ price: '1.2345', currency: 'kwd' }, 'price'],
      [{ price: -1 }, 'price'],
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
  test('P-9 P-16 only active plans without a price, and not POSTPAID, get one; the others come back unchanged', async () => {
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

  test('P-9 twice at once makes one price a plan, and both see it', async () => {
    for (const name of ['A', 'B', 'C']) await shop.newPlan({ name });
    const { provider, calls } = countingCalls(shop.sandbox.provider);
    const [one, two] = await Promise.all(
      [0, 1].map(() => syncAllPlansProviderPricing({ ...shop.pricing, provider })),
    );
    expect(one).toEqual(two);
    expect(calls.get('createPrice')).toBe(3);
  });

  test('P-9 a provider that fails is said with the plan’s name; the next run goes on with the product there is', async () => {
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

  test('P-16 a plan that is wrong is refused by its field', async () => {
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

  test('a plan may be free of charge, and have a trial with credits of its own', async () => {
    expect(await shop.newPlan({ price: 0 })).toMatchObject({ priceMinor: 0n, needsProviderPricing: true });
    const trial = { trialDays: 14, trialCreditsMicro: 500n * CREDIT };
    expect(await shop.newPlan(trial)).toMatchObject(trial);
  });
});

test('the demo catalog is filled once, and a start that was cut short is gone on with', async () => {
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
