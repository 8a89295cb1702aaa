import { beforeAll, describe, expect, test } from 'bun:test';
import { expireCredits } from '../../src/domain/credits/expiry/expire-credits.ts';
import { BALANCE_LEVEL, readLevel } from '../../src/domain/credits/ledger/credit-account.ts';
import { postTransaction } from '../../src/domain/credits/ledger/ledger.ts';
import { refundStep } from '../../src/domain/payments/effects/refund-share.ts';
import { runCheck } from '../../src/domain/reconciliation/audit-check.ts';
import { refundsCheck } from '../../src/domain/reconciliation/money-checks.ts';
import type { ProviderEvent } from '../../src/ports/payment-provider.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { useDatabase } from '../setup/use-database.ts';
import {
  CREDIT,
  type MadeCompany,
  type MadePurchase,
  makeCompany,
  makePlan,
  makePurchase,
  openPayments,
  type PaymentsUnderTest,
} from './payments-under-test.ts';
import { paidSession, refundOf } from './purchase-facts.ts';
import { madeEvent, RECORDED_AT, secondId } from './recorded-events.ts';
import { orders } from './schedules.ts';
import { invoiceEvent, newSubscription } from './subscription-facts.ts';

const database = useDatabase();
let payments: PaymentsUnderTest;
beforeAll(async () => {
  payments = openPayments(database);
});

async function world(credits = 1_000n) {
  const company = await makeCompany(database);
  const purchase = await makePurchase(database, company.id, { credits });
  return { company, purchase, paid: paidSession(company, purchase) };
}

async function receiveAll(events: readonly ProviderEvent[]) {
  for (const event of events) await payments.receive(event);
}

describe('a refund of a purchase', () => {
  test('P-21 billing bug 2: half the money takes half the credits, once, however often the event arrives', async () => {
    const { company, purchase, paid } = await world();
    const half = refundOf(company, purchase, 500);
    await receiveAll([paid, half, half, secondId(half), refundOf(company, purchase, 500)]);
    expect(await payments.postings(company.id)).toEqual([
      ['PACK_PURCHASE', 1_000n * CREDIT],
      ['REFUND', -500n * CREDIT],
    ]);
  });

  test('P-21 billing bug 19: the provider reports the sum so far: 100 and then 250 take 100 and 150', async () => {
    const { company, purchase, paid } = await world();
    await receiveAll([paid, refundOf(company, purchase, 100), refundOf(company, purchase, 250)]);
    expect(await payments.postings(company.id)).toEqual([
      ['PACK_PURCHASE', 1_000n * CREDIT],
      ['REFUND', -100n * CREDIT],
      ['REFUND', -150n * CREDIT],
    ]);
  });

  test('billing bug 18: it is read from the charge itself, which has no list of refunds', async () => {
    const { company, purchase, paid } = await world();
    const whole = refundOf(company, purchase, 1_000, { refunds: undefined });
    await receiveAll([paid, whole]);
    expect(await payments.balance(company.id)).toBe(0n);
    // Where the sum is missing too, the flag says that it is refunded.
    const other = await world();
    const bare = refundOf(other.company, other.purchase, 1_000, {
      amount_refunded: undefined,
      refunded: true,
    });
    await receiveAll([other.paid, bare]);
    expect(await payments.balance(other.company.id)).toBe(0n);
  });

  test('P-21 billing bug 23: a refund larger than the balance leaves a debt', async () => {
    const { company, purchase, paid } = await world();
    await payments.receive(paid);
    await database.query(
      `insert into credit_transactions (account_id, version, type, amount_micro, balance_after_micro, contra,
         source_kind, source_id) values ($1, 2, 'USAGE', $2, $3, 'usage', 'test', $4)`,
      [company.id, -900n * CREDIT, 100n * CREDIT, purchase.id],
    );
    await database.query('update credit_accounts set balance_micro = $2, version = 2 where id = $1', [
      company.id,
      100n * CREDIT,
    ]);
    await payments.receive(refundOf(company, purchase, 1_000));
    expect(await payments.balance(company.id)).toBe(-900n * CREDIT);
  });

  test('P-24 before its purchase it waits, and is applied at once with it', async () => {
    const { company, purchase, paid } = await world();
    const refund = refundOf(company, purchase, 400);
    expect(await payments.receive(refund)).toMatchObject({ outcome: 'deferred' });
    expect(await payments.found(refund)).toMatchObject({ status: 'DEFERRED', error: expect.any(String) });
    await payments.receive(paid);
    expect(await payments.statusOf(refund)).toBe('PROCESSED');
    expect(await payments.balance(company.id)).toBe(600n * CREDIT);
  });

  test('billing bug 16: the very next call is checked against the balance after the refund', async () => {
    const { company, purchase, paid } = await world();
    const claim = (amount: number) =>
      payments.sharedState.reserve(company.id, [
        {
          kind: 'held',
          name: 'probe',
          entry: `${amount}`,
          amount,
          ttlMs: 1_000,
          rule: 'fits',
          limit: { level: BALANCE_LEVEL, maxAgeMs: 60_000 },
        },
      ]);
    await payments.receive(paid);
    // As a gateway that has read the level from the database stores it.
    const { balanceMicro, version } = (await readLevel(database, company.id)) ?? {
      balanceMicro: 0n,
      version: 0n,
    };
    const read = { value: Number(balanceMicro), version: Number(version), ttlMs: 60_000, replaces: null };
    await payments.sharedState.settle(company.id, [{ kind: 'level', name: BALANCE_LEVEL, ...read }]);
    await payments.receive(refundOf(company, purchase, 900));
    expect(await claim(Number(101n * CREDIT))).toMatchObject({ outcome: 'refused' });
    expect(await claim(Number(100n * CREDIT))).toMatchObject({ outcome: 'reserved' });
  });

  test('a refund of an unknown charge changes nothing, and waits', async () => {
    const { company, purchase } = await world();
    const foreign = refundOf(company, { ...purchase, paymentId: 'pi_else', chargeId: 'ch_else' }, 10, {
      metadata: {},
    });
    expect(await payments.receive(foreign)).toMatchObject({ outcome: 'deferred' });
    expect(await payments.balance(company.id)).toBe(0n);
  });

  test('a refund in another currency, or of more than the charge, fails for an operator to check', async () => {
    const { company, purchase, paid } = await world();
    await payments.receive(paid);
    for (const changes of [{ currency: 'jpy' }, { amount_refunded: 5_000 }]) {
      expect(await payments.receive(refundOf(company, purchase, 100, changes))).toMatchObject({
        outcome: 'failed',
      });
    }
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
  });

  test('P-24 a purchase, two partial refunds and the rest, in all orders and twice each, end the same', async () => {
    for (const order of orders([0, 1, 2, 3])) {
      const { company, purchase, paid } = await world(333n);
      const facts = [paid, ...[137, 401, 1_000].map((refunded) => refundOf(company, purchase, refunded))];
      const schedule = order.flatMap((at) => facts[at] ?? []);
      await receiveAll(schedule.flatMap((event, at) => [event, at % 2 === 0 ? event : secondId(event)]));
      expect([order, await payments.balance(company.id)]).toEqual([order, 0n]);
      for (const event of schedule) expect(await payments.statusOf(event)).toBe('PROCESSED');
    }
  });
});

/** As reconciliation finds it: so much of the charge is refunded without the one that failed. */
function failedRefund(company: MadeCompany, purchase: MadePurchase, refundedMinor: number): ProviderEvent {
  const event = refundOf(company, purchase, 1_000);
  const object = {
    ...{
      id: `re_${purchase.id.slice(-12)}_${refundedMinor}`,
      object: 'refund',
      charge: purchase.chargeId,
      status: 'failed',
    },
    ...{ payment_intent: purchase.paymentId, amount: 1_000 - refundedMinor, currency: 'usd' },
    ...{ refunded_in_all: refundedMinor, counted_at: RECORDED_AT + 90_000 },
  };
  const payload = { ...event.payload, data: { object } };
  return { ...event, id: `${event.id}_failed`, type: 'charge.refund.updated', object, payload };
}

/** A dispute of the payment that was lost. */
function lostDispute(id: string, amount: number, payment: string, charge: string | object): ProviderEvent {
  const object = {
    id,
    object: 'dispute',
    status: 'lost',
    amount,
    currency: 'usd',
    charge,
    payment_intent: payment,
  };
  const event = madeEvent({ type: 'charge.refunded', object, created: RECORDED_AT + 50 });
  return { ...event, type: 'charge.dispute.closed', object, payload: { ...event.payload, data: { object } } };
}

describe('a lost dispute and refunds of one payment', () => {
  const CASES = [
    { refunded: 300, disputed: 1_000, left: 0n },
    { refunded: 1_000, disputed: 500, left: 0n },
    { refunded: 600, disputed: 500, left: 0n },
    { refunded: 300, disputed: 300, left: 400n },
  ];

  test.each(CASES)(
    'P-21 P-24 of a pack take no more than it brought, in all orders: $refunded and $disputed',
    async ({ refunded, disputed, left }) => {
      for (const order of orders([0, 1, 2, 3])) {
        const { company, purchase, paid } = await world();
        const facts = [
          paid,
          refundOf(company, purchase, refunded / 2),
          refundOf(company, purchase, refunded),
          lostDispute(`dp_${purchase.id}`, disputed, purchase.paymentId, purchase.chargeId),
        ];
        await receiveAll(order.flatMap((at) => facts[at] ?? []));
        expect([order, await payments.balance(company.id)]).toEqual([order, left * CREDIT]);
      }
      expect(await runCheck(database, refundsCheck)).toMatchObject({ faults: [] });
    },
  );

  test('P-21 P-24 of a plan: nothing is carried over to the next invoice', async () => {
    for (const order of orders([0, 1])) {
      const company = await makeCompany(database);
      const subscription = newSubscription(company, (await makePlan(database)).priceId);
      const paid = invoiceEvent('paid', subscription);
      const names = { charge: `ch_${subscription.id}_0`, payment: `pi_${subscription.id}_0` };
      const object = {
        ...{ id: names.charge, payment_intent: names.payment, invoice: `in_${subscription.id}_0` },
        ...{ customer: company.customerId, amount: 2_900, amount_refunded: 1_450, refunded: false },
      };
      const refund = madeEvent({ type: 'charge.refunded', object });
      const dispute = lostDispute(`dp_${subscription.id}`, 2_900, names.payment, names.charge);
      await payments.receive(paid);
      await receiveAll(order.flatMap((at) => [refund, dispute][at] ?? []));
      expect([order, await payments.balance(company.id)]).toEqual([order, 0n]);
      const [sum] = await database.query<{ micro: bigint }>(
        'select sum(refunded_micro)::bigint as micro from charge_refunds where company_id = $1',
        [company.id],
      );
      expect(sum?.micro).toBe(3_000n * CREDIT);
    }
  });

  test('P-21 P-24 of an invoice for usage: what was refunded stays paid, in both orders', async () => {
    for (const order of orders([0, 1])) {
      const company = await makeCompany(database, 'POSTPAID');
      const id = crypto.randomUUID();
      const [invoice, charge, payment] = [`in_${id}`, `ch_${id}`, `pi_${id}`];
      await database.query(
        `insert into invoices (id, company_id, kind, status, amount_minor, currency, usage_micro, first_version,
           last_version, period_start, period_end, due_at, provider_invoice_id)
         values ($1, $2, 'POSTPAID', 'PAID', 1000, 'usd', $3, 1, 1, '2029-12-01', '2030-01-01', '2030-01-15', $4)`,
        [id, company.id, 100n * CREDIT, invoice],
      );
      const object = {
        ...{ id: charge, payment_intent: payment, invoice, customer: company.customerId, metadata: {} },
        ...{ amount: 1_000, amount_refunded: 300, refunded: false },
      };
      const refund = madeEvent({ type: 'charge.refunded', object });
      const dispute = lostDispute(`dp_${id}`, 700, payment, { id: charge, invoice });
      await receiveAll(order.flatMap((at) => [refund, dispute][at] ?? []));
      expect([order, await payments.balance(company.id)]).toEqual([order, -70n * CREDIT]);
    }
  });

  test('P-21 a failed refund returns nothing that the dispute had taken', async () => {
    const { company, purchase, paid } = await world();
    const dispute = lostDispute(`dp_${purchase.id}`, 500, purchase.paymentId, purchase.chargeId);
    await receiveAll([paid, dispute, refundOf(company, purchase, 1_000)]);
    await payments.receive(failedRefund(company, purchase, 600));
    expect(await payments.balance(company.id)).toBe(0n);
    await payments.receive(failedRefund(company, purchase, 100));
    expect(await payments.balance(company.id)).toBe(400n * CREDIT);
    expect(await runCheck(database, refundsCheck)).toMatchObject({ faults: [] });
  });
});

describe('credits of a pack that expire', () => {
  const DAY_MS = 86_400_000;

  async function bought() {
    const company = await makeCompany(database);
    const purchase = await makePurchase(database, company.id, { expireAfterDays: 30 });
    await payments.receive(paidSession(company, purchase));
    return { company, purchase };
  }
  async function spend(accountId: string, amountMicro: bigint) {
    const source = { sourceKind: 'test', sourceId: crypto.randomUUID() };
    await database.transaction((transaction) =>
      postTransaction(transaction, {
        accountId,
        type: 'USAGE',
        amountMicro: -amountMicro,
        contra: 'usage',
        ...source,
      }),
    );
  }
  async function pass(days: number) {
    await payments.clock.advance(days * DAY_MS);
    await expireCredits(payments);
  }

  test('P-20 they expire a number of days after they were credited, as agreed at checkout, however late that was', async () => {
    const company = await makeCompany(database);
    const purchase = await makePurchase(database, company.id, { expireAfterDays: 30 });
    await pass(40);
    await payments.receive(paidSession(company, purchase));
    await database.query('update credit_packs set credits_expire_after_days = 1');
    await pass(29);
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
    await pass(1);
    expect(await payments.postings(company.id)).toEqual([
      ['PACK_PURCHASE', 1_000n * CREDIT],
      ['EXPIRY', -1_000n * CREDIT],
    ]);
  });

  test('attack: a refund after they have expired does not take them a second time, nor in parts', async () => {
    const { company, purchase } = await bought();
    await spend(company.id, 400n * CREDIT);
    await pass(30);
    await receiveAll([refundOf(company, purchase, 500), refundOf(company, purchase, 1_000)]);
    // 600 had expired; the 400 that were spent are a debt, as after any refund.
    expect(await payments.postings(company.id)).toEqual([
      ['PACK_PURCHASE', 1_000n * CREDIT],
      ['USAGE', -400n * CREDIT],
      ['EXPIRY', -600n * CREDIT],
      ['REFUND', -400n * CREDIT],
    ]);
    expect(await runCheck(database, refundsCheck)).toEqual({ faults: [], isCut: false });
    await payments.receive(failedRefund(company, purchase, 500));
    expect(await payments.balance(company.id)).toBe(0n);
    expect(await runCheck(database, refundsCheck)).toEqual({ faults: [], isCut: false });
  });

  test('credits returned by a failed refund expire after the same number of days again', async () => {
    const { company, purchase } = await bought();
    await payments.receive(refundOf(company, purchase, 1_000));
    await pass(31);
    await payments.receive(failedRefund(company, purchase, 0));
    await pass(29);
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
    await pass(1);
    expect(await payments.balance(company.id)).toBe(0n);
  });
});

test('P-21 shares are cumulative, never more than was granted, exact in total, for any steps', () => {
  const random = createSeededRandom(21);
  for (let run = 0; run < 500; run += 1) {
    const amountMinor = BigInt(1 + random.below(100_000));
    const grantedMicro = BigInt(1 + random.below(2 ** 31)) * BigInt(1 + random.below(5_000));
    let soFar = { amountMinor, grantedMicro, refundedMinor: 0n, refundedMicro: 0n };
    let taken = 0n;
    for (let step = 0; step < 6; step += 1) {
      const refunded = step === 5 ? amountMinor : BigInt(1 + random.below(Number(amountMinor)));
      const next = refundStep(soFar, refunded);
      expect(next.takenMicro).toBeGreaterThanOrEqual(0n);
      taken += next.takenMicro;
      expect(taken).toBe(next.refundedMicro);
      // Never a micro-credit more than the share, rounded up.
      expect(next.refundedMicro * amountMinor).toBeLessThan(grantedMicro * next.refundedMinor + amountMinor);
      soFar = { ...soFar, ...next };
    }
    expect(taken).toBe(grantedMicro);
  }
});
