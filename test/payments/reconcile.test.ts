import { describe, expect, test } from 'bun:test';
import { findInvoice } from '../../src/domain/credits/invoices/invoice.ts';
import { paymentWork, SUBSCRIPTION_GRACE_QUEUE } from '../../src/domain/payments/payment-jobs.ts';
import { mailOverdueInvoices } from '../../src/domain/payments/postpaid-invoices.ts';
import { listPurchases } from '../../src/domain/payments/purchase.ts';
import { reconcile } from '../../src/domain/payments/reconcile.ts';
import { findByProviderId } from '../../src/domain/subscriptions/subscription.ts';
import type { Job } from '../../src/ports/job-queue.ts';
import { CREDIT, GRACE_MS, makeCompany, makePlan } from './payments-under-test.ts';
import { paidSession } from './purchase-facts.ts';
import { failing } from './shop-under-test.ts';
import { newSubscription, subscriptionEvent } from './subscription-facts.ts';
import { useShop } from './use-payments.ts';

const { database, shop } = useShop();

const HOUR_MS = 60 * 60_000;

async function begun() {
  const opened = await shop.openPack();
  const status = async () => (await listPurchases(database, opened.companyId))[0]?.status;
  return { ...opened, status };
}

describe('reconciliation', () => {
  test('billing bug 20: a paid purchase whose event never arrived is completed, once, by a query to the provider', async () => {
    const { companyId, sessionId, status } = await begun();
    await shop.sandbox.click(`/checkout/${sessionId}/pay`);
    shop.lose();
    // The provider has forgotten the event, too.
    const provider = { ...shop.sandbox.provider, listEvents: failing<never>('away') };
    await reconcile({ ...shop.parts, provider });
    expect(await status()).toBe('PENDING');
    await shop.clock.advance(HOUR_MS);
    expect(await reconcile({ ...shop.parts, provider })).toMatchObject({ purchases: 1 });
    expect(await status()).toBe('COMPLETED');
    await shop.clock.advance(HOUR_MS);
    expect(await reconcile(shop.parts)).toMatchObject({ purchases: 0 });
    expect(await shop.payments.balance(companyId)).toBe(1_000n * CREDIT);
  });

  test('many pages that are never paid do not keep a paid purchase from its turn', async () => {
    const { companyId, purchaseId, sessionId, status } = await begun();
    await shop.sandbox.click(`/checkout/${sessionId}/pay`);
    shop.lose();
    await shop.clock.advance(HOUR_MS + 120_000);
    const ago = (ms: number) => new Date(shop.clock.now() - ms);
    await database.query(
      `insert into credit_pack_purchases (id, company_id, credit_pack_id, status, credits_micro, amount_minor, currency,
         created_at, updated_at, checked_at)
       select gen_random_uuid(), company_id, credit_pack_id, status, credits_micro, amount_minor, currency, $2, $2, $3
       from credit_pack_purchases, generate_series(1, 100) where id = $1`,
      [purchaseId, ago(2 * HOUR_MS), ago(HOUR_MS + 60_000)],
    );
    const provider = { ...shop.sandbox.provider, listEvents: failing<never>('away') };
    expect(await reconcile({ ...shop.parts, provider })).toMatchObject({ purchases: 1 });
    await database.query('delete from credit_pack_purchases where company_id = $1 and id <> $2', [
      companyId,
      purchaseId,
    ]);
    expect(await status()).toBe('COMPLETED');
  });

  test('a purchase whose page has expired is CANCELED; a late payment still completes it', async () => {
    const { companyId, purchaseId, sessionId, status } = await begun();
    await shop.sandbox.provider.expireCheckoutSession(sessionId, `expire:${sessionId}`);
    await shop.clock.advance(HOUR_MS);
    await reconcile(shop.parts);
    expect(await status()).toBe('CANCELED');
    expect(await shop.payments.balance(companyId)).toBe(0n);
    const customerId = await shop.customerOf(companyId);
    const names = { id: purchaseId, sessionId, paymentId: 'pi_late', chargeId: 'ch_late' };
    await shop.payments.receive(paidSession({ id: companyId, customerId }, names));
    expect(await status()).toBe('COMPLETED');
    expect(await shop.payments.balance(companyId)).toBe(1_000n * CREDIT);
  });

  test('an unavailable provider changes nothing, and the purchase is checked again', async () => {
    const { sessionId, status } = await begun();
    await shop.sandbox.click(`/checkout/${sessionId}/pay`);
    shop.lose();
    await shop.clock.advance(HOUR_MS);
    const provider = {
      ...shop.sandbox.provider,
      retrieveCheckoutSession: failing<never>('away'),
      listEvents: failing<never>('away'),
    };
    // The clock is far ahead meanwhile.
    shop.clock.step(100 * HOUR_MS);
    expect(await reconcile({ ...shop.parts, provider })).toEqual({ purchases: 0, events: 0 });
    expect(await status()).toBe('PENDING');
    shop.clock.step(-100 * HOUR_MS);
    await shop.clock.advance(HOUR_MS);
    const listEvents = failing<never>('away');
    await reconcile({ ...shop.parts, provider: { ...shop.sandbox.provider, listEvents } });
    expect(await status()).toBe('COMPLETED');
  });
});

describe('the jobs', () => {
  const run = async (name: string, data: Job['data'] = {}) => {
    const { provider } = shop.sandbox;
    const work = paymentWork({ ...shop.parts, ...shop.payments.parts, provider, eventsKeepDays: 400 });
    const found = work.find(({ queue }) => queue.name === name);
    if (found === undefined) throw new Error(`no work on ${name}`);
    await found.handler({ id: 'job', data, attempt: 1, signal: new AbortController().signal });
  };

  test('P-29 an invoice for usage is created at the provider, once, mailed, and its payment there settles it', async () => {
    const { company, id } = await shop.owing();
    await run('invoice-issued', { invoiceId: id });
    await run('invoice-issued', { invoiceId: id });
    const { status, providerInvoiceId, hostedUrl } = (await findInvoice(database, id)) ?? {};
    expect([status, providerInvoiceId?.slice(0, 3), hostedUrl?.slice(0, 4)]).toEqual(['OPEN', 'in_', 'http']);
    expect(await shop.payments.mails(company.id)).toEqual(['invoice-issued']);
    await shop.sandbox.provider.markInvoicePaid(providerInvoiceId ?? '', `pay:${id}`);
    await shop.balanceBecomes(company.id, 50n * CREDIT);
    expect(await findInvoice(database, id)).toMatchObject({ status: 'PAID' });
    expect(await shop.payments.postings(company.id)).toEqual([['INVOICE_PAYMENT', 50n * CREDIT]]);
  });

  test('P-29 the admins of a blocked company are mailed once per overdue invoice, and no other user is', async () => {
    const { clock, mails } = shop.payments;
    const postpaid = await makeCompany(database, 'POSTPAID');
    const prepaid = await makeCompany(database);
    const paid = await makeCompany(database, 'POSTPAID');
    await database.query(
      `insert into users (id, company_id, email, password_hash, role)
       values ($1, $2, 'second@example.com', 'none', 'COMPANY_ADMIN'), ($3, $2, 'member@example.com', 'none', 'MEMBER')`,
      [crypto.randomUUID(), postpaid.id, crypto.randomUUID()],
    );
    const dueAt = new Date(clock.now() + HOUR_MS);
    for (const [company, status] of [
      [postpaid, 'OPEN'],
      [prepaid, 'OPEN'],
      [paid, 'PAID'],
    ] as const) {
      await database.query(
        `insert into invoices (id, company_id, kind, status, amount_minor, currency, due_at, number)
         values ($1, $2, 'MANUAL', $3, 500, 'usd', $4, 'INV-1')`,
        [crypto.randomUUID(), company.id, status, dueAt],
      );
    }
    await run('overdue-invoices');
    expect(await mails(postpaid.id)).toEqual([]);

    await clock.advance(HOUR_MS);
    await Promise.all([run('overdue-invoices'), run('overdue-invoices')]);
    await run('overdue-invoices');
    expect(await mails(postpaid.id)).toEqual(['invoice-overdue', 'invoice-overdue']);
    const [mail] = await database.query<{ to: string[]; data: object }>(
      `select array_agg(to_address order by to_address) as to, min(data::text)::jsonb as data from mail_outbox where company_id = $1`,
      [postpaid.id],
    );
    expect(mail?.to).toEqual([`${postpaid.id}@example.com`, 'second@example.com']);
    expect(mail?.data).toMatchObject({ invoiceNumber: 'INV-1', dueAt: dueAt.toISOString() });
    expect([...(await mails(prepaid.id)), ...(await mails(paid.id))]).toEqual([]);

    // From now on the invoice blocks this company, too.
    await database.query(`update companies set billing_mode = 'POSTPAID' where id = $1`, [prepaid.id]);
    await run('overdue-invoices');
    expect(await mails(prepaid.id)).toEqual(['invoice-overdue']);
  });

  test('P-29 an overdue invoice whose mail could not be written is retried', async () => {
    const { clock, mails, parts: own } = shop.payments;
    const company = await makeCompany(database, 'POSTPAID');
    await database.query(
      `insert into invoices (id, company_id, kind, status, amount_minor, currency, due_at)
       values ($1, $2, 'MANUAL', 'OPEN', 500, 'usd', $3)`,
      [crypto.randomUUID(), company.id, new Date(clock.now())],
    );
    const broken = { send: () => Promise.reject(new Error('the queue is full')) };
    await expect(mailOverdueInvoices({ ...own, mail: broken })).rejects.toThrow('the queue is full');
    await run('overdue-invoices');
    expect(await mails(company.id)).toEqual(['invoice-overdue']);
  });

  test('P-18 the grace period of a past due payment ends by the clock', async () => {
    const company = await makeCompany(database);
    const plan = await makePlan(database);
    const subscription = newSubscription(company, plan.priceId);
    const created = Math.floor(shop.payments.clock.now() / 1000);
    await shop.payments.receive(
      subscriptionEvent('updated', subscription, { status: 'past_due' }, { created }),
    );
    await run(SUBSCRIPTION_GRACE_QUEUE.name);
    expect(await findByProviderId(database, subscription.id)).toMatchObject({ isActive: true });
    await shop.payments.clock.advance(GRACE_MS);
    await run(SUBSCRIPTION_GRACE_QUEUE.name);
    expect(await findByProviderId(database, subscription.id)).toMatchObject({
      status: 'PAST_DUE',
      isActive: false,
    });
  });
});
