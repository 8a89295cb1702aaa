import { describe, expect, test } from 'bun:test';
import { CREDIT, makeCompany, makePurchase } from './payments-under-test.ts';
import { paidSession, refundOf } from './purchase-facts.ts';
import { madeEvent, secondId } from './recorded-events.ts';
import { usePayments } from './use-payments.ts';

const { database, payments } = usePayments();

async function bought(changes: Parameters<typeof makePurchase>[2] = {}) {
  const company = await makeCompany(database);
  const purchase = await makePurchase(database, company.id, changes);
  const row = async () => {
    const [found] = await database.query<Record<string, unknown>>(
      `select purchase.status, invoice.status as invoice, invoice.kind, invoice.amount_minor as amount
       from credit_pack_purchases as purchase left join invoices as invoice on invoice.id = invoice_id
       where purchase.id = $1`,
      [purchase.id],
    );
    return found;
  };
  return { company, purchase, row };
}

describe('a purchase of a credit pack', () => {
  test('P-20 a paid checkout completes it: credits, balance, a paid invoice, a receipt, and the gateways are notified', async () => {
    const { company, purchase, row } = await bought();
    const published: string[] = [];
    await payments.sharedState.subscribe(
      'companies',
      (id) => void published.push(id),
      () => {},
    );
    const event = paidSession(company, purchase);
    expect(await payments.receive(event)).toMatchObject({ outcome: 'processed' });
    expect(await row()).toEqual({ status: 'COMPLETED', invoice: 'PAID', kind: 'PACK', amount: 1_000n });
    expect(await payments.postings(company.id)).toEqual([['PACK_PURCHASE', 1_000n * CREDIT]]);
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
    expect(await payments.mails(company.id)).toEqual(['receipt']);
    await payments.clock.turn();
    expect(published).toContain(company.id);
    expect(await payments.found(event)).toMatchObject({
      status: 'PROCESSED',
      error: null,
      companyId: company.id,
    });
  });

  test('billing bug 1: a duplicate of the same event, or of the same fact under a second id, grants nothing', async () => {
    const { company, purchase } = await bought();
    const event = paidSession(company, purchase);
    await payments.receive(event);
    expect(await payments.receive(event)).toMatchObject({ outcome: 'duplicate' });
    expect(await payments.receive(secondId(event))).toMatchObject({ outcome: 'processed' });
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
    expect(await payments.mails(company.id)).toEqual(['receipt']);
  });

  test('billing bug 3: kinds of late payments that are not among the fourteen grant nothing', async () => {
    const { company, purchase, row } = await bought();
    const event = paidSession(company, purchase);
    const other = { ...event, type: 'checkout.session.async_payment_succeeded' };
    expect(await payments.receive(other)).toMatchObject({ outcome: 'ignored' });
    expect(await payments.statusOf(other)).toBe('IGNORED');
    expect(await row()).toMatchObject({ status: 'PENDING' });
  });

  test('billing bug 5: the invoice of a pack, before or after its checkout, grants nothing more', async () => {
    for (const order of ['invoice first', 'invoice last']) {
      const { company, purchase, row } = await bought();
      const invoiceId = `in_${purchase.id.slice(-12)}`;
      const session = paidSession(company, purchase, { invoice: invoiceId });
      const object = {
        id: invoiceId,
        customer: company.customerId,
        billing_reason: 'manual',
        subscription: null,
        total: 1_000,
        amount_paid: 1_000,
      };
      const invoice = madeEvent({ type: 'invoice.paid', object });
      for (const event of order === 'invoice first' ? [invoice, session] : [session, invoice]) {
        expect(await payments.receive(event)).toMatchObject({ outcome: 'processed' });
      }
      expect(await payments.postings(company.id)).toEqual([['PACK_PURCHASE', 1_000n * CREDIT]]);
      expect(await row()).toEqual({ status: 'COMPLETED', invoice: 'PAID', kind: 'PACK', amount: 1_000n });
    }
  });

  test('billing bug 20: an unpaid session leaves it PENDING, without credits, until the paid one', async () => {
    const { company, purchase, row } = await bought();
    await payments.receive(paidSession(company, purchase, { payment_status: 'unpaid' }));
    expect(await row()).toMatchObject({ status: 'PENDING', invoice: null });
    expect(await payments.balance(company.id)).toBe(0n);
    await payments.receive(paidSession(company, purchase));
    expect(await row()).toMatchObject({ status: 'COMPLETED' });
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
  });

  test('billing bug 21: yen have no cents and dinars have mils, and both are granted at their value', async () => {
    for (const [currency, amountMinor] of [
      ['jpy', 1_500n],
      ['kwd', 3_250n],
    ] as const) {
      const { company, purchase, row } = await bought({ currency, amountMinor });
      const paid = { currency, amount_total: Number(amountMinor) };
      await payments.receive(paidSession(company, purchase, paid));
      expect(await row()).toMatchObject({ status: 'COMPLETED', amount: amountMinor });
      await payments.receive(
        refundOf(company, purchase, Number(amountMinor), { amount: Number(amountMinor), currency }),
      );
      expect(await payments.balance(company.id)).toBe(0n);
    }
  });

  test('P-20 a different amount, currency or customer completes nothing, and an error is logged for the operator', async () => {
    const other = await makeCompany(database);
    const wrong = [
      { amount_total: 999 },
      { amount_total: 0, payment_status: 'no_payment_required' },
      { amount_total: 900, total_details: { amount_tax: -100 } },
      { amount_total: 1_300, total_details: { amount_tax: 200 } },
      { currency: 'jpy' },
      { customer: other.customerId },
    ];
    for (const changes of wrong) {
      const { company, purchase, row } = await bought();
      const event = paidSession(company, purchase, changes);
      expect(await payments.receive(event)).toMatchObject({ outcome: 'failed' });
      expect(await payments.found(event)).toMatchObject({
        status: 'FAILED',
        error: expect.stringContaining(purchase.id),
      });
      expect(await row()).toMatchObject({ status: 'PENDING' });
      expect(await payments.balance(company.id)).toBe(0n);
    }
  });

  test('credits are taken from our own row, whatever the metadata contains', async () => {
    const { company, purchase } = await bought();
    const metadata = { purchaseId: purchase.id, credits: '999999999' };
    await payments.receive(paidSession(company, purchase, { metadata }));
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
  });

  test('billing bug 22: a second paid session of the same purchase is not granted, and an error is logged for the operator', async () => {
    const { company, purchase } = await bought();
    await payments.receive(paidSession(company, purchase));
    const second = paidSession(company, purchase, { id: 'cs_second', payment_intent: 'pi_second' });
    expect(await payments.receive(second)).toMatchObject({ outcome: 'failed' });
    expect((await payments.found(second)).error).toContain('cs_second has to be refunded');
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
  });

  test('a session without a purchase of ours waits, and a setup session does nothing', async () => {
    const company = await makeCompany(database);
    const lost = { id: 'cs_lost', sessionId: 'cs_lost', paymentId: 'pi_lost', chargeId: 'ch_lost' };
    const event = paidSession(company, lost);
    expect(await payments.receive(event)).toMatchObject({ outcome: 'deferred' });
    const setup = paidSession(company, lost, { mode: 'setup' });
    expect(await payments.receive(setup)).toMatchObject({ outcome: 'processed' });
    expect(await payments.balance(company.id)).toBe(0n);
  });
});
