import { expect, test } from 'bun:test';
import { cashCheck, disputesCheck, refundsCheck } from '../../src/domain/reconciliation/money-checks.ts';
import { planCreditDifferences } from '../../src/domain/reconciliation/plan-credits-check.ts';
import type { ProviderEvent } from '../../src/ports/payment-provider.ts';
import { createSeededRandom, type SeededRandom } from '../doubles/seeded-random.ts';
import { CREDIT, makeCompany, makePlan, makePurchase, makeUsageInvoice } from './payments-under-test.ts';
import { paidSession } from './purchase-facts.ts';
import { madeEvent, RECORDED_AT, secondId } from './recorded-events.ts';
import { orders } from './schedules.ts';
import { invoiceEvent, newSubscription } from './subscription-facts.ts';
import { expectSound, usePayments } from './use-payments.ts';

const { database, payments } = usePayments();

type Kind = 'pack' | 'plan' | 'usage';
const KINDS: readonly Kind[] = ['pack', 'plan', 'usage'];

interface Paid {
  readonly companyId: string;
  /** Null where the payment is in the books from the start. */
  readonly event: ProviderEvent | null;
  readonly amount: number;
  readonly broughtMicro: bigint;
  readonly chargeId: string;
  readonly paymentId: string;
  readonly charge: Record<string, unknown>;
}

async function pay(kind: Kind): Promise<Paid> {
  const company = await makeCompany(database, kind === 'usage' ? 'POSTPAID' : 'PREPAID');
  const paid = { companyId: company.id, amount: 1_000, broughtMicro: 777n * CREDIT };
  if (kind === 'pack') {
    const purchase = await makePurchase(database, company.id, { credits: 777n });
    const { chargeId, paymentId, id } = purchase;
    const charge = { metadata: { purchaseId: id } };
    return { ...paid, event: paidSession(company, purchase), chargeId, paymentId, charge };
  }
  if (kind === 'plan') {
    const subscription = newSubscription(company, (await makePlan(database)).priceId);
    const [chargeId, paymentId] = [`ch_${subscription.id}_0`, `pi_${subscription.id}_0`];
    const charge = { invoice: `in_${subscription.id}_0`, metadata: {} };
    const [amount, broughtMicro] = [2_900, 3_000n * CREDIT];
    const event = invoiceEvent('paid', subscription);
    return { ...paid, event, amount, broughtMicro, chargeId, paymentId, charge };
  }
  const id = crypto.randomUUID();
  const invoice = { amountMinor: 1_000n, usageMicro: paid.broughtMicro, paidAs: `in_${id}` };
  await makeUsageInvoice(database, company.id, invoice);
  const charge = { invoice: invoice.paidAs, metadata: {} };
  return { ...paid, event: null, chargeId: `ch_${id}`, paymentId: `pi_${id}`, charge };
}

/** So much of the charge was refunded in all, after so many seconds. */
function refundEvent({ chargeId, paymentId, charge, amount }: Paid, sum: number, after: number) {
  const object = {
    id: chargeId,
    payment_intent: paymentId,
    amount,
    amount_refunded: sum,
    refunded: sum === amount,
  };
  return madeEvent({
    type: 'charge.refunded',
    created: RECORDED_AT + after,
    object: { ...object, ...charge },
  });
}

function foundEvent(
  type: string,
  object: Record<string, unknown> & { id: string },
  after: number,
): ProviderEvent {
  const event = madeEvent({ type: 'charge.refunded', object, created: RECORDED_AT + after });
  return { ...event, type, object, payload: { ...event.payload, data: { object } } };
}

function lostDispute({ chargeId, paymentId, charge }: Paid, amount: number, name = '1') {
  const object = { object: 'dispute', status: 'lost', amount, currency: 'usd', payment_intent: paymentId };
  const whole = { ...object, id: `dp_${name}_${chargeId}`, charge: { id: chargeId, ...charge } };
  return foundEvent('charge.dispute.closed', whole, 50);
}

/** As reconciliation finds it: so much of the charge is refunded without the one that failed. */
function failedRefund({ chargeId, paymentId, charge }: Paid, amount: number, left: number, after: number) {
  const object = { object: 'refund', status: 'failed', amount, currency: 'usd', payment_intent: paymentId };
  const counted = { refunded_in_all: left, counted_at: RECORDED_AT + after };
  const whole = { ...object, ...counted, id: `re_${after}_${chargeId}`, charge: { id: chargeId, ...charge } };
  return foundEvent('charge.refund.updated', whole, after);
}

/** What is left of a payment of which so much is refunded and disputed in the end. */
function leftMicro(kind: Kind, { amount, broughtMicro }: Paid, refunded: number, disputed: number): bigint {
  const shareOf = (minor: number) => {
    const share = broughtMicro * BigInt(minor);
    return share / BigInt(amount) + (share % BigInt(amount) === 0n ? 0n : 1n);
  };
  const returned = shareOf(Math.min(amount, refunded + disputed));
  // A refund of usage is a gift: what it paid stays paid.
  return kind === 'usage' ? shareOf(refunded) - returned : broughtMicro - returned;
}

async function receiveAll(events: readonly ProviderEvent[]) {
  for (const event of events) await payments.receive(event);
}

async function expectAllSound() {
  await expectSound(database, [refundsCheck, disputesCheck, cashCheck]);
  expect(await planCreditDifferences(database, 10)).toEqual([]);
}

test.each(KINDS)(
  'P-21 P-24 a refund that failed returns nothing whose money a lost dispute took, in all orders: %s',
  async (kind) => {
    for (const order of orders([0, 1, 2])) {
      const paid = await pay(kind);
      const facts = [
        refundEvent(paid, 400, 100),
        lostDispute(paid, paid.amount),
        failedRefund(paid, 400, 0, 90_000),
      ];
      if (paid.event !== null) await payments.receive(paid.event);
      await receiveAll(order.flatMap((at) => facts[at] ?? []));
      const expected = leftMicro(kind, paid, 0, paid.amount);
      expect([order, await payments.balance(paid.companyId)]).toEqual([order, expected]);
    }
    await expectAllSound();
  },
);

test.each(KINDS)(
  'P-21 P-24 a failed refund that is found before the events of its charge: %s',
  async (kind) => {
    for (const order of orders([0, 1, 2])) {
      const paid = await pay(kind);
      const facts = [
        refundEvent(paid, 300, 100),
        refundEvent(paid, 500, 200),
        failedRefund(paid, 200, 300, 90_000),
      ];
      if (paid.event !== null) await payments.receive(paid.event);
      await receiveAll(order.flatMap((at) => facts[at] ?? []));
      const expected = leftMicro(kind, paid, 300, 0);
      expect([order, await payments.balance(paid.companyId)]).toEqual([order, expected]);
    }
    await expectAllSound();
  },
);

/** The balance depends on what happened, not on how it arrived: compared with a model of a few lines. */
test('P-21 P-24 drawn histories of refunds, failed refunds and disputes end as their facts say', async () => {
  for (let seed = 1; seed <= 30; seed += 1) {
    const random = createSeededRandom(seed);
    const kind = KINDS[seed % KINDS.length] ?? 'pack';
    const paid = await pay(kind);
    const { facts, refunded, disputed } = drawFacts(paid, random);
    await receiveAll(shuffle([...(paid.event === null ? [] : [paid.event]), ...facts.early], random));
    await receiveAll(shuffle(facts.late, random));
    const expected = leftMicro(kind, paid, refunded, disputed);
    expect([seed, kind, await payments.balance(paid.companyId)]).toEqual([seed, kind, expected]);
  }
  await expectAllSound();
});

/** A count is received when it is made: what happens after it arrives after it (`late`). */
function drawFacts(paid: Paid, random: SeededRandom) {
  const { amount } = paid;
  const early: ProviderEvent[] = [];
  const late: ProviderEvent[] = [];
  let [sum, disputed] = [0, 0];
  for (let step = 1; step <= random.below(4); step += 1) {
    sum = Math.min(amount, sum + 1 + random.below(amount / 2));
    early.push(refundEvent(paid, sum, 100 * step));
  }
  for (let count = 0; count < random.below(3); count += 1) {
    const money = 1 + random.below(amount);
    disputed += money;
    (random.below(2) === 0 ? early : late).push(lostDispute(paid, money, String(count)));
  }
  if (sum > 0 && random.below(3) > 0) {
    const left = random.below(sum);
    early.push(failedRefund(paid, sum - left, left, 90_000));
    sum = left;
    if (random.below(2) === 0) {
      sum += 1 + random.below(amount - sum);
      late.push(refundEvent(paid, sum, 100_000));
    }
  }
  return { facts: { early, late }, refunded: sum, disputed };
}

/** In some order, some of them twice and under a second id. */
function shuffle(events: readonly ProviderEvent[], random: SeededRandom): ProviderEvent[] {
  const rest = events.flatMap((event) => (random.below(3) === 0 ? [event, event, secondId(event)] : [event]));
  const drawn: ProviderEvent[] = [];
  while (rest.length > 0) drawn.push(...rest.splice(random.below(rest.length), 1));
  return drawn;
}
