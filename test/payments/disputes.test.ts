import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { HANDLED_EVENT_KINDS } from '../../src/domain/payments/apply-event.ts';
import { correctSource } from '../../src/domain/payments/cash/corrections.ts';
import { createCreditPackCheckout } from '../../src/domain/payments/checkout.ts';
import { readDisputes } from '../../src/domain/payments/disputes.ts';
import { replayPayments } from '../../src/domain/payments/missed-events.ts';
import { createInvoiceIssuer } from '../../src/domain/payments/postpaid-invoices.ts';
import { runCheck } from '../../src/domain/reconciliation/audit-check.ts';
import {
  cashCheck,
  disputesCheck,
  MONEY_CHECKS,
  refundsCheck,
} from '../../src/domain/reconciliation/money-checks.ts';
import type { ProviderEvent } from '../../src/ports/payment-provider.ts';
import { useDatabase } from '../setup/use-database.ts';
import { CREDIT, makeCompany, makePlan } from './payments-under-test.ts';
import { failing, openShop, type Shop } from './shop-under-test.ts';
import { invoiceEvent, newSubscription } from './subscription-facts.ts';

const database = useDatabase({ beforeClose: () => shop.sandbox.close() });
let shop: Shop;
beforeAll(async () => {
  shop = await openShop(database);
  await database.query(
    `insert into users (id, company_id, email, password_hash, role, is_super_admin)
     values ($1, null, 'root@example.com', 'none', 'MEMBER', true)`,
    [crypto.randomUUID()],
  );
});
beforeEach(() => database.query(`delete from mail_outbox where to_address = 'root@example.com'`));

const parts = () => ({ ...shop.parts, provider: shop.sandbox.provider, paymentEvents: shop.payments.events });
const balance = (companyId: string) => shop.payments.balance(companyId);

/** A pack of 1,000 credits for 10 usd, bought and paid. */
async function bought() {
  const { id: companyId } = await makeCompany(database);
  await database.query('update companies set provider_customer_id = null where id = $1', [companyId]);
  const pack = await shop.newPack();
  const opened = await createCreditPackCheckout(shop.parts, { companyId, creditPackId: pack.id });
  if (opened.outcome !== 'opened') throw new Error(opened.outcome);
  const { providerSessionId } = opened.page;
  await shop.sandbox.click(`/checkout/${providerSessionId}/pay`);
  await shop.balanceBecomes(companyId, 1_000n * CREDIT);
  const session = await shop.sandbox.provider.retrieveCheckoutSession(providerSessionId);
  if (session.outcome !== 'done') throw new Error('no session');
  return { companyId, payment: String(session.value.payment_intent) };
}

/** An invoice for usage of 5 usd, paid by card at the provider. */
async function paidForUsage() {
  const { id: companyId } = await makeCompany(database, 'POSTPAID');
  await database.query('update companies set provider_customer_id = null where id = $1', [companyId]);
  const invoiceId = crypto.randomUUID();
  await database.query(
    `insert into invoices (id, company_id, kind, status, amount_minor, currency, usage_micro, first_version,
       last_version, period_start, period_end, due_at, number)
     values ($1, $2, 'POSTPAID', 'OPEN', 500, 'usd', $3, 1, 1, '2029-12-01', '2030-01-01', '2030-01-15', $4)`,
    [invoiceId, companyId, 50n * CREDIT, invoiceId],
  );
  const issue = createInvoiceIssuer({ ...parts(), mail: shop.payments.parts.mail });
  await issue({ id: 'job', data: { invoiceId }, attempt: 1, signal: new AbortController().signal });
  const [row] = await database.query<{ id: string }>(
    'select provider_invoice_id as id from invoices where id = $1',
    [invoiceId],
  );
  expect(await shop.sandbox.call('POST', `/v1/invoices/${row?.id}/pay`)).toMatchObject({ status: 200 });
  await shop.sandbox.settled();
  await shop.handOn();
  const invoice = await shop.sandbox.provider.retrieveInvoice(row?.id ?? '');
  if (invoice.outcome !== 'done') throw new Error('no invoice');
  return { companyId, invoiceId, charge: String(invoice.value.charge) };
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

const toRoot = async () =>
  await database.query<{ data: Record<string, unknown> }>(
    `select data from mail_outbox where to_address = 'root@example.com' order by id`,
  );
const problems = async () => (await toRoot()).map(({ data }) => data.problem);
const disputeMails = async (companyId: string) =>
  (await shop.payments.mails(companyId)).filter((kind) => kind !== 'receipt');

describe('disputes', () => {
  test('P-23 exactly the fourteen kinds are registered', () => {
    expect(HANDLED_EVENT_KINDS).toHaveLength(14);
    expect(HANDLED_EVENT_KINDS.filter((kind) => kind.includes('dispute'))).toEqual([]);
  });

  test('P-21 an open one is reported, a lost one takes the credits back, once each', async () => {
    const { companyId, payment } = await bought();
    const { id } = await dispute(payment, 'needs_response');
    expect(await readDisputes(parts())).toBe(1);
    expect(await readDisputes(parts())).toBe(0);
    expect(await balance(companyId)).toBe(1_000n * CREDIT);
    expect(await disputeMails(companyId)).toEqual(['payment-dispute']);
    expect(await problems()).toEqual(['dispute-opened']);
    await dispute(payment, 'lost');
    await readDisputes(parts());
    await readDisputes(parts());
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
    const { id } = await dispute(payment, 'lost');
    await readDisputes(parts());
    expect(await balance(companyId)).toBe(0n);
    const won = await dispute(payment, 'won');
    await readDisputes(parts());
    await readDisputes(parts());
    const event = (status: string): ProviderEvent => ({
      ...{
        id: `evt_${id}_${status}`,
        type: 'charge.dispute.closed',
        apiVersion: '2023-10-16',
        livemode: false,
      },
      ...{ createdAtMs: shop.clock.now(), previousAttributes: null },
      ...{ object: { ...won, status }, payload: { data: { object: { ...won, status } } } },
    });
    for (const status of ['won', 'lost']) await shop.payments.receive(event(status));
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
    for (const check of MONEY_CHECKS)
      expect(await runCheck(database, check)).toEqual({ faults: [], isCut: false });
  });

  /** As a signed event, at a time in seconds from now. */
  async function decided(object: { readonly id: string }, status: string, seconds: number) {
    const event: ProviderEvent = {
      ...{ id: `evt_${object.id}_${status}_${seconds}`, type: 'charge.dispute.closed', livemode: false },
      ...{ apiVersion: '2023-10-16', createdAtMs: shop.clock.now() + seconds * 1_000 },
      ...{ object: { ...object, status }, previousAttributes: null },
      payload: { data: { object: { ...object, status } } },
    };
    expect(await shop.payments.receive(event)).toMatchObject({ outcome: 'processed' });
  }

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
        await decided(object, status, Number(seconds));
        if (at === 0)
          expect(await balance(companyId)).toBe(status === 'won' ? 1_000n * CREDIT : 400n * CREDIT);
        for (const check of MONEY_CHECKS)
          expect(await runCheck(database, check)).toEqual({ faults: [], isCut: false });
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
        await readDisputes(parts());
      }
      expect(await balance(companyId)).toBe(status === 'won' ? 1_000n * CREDIT : 0n);
    }
    for (const check of MONEY_CHECKS)
      expect(await runCheck(database, check)).toEqual({ faults: [], isCut: false });
  });

  test('P-29 one whose credits were corrected by hand is compared with its money', async () => {
    const { companyId, payment } = await bought();
    const { id } = await dispute(payment, 'lost', { amount: 600 });
    await readDisputes(parts());
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
    const event: ProviderEvent = {
      id: `evt_${object.id}`,
      type: 'charge.dispute.closed',
      apiVersion: '2023-10-16',
      createdAtMs: shop.clock.now(),
      livemode: false,
      object,
      previousAttributes: null,
      payload: { data: { object } },
    };
    expect(await shop.payments.receive(event)).toMatchObject({ outcome: 'processed' });
    expect(await balance(companyId)).toBe(0n);
    await readDisputes(parts());
    expect(await balance(companyId)).toBe(0n);
    expect(await disputeMails(companyId)).toEqual(['payment-dispute']);
  });

  test('P-21 a partial one after a refund: the last of the money takes exactly the last of the credits', async () => {
    const { companyId, payment } = await bought();
    await refund(payment, 333n, 'first');
    await shop.balanceBecomes(companyId, 667n * CREDIT);
    await dispute(payment, 'lost', { amount: 1_000 });
    await readDisputes(parts());
    expect(await balance(companyId)).toBe(0n);
    const other = await bought();
    await dispute(other.payment, 'lost', { amount: 250 });
    await readDisputes(parts());
    expect(await balance(other.companyId)).toBe(750n * CREDIT);
  });

  test('a won dispute takes nothing', async () => {
    const { companyId, payment } = await bought();
    await dispute(payment, 'needs_response');
    await readDisputes(parts());
    await dispute(payment, 'won');
    await readDisputes(parts());
    expect(await balance(companyId)).toBe(1_000n * CREDIT);
    expect(await problems()).toEqual(['dispute-opened', 'dispute-closed']);
  });

  test('P-21 one that the provider settles beforehand is lost if that returned the money, and closed if not', async () => {
    const { companyId, payment } = await bought();
    const opened = await dispute(payment, 'needs_response');
    const settled = async (...amounts: number[]) => {
      const balance_transactions = amounts.map((amount) => ({ amount }));
      const items = [{ ...opened, status: 'prevented', balance_transactions }];
      const listDisputes = async () => ({ outcome: 'done', value: { items, hasMore: false } }) as const;
      await readDisputes({ ...parts(), provider: { ...shop.sandbox.provider, listDisputes } });
      return await balance(companyId);
    };
    expect(await settled()).toBe(1_000n * CREDIT);
    expect(await settled(-1_000)).toBe(0n);
    expect(await settled(-1_000)).toBe(0n);
    expect(await problems()).toEqual(['dispute-closed', 'dispute-lost']);
  });

  test('P-21 of a plan: the credits of its invoice are taken back', async () => {
    const company = await makeCompany(database);
    const plan = await makePlan(database);
    const subscription = newSubscription(company, plan.priceId);
    const paid = invoiceEvent('paid', subscription, { payment_intent: `pi_${company.id.slice(-12)}` });
    await shop.payments.receive(paid);
    const before = await balance(company.id);
    expect(before).toBeGreaterThan(0n);
    const object = {
      ...{ id: `dp_${company.id.slice(-12)}`, object: 'dispute', status: 'lost', amount: 2_900 },
      ...{ currency: 'usd', charge: 'ch_of_plan', payment_intent: `pi_${company.id.slice(-12)}` },
    };
    const provider = {
      ...shop.sandbox.provider,
      listDisputes: async () => ({ outcome: 'done', value: { items: [object], hasMore: false } }) as const,
    };
    await readDisputes({ ...parts(), provider });
    expect(await balance(company.id)).toBe(0n);
  });

  test('replayPayments reads them too', async () => {
    const { companyId, payment } = await bought();
    await dispute(payment, 'lost');
    const now = new Date(shop.clock.now());
    expect(await replayPayments(parts(), { from: now, to: now })).toMatchObject({ outcome: 'replayed' });
    expect(await balance(companyId)).toBe(0n);
  });
});

describe('a refund that fails', () => {
  test('P-21 the credits are returned, once; a second refund takes them again', async () => {
    const { companyId, payment } = await bought();
    const refundId = await refund(payment, 400n, 'first');
    await shop.balanceBecomes(companyId, 600n * CREDIT);
    await fails(refundId);
    await readDisputes(parts());
    await readDisputes(parts());
    expect(await balance(companyId)).toBe(1_000n * CREDIT);
    expect(await disputeMails(companyId)).toEqual(['refund-failed']);
    expect(await problems()).toEqual(['refund-failed']);
    await shop.clock.advance(5_000);
    await refund(payment, 400n, 'second');
    await shop.balanceBecomes(companyId, 600n * CREDIT);
    await shop.clock.advance(5_000);
    await refund(payment, 600n, 'rest');
    await shop.balanceBecomes(companyId, 0n);
    for (const check of [refundsCheck, cashCheck]) {
      expect(await runCheck(database, check)).toEqual({ faults: [], isCut: false });
    }
  });

  test('P-24 another refund of the same charge stays; the late event of the failed one changes nothing', async () => {
    const { companyId, payment } = await bought();
    const first = await refund(payment, 300n, 'first');
    await refund(payment, 200n, 'second');
    await shop.balanceBecomes(companyId, 500n * CREDIT);
    await fails(first);
    await readDisputes(parts());
    expect(await balance(companyId)).toBe(800n * CREDIT);
    const late = shop.sandbox.received.findLast(({ event }) => event?.type === 'charge.refunded')?.event;
    if (late === null || late === undefined) throw new Error('no refund was delivered');
    await shop.payments.receive({ ...late, id: `${late.id}_again` });
    expect(await balance(companyId)).toBe(800n * CREDIT);
  });

  test('P-21 P-29 of an invoice for usage it is reported, and its money is in the cash accounts again', async () => {
    const { companyId, invoiceId, charge } = await paidForUsage();
    const { body } = await shop.sandbox.call('POST', '/v1/refunds', { charge, amount: '200' });
    const money = async () =>
      await database.query(
        `select sum(amount_minor)::integer as minor from cash_entries where company_id = $1 and account = 'refunded'`,
        [companyId],
      );
    await shop.sandbox.settled();
    await shop.handOn();
    expect(await money()).toEqual([{ minor: 200 }]);
    await fails(String((body as { id: string }).id));
    await readDisputes(parts());
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
    expect(await readDisputes({ ...parts(), provider })).toBe(0);
    expect(await balance(companyId)).toBe(600n * CREDIT);
    await readDisputes(parts());
    expect(await balance(companyId)).toBe(1_000n * CREDIT);
  });
});
