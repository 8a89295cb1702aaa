import { beforeAll, describe, expect, test } from 'bun:test';
import { overdueSince } from '../../src/domain/credits/holds/billing-status.ts';
import { findInvoiceByProviderId } from '../../src/domain/credits/invoices/invoice.ts';
import { useMemoryDatabase } from '../setup/use-memory-database.ts';
import {
  CREDIT,
  makeCompany,
  makePlan,
  openPayments,
  type PaymentsUnderTest,
} from './payments-under-test.ts';
import { madeEvent, RECORDED_AT, secondId } from './recorded-events.ts';
import { invoiceEvent, newSubscription, subscriptionEvent } from './subscription-facts.ts';

const database = useMemoryDatabase();
let payments: PaymentsUnderTest;
beforeAll(async () => {
  payments = openPayments(database);
});

async function world() {
  const company = await makeCompany(database);
  const plan = await makePlan(database);
  const subscription = newSubscription(company, plan.priceId);
  const invoice = async (month = 0) =>
    await findInvoiceByProviderId(database, `in_${subscription.id}_${month}`);
  return { company, plan, subscription, invoice };
}

describe('other events of invoices', () => {
  test('P-23 finalized: it is open, with its number and page; told late it takes nothing back', async () => {
    const { subscription, invoice } = await world();
    await payments.receive(invoiceEvent('finalized', subscription));
    expect(await invoice()).toMatchObject({
      status: 'OPEN',
      number: 'REC-0001',
      hostedUrl: expect.any(String),
    });
    await payments.receive(invoiceEvent('paid', subscription));
    await payments.receive(secondId(invoiceEvent('finalized', subscription)));
    expect(await invoice()).toMatchObject({ status: 'PAID' });
  });

  test('P-22 payment_failed: noted and told once an attempt, no credits, and not again as wanting confirmation', async () => {
    const { company, subscription, invoice } = await world();
    const failed = invoiceEvent('payment_failed', subscription);
    await payments.receive(failed);
    await payments.receive(secondId(failed));
    await payments.receive(invoiceEvent('payment_action_required', subscription));
    expect(await payments.mails(company.id)).toEqual(['payment-failed']);
    await payments.receive(invoiceEvent('payment_failed', subscription, { attempt_count: 2 }));
    expect(await payments.mails(company.id)).toEqual(['payment-failed', 'payment-failed']);
    expect(
      await database.query('select attempt from failed_payments where company_id = $1 order by 1', [
        company.id,
      ]),
    ).toEqual([{ attempt: 1 }, { attempt: 2 }]);
    expect(await invoice()).toMatchObject({ status: 'OPEN' });
    expect(await payments.balance(company.id)).toBe(0n);
  });

  test('P-23 payment_action_required: told with the page to confirm on', async () => {
    const { company, subscription } = await world();
    const event = invoiceEvent('payment_action_required', subscription);
    for (const one of [event, event, secondId(event)]) await payments.receive(one);
    expect(await payments.mails(company.id)).toEqual(['payment-action-required']);
  });

  test('P-23 finalization_failed: it stays a draft, and an operator is told', async () => {
    const { company, subscription, invoice } = await world();
    await payments.receive(invoiceEvent('finalization_failed', subscription));
    expect(await invoice()).toMatchObject({ status: 'DRAFT' });
    expect(
      payments.entries.some(({ level, context }) => level === 'error' && context.companyId === company.id),
    ).toBe(true);
  });

  test('P-23 upcoming: it has no id, is told once, and nothing is kept of it', async () => {
    const { company, subscription } = await world();
    const event = invoiceEvent('upcoming', subscription);
    for (const one of [event, secondId(event)]) {
      expect(await payments.receive(one)).toMatchObject({ outcome: 'processed' });
    }
    expect(await payments.mails(company.id)).toEqual(['upcoming-invoice']);
    expect(await database.query('select 1 from invoices where company_id = $1', [company.id])).toEqual([]);
  });

  test('P-29 a finalized invoice past its due date blocks a POSTPAID company, paid it is free', async () => {
    const company = await makeCompany(database, 'POSTPAID');
    const told: string[] = [];
    await payments.sharedState.subscribe(
      'companies',
      (id) => void told.push(id),
      () => {},
    );
    const object = {
      id: `in_due_${company.id.slice(-8)}`,
      customer: company.customerId,
      subscription: null,
      billing_reason: 'manual',
      due_date: RECORDED_AT - 86_400,
    };
    await payments.receive(madeEvent({ type: 'invoice.finalized', object }));
    expect(await overdueSince(database, company.id)).toEqual(new Date((RECORDED_AT - 86_400) * 1000));
    await payments.receive(
      madeEvent({ type: 'invoice.paid', object: { ...object, paid_out_of_band: true } }),
    );
    expect(await overdueSince(database, company.id)).toBeNull();
    await payments.clock.turn();
    expect(told.filter((id) => id === company.id)).toHaveLength(2);
  });

  test('P-29 our own invoice for usage is found by what we wrote on it, and its payment posts INVOICE_PAYMENT once', async () => {
    const company = await makeCompany(database, 'POSTPAID');
    const id = crypto.randomUUID();
    await database.query(
      `insert into invoices (id, company_id, kind, status, amount_minor, currency, usage_micro, first_version,
         last_version, period_start, period_end, due_at)
       values ($1, $2, 'POSTPAID', 'OPEN', 500, 'usd', $3, 1, 1, '2029-12-01', '2030-01-01', '2030-01-15')`,
      [id, company.id, 50n * CREDIT],
    );
    const object = {
      id: `in_own_${id.slice(0, 8)}`,
      customer: company.customerId,
      subscription: null,
      metadata: { invoiceId: id },
    };
    const paid = madeEvent({ type: 'invoice.paid', object });
    for (const one of [paid, paid, secondId(paid), madeEvent({ type: 'invoice.finalized', object })]) {
      await payments.receive(one);
    }
    expect(await payments.postings(company.id)).toEqual([['INVOICE_PAYMENT', 50n * CREDIT]]);
    expect(await findInvoiceByProviderId(database, object.id)).toMatchObject({
      id,
      status: 'PAID',
      kind: 'POSTPAID',
    });
  });

  test('what the subscription does is for its own events to say', async () => {
    const { subscription, company } = await world();
    await payments.receive(subscriptionEvent('updated', subscription));
    await payments.receive(invoiceEvent('payment_failed', subscription));
    const [row] = await database.query('select status from subscriptions where company_id = $1', [
      company.id,
    ]);
    expect(row).toEqual({ status: 'ACTIVE' });
  });
});
