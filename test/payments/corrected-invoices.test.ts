import { expect, test } from 'bun:test';
import { correctCharge } from '../../src/domain/calls/corrections/correct-charge.ts';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import { findInvoice, listInvoices } from '../../src/domain/credits/invoices/invoice.ts';
import { invoiceFinishedMonths } from '../../src/domain/credits/invoices/monthly-invoices.ts';
import { AUDIT_CHECKS } from '../../src/domain/reconciliation/audit.ts';
import { runCheck } from '../../src/domain/reconciliation/audit-check.ts';
import { TERMS } from '../contracts/monthly-invoices.contract.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { makeCompany } from './payments-under-test.ts';
import { useShop } from './use-payments.ts';

const { database, shop } = useShop();
const DAY_MS = 24 * 60 * 60_000;
const jobQueue = { enqueue: async () => null };

/** A company whose two calls of 76 micro-credits are on an invoice of 1.52 usd at the provider. */
async function invoiced() {
  const { id: companyId } = await makeCompany(database, 'POSTPAID');
  await database.query('update companies set provider_customer_id = null where id = $1', [companyId]);
  const [call, other] = [finishedCall(companyId), finishedCall(companyId)];
  await chargeCalls(database, [call, other]);
  await invoiceFinishedMonths({
    ...{ ...shop.parts, sharedState: shop.payments.parts.sharedState, jobQueue },
    ...{ clock: createManualClock(Date.now() + 40 * DAY_MS), terms: { ...TERMS, pricePerCredit: '10000' } },
  });
  const [{ id: invoiceId = '' } = {}] = await listInvoices(database, companyId);
  await shop.issueInvoice(invoiceId);
  const found = await findInvoice(database, invoiceId);
  return { companyId, callId: call.id, invoiceId, providerId: found?.providerInvoiceId ?? '' };
}

const correct = (callId: string, creditsMicro: bigint, reason: string) =>
  database.transaction((transaction) =>
    correctCharge(transaction, jobQueue, {
      ...{ id: shop.secrets.newId(), callId, creditsMicro, reason, now: new Date() },
    }),
  );
const notes = async (providerId: string) =>
  ((await shop.call('GET', '/v1/credit_notes', { invoice: providerId })).data as object[]).reverse();
async function faults(): Promise<string[]> {
  const found: string[] = [];
  for (const check of AUDIT_CHECKS) found.push(...(await runCheck(database, check)).faults);
  return found;
}

test('P-29 corrections of an open invoice are credit notes at the provider, once each; the rest is paid', async () => {
  const { companyId, callId, invoiceId, providerId } = await invoiced();
  await correct(callId, 70n, 'a wrong answer');
  await shop.issueInvoice(invoiceId);
  await correct(callId, 6n, 'the rest');
  // The answer to the second is lost.
  const { createCreditNote } = shop.sandbox.provider;
  const provider = {
    ...shop.sandbox.provider,
    createCreditNote: async (...given: Parameters<typeof createCreditNote>) => {
      await createCreditNote(...given);
      throw new Error('lost');
    },
  };
  await expect(shop.issueInvoice(invoiceId, provider)).rejects.toThrow('lost');
  await shop.issueInvoice(invoiceId);
  await shop.issueInvoice(invoiceId);
  expect(await notes(providerId)).toMatchObject([
    { amount: 70, type: 'pre_payment', memo: 'a wrong answer' },
    { amount: 6, type: 'pre_payment', memo: 'the rest' },
  ]);
  expect(await shop.call('GET', `/v1/invoices/${providerId}`)).toMatchObject({ amount_remaining: 76 });
  await shop.sandbox.provider.markInvoicePaid(providerId, `pay:${invoiceId}`);
  await shop.balanceBecomes(companyId, 0n);
  expect(await findInvoice(database, invoiceId)).toMatchObject({ status: 'PAID', creditedMinor: 76n });
  expect(await faults()).toEqual([]);
});

test('P-29 of a paid invoice the money goes to the customer’s balance', async () => {
  const { companyId, callId, invoiceId, providerId } = await invoiced();
  await shop.sandbox.provider.markInvoicePaid(providerId, `pay:${invoiceId}`);
  await shop.balanceBecomes(companyId, 0n);
  await correct(callId, 76n, 'a wrong answer');
  await shop.issueInvoice(invoiceId);
  expect(await notes(providerId)).toMatchObject([{ amount: 76, type: 'post_payment' }]);
  const customer = await shop.call('GET', `/v1/customers/${await shop.customerOf(companyId)}`);
  expect(customer).toMatchObject({ balance: -76 });
  await shop.balanceBecomes(companyId, 0n);
  expect(await faults()).toEqual([]);
});
