import { describe, expect, test } from 'bun:test';
import { overdueSince } from '../../src/domain/credits/holds/billing-status.ts';
import { findInvoiceByProviderId } from '../../src/domain/credits/invoices/invoice.ts';
import { CREDIT, makeCompany, makePlan, makeUsageInvoice } from './payments-under-test.ts';
import { madeEvent, RECORDED_AT, secondId } from './recorded-events.ts';
import { invoiceEvent, newSubscription, subscriptionEvent } from './subscription-facts.ts';
import { usePayments } from './use-payments.ts';

const { database, payments } = usePayments();

async function world() {
  const company = await makeCompany(database);
  const plan = await makePlan(database);
  const subscription = newSubscription(company, plan.priceId);
  const invoice = async (month = 0) =>
    await findInvoiceByProviderId(database, `in_${subscription.id}_${month}`);
  return { company, plan, subscription, invoice };
}

describe('other events of invoices', () => {
  test('P-23 finalized: it is open, with its number and page; a late event does not revert its status', async () => {
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

  test('P-22 payment_failed: recorded and mailed once per attempt, without credits; the confirmation is not mailed as well', async () => {
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

  test('P-23 payment_action_required: mailed once, with the page to confirm on', async () => {
    const { company, subscription } = await world();
    const event = invoiceEvent('payment_action_required', subscription);
    for (const one of [event, event, secondId(event)]) await payments.receive(one);
    expect(await payments.mails(company.id)).toEqual(['payment-action-required']);
  });

  test('P-23 finalization_failed: it stays a draft, and an error is logged for the operator', async () => {
    const { company, subscription, invoice } = await world();
    await payments.receive(invoiceEvent('finalization_failed', subscription));
    expect(await invoice()).toMatchObject({ status: 'DRAFT' });
    expect(
      payments.entries.some(({ level, context }) => level === 'error' && context.companyId === company.id),
    ).toBe(true);
  });

  test('P-23 upcoming: it has no id, is mailed once, and no invoice is stored', async () => {
    const { company, subscription } = await world();
    const event = invoiceEvent('upcoming', subscription);
    for (const one of [event, secondId(event)]) {
      expect(await payments.receive(one)).toMatchObject({ outcome: 'processed' });
    }
    expect(await payments.mails(company.id)).toEqual(['upcoming-invoice']);
    expect(await database.query('select 1 from invoices where company_id = $1', [company.id])).toEqual([]);
  });

  test('P-29 G-32 an invoice past its due date blocks a POSTPAID company, an uncollectible one too, until it is paid', async () => {
    const company = await makeCompany(database, 'POSTPAID');
    const published: string[] = [];
    await payments.sharedState.subscribe(
      'companies',
      (id) => void published.push(id),
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
    const since = new Date((RECORDED_AT - 86_400) * 1000);
    expect(await overdueSince(database, company.id)).toEqual(since);
    const uncollectible = { ...object, status: 'uncollectible' };
    await payments.receive(madeEvent({ type: 'invoice.payment_failed', object: uncollectible }));
    expect(await findInvoiceByProviderId(database, object.id)).toMatchObject({ status: 'UNCOLLECTIBLE' });
    expect(await overdueSince(database, company.id)).toEqual(since);
    await payments.receive(
      madeEvent({ type: 'invoice.paid', object: { ...object, paid_out_of_band: true } }),
    );
    expect(await overdueSince(database, company.id)).toBeNull();
    await payments.clock.turn();
    expect(published.filter((id) => id === company.id)).toHaveLength(3);
  });

  test('P-29 our own invoice for usage is found by its metadata, and its payment posts INVOICE_PAYMENT once', async () => {
    const company = await makeCompany(database, 'POSTPAID');
    const id = await makeUsageInvoice(database, company.id);
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

  test('the state of the subscription changes only by its own events', async () => {
    const { subscription, company } = await world();
    await payments.receive(subscriptionEvent('updated', subscription));
    await payments.receive(invoiceEvent('payment_failed', subscription));
    const [row] = await database.query('select status from subscriptions where company_id = $1', [
      company.id,
    ]);
    expect(row).toEqual({ status: 'ACTIVE' });
  });
});

describe('a paid invoice of a subscription', () => {
  test('P-22 grants the plan’s credits for its period, and sends a receipt', async () => {
    const { company, subscription, invoice } = await world();
    await payments.receive(invoiceEvent('paid', subscription));
    await payments.receive(invoiceEvent('paid', subscription, {}, { month: 1 }));
    expect(await payments.postings(company.id)).toEqual([
      ['SUBSCRIPTION_GRANT', 3_000n * CREDIT],
      ['SUBSCRIPTION_GRANT', 3_000n * CREDIT],
    ]);
    expect(await invoice(1)).toMatchObject({ status: 'PAID', kind: 'SUBSCRIPTION', amountMinor: 2_900n });
    expect(await payments.mails(company.id)).toEqual(['receipt', 'receipt']);
  });

  test('the billing reason does not matter; an unpaid invoice grants nothing', async () => {
    const grid: [Record<string, unknown>, bigint][] = [
      [{ billing_reason: 'subscription_update' }, 3_000n],
      [{ billing_reason: 'manual' }, 3_000n],
      [{ amount_paid: 0, total: 0 }, 0n],
      [{ amount_paid: 0, paid_out_of_band: true }, 3_000n],
    ];
    for (const [changes, credits] of grid) {
      const { company, subscription } = await world();
      expect(await payments.receive(invoiceEvent('paid', subscription, changes))).toMatchObject({
        outcome: 'processed',
      });
      expect([changes, await payments.balance(company.id)]).toEqual([changes, credits * CREDIT]);
    }
  });

  test('an invoice with a price of no plan waits for the plan, and is not lost', async () => {
    const { company } = await world();
    const subscription = newSubscription(company, 'price_to_come');
    const event = invoiceEvent('paid', subscription);
    expect(await payments.receive(event)).toMatchObject({ outcome: 'deferred' });
    const plan = await makePlan(database);
    await database.query(`update plans set provider_price_id = 'price_to_come' where id = $1`, [plan.id]);
    await payments.events.wake(['price:price_to_come']);
    expect(await payments.statusOf(event)).toBe('PROCESSED');
    expect(await payments.balance(company.id)).toBe(3_000n * CREDIT);
  });
});
