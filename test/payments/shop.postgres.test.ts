import { beforeAll, expect, test } from 'bun:test';
import { findPlan, syncAllPlansProviderPricing } from '../../src/domain/catalog/plan.ts';
import { ensureCustomer } from '../../src/domain/payments/checkout.ts';
import { createSubscriptionCheckout } from '../../src/domain/payments/subscription-checkout.ts';
import {
  currentSubscription,
  deactivateStaleSubscriptions,
} from '../../src/domain/subscriptions/subscription.ts';
import type { Database } from '../../src/ports/database.ts';
import { until } from '../doubles/until.ts';
import { describePostgres, usePostgres } from '../setup/use-postgres.ts';
import { CREDIT, openPayments } from './payments-under-test.ts';
import { countingCalls, openShop, type Shop } from './shop-under-test.ts';

describePostgres('with a server', () => {
  const database = usePostgres({ beforeClose: () => shop?.sandbox.close() });
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop(database);
  });

  test('P-9 eight concurrent syncs create one price per plan', async () => {
    const plans = [
      await shop.newPlan({ name: 'A' }),
      await shop.newPlan({ name: 'B' }),
      await shop.newPlan({ name: 'C' }),
    ];
    const { provider, calls } = countingCalls(shop.sandbox.provider);
    const runs = Array.from({ length: 8 }, () => syncAllPlansProviderPricing({ ...shop.pricing, provider }));
    const synced = await Promise.all(runs);
    expect(synced.every((run) => Bun.deepEquals(run, synced[0]))).toBe(true);
    expect(calls.get('createPrice')).toBe(3);
    for (const { id } of plans)
      expect(await findPlan(database, id)).toMatchObject({ needsProviderPricing: false });
  });

  test('one customer per company under concurrent requests', async () => {
    const companyId = await shop.newCompany();
    const asked = await Promise.all(Array.from({ length: 10 }, () => ensureCustomer(shop.parts, companyId)));
    expect(new Set(asked.map((one) => JSON.stringify(one))).size).toBe(1);
  });

  test('billing bug 22: ten checkouts of two plans at once leave one page that can be paid', async () => {
    const companyId = await shop.newCompany();
    const plans = [await shop.newPlan({ name: 'D' }), await shop.newPlan({ name: 'E' })];
    await shop.sync();
    const opened = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        createSubscriptionCheckout(shop.parts, { companyId, planId: plans[at % 2]?.id ?? '' }),
      ),
    );
    const sessions = new Set(
      opened.flatMap((one) => (one.outcome === 'opened' ? [one.page.providerSessionId] : [])),
    );
    const states: unknown[] = [];
    for (const id of sessions) {
      const session = await shop.sandbox.provider.retrieveCheckoutSession(id);
      if (session.outcome === 'done') states.push(session.value.status);
    }
    expect(states.filter((state) => state === 'open').length).toBeLessThanOrEqual(1);
    const last = await createSubscriptionCheckout(shop.parts, { companyId, planId: plans[0]?.id ?? '' });
    if (last.outcome !== 'opened') throw new Error(JSON.stringify(last));
    await shop.pay(last.page.providerSessionId);
    expect(await currentSubscription(database, companyId)).toMatchObject({
      status: 'ACTIVE',
      isActive: true,
    });
    expect(await shop.payments.balance(companyId)).toBe(3_000n * CREDIT);
  });

  test('P-27 stale prices are found, and by ids exactly those, on this engine too', async () => {
    const later = new Date(shop.clock.now() + 60 * 24 * 60 * 60_000);
    const none = { providerSubscriptionIds: ['sub_none'], dryRun: false, now: later };
    expect(await deactivateStaleSubscriptions(database, none)).toHaveLength(0);
    const found = { providerSubscriptionIds: null, dryRun: true, now: later };
    expect([...(await deactivateStaleSubscriptions(database, found))]).toMatchObject([{ isActive: true }]);
    expect([...(await deactivateStaleSubscriptions(database, { ...found, dryRun: false }))]).toMatchObject([
      { status: 'CANCELED', isActive: false, endDate: later, updatedAt: later },
    ]);
  });

  test('billing bug 22: no second page and no second trial while the event of the paid page is being applied', async () => {
    const companyId = await shop.newCompany();
    const { id: planId } = await shop.newPlan({ name: 'F', trialDays: 7 });
    await shop.sync();
    const first = await createSubscriptionCheckout(shop.parts, { companyId, planId });
    if (first.outcome !== 'opened') throw new Error(JSON.stringify(first));
    await shop.sandbox.click(`/checkout/${first.page.providerSessionId}/pay`);
    const [isApplied, mayCommit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const pausing: Database = {
      ...database,
      transaction: (work, options) =>
        database.transaction(async (transaction) => {
          const done = await work(transaction);
          const closed = `select 1 from subscription_checkouts where company_id = $1 and status = 'COMPLETED'`;
          if ((await transaction.query(closed, [companyId])).length > 0) {
            isApplied.resolve();
            await mayCommit.promise;
          }
          return done;
        }, options),
    };
    const completed = shop.sandbox.received.findLast(
      ({ event }) => event?.type === 'checkout.session.completed',
    );
    if (completed?.event == null) throw new Error('the provider sent no event of the paid page');
    const applied = openPayments(pausing).receive(completed.event);
    await isApplied.promise;
    const second = createSubscriptionCheckout(shop.parts, { companyId, planId });
    await until(async () => {
      const blocked = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return (await database.query(blocked)).length > 0;
    });
    mayCommit.resolve();
    expect(await applied).toMatchObject({ outcome: 'processed' });
    expect(await second).toMatchObject({ outcome: 'subscribed-already' });
    await shop.handOn();
  });
});
