import { describe, expect, test } from 'bun:test';
import { expireCredits } from '../../src/domain/credits/expiry/expire-credits.ts';
import { listInvoices } from '../../src/domain/credits/invoices/invoice.ts';
import { BALANCE_LEVEL, readLevel } from '../../src/domain/credits/ledger/credit-account.ts';
import { refundStep } from '../../src/domain/payments/effects/refund-share.ts';
import { paidForInvoices, paidForPurchases } from '../../src/domain/payments/paid-amounts.ts';
import { refundsCheck } from '../../src/domain/reconciliation/money-checks.ts';
import type { ProviderEvent } from '../../src/ports/payment-provider.ts';
import { postAt } from '../doubles/posted-usage.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import {
  CREDIT,
  type MadeCompany,
  type MadePurchase,
  makeCompany,
  makePurchase,
} from './payments-under-test.ts';
import { paidSession, refundOf } from './purchase-facts.ts';
import { RECORDED_AT, secondId } from './recorded-events.ts';
import { expectSound, usePayments } from './use-payments.ts';

const { database, payments } = usePayments();

async function world() {
  const company = await makeCompany(database);
  const purchase = await makePurchase(database, company.id);
  return { company, purchase, paid: paidSession(company, purchase) };
}

async function receiveAll(events: readonly ProviderEvent[]) {
  for (const event of events) await payments.receive(event);
}

describe('a refund of a purchase', () => {
  test('P-21 billing bug 2, 19: the provider reports the sum so far, which is taken once, however often it arrives', async () => {
    const { company, purchase, paid } = await world();
    const [first, second] = [refundOf(company, purchase, 100), refundOf(company, purchase, 250)];
    await receiveAll([paid, first, first, second, secondId(second), refundOf(company, purchase, 250)]);
    expect(await payments.postings(company.id)).toEqual([
      ['PACK_PURCHASE', 1_000n * CREDIT],
      ['REFUND', -100n * CREDIT],
      ['REFUND', -150n * CREDIT],
    ]);
  });

  test('P-21 the purchase shows what was paid, what was given back, and what is left', async () => {
    const { company, purchase, paid } = await world();
    const shown = async () => (await paidForPurchases(database, [purchase.id])).get(purchase.id);
    expect(await shown()).toMatchObject({ grossMinor: 0n, returnedMinor: 0n, creditsLeftMicro: 0n });
    await receiveAll([paid, refundOf(company, purchase, 250)]);
    const left = {
      currency: 'usd',
      grossMinor: 1_000n,
      returnedMinor: 250n,
      creditsLeftMicro: 750n * CREDIT,
    };
    expect(await shown()).toEqual(left);
    const [invoice] = await listInvoices(database, company.id);
    expect([...(await paidForInvoices(database, [invoice?.id ?? '']))]).toEqual([[invoice?.id ?? '', left]]);
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
    await postAt(database, company.id, -900n * CREDIT, new Date(payments.clock.now()).toISOString());
    await payments.receive(refundOf(company, purchase, 1_000));
    expect(await payments.balance(company.id)).toBe(-900n * CREDIT);
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
});

/** As reconciliation finds it: so much of the charge is refunded without the one that failed. */
function failedRefund(
  company: MadeCompany,
  purchase: MadePurchase,
  refundedMinor: number,
  more: Record<string, unknown> = {},
): ProviderEvent {
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
    ...more,
  };
  const payload = { ...event.payload, data: { object } };
  return { ...event, id: `${event.id}_failed`, type: 'charge.refund.updated', object, payload };
}

describe('credits of a pack that expire', () => {
  const DAY_MS = 86_400_000;

  async function bought() {
    const company = await makeCompany(database);
    const purchase = await makePurchase(database, company.id, { expireAfterDays: 30 });
    await payments.receive(paidSession(company, purchase));
    return { company, purchase };
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
    await postAt(database, company.id, -400n * CREDIT, new Date(payments.clock.now()).toISOString());
    await pass(30);
    await receiveAll([refundOf(company, purchase, 500), refundOf(company, purchase, 1_000)]);
    // 600 had expired; the 400 that were spent are a debt, as after any refund.
    expect(await payments.postings(company.id)).toEqual([
      ['PACK_PURCHASE', 1_000n * CREDIT],
      ['USAGE', -400n * CREDIT],
      ['EXPIRY', -600n * CREDIT],
      ['REFUND', -400n * CREDIT],
    ]);
    await expectSound(database, [refundsCheck]);
    const created = Math.floor(payments.clock.now() / 1_000);
    await payments.receive(failedRefund(company, purchase, 500, { created }));
    expect(await payments.balance(company.id)).toBe(0n);
    await expectSound(database, [refundsCheck]);
  });

  test('P-21 a refund that took nothing, as the credits had expired, returns none when it fails', async () => {
    const { company, purchase } = await bought();
    const at = () => Math.floor(payments.clock.now() / 1_000);
    const early = at();
    await payments.receive(refundOf(company, purchase, 300));
    await pass(31);
    await payments.receive(refundOf(company, purchase, 800));
    const postings: [string, bigint][] = [
      ['PACK_PURCHASE', 1_000n * CREDIT],
      ['REFUND', -300n * CREDIT],
      ['EXPIRY', -700n * CREDIT],
    ];
    await payments.receive(failedRefund(company, purchase, 300, { amount: 500, created: at() }));
    expect(await payments.postings(company.id)).toEqual(postings);
    await expectSound(database, [refundsCheck]);
    const counted_at = RECORDED_AT + 90_001;
    await payments.receive(failedRefund(company, purchase, 0, { amount: 300, created: early, counted_at }));
    expect(await payments.postings(company.id)).toEqual([...postings, ['REFUND', 300n * CREDIT]]);
    await expectSound(database, [refundsCheck]);
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
