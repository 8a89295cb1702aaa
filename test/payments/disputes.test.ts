import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { findInvoice } from '../../src/domain/credits/invoices/invoice.ts';
import { correctSource } from '../../src/domain/payments/cash/corrections.ts';
import { readDisputes } from '../../src/domain/payments/disputes.ts';
import { cashCheck, disputesCheck, refundsCheck } from '../../src/domain/reconciliation/money-checks.ts';
import type { ProviderEvent } from '../../src/ports/payment-provider.ts';
import { CREDIT } from './payments-under-test.ts';
import { failing } from './shop-under-test.ts';
import { expectSound, useShop } from './use-payments.ts';

const { database, shop } = useShop();
beforeAll(() =>
  database.query(
    `insert into users (id, company_id, email, password_hash, role, is_super_admin)
     values ($1, null, 'root@example.com', 'none', 'MEMBER', true)`,
    [crypto.randomUUID()],
  ),
);
beforeEach(() => database.query(`delete from mail_outbox where to_address = 'root@example.com'`));

const balance = (companyId: string) => shop.payments.balance(companyId);

/** A pack of 1,000 credits for 10 usd, bought and paid by a company with an admin. */
async function bought() {
  const one = await shop.buyPack();
  await database.query(
    `insert into users (id, company_id, email, password_hash, role) values ($1, $2, $3, 'none', 'COMPANY_ADMIN')`,
    [crypto.randomUUID(), one.companyId, `${one.companyId}@example.com`],
  );
  return one;
}

/** An invoice for usage of 5 usd, paid by card at the provider. */
async function paidForUsage() {
  const { company, id: invoiceId } = await shop.owing();
  await shop.issueInvoice(invoiceId);
  const { providerInvoiceId } = (await findInvoice(database, invoiceId)) ?? {};
  const invoice = await shop.call('POST', `/v1/invoices/${providerInvoiceId}/pay`);
  await shop.deliver();
  return { companyId: company.id, invoiceId, charge: String(invoice.charge) };
}

async function dispute(payment: string, status: string, more: object = {}) {
  const answer = await shop.sandbox.own('/sandbox/disputes', { payment_intent: payment, status, ...more });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Record<string, unknown> & { id: string };
}

async function refund(payment: string, amountMinor: bigint, key: string) {
  const wanted = { paymentId: payment, amountMinor, metadata: {} };
  const made = await shop.sandbox.provider.refund(wanted, `${payment}:${key}`);
  if (made.outcome !== 'done') throw new Error(made.failure.message);
  return made.value.id;
}

async function fails(refundId: string) {
  expect((await shop.sandbox.own('/sandbox/refunds', { refund: refundId, status: 'failed' })).status).toBe(
    200,
  );
}

/** As a signed event, at a time in seconds from now. */
function closed(object: { readonly id: string }, status: string, seconds = 0): ProviderEvent {
  const changed = { ...object, status };
  return {
    ...{ id: `evt_${object.id}_${status}_${seconds}`, type: 'charge.dispute.closed', livemode: false },
    ...{
      apiVersion: '2023-10-16',
      createdAtMs: shop.clock.now() + seconds * 1_000,
      previousAttributes: null,
    },
    ...{ object: changed, payload: { data: { object: changed } } },
  };
}

const toRoot = async () =>
  await database.query<{ data: Record<string, unknown> }>(
    `select data from mail_outbox where to_address = 'root@example.com' order by id`,
  );
const problems = async () => (await toRoot()).map(({ data }) => data.problem);
const disputeMails = async (companyId: string) =>
  (await shop.payments.mails(companyId)).filter((kind) => kind !== 'receipt');

describe('disputes', () => {
  test('P-21 an open one is reported, a lost one takes the credits back, once each', async () => {
    const { companyId, payment } = await bought();
    const { id } = await dispute(payment, 'needs_response');
    expect(await readDisputes(shop.parts)).toBe(1);
    expect(await readDisputes(shop.parts)).toBe(0);
    expect(await balance(companyId)).toBe(1_000n * CREDIT);
    expect(await disputeMails(companyId)).toEqual(['payment-dispute']);
    expect(await problems()).toEqual(['dispute-opened']);
    await dispute(payment, 'lost');
    await readDisputes(shop.parts);
    await readDisputes(shop.parts);
    expect(await balance(companyId)).toBe(0n);
    expect(await shop.payments.postings(companyId)).toEqual([
      ['PACK_PURCHASE', 1_000n * CREDIT],
      ['REFUND', -1_000n * CREDIT],
    ]);
    expect(await disputeMails(companyId)).toEqual(['payment-dispute', 'payment-dispute']);
    const [, lost] = await toRoot();
    expect(lost?.data).toMatchObject({ problem: 'dispute-lost', reference: id, companyName: 'Acme' });
  });

  test('P-21 a lost one that is won later returns the credits, once, whatever is read again', async () => {
    const { companyId, payment } = await bought();
    await refund(payment, 300n, 'a part');
    await shop.balanceBecomes(companyId, 700n * CREDIT);
    await dispute(payment, 'lost');
    await readDisputes(shop.parts);
    expect(await balance(companyId)).toBe(0n);
    const won = await dispute(payment, 'won');
    await readDisputes(shop.parts);
    await readDisputes(shop.parts);
    for (const status of ['won', 'lost']) await shop.payments.receive(closed(won, status));
    expect(await balance(companyId)).toBe(700n * CREDIT);
    expect(await shop.payments.postings(companyId)).toEqual([
      ['PACK_PURCHASE', 1_000n * CREDIT],
      ['REFUND', -300n * CREDIT],
      ['REFUND', -700n * CREDIT],
      ['REFUND', 700n * CREDIT],
    ]);
    expect(await problems()).toEqual(['dispute-lost', 'dispute-reversed']);
    // What is refunded after that is taken as if there had been no dispute.
    await refund(payment, 200n, 'another part');
    await shop.balanceBecomes(companyId, 500n * CREDIT);
    await expectSound(database);
  });

  test('P-21 P-24 one that is won and then lost takes the credits; the decision that was reported last counts', async () => {
    const [first, second] = [await bought(), await bought()];
    const orders = [
      ['won 10', 'lost 20', 'won 30', 'lost 40', 'won 50', 'lost 60'],
      ['lost 20', 'won 10', 'lost 60', 'won 30', 'lost 40', 'won 50'],
    ];
    for (const [at, { companyId, payment }] of [first, second].entries()) {
      const object = await dispute(payment, 'needs_response', { amount: 600 });
      for (const order of orders[at] ?? []) {
        const [status = '', seconds] = order.split(' ');
        const event = closed(object, status, Number(seconds));
        expect(await shop.payments.receive(event)).toMatchObject({ outcome: 'processed' });
        if (at === 0)
          expect(await balance(companyId)).toBe(status === 'won' ? 1_000n * CREDIT : 400n * CREDIT);
        await expectSound(database);
      }
      expect(await balance(companyId)).toBe(400n * CREDIT);
    }
    expect(await disputeMails(first.companyId)).toHaveLength(6);
  });

  test('P-21 what is read is applied each time that the decision changes', async () => {
    const { companyId, payment } = await bought();
    for (const status of ['won', 'lost', 'won', 'lost', 'won']) {
      await dispute(payment, status);
      for (let reads = 0; reads < 2; reads += 1) {
        await shop.clock.advance(2_000);
        await readDisputes(shop.parts);
      }
      expect(await balance(companyId)).toBe(status === 'won' ? 1_000n * CREDIT : 0n);
    }
    await expectSound(database);
  });

  test('P-29 one whose credits were corrected by hand is compared with its money', async () => {
    const { companyId, payment } = await bought();
    const { id } = await dispute(payment, 'lost', { amount: 600 });
    await readDisputes(shop.parts);
    const found = async () => {
      const rows = [];
      for (const { differences } of [refundsCheck, disputesCheck])
        rows.push(
          ...(await database.query<{ expected: string; found: string; remedy: string }>(differences)),
        );
      return rows;
    };
    let count = 0;
    const correct = (kind: 'charge-refund' | 'dispute', credits: bigint) =>
      database.transaction((transaction) =>
        correctSource(transaction, {
          ...{ kind, id, creditsMicro: credits * CREDIT, cashMinor: 0n, key: `${++count}` },
          ...{ reason: 'by hand', now: new Date(shop.clock.now()) },
        }),
      );
    for (const kind of ['charge-refund', 'dispute'] as const) {
      await correct(kind, -50n);
      expect(await found()).toEqual([
        expect.objectContaining({
          ...{ expected: `600 credits taken from company ${companyId}`, found: '650 credits taken' },
          remedy: `turnpike correct charge-refund/${id} --credits=50`,
        }),
      ]);
      await correct('charge-refund', 50n);
      expect(await found()).toEqual([]);
    }
    // The row has less of the money than the dispute: a correction takes the rest, and no other amount does.
    await database.query('update payment_disputes set amount_minor = 800 where dispute_id = $1', [id]);
    await correct('charge-refund', -150n);
    const [rest] = await found();
    expect(rest?.remedy).toBe(`turnpike correct charge-refund/${id} --credits=-50`);
    await correct('charge-refund', -50n);
    expect(await found()).toEqual([]);
    // Corrected to nothing it is reversed.
    await correct('charge-refund', 800n);
    expect(await found()).toEqual([]);
    await database.query('update payment_disputes set amount_minor = 600 where dispute_id = $1', [id]);
  });

  test('P-21 a signed event counts like one that was fetched, and not twice with it', async () => {
    const { companyId, payment } = await bought();
    const object = await dispute(payment, 'lost');
    expect(await shop.payments.receive(closed(object, 'lost'))).toMatchObject({ outcome: 'processed' });
    expect(await balance(companyId)).toBe(0n);
    await readDisputes(shop.parts);
    expect(await balance(companyId)).toBe(0n);
    expect(await disputeMails(companyId)).toEqual(['payment-dispute']);
  });

  test('P-21 the signed event of an invoice for usage waits for reconciliation, which has its invoice', async () => {
    const { charge } = await paidForUsage();
    const opened = await dispute('', 'needs_response', { payment_intent: undefined, charge });
    const signed = ['needs_response', 'lost'].map((status) => closed(opened, status));
    const statuses = () => Promise.all(signed.map((event) => shop.payments.statusOf(event)));
    for (const event of signed) await shop.payments.receive(event);
    expect(await statuses()).toEqual(['DEFERRED', 'DEFERRED']);
    await readDisputes(shop.parts);
    expect(await statuses()).toEqual(['PROCESSED', 'DEFERRED']);
    await dispute('', 'lost', { payment_intent: undefined, charge });
    await readDisputes(shop.parts);
    expect(await statuses()).toEqual(['PROCESSED', 'PROCESSED']);
    await expectSound(database);
  });

  test('P-21 one that the provider settles beforehand is lost if that returned the money, and closed if not', async () => {
    const { companyId, payment } = await bought();
    const opened = await dispute(payment, 'needs_response');
    const settled = async (...amounts: number[]) => {
      const balance_transactions = amounts.map((amount) => ({ amount }));
      const items = [{ ...opened, status: 'prevented', balance_transactions }];
      const listDisputes = async () => ({ outcome: 'done', value: { items, hasMore: false } }) as const;
      await readDisputes({ ...shop.parts, provider: { ...shop.sandbox.provider, listDisputes } });
      return await balance(companyId);
    };
    expect(await settled()).toBe(1_000n * CREDIT);
    expect(await settled(-1_000)).toBe(0n);
    expect(await settled(-1_000)).toBe(0n);
    expect(await problems()).toEqual(['dispute-closed', 'dispute-lost']);
  });
});

describe('a refund that fails', () => {
  test('P-21 the credits are returned, once; a second refund takes them again', async () => {
    const { companyId, payment } = await bought();
    const refundId = await refund(payment, 400n, 'first');
    await shop.balanceBecomes(companyId, 600n * CREDIT);
    await fails(refundId);
    await readDisputes(shop.parts);
    await readDisputes(shop.parts);
    expect(await balance(companyId)).toBe(1_000n * CREDIT);
    expect(await disputeMails(companyId)).toEqual(['refund-failed']);
    expect(await problems()).toEqual(['refund-failed']);
    await shop.clock.advance(5_000);
    await refund(payment, 400n, 'second');
    await shop.balanceBecomes(companyId, 600n * CREDIT);
    await shop.clock.advance(5_000);
    await refund(payment, 600n, 'rest');
    await shop.balanceBecomes(companyId, 0n);
    await expectSound(database, [refundsCheck, cashCheck]);
  });

  test('P-21 P-29 of an invoice for usage it is reported, and its money is in the cash accounts again', async () => {
    const { companyId, invoiceId, charge } = await paidForUsage();
    const { body } = await shop.sandbox.call('POST', '/v1/refunds', { charge, amount: '200' });
    const money = async () =>
      await database.query(
        `select sum(amount_minor)::integer as minor from cash_entries where company_id = $1 and account = 'refunded'`,
        [companyId],
      );
    await shop.deliver();
    expect(await money()).toEqual([{ minor: 200 }]);
    await fails(String((body as { id: string }).id));
    await readDisputes(shop.parts);
    expect(await money()).toEqual([{ minor: 0 }]);
    expect(await problems()).toEqual(['refund-failed']);
    expect(await disputeMails(companyId)).toContain('refund-failed');
    const rows = await database.query(
      'select source_id, refunded_minor from charge_refunds where charge_id = $1',
      [charge],
    );
    expect(rows).toEqual([{ source_id: invoiceId, refunded_minor: 0n }]);
  });

  test('a failed listing changes nothing', async () => {
    const { companyId, payment } = await bought();
    await fails(await refund(payment, 400n, 'first'));
    await shop.balanceBecomes(companyId, 600n * CREDIT);
    const down = failing<never>('down');
    const provider = { ...shop.sandbox.provider, listDisputes: down, listRefunds: down };
    expect(await readDisputes({ ...shop.parts, provider })).toBe(0);
    expect(await balance(companyId)).toBe(600n * CREDIT);
    await readDisputes(shop.parts);
    expect(await balance(companyId)).toBe(1_000n * CREDIT);
  });
});
