import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { readDisputes } from '../../src/domain/payments/disputes.ts';
import { replayPayments } from '../../src/domain/payments/missed-events.ts';
import { MONEY_CHECKS } from '../../src/domain/reconciliation/money-checks.ts';
import { planCreditsCheck } from '../../src/domain/reconciliation/plan-credits-check.ts';
import type { WireObject } from '../../src/ports/payment-provider.ts';
import type { Fields } from '../payment-sandbox/sandbox-under-test.ts';
import { CREDIT, makeCompany, makePurchase } from './payments-under-test.ts';
import { paidSession } from './purchase-facts.ts';
import { failing } from './shop-under-test.ts';
import { expectSound, useShop } from './use-payments.ts';

const { database, shop } = useShop();
let plan: Awaited<ReturnType<typeof shop.pricedPlan>>;
beforeAll(async () => {
  plan = await shop.pricedPlan({ price: 100, creditsMicro: 10_000n * CREDIT });
});

let companyId: string;
let customer: string;
let subscription: Fields;
/** A company that has paid 100 usd for 10,000 credits. */
beforeEach(async () => {
  ({ companyId, customer, subscription } = await shop.subscribe(plan.providerPriceId));
  await shop.balanceBecomes(companyId, 10_000n * CREDIT);
});

const invoice = () => String(subscription.latest_invoice);
const note = (amount: number, more: Record<string, string>) =>
  shop.call('POST', '/v1/credit_notes', { invoice: invoice(), amount: String(amount), ...more });
const balance = () => shop.payments.balance(companyId);
async function read(): Promise<void> {
  await shop.deliver();
  await readDisputes(shop.parts);
}
/** The next period begins. */
async function renew(): Promise<void> {
  await shop.sandbox.own('/sandbox/clock', { advance_seconds: 32 * 86_400 });
  await read();
}
const change = async (quantity: number) => {
  subscription = await shop.call('POST', `/v1/subscriptions/${subscription.id}`, {
    ...{ 'items[0][price]': plan.providerPriceId, 'items[0][quantity]': String(quantity) },
    proration_behavior: 'always_invoice',
  });
  await read();
};
const chargeOfInvoice = async () => String((await shop.call('GET', `/v1/invoices/${invoice()}`)).charge);
const isSound = () => expectSound(database, [...MONEY_CHECKS, planCreditsCheck]);

describe('P-22 a credit note of a paid invoice', () => {
  test('to the customer\u2019s balance: the grant is lowered once; later payments from the balance are granted', async () => {
    await note(2_500, { credit_amount: '2500' });
    await read();
    await read();
    expect(await balance()).toBe(7_500n * CREDIT);
    await isSound();
    await renew();
    // 75 usd by card and 25 from the balance.
    expect(await balance()).toBe(17_500n * CREDIT);
    await isSound();
  });

  test('paid out outside the provider: the same; a note of the full amount takes the full grant', async () => {
    await note(3_333, { out_of_band_amount: '3333' });
    await read();
    expect(await balance()).toBe(6_667n * CREDIT);
    await note(6_667, { out_of_band_amount: '6667' });
    await read();
    expect(await balance()).toBe(0n);
    await isSound();
  });

  test('of an invoice that the balance of a downgrade paid: nothing is taken, and later grants are that much less', async () => {
    await change(4);
    await change(1);
    await change(2);
    const peak = await balance();
    expect(peak > 39_000n * CREDIT).toBe(true);
    await note(5_000, { out_of_band_amount: '5000' });
    await read();
    expect(await balance()).toBe(peak);
    await change(4);
    expect(await balance()).toBe(peak);
    // 100 usd more, of which 50 make up for the note.
    await change(5);
    expect(Number((await balance()) - peak) / Number(CREDIT)).toBeCloseTo(5_000, -2);
    await isSound();
  });

  test('refunded to the card: counted by the refund alone, in either order', async () => {
    await note(4_000, { refund_amount: '4000' });
    await readDisputes(shop.parts);
    await read();
    expect(await balance()).toBe(6_000n * CREDIT);
    await note(3_000, { refund_amount: '1000', credit_amount: '2000' });
    await read();
    expect(await balance()).toBe(3_000n * CREDIT);
    await isSound();
  });

  test('found before the invoice was applied, it waits for that', async () => {
    const other = await shop.subscribe(plan.providerPriceId);
    const wanted = { invoice: other.invoice, amount: '5000', credit_amount: '5000' };
    await shop.call('POST', '/v1/credit_notes', wanted);
    await shop.sandbox.settled();
    await readDisputes(shop.parts);
    expect(await shop.payments.balance(other.companyId)).toBe(0n);
    await shop.handOn();
    expect(await shop.payments.balance(other.companyId)).toBe(5_000n * CREDIT);
  });

  test('of a pack: its credits are taken back as by a refund, also where the note is read first', async () => {
    const company = await makeCompany(database);
    const bought = await makePurchase(database, company.id);
    const event = paidSession(company, bought, { invoice: `in_${bought.id}` });
    const pack = (id: string, amount: number): WireObject => ({
      ...{ id, object: 'credit_note', invoice: event.object.invoice, total: amount, currency: 'usd' },
      ...{ status: 'issued', type: 'post_payment', out_of_band_amount: amount },
    });
    const receive = (object: WireObject) =>
      shop.payments.receive({
        ...{ id: `evt_${object.id}`, type: 'credit_note.created', apiVersion: '2023-10-16', livemode: false },
        ...{ createdAtMs: shop.clock.now(), previousAttributes: null, object, payload: { data: { object } } },
      });
    expect(await receive(pack('cn_first', 250))).toMatchObject({ outcome: 'deferred' });
    await shop.payments.receive(event);
    expect(await shop.payments.balance(company.id)).toBe(750n * CREDIT);
    expect(await receive(pack('cn_second', 500))).toMatchObject({ outcome: 'processed' });
    expect(await receive(pack('cn_second', 500))).toMatchObject({ outcome: 'duplicate' });
    const unreadable = { ...pack('cn_words', 250), out_of_band_amount: 'all' };
    expect(await receive(unreadable)).toMatchObject({ outcome: 'failed' });
    expect(await shop.payments.balance(company.id)).toBe(250n * CREDIT);
    await isSound();
  });

  test('replayPayments reads it too; a failed listing changes nothing', async () => {
    await note(1_000, { credit_amount: '1000' });
    const provider = { ...shop.sandbox.provider, listCreditNotes: failing<never>('down') };
    await readDisputes({ ...shop.parts, provider });
    expect(await balance()).toBe(10_000n * CREDIT);
    const now = new Date(shop.clock.now());
    expect(await replayPayments(shop.parts, { from: now, to: now })).toMatchObject({ outcome: 'replayed' });
    expect(await balance()).toBe(9_000n * CREDIT);
  });

  test('after a refund of the same money the rest is carried over: no money is granted twice', async () => {
    const charge = await chargeOfInvoice();
    await shop.call('POST', '/v1/refunds', { charge });
    await note(10_000, { credit_amount: '10000' });
    await read();
    expect(await balance()).toBe(0n);
    // The next period is paid from the balance, which was a gift of what had been refunded.
    await renew();
    expect(await balance()).toBe(0n);
    await isSound();
  });
});

test('P-21 attack: a lost dispute after a credit note leaves no balance that buys credits for free', async () => {
  await note(5_000, { credit_amount: '5000' });
  await read();
  expect(await balance()).toBe(5_000n * CREDIT);
  const charge = await chargeOfInvoice();
  await shop.sandbox.own('/sandbox/disputes', { charge, status: 'lost' });
  await read();
  expect(await balance()).toBe(0n);
  // 50 usd of the balance and 50 by card: only the second is money that stayed.
  await renew();
  expect(await balance()).toBe(5_000n * CREDIT);
  await isSound();
});

describe('P-22 a credit note before payment', () => {
  test('lowers the grant with the payment, and not again when it is read', async () => {
    await shop.sandbox.own('/sandbox/cards', { customer, card: 'declines' });
    await shop.sandbox.own('/sandbox/clock', { advance_seconds: 32 * 86_400 });
    await shop.sandbox.settled();
    const { data } = await shop.call('GET', '/v1/invoices', { customer, status: 'open' });
    const [open] = data as Fields[];
    await shop.call('POST', '/v1/credit_notes', { invoice: String(open?.id), amount: '2000' });
    await shop.sandbox.own('/sandbox/cards', { customer, card: 'works' });
    await shop.call('POST', `/v1/invoices/${open?.id}/pay`);
    await read();
    await read();
    expect(await balance()).toBe(18_000n * CREDIT);
    await isSound();
  });
});

describe('P-21 a failed refund of a plan', () => {
  test('after invoices that were carried over it returns what it had taken, of every charge', async () => {
    // Three more, and three fewer: 400 usd of lines, then a credit of 300 that is carried.
    await change(4);
    await change(1);
    const peak = await balance();
    expect(peak > 39_000n * CREDIT).toBe(true);
    await renew();
    await change(3);
    const { data } = await shop.call('GET', '/v1/charges', { customer });
    const before = await balance();
    for (const charge of data as Fields[]) {
      const { id } = await shop.call('POST', '/v1/refunds', { charge: String(charge.id) });
      await read();
      await shop.sandbox.own('/sandbox/refunds', { refund: String(id), status: 'failed' });
      await shop.clock.advance(5_000);
      await read();
      expect(await balance()).toBe(before);
    }
    await isSound();
  });

  test('next to another refund and a credit note, those stay', async () => {
    const charge = await chargeOfInvoice();
    const first = await shop.call('POST', '/v1/refunds', { charge, amount: '3000' });
    await shop.call('POST', '/v1/refunds', { charge, amount: '2000' });
    await note(1_000, { credit_amount: '1000' });
    await read();
    expect(await balance()).toBe(4_000n * CREDIT);
    await shop.sandbox.own('/sandbox/refunds', { refund: String(first.id), status: 'failed' });
    await read();
    expect(await balance()).toBe(7_000n * CREDIT);
    await isSound();
  });
});
