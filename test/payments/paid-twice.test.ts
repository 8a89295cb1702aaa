import { describe, expect, test } from 'bun:test';
import { findInvoice, settleInvoiceByHand, voidInvoice } from '../../src/domain/credits/invoices/invoice.ts';
import { INVOICE_ISSUED_QUEUE } from '../../src/domain/credits/invoices/monthly-invoices.ts';
import { settleByHand } from '../../src/domain/payments/postpaid-invoices.ts';
import type { JobData } from '../../src/ports/job-queue.ts';
import { useMemoryDatabase } from '../setup/use-database.ts';
import {
  CREDIT,
  type MadeCompany,
  makeCompany,
  makePlan,
  makePurchase,
  makeUsageInvoice,
} from './payments-under-test.ts';
import { paidSession, refundOf } from './purchase-facts.ts';
import { madeEvent, secondId } from './recorded-events.ts';
import { failing } from './shop-under-test.ts';
import { invoiceEvent, newSubscription } from './subscription-facts.ts';
import { useShop } from './use-payments.ts';

const { database, shop } = useShop(useMemoryDatabase);

const HOUR_MS = 60 * 60_000;

/** A POSTPAID company with an invoice for usage. */
async function owing() {
  const { company, id } = await shop.owing();
  const invoice = async () => {
    const found = await findInvoice(database, id);
    if (found === null) throw new Error('no invoice');
    return found;
  };
  return { company, id, invoice };
}

const issue: typeof shop.issueInvoice = (...given) => shop.issueInvoice(...given);

/** As the operator's commands do; the jobs are returned. */
async function byHand(invoiceId: string, how: 'paid' | 'void') {
  const jobs: { queue: string; data: JobData }[] = [];
  const enqueue = async (queue: string, data: JobData) => {
    jobs.push({ queue, data });
    return 'job';
  };
  const paidAt = new Date(shop.clock.now());
  const settled = await settleByHand({ database, jobQueue: { enqueue } }, invoiceId, (transaction) =>
    how === 'paid'
      ? settleInvoiceByHand(transaction, { invoiceId, paidAt })
      : voidInvoice(transaction, { invoiceId, reason: 'agreed' }),
  );
  return { settled, jobs };
}

async function atProvider(providerInvoiceId: string | null) {
  const found = await shop.sandbox.provider.retrieveInvoice(providerInvoiceId ?? '');
  return found.outcome === 'done' ? found.value : null;
}

describe('an invoice that is settled by hand', () => {
  test('P-29 is marked as paid out of band at the provider, whose event changes nothing', async () => {
    const { company, id, invoice } = await owing();
    await issue(id);
    const { jobs } = await byHand(id, 'paid');
    expect(jobs).toEqual([{ queue: INVOICE_ISSUED_QUEUE.name, data: { invoiceId: id } }]);
    const { providerInvoiceId } = await invoice();
    const down = { ...shop.sandbox.provider, markInvoicePaid: failing<never>('down') };
    await expect(issue(id, down)).rejects.toThrow('down');
    await issue(id);
    await issue(id);
    expect(await atProvider(providerInvoiceId)).toMatchObject({ status: 'paid', paid_out_of_band: true });
    await shop.sandbox.settled();
    await shop.handOn();
    expect(await shop.payments.postings(company.id)).toEqual([['INVOICE_PAYMENT', 50n * CREDIT]]);
    const events = await shop.payments.list();
    const paidEvents = events.filter(
      ({ type, objectId }) => type === 'invoice.paid' && objectId === providerInvoiceId,
    );
    expect(paidEvents.map(({ status }) => status)).toEqual(['PROCESSED']);
    // Once when it was issued, and not again.
    expect((await shop.payments.mails(company.id)).filter((kind) => kind === 'invoice-issued')).toHaveLength(
      1,
    );
  });

  test('P-29 a payment at the provider after that is flagged for refund and posts nothing', async () => {
    const { company, id, invoice } = await owing();
    await issue(id);
    const { providerInvoiceId } = await invoice();
    await byHand(id, 'paid');
    // The customer pays on the provider's page before the workers have closed it.
    await shop.sandbox.call('POST', `/v1/invoices/${providerInvoiceId}/pay`);
    await issue(id);
    await shop.sandbox.settled();
    await shop.handOn();
    const [flagged] = (await shop.payments.list()).filter(
      ({ type, objectId }) => type === 'invoice.paid' && objectId === providerInvoiceId,
    );
    expect(flagged).toMatchObject({ status: 'FAILED', companyId: company.id });
    expect(flagged?.error).toMatch(/settled by hand .* payment pi_\w+ has to be refunded$/);
    expect(await shop.payments.postings(company.id)).toEqual([['INVOICE_PAYMENT', 50n * CREDIT]]);
  });

  test('P-29 an invoice that the customer had already paid at the provider is not paid twice', async () => {
    const { company, id, invoice } = await owing();
    await issue(id);
    const { providerInvoiceId } = await invoice();
    const object = { id: providerInvoiceId, customer: company.customerId, subscription: null };
    const paid = madeEvent({ type: 'invoice.paid', object });
    await shop.payments.receive(paid);
    await byHand(id, 'paid');
    const again = secondId(paid);
    await shop.payments.receive(again);
    expect(await shop.payments.statusOf(again)).toBe('PROCESSED');
    expect(await invoice()).toMatchObject({ status: 'PAID', settledByHandAt: null });
  });

  test('P-29 a void invoice can no longer be paid at the provider', async () => {
    const { id, invoice } = await owing();
    await issue(id);
    await byHand(id, 'void');
    await issue(id);
    expect(await atProvider((await invoice()).providerInvoiceId)).toMatchObject({ status: 'void' });
  });

  test('P-29 an invoice that is settled while it is created at the provider does not stay open there', async () => {
    const { company, id, invoice } = await owing();
    const provider = {
      ...shop.sandbox.provider,
      createInvoice: async (...given: Parameters<typeof shop.sandbox.provider.createInvoice>) => {
        const made = await shop.sandbox.provider.createInvoice(...given);
        await byHand(id, 'paid');
        return made;
      },
    };
    await issue(id, provider);
    expect(await atProvider((await invoice()).providerInvoiceId)).toMatchObject({ paid_out_of_band: true });
    expect(await shop.payments.mails(company.id)).toEqual([]);
  });
});

describe('an invoice whose job is repeated', () => {
  const madeFor = async (companyId: string) => {
    const customer = await shop.customerOf(companyId);
    const { body } = await shop.sandbox.call('GET', '/v1/invoices', { customer });
    return body.data as { id: string; status: string; amount_due: number; metadata: object }[];
  };

  test('P-29 after more than 24 hours it finds the invoice whose response was lost, and creates no second one', async () => {
    const { company, id, invoice } = await owing();
    const { provider } = shop.sandbox;
    const losing = {
      ...provider,
      createInvoice: async (...given: Parameters<typeof provider.createInvoice>) => {
        await provider.createInvoice(...given);
        return await failing<never>('the connection was reset')();
      },
    };
    await expect(issue(id, losing)).rejects.toThrow('reset');
    shop.sandbox.leap(26 * HOUR_MS);
    await issue(id);
    const made = await madeFor(company.id);
    expect(made.map(({ status, amount_due }) => ({ status, amount_due }))).toEqual([
      { status: 'open', amount_due: 500 },
    ]);
    expect((await invoice()).providerInvoiceId).toBe(made[0]?.id ?? '');
  });

  test.each([0, 1])('P-29 a draft with %d of its lines is continued', async (lines) => {
    const { company, id } = await owing();
    await expect(
      issue(id, { ...shop.sandbox.provider, createInvoice: failing<never>('down') }),
    ).rejects.toThrow();
    const customer = await shop.customerOf(company.id);
    const draft = await shop.sandbox.call('POST', '/v1/invoices', {
      ...{ customer, currency: 'usd', collection_method: 'send_invoice', days_until_due: '14' },
      ...{ 'metadata[invoiceId]': id, 'metadata[companyId]': company.id },
    });
    const item = { customer, invoice: String(draft.body.id), currency: 'usd', amount: '500' };
    if (lines === 1) await shop.sandbox.call('POST', '/v1/invoiceitems', item);
    shop.sandbox.leap(26 * HOUR_MS);
    await issue(id);
    expect(await madeFor(company.id)).toMatchObject([{ id: draft.body.id, status: 'open', amount_due: 500 }]);
  });

  test('P-29 another month’s invoice of the same company is not mistaken for it', async () => {
    const { company, id } = await owing();
    await issue(id);
    const other = await makeUsageInvoice(database, company.id, { month: '2030-01', amountMinor: 700n });
    await issue(other);
    expect((await madeFor(company.id)).map(({ amount_due }) => amount_due)).toEqual([700, 500]);
  });
});

describe('a refund before what it refunds', () => {
  const world = async () => {
    const company = await makeCompany(database);
    return { company, purchase: await makePurchase(database, company.id) };
  };
  const balance = ({ id }: MadeCompany) => shop.payments.balance(id);

  test.each([
    ['by the payment alone', { metadata: {} }],
    ['by the id on the charge alone', { payment_intent: null }],
  ])('P-24 P-21 it is applied when the checkout arrives: %s', async (_, changes) => {
    const { company, purchase } = await world();
    const refund = refundOf(company, purchase, 400, changes);
    expect(await shop.payments.receive(refund)).toMatchObject({ outcome: 'deferred' });
    await shop.payments.receive(paidSession(company, purchase));
    expect(await shop.payments.statusOf(refund)).toBe('PROCESSED');
    expect(await balance(company)).toBe(600n * CREDIT);
  });

  test('P-24 P-21 also after it had failed after thirty days', async () => {
    const { company, purchase } = await world();
    const refund = refundOf(company, purchase, 400);
    await shop.payments.receive(refund);
    await shop.payments.clock.advance(31 * 24 * HOUR_MS);
    await shop.payments.events.retryDue();
    expect(await shop.payments.statusOf(refund)).toBe('FAILED');
    await shop.payments.receive(paidSession(company, purchase));
    expect(await shop.payments.statusOf(refund)).toBe('PROCESSED');
    expect(await balance(company)).toBe(600n * CREDIT);
  });

  test('P-24 P-21 a refund of a plan is applied when the invoice is paid', async () => {
    const company = await makeCompany(database);
    const plan = await makePlan(database);
    const subscription = newSubscription(company, plan.priceId);
    const paid = invoiceEvent('paid', subscription);
    const charge = {
      id: `ch_early_${company.id.slice(-8)}`,
      customer: company.customerId,
      payment_intent: null,
      invoice: paid.object.id,
      ...{ amount: 2_900, amount_captured: 2_900, amount_refunded: 2_900, refunded: true, metadata: {} },
    };
    const refund = madeEvent({ type: 'charge.refunded', object: charge });
    expect(await shop.payments.receive(refund)).toMatchObject({ outcome: 'deferred' });
    await shop.payments.receive(paid);
    expect(await shop.payments.statusOf(refund)).toBe('PROCESSED');
    expect(await balance(company)).toBe(0n);
  });
});
