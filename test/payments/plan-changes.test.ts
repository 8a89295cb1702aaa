import { describe, expect, test } from 'bun:test';
import { updatePlan } from '../../src/domain/catalog/change-offer.ts';
import type { PlanParams } from '../../src/domain/catalog/plan.ts';
import { expireCredits } from '../../src/domain/credits/expiry/expire-credits.ts';
import {
  changeSubscriptionPlan,
  chargedNow,
  previewSubscriptionChange,
} from '../../src/domain/payments/change-plan.ts';
import { refundsCheck } from '../../src/domain/reconciliation/money-checks.ts';
import { planCreditsCheck } from '../../src/domain/reconciliation/plan-credits-check.ts';
import { currentSubscription } from '../../src/domain/subscriptions/subscription.ts';
import { CREDIT } from './payments-under-test.ts';
import { PLAN } from './shop-under-test.ts';
import { expectSound, useShop } from './use-payments.ts';

const DAY_MS = 86_400_000;
const { database, shop } = useShop();

const TRIAL = { trialDays: 14, trialCreditsMicro: 500n * CREDIT };

const pricedPlan = async (changes: Partial<PlanParams> = {}) => (await shop.pricedPlan(changes)).id;

/** A company whose first credits of the plan have arrived. */
async function subscribe(planId: string, { credits = 3_000n, parts = shop.parts } = {}): Promise<string> {
  const companyId = await shop.newCompany();
  await shop.pay(await shop.openPlan(companyId, planId, parts));
  await shop.balanceBecomes(companyId, credits * CREDIT);
  return companyId;
}
const onTrial = (planId: string) => subscribe(planId, { credits: 500n });

const card = async (companyId: string, does: string) =>
  await shop.sandbox.own('/sandbox/cards', { customer: await shop.customerOf(companyId), card: does });
const subscriptionOf = (companyId: string) => currentSubscription(database, companyId);
const balance = (companyId: string) => shop.payments.balance(companyId);

/** Time goes on for the provider and for us; what it sends on the way arrives, and what is due here expires. */
async function pass(days: number): Promise<void> {
  aheadMs += days * DAY_MS;
  await shop.sandbox.own('/sandbox/clock', { advance_seconds: Math.round(days * 86_400) });
  await shop.deliver();
  const { sharedState, log } = shop.payments;
  const clock = { ...shop.clock, now: () => shop.clock.now() + aheadMs };
  await expireCredits({ database, sharedState, clock, log });
}
let aheadMs = 0;

describe('trial credits', () => {
  test('last as long as the trial: the rest expires with it, and the paid period grants its own', async () => {
    const companyId = await onTrial(await pricedPlan(TRIAL));
    await pass(13);
    expect(await balance(companyId)).toBe(500n * CREDIT);
    expect(await shop.payments.mails(companyId)).toEqual([]);
    await pass(2);
    expect(await balance(companyId)).toBe(3_000n * CREDIT);
    const postings = await shop.payments.postings(companyId);
    expect(postings.map(([type]) => type).sort()).toEqual([
      'EXPIRY',
      'SUBSCRIPTION_GRANT',
      'SUBSCRIPTION_GRANT',
    ]);
  });

  test('attack: a trial that ends without payment, or is canceled, leaves no credits', async () => {
    const planId = await pricedPlan(TRIAL);
    const [declined, canceled] = [await onTrial(planId), await onTrial(planId)];
    await card(declined, 'declines');
    const { providerSubscriptionId } = (await subscriptionOf(canceled)) ?? {};
    await shop.sandbox.provider.cancelSubscription(providerSubscriptionId ?? '', 'now', 'cancel-now');
    await pass(0.01);
    expect([await balance(declined), await balance(canceled)]).toEqual([500n * CREDIT, 0n]);
    await pass(15);
    expect(await subscriptionOf(declined)).toMatchObject({ status: 'PAST_DUE' });
    expect(await balance(declined)).toBe(0n);
    await card(declined, 'works');
    await pass(4);
    expect(await balance(declined)).toBe(3_000n * CREDIT);
  });

  test('the credits of a paid period expire as set in the plan, and others never', async () => {
    const expiring = await subscribe(await pricedPlan({ creditsExpireAfterDays: 10 }));
    const lasting = await subscribe(await pricedPlan());
    await pass(9);
    expect([await balance(expiring), await balance(lasting)]).toEqual([3_000n * CREDIT, 3_000n * CREDIT]);
    await pass(2);
    expect([await balance(expiring), await balance(lasting)]).toEqual([0n, 3_000n * CREDIT]);
    // What has expired is not taken a second time when its payment is refunded.
    for (const id of [expiring, lasting]) {
      const { body } = await shop.sandbox.call('GET', '/v1/charges', { customer: await shop.customerOf(id) });
      const [charge] = body.data as { id: string }[];
      await shop.sandbox.call('POST', '/v1/refunds', { charge: charge?.id ?? '' });
    }
    await pass(0.01);
    expect([await balance(expiring), await balance(lasting)]).toEqual([0n, 0n]);
    await expectSound(database, [refundsCheck, planCreditsCheck]);
  });
});

describe('a company changes its plan', () => {
  const preview = (companyId: string, planId: string) =>
    previewSubscriptionChange(shop.parts, { companyId, planId });
  const change = (companyId: string, planId: string) =>
    changeSubscriptionPlan(shop.parts, { companyId, planId });

  test('P-22 the preview changes nothing and matches the cost and the credits of the change: up, down, to another interval', async () => {
    const [basic, pro] = [
      await pricedPlan(),
      await pricedPlan({ price: 99, creditsMicro: 12_000n * CREDIT }),
    ];
    const yearly = await pricedPlan({ price: 290, creditsMicro: 40_000n * CREDIT, interval: 'YEAR' });
    const companyId = await subscribe(basic);
    await pass(10);
    const customer = await shop.customerOf(companyId);
    const invoices = async () => (await shop.call('GET', '/v1/invoices', { customer })).data;
    for (const planId of [pro, basic, yearly]) {
      const [before, issued] = [await balance(companyId), await invoices()];
      const previewed = await preview(companyId, planId);
      expect(await invoices()).toEqual(issued);
      if (previewed.outcome !== 'previewed') throw new Error(JSON.stringify(previewed));
      const changed = await change(companyId, planId);
      expect(changed).toMatchObject({ outcome: 'changed', subscription: { planId, status: 'ACTIVE' } });
      const { providerSubscriptionId } = (await subscriptionOf(companyId)) ?? {};
      const { body } = await shop.sandbox.call('GET', `/v1/subscriptions/${providerSubscriptionId}`);
      const { body: invoice } = await shop.sandbox.call('GET', `/v1/invoices/${body.latest_invoice}`);
      expect([invoice.amount_due, invoice.currency]).toEqual([
        Number(previewed.amountDueMinor),
        previewed.currency,
      ]);
      await shop.deliver();
      expect(await balance(companyId)).toBe(before + previewed.creditsMicro);
      expect(await subscriptionOf(companyId)).toMatchObject({ planId });
      if (planId === pro) expect(previewed.creditsMicro).toBeGreaterThan(5_000n * CREDIT);
      if (planId === basic) expect([previewed.amountDueMinor, previewed.creditsMicro]).toEqual([0n, 0n]);
    }
  });

  test('a failed payment changes nothing, and returns the provider’s message', async () => {
    const [basic, pro] = [await pricedPlan(), await pricedPlan({ price: 99 })];
    const companyId = await subscribe(basic);
    await card(companyId, 'declines');
    const declined = { outcome: 'provider-failed', message: 'Your card was declined.' } as const;
    expect(await change(companyId, pro)).toEqual(declined);
    expect(await subscriptionOf(companyId)).toMatchObject({ planId: basic });
    await card(companyId, 'works');
    expect(await change(companyId, pro)).toMatchObject({ outcome: 'changed' });
  });

  test('P-24 of two administrators who change it at once, the plan that the provider has last counts', async () => {
    const [basic, pro, most] = [
      await pricedPlan(),
      await pricedPlan({ price: 99 }),
      await pricedPlan({ price: 199 }),
    ];
    const companyId = await subscribe(basic);
    const { provider } = shop.sandbox;
    /** Its answer arrives when the change of the other administrator is made, and its events have arrived. */
    const slow: typeof provider = {
      ...provider,
      async changeSubscriptionPrice(wanted, key) {
        const answer = await provider.changeSubscriptionPrice(wanted, key);
        await shop.clock.advance(2_000);
        expect(await change(companyId, most)).toMatchObject({ subscription: { planId: most } });
        await shop.deliver();
        return answer;
      },
    };
    await changeSubscriptionPlan({ ...shop.parts, provider: slow }, { companyId, planId: pro });
    expect(await subscriptionOf(companyId)).toMatchObject({ planId: most });
  });

  test('P-22 a change that is sent twice at once is charged once, to a plan of another interval too', async () => {
    for (const interval of ['MONTH', 'YEAR'] as const) {
      const [basic, pro] = [await pricedPlan(), await pricedPlan({ price: 290, interval })];
      const companyId = await subscribe(basic);
      const previewed = await previewSubscriptionChange(shop.parts, { companyId, planId: pro });
      const outcomes = await Promise.all([change(companyId, pro), change(companyId, pro)]);
      expect(outcomes.filter(({ outcome }) => outcome === 'changed').length).toBeGreaterThan(0);
      const refused = outcomes.filter(({ outcome }) => outcome !== 'changed');
      for (const one of refused)
        expect(one).toMatchObject({ message: 'The company is on plan "Basic" already.' });
      await shop.deliver();
      const charges = await shop.sandbox.call('GET', '/v1/charges', {
        customer: await shop.customerOf(companyId),
      });
      const amounts = (charges.body.data as { amount: number }[]).map(({ amount }) => BigInt(amount));
      expect(previewed).toMatchObject({ outcome: 'previewed', amountDueMinor: amounts[0] });
      expect(amounts).toHaveLength(2);
    }
  });

  test('within a trial nothing is charged, and the trial continues', async () => {
    const [basic, pro] = [await pricedPlan(TRIAL), await pricedPlan({ ...TRIAL, price: 99 })];
    const companyId = await onTrial(basic);
    expect(await preview(companyId, pro)).toMatchObject({ amountDueMinor: 0n, creditsMicro: 0n });
    expect(await change(companyId, pro)).toMatchObject({
      subscription: { planId: pro, status: 'TRIALING' },
    });
    await shop.deliver();
    expect(await balance(companyId)).toBe(500n * CREDIT);
  });

  test('a subscriber at an older price may move to the current one of the same plan', async () => {
    const planId = await pricedPlan();
    const companyId = await subscribe(planId);
    const same = { outcome: 'not-possible', message: 'The company is on plan "Basic" already.' } as const;
    expect(await change(companyId, planId)).toEqual(same);
    await shop.clock.advance(1_000);
    await updatePlan({ ...shop.pricing, clock: shop.clock }, planId, { ...PLAN, price: 39 });
    expect(await preview(companyId, planId)).toMatchObject({ outcome: 'previewed' });
    expect(await change(companyId, planId)).toMatchObject({ outcome: 'changed' });
  });

  test('an impossible change is refused with advice', async () => {
    const [basic, euros] = [await pricedPlan(), await pricedPlan({ currency: 'eur' })];
    const postpaid = await shop.newPlan({ billingMode: 'POSTPAID', price: 0, creditsMicro: 0n });
    const companyId = await subscribe(basic);
    const said = async (company: string, planId: string) => {
      const refused = await change(company, planId);
      return 'message' in refused ? refused.message : refused.outcome;
    };
    expect(await said(companyId, euros)).toContain('Cancel the subscription, then subscribe');
    expect(await said(companyId, postpaid.id)).toContain('invoice');
    expect(await said(await shop.newCompany(), basic)).toContain('Subscribe to the plan instead');
    expect(await said(companyId, shop.secrets.newId())).toBe('no-such-plan');
    await database.query(`update subscriptions set status = 'PAST_DUE' where company_id = $1`, [companyId]);
    expect(await said(companyId, euros)).toContain('Pay it in the billing portal');
  });

  test('of a preview that also shows the next period only the immediate charge counts', () => {
    const end = 1_700_000_000;
    const line = (start: number, proration: boolean) => ({ period: { start }, proration });
    const lines = [line(end - 100, true), line(end - 100, false), line(end, false), line(end, true)];
    expect<unknown>(chargedNow(lines, new Date(end * 1_000))).toEqual([lines[0], lines[1], lines[3]]);
  });

  test('the mails about a trial’s end and the next payment state the charge and the credits', async () => {
    const planId = await pricedPlan(TRIAL);
    const companyId = await onTrial(planId);
    await database.query(
      `insert into users (id, company_id, email, password_hash, role)
       values (gen_random_uuid(), $1, 'a@changes.example', 'none', 'COMPANY_ADMIN')`,
      [companyId],
    );
    await pass(12);
    await pass(30);
    const mails = await database.query<{ kind: string; data: Record<string, unknown> }>(
      'select kind, data from mail_outbox where company_id = $1 order by id',
      [companyId],
    );
    const amount = { value: '29.00', currency: 'usd' };
    const creditsMicro = String(3_000n * CREDIT);
    expect(mails.map(({ kind, data }) => [kind, data])).toMatchObject([
      ['trial-ending', { amount, creditsMicro, trialCreditsMicro: String(500n * CREDIT), isCanceled: false }],
      ['receipt', { amount }],
      ['upcoming-invoice', { amount, creditsMicro, planName: 'Basic' }],
    ]);
  });
});

describe('taxes at checkout', () => {
  test('are calculated and tax ids collected where configured, and credits follow the price without tax', async () => {
    const checkoutTaxes = { isAutomatic: true, collectsTaxIds: true };
    const { companyId, sessionId } = await shop.openPack(undefined, { checkoutTaxes });
    const body = await shop.call('GET', `/v1/checkout/sessions/${sessionId}`);
    expect(body).toMatchObject({
      automatic_tax: { enabled: true },
      tax_id_collection: { enabled: true },
      amount_total: 1_200,
      total_details: { amount_tax: 200 },
    });
    await shop.pay(sessionId);
    await shop.balanceBecomes(companyId, 1_000n * CREDIT);
    const [invoice] = await database.query('select amount_minor from invoices where company_id = $1', [
      companyId,
    ]);
    expect(invoice).toEqual({ amount_minor: 1_200n });
    const session = await shop.call('GET', `/v1/checkout/sessions/${sessionId}`);
    await shop.call('POST', '/v1/refunds', { payment_intent: String(session.payment_intent), amount: '600' });
    await shop.balanceBecomes(companyId, 500n * CREDIT);
  });

  test('a plan is taxed on every invoice and grants its credits in full', async () => {
    const parts = { ...shop.parts, checkoutTaxes: { isAutomatic: true, collectsTaxIds: false } };
    const companyId = await subscribe(await pricedPlan(), { parts });
    const rows = await database.query('select amount_minor from invoices where company_id = $1', [companyId]);
    expect(rows).toEqual([{ amount_minor: 3_480n }]);
    const pro = await pricedPlan({ price: 99 });
    expect(await previewSubscriptionChange(shop.parts, { companyId, planId: pro })).toMatchObject({
      amountDueMinor: 8_400n,
    });
  });
});
