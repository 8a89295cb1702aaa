import { beforeAll, expect, test } from 'bun:test';
import { settleInvoiceByHand } from '../../src/domain/credits/invoices/invoice.ts';
import { lockAccount } from '../../src/domain/credits/ledger/ledger.ts';
import { createSubscriptionCheckout } from '../../src/domain/payments/subscription-checkout.ts';
import { AUDIT_CHECKS } from '../../src/domain/reconciliation/audit.ts';
import { currentSubscription } from '../../src/domain/subscriptions/subscription.ts';
import type { Database } from '../../src/ports/database.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { until } from '../doubles/until.ts';
import { describePostgres, usePostgres } from '../setup/use-postgres.ts';
import {
  CREDIT,
  makeCompany,
  makePurchase,
  makeUsageInvoice,
  openPayments,
  type PaymentsUnderTest,
} from './payments-under-test.ts';
import { paidSession, refundOf } from './purchase-facts.ts';
import { secondId } from './recorded-events.ts';
import { drawSchedule, refundStory, subscriptionStory } from './schedules.ts';
import { expectSound, useShop } from './use-payments.ts';

describePostgres('with a server', () => {
  const database = usePostgres({ poolSize: 16 });
  /** Two processes on one database. */
  let payments: PaymentsUnderTest;
  let other: PaymentsUnderTest;
  beforeAll(async () => {
    payments = openPayments(database);
    other = openPayments(database);
  });

  async function bought() {
    const company = await makeCompany(database);
    const purchase = await makePurchase(database, company.id);
    return { company, purchase, event: paidSession(company, purchase) };
  }

  test('P-24 billing bug 9, 11: the same event fifty times at once is applied once', async () => {
    const { company, event } = await bought();
    const many = Array.from({ length: 50 }, (_, at) => (at % 2 === 0 ? payments : other).receive(event));
    const outcomes = (await Promise.all(many)).map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === 'processed')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'duplicate')).toHaveLength(49);
    expect(await payments.postings(company.id)).toEqual([['PACK_PURCHASE', 1_000n * CREDIT]]);
    expect(await payments.mails(company.id)).toEqual(['receipt']);
  });

  test('P-24 billing bug 9: the same fact under fifty ids at once is applied once', async () => {
    const { company, event } = await bought();
    const ids = Array.from({ length: 50 }, () => secondId(event));
    const outcomes = await Promise.all(ids.map((one, at) => (at % 2 === 0 ? payments : other).receive(one)));
    expect(outcomes.every(({ outcome }) => outcome === 'processed')).toBe(true);
    expect(await payments.postings(company.id)).toEqual([['PACK_PURCHASE', 1_000n * CREDIT]]);
  });

  test('P-24 a purchase and its refunds, all at the same moment, leave nothing waiting', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { company, purchase, event } = await bought();
      const refunds = [100, 400, 1_000].map((sum) => refundOf(company, purchase, sum));
      await Promise.all([event, ...refunds].map((one, at) => (at % 2 === 0 ? payments : other).receive(one)));
      expect(await payments.balance(company.id)).toBe(0n);
      for (const one of refunds) expect(await payments.statusOf(one)).toBe('PROCESSED');
    }
  });

  test('P-24 a refund that starts to wait while its purchase is committed is still applied', async () => {
    const { company, purchase, event } = await bought();
    let isFirst = true;
    const between = openPayments({
      ...database,
      transaction: (work, options) =>
        database.transaction(async (transaction) => {
          const result = await work(transaction);
          // Looked for and not found; that it waits is not committed yet.
          if (isFirst) {
            isFirst = false;
            await payments.receive(event);
          }
          return result;
        }, options),
    });
    const refund = refundOf(company, purchase, 400);
    expect(await between.receive(refund)).toMatchObject({ outcome: 'processed' });
    expect(await payments.balance(company.id)).toBe(600n * CREDIT);
  });

  test('P-24 random schedules with duplicates and second ids, many at once: the books end the same', async () => {
    const failures: unknown[] = [];
    const stories = Array.from({ length: 40 }, async (_, at) => {
      const random = createSeededRandom(1_000 + at);
      const story = at % 2 === 0 ? await subscriptionStory(payments) : await refundStory(payments);
      const schedule = drawSchedule(story.events, random);
      const lanes = Array.from({ length: 4 }, () => 0).map(async (_lane, lane) => {
        for (const [turn, event] of schedule.entries()) {
          if (turn % 4 === lane) await (turn % 2 === 0 ? payments : other).receive(event);
        }
      });
      await Promise.all(lanes);
      const stand = await story.stand();
      const expected =
        at % 2 === 0
          ? {
              credits: 3_000n * CREDIT,
              subscription: ['ACTIVE', true, true],
              invoices: [{ kind: 'SUBSCRIPTION', status: 'PAID' }],
            }
          : { credits: 0n, purchase: { status: 'COMPLETED' }, refund: { refunded_minor: 1_000n, left: 0n } };
      if (!Bun.deepEquals(stand, expected)) failures.push({ at, stand });
    });
    await Promise.all(stories);
    expect(failures).toEqual([]);
    const [left] = await database.query<{ count: bigint }>(
      `select count(*) as count from provider_events where status <> 'PROCESSED'`,
    );
    expect(left?.count).toBe(0n);
  });

  test('the audit finds every purchase, grant and refund in the books', async () => {
    await expectSound(database, AUDIT_CHECKS);
  });

  test('P-29 an invoice that is settled by hand while the provider reports it: neither waits for the other', async () => {
    const company = await makeCompany(database, 'POSTPAID');
    const invoiceId = await makeUsageInvoice(database, company.id);
    const { byHand } = await database.transaction(async (transaction) => {
      // In the order of an event: the company's account, then the invoice.
      await lockAccount(transaction, company.id);
      const byHand = database
        .transaction((own) => settleInvoiceByHand(own, { invoiceId, paidAt: new Date() }))
        .catch((error: unknown) => error);
      await until(async () => {
        const waiting = `select 1 from pg_stat_activity where datname = current_database()
          and wait_event_type = 'Lock' and query like '%credit_accounts%'`;
        return (await database.query(waiting)).length > 0;
      });
      await transaction.query('select 1 from invoices where id = $1 for update', [invoiceId]);
      return { byHand };
    });
    expect(await byHand).toMatchObject({ outcome: 'settled', invoice: { status: 'PAID' } });
  });
});

describePostgres('checkouts, with a server', () => {
  const { database, shop } = useShop(usePostgres);

  test('billing bug 22: ten checkouts of two plans at once leave one page that can be paid', async () => {
    const companyId = await shop.newCompany();
    const plans = [await shop.pricedPlan(), await shop.pricedPlan()];
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

  test('billing bug 22: no second page and no second trial while the event of the paid page is being applied', async () => {
    const companyId = await shop.newCompany();
    const { id: planId } = await shop.pricedPlan({ trialDays: 7 });
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
