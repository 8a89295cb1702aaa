import { describe, expect, test } from 'bun:test';
import { createStripeProvider } from '../../src/adapters/payment-provider/stripe.ts';
import { commandNamed } from '../../src/command-line/commands.ts';
import { findCompany } from '../../src/domain/accounts/company.ts';
import { findCreditPack } from '../../src/domain/catalog/credit-pack.ts';
import { findPlan } from '../../src/domain/catalog/plan.ts';
import { rebuildPackPricing, rebuildPlanPricing } from '../../src/domain/catalog/rebuild-pricing.ts';
import { findInvoice } from '../../src/domain/credits/invoices/invoice.ts';
import { createBillingPortal, createCreditPackCheckout } from '../../src/domain/payments/checkout.ts';
import { createSubscriptionCheckout } from '../../src/domain/payments/subscription-checkout.ts';
import { type TypedParts, typedCommand } from '../doubles/typed-command.ts';
import { CREDIT, makeUsageInvoice } from './payments-under-test.ts';
import { countingCalls, failing } from './shop-under-test.ts';
import { useShop } from './use-payments.ts';

const { database, shop } = useShop();

/** Another mode of the provider, in which none of the earlier objects exist. */
const changeMode = () => database.query('delete from payment_sandbox_objects');

async function world() {
  const companyId = await shop.newCompany();
  const pack = await shop.newPack();
  const { id: planId } = await shop.newPlan();
  await shop.sync();
  await createBillingPortal(shop.parts, companyId);
  const plan = await findPlan(database, planId);
  if (plan?.providerPriceId === null || plan === null) throw new Error('the plan has no price');
  return { companyId, pack, plan };
}

describe('after the provider’s mode has changed', () => {
  test('P-26 P-9 a stale price fails with the provider’s message, sync leaves it, rebuildPlanPricing replaces it', async () => {
    const { companyId, plan } = await world();
    await changeMode();
    const refused = await createSubscriptionCheckout(shop.parts, { companyId, planId: plan.id });
    expect(refused).toMatchObject({
      outcome: 'provider-failed',
      message: expect.stringContaining(`No such price: '${plan.providerPriceId}'`),
    });
    await shop.sync();
    expect(await findPlan(database, plan.id)).toMatchObject({ providerPriceId: plan.providerPriceId });
    const [first, second] = await Promise.all([
      rebuildPlanPricing(shop.parts, [plan.id]),
      rebuildPlanPricing(shop.parts, [plan.id]),
    ]);
    if (first.outcome !== 'rebuilt' || second.outcome !== 'rebuilt') throw new Error('not rebuilt');
    expect(first.plans[0]?.providerPriceId).toStartWith('price_');
    expect(first.plans[0]?.providerPriceId).not.toBe(plan.providerPriceId);
    expect(second.plans[0]?.providerPriceId).toBe(first.plans[0]?.providerPriceId ?? '');
    expect(first.plans[0]?.providerProductId).not.toBe(plan.providerProductId);
    const opened = await createSubscriptionCheckout(shop.parts, { companyId, planId: plan.id });
    expect(opened).toMatchObject({ outcome: 'opened' });
  });

  test('P-26 an open checkout of another provider, mode or account is not offered again', async () => {
    const { companyId, plan } = await world();
    const { provider, calls } = countingCalls(shop.sandbox.provider);
    const open = async (identity: string) => {
      const parts = { ...shop.parts, provider: { ...provider, identity } };
      const opened = await createSubscriptionCheckout(parts, { companyId, planId: plan.id });
      if (opened.outcome !== 'opened') throw new Error(JSON.stringify(opened));
      return opened.page.providerSessionId;
    };
    const first = await open('test mode');
    const called = new Map(calls);
    expect(await open('test mode')).toBe(first);
    // The same page costs no call of the provider.
    expect(calls).toEqual(called);
    const second = await open('live mode');
    expect(second).not.toBe(first);
    expect(await open('live mode')).toBe(second);
    // A page of an earlier release, of which nothing is known.
    await database.query('update subscription_checkouts set provider_identity = null');
    const third = await open('live mode');
    expect([first, second]).not.toContain(third);
    expect(
      await database.query(
        `select status from subscription_checkouts where company_id = $1 order by created_at`,
        [companyId],
      ),
    ).toEqual([{ status: 'EXPIRED' }, { status: 'EXPIRED' }, { status: 'OPEN' }]);
    // The provider does not know the page after the change, and nobody can pay it.
    await changeMode();
    await rebuildPlanPricing(shop.parts, [plan.id]);
    expect(await open('another account')).not.toBe(third);
  });

  test('the identity of a provider is that of its address and key, and does not show them', () => {
    const identityOf = (secretKey: string, apiUrl: string | null = null) =>
      createStripeProvider({ ...shop.parts, webhookSecrets: ['s'], secretKey, apiUrl }).identity;
    const identities = [
      identityOf('sk_test_1'),
      identityOf('sk_live_1'),
      identityOf('sk_test_2'),
      identityOf('sk_test_1', 'http://127.0.0.1:1'),
    ];
    expect(new Set(identities).size).toBe(4);
    expect(identityOf('sk_test_1')).toBe(identities[0] ?? '');
    expect(identities.join()).not.toContain('sk_');
  });

  test('objects that exist at the provider are not changed', async () => {
    const { plan } = await world();
    const { provider, calls } = countingCalls(shop.sandbox.provider);
    const rebuilt = await rebuildPlanPricing({ ...shop.parts, provider }, [plan.id, plan.id]);
    expect(rebuilt).toMatchObject({ outcome: 'rebuilt', plans: [plan] });
    expect(calls.get('createPrice') ?? 0).toBe(0);
    const down = { ...shop.sandbox.provider, retrievePrice: failing<never>('down') };
    expect(await rebuildPlanPricing({ ...shop.parts, provider: down }, [plan.id])).toMatchObject({
      outcome: 'provider-failed',
    });
    expect(await findPlan(database, plan.id)).toEqual(plan);
    const unknown = crypto.randomUUID();
    expect(await rebuildPlanPricing(shop.parts, [unknown])).toMatchObject({ outcome: 'no-such-plan' });
    const later = await shop.newPlan({ billingMode: 'POSTPAID', price: 0, creditsMicro: 0n });
    expect(await rebuildPlanPricing(shop.parts, [later.id])).toMatchObject({ outcome: 'not-sold' });
  });

  test('P-12 packs are rebuilt one at a time, and a company whose customer is unknown gets a new one', async () => {
    const { companyId, pack } = await world();
    const before = (await findCompany(database, companyId))?.providerCustomerId;
    await changeMode();
    const rebuilt = await rebuildPackPricing(shop.parts, pack.id);
    expect(rebuilt).toMatchObject({ outcome: 'rebuilt', isChanged: true });
    expect(await rebuildPackPricing(shop.parts, pack.id)).toMatchObject({ isChanged: false });
    const opened = await createCreditPackCheckout(shop.parts, { companyId, creditPackId: pack.id });
    if (opened.outcome !== 'opened') throw new Error(JSON.stringify(opened));
    expect((await findCompany(database, companyId))?.providerCustomerId).not.toBe(before);
    await shop.sandbox.restart();
    await shop.sandbox.click(`/checkout/${opened.page.providerSessionId}/pay`);
    await shop.balanceBecomes(companyId, 1_000n * CREDIT);
    expect(await createBillingPortal(shop.parts, companyId)).toMatchObject({ outcome: 'opened' });
    await changeMode();
    expect(await createBillingPortal(shop.parts, companyId)).toMatchObject({ outcome: 'opened' });
  });

  test('P-29 an invoice for usage is created for the new customer', async () => {
    const { companyId } = await world();
    await changeMode();
    const id = await makeUsageInvoice(database, companyId);
    await shop.issueInvoice(id);
    expect((await findInvoice(database, id))?.providerInvoiceId).toStartWith('in_');
  });

  test('the commands report what they did', async () => {
    const { plan, pack } = await world();
    await changeMode();
    const payments = async () => ({ ...shop.parts, paymentEvents: shop.payments.events });
    const system = { database, payments, paymentProvider: async () => shop.sandbox.provider };
    const type = async (name: string, words: string[], parts: object = system) => {
      const command = commandNamed(name);
      if (command === null) throw new Error(name);
      return await typedCommand({ database, ...parts } as TypedParts, command, ...words);
    };
    const plans = await type('rebuild-plan-pricing', [plan.id]);
    expect(plans.exitCode).toBe(0);
    expect(plans.lines[0]).toContain('has a new price: price_');
    expect((await type('rebuild-plan-pricing', [plan.id])).lines[0]).toContain('is known to the provider');
    expect((await type('rebuild-pack-pricing', [pack.id])).lines[0]).toContain('has a new price');
    expect((await findCreditPack(database, pack.id))?.providerPriceId).not.toBe(pack.providerPriceId);
    expect(await type('rebuild-plan-pricing', [])).toMatchObject({ exitCode: 2 });
    expect(await type('rebuild-pack-pricing', [pack.id, pack.id])).toMatchObject({ exitCode: 2 });
    expect(await type('rebuild-pack-pricing', [plan.id])).toMatchObject({ exitCode: 1 });
    expect(await type('rebuild-plan-pricing', [plan.id], {})).toMatchObject({ exitCode: 1 });
  });
});
