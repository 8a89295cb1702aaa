import { beforeAll, describe, expect, test } from 'bun:test';
import { findInvoiceByProviderId } from '../../src/domain/credits/invoices/invoice.ts';
import { useMemoryDatabase } from '../setup/use-memory-database.ts';
import {
  CREDIT,
  makeCompany,
  makePlan,
  openPayments,
  type PaymentsUnderTest,
} from './payments-under-test.ts';
import { madeEvent, RECORDED_AT, secondId, wireLines } from './recorded-events.ts';
import { invoiceEvent, newSubscription } from './subscription-facts.ts';

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

describe('a paid invoice of a subscription', () => {
  test('P-22 brings the plan’s credits for its period, and a receipt', async () => {
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

  test('billing bug 4: a duplicate, a second id, and a second invoice for the same period bring nothing more', async () => {
    const { company, subscription } = await world();
    const event = invoiceEvent('paid', subscription);
    const other = invoiceEvent('paid', subscription, { id: `in_other_${subscription.id}` });
    for (const one of [event, event, secondId(event), other]) await payments.receive(one);
    expect(await payments.postings(company.id)).toEqual([['SUBSCRIPTION_GRANT', 3_000n * CREDIT]]);
  });

  test('billing bug 6: before its subscription and its checkout it finds its company by the customer', async () => {
    const { company, subscription } = await world();
    expect(await payments.receive(invoiceEvent('paid', subscription))).toMatchObject({
      outcome: 'processed',
    });
    expect(await payments.balance(company.id)).toBe(3_000n * CREDIT);
  });

  test('by why it was made: only a new period brings all; nothing paid brings nothing', async () => {
    const grid: [Record<string, unknown>, bigint][] = [
      [{ billing_reason: 'subscription_create' }, 3_000n],
      [{ billing_reason: 'subscription_cycle' }, 3_000n],
      [{ billing_reason: 'subscription_threshold' }, 0n],
      [{ billing_reason: 'manual' }, 0n],
      [{ billing_reason: 'automatic_pending_invoice_item_invoice' }, 0n],
      [{ billing_reason: 'quote_accept' }, 0n],
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

  test('billing bug 14: a change in the middle of a period brings the share that was paid, never a whole plan', async () => {
    const { company, plan, subscription } = await world();
    const better = await makePlan(database, { credits: 12_000n, priceMinor: 9_900n });
    const start = RECORDED_AT + 86_400;
    const lines = wireLines([
      { priceId: plan.priceId, amount: -290, start, proration: true },
      { priceId: better.priceId, amount: 990, start, proration: true },
    ]);
    const changes = {
      billing_reason: 'subscription_update',
      lines,
      total: 700,
      amount_paid: 700,
      amount_due: 700,
    };
    await payments.receive(invoiceEvent('paid', subscription, { id: 'in_upgrade', ...changes }));
    // A tenth of the one less a tenth of the other.
    expect(await payments.balance(company.id)).toBe((1_200n - 300n) * CREDIT);
    // Of a balance with the provider half was paid before, with its credits.
    const half = { ...changes, id: 'in_upgrade_half', amount_paid: 350 };
    await payments.receive(invoiceEvent('paid', subscription, half));
    expect(await payments.balance(company.id)).toBe((900n + 450n) * CREDIT);
    const back = wireLines([{ priceId: better.priceId, amount: -990, start, proration: true }]);
    const downgrade = { ...changes, id: 'in_downgrade', lines: back, total: 0, amount_paid: 0 };
    await payments.receive(invoiceEvent('paid', subscription, downgrade));
    expect(await payments.balance(company.id)).toBe(1_350n * CREDIT);
  });

  test('of a price that no plan has it waits for the plan, and is not lost', async () => {
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

  test('in another currency than its plan’s it brings nothing, and a person is told', async () => {
    const { company, subscription } = await world();
    const event = invoiceEvent('paid', subscription, { currency: 'eur' });
    expect(await payments.receive(event)).toMatchObject({ outcome: 'failed' });
    expect(await payments.balance(company.id)).toBe(0n);
  });

  test('P-21 a refund of its charge takes its credits back, in proportion, also before it was told of', async () => {
    for (const isFirst of [false, true]) {
      const { company, subscription } = await world();
      const object = {
        id: `ch_${subscription.id}_0`,
        customer: company.customerId,
        payment_intent: `pi_${subscription.id}_0`,
        invoice: `in_${subscription.id}_0`,
        amount: 2_900,
        amount_refunded: 1_450,
        refunded: false,
      };
      const refund = madeEvent({ type: 'charge.refunded', object });
      const paid = invoiceEvent('paid', subscription);
      for (const event of isFirst ? [refund, paid] : [paid, refund]) await payments.receive(event);
      expect(await payments.balance(company.id)).toBe(1_500n * CREDIT);
    }
  });
});
