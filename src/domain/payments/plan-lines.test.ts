import { describe, expect, test } from 'bun:test';
import {
  countedMoney,
  grantedMicro,
  moveInvoice,
  moveLine,
  readInvoiceLines,
  readInvoiceMoney,
} from './plan-lines.ts';

const PRO = { planId: 'pro', currency: 'usd', priceMinor: 9_900n, creditsMicro: 12_000_000_000n };
const FREE = { ...PRO, priceMinor: 0n };

function line(fields: Readonly<Record<string, unknown>>) {
  const price = { id: 'price_pro', type: 'recurring' };
  const [read] = readInvoiceLines([{ id: 'il_1', type: 'subscription', quantity: 1, price, ...fields }]);
  if (read === undefined) throw new Error('no line was read');
  return read;
}

describe('P-22 credits of a line', () => {
  test('plan credits × net amount ÷ plan price, rounded down, below zero too', () => {
    const grid: [Readonly<Record<string, unknown>>, string, bigint][] = [
      [{ amount: 9_900 }, 'PERIOD', 12_000_000_000n],
      [{ amount: 49_500, quantity: 5 }, 'PERIOD', 60_000_000_000n],
      [{ amount: 1 }, 'PERIOD', 1_212_121n],
      [{ amount: -1 }, 'PERIOD', -1_212_122n],
      [{ amount: -9_900, proration: true }, 'PRORATION', -12_000_000_000n],
      [{ amount: 0, proration: true }, 'PRORATION', 0n],
      [{ amount: 0 }, 'TRIAL', 0n],
      [{ amount: 0, quantity: 0 }, 'PERIOD', 0n],
      [{ amount: 9_900, discount_amounts: [{ amount: 4_000 }, { amount: 950 }] }, 'PERIOD', 6_000_000_000n],
      [{ amount: 9_900, discount_amounts: [{ amount: 9_900 }] }, 'PERIOD', 0n],
      [
        { amount: -4_950, proration: true, discount_amounts: [{ amount: -4_950 }] },
        'PRORATION',
        -6_000_000_000n,
      ],
    ];
    for (const [fields, kind, movedMicro] of grid) {
      expect([fields, moveLine(line(fields), PRO)]).toMatchObject([fields, { kind, movedMicro }]);
    }
  });

  test('a line of no plan grants nothing; one of a free plan is granted by its period, not by its amount', () => {
    expect(moveLine(line({ amount: 9_900 }), null)).toMatchObject({ kind: 'OTHER', movedMicro: 0n });
    expect(moveLine(line({ amount: 0 }), FREE)).toMatchObject({ kind: 'FREE', movedMicro: 0n });
    expect(moveLine(line({ amount: 0, proration: true }), FREE)).toMatchObject({
      kind: 'OTHER',
      movedMicro: 0n,
    });
  });

  test('only recurring prices that are not metered can be a plan’s', () => {
    const price = (type: string, usage_type?: string) => ({ id: 'price_1', type, recurring: { usage_type } });
    expect(line({ price: price('recurring', 'licensed') }).isLicensed).toBe(true);
    expect(line({ price: price('recurring', 'metered') }).isLicensed).toBe(false);
    expect(line({ price: price('one_time') }).isLicensed).toBe(false);
    expect(line({ price: null, type: 'invoiceitem' }).isLicensed).toBe(false);
    expect(line({ price: { id: 'price_1' } }).isLicensed).toBe(true);
  });
});

describe('credits of an invoice', () => {
  const whole = [moveLine(line({ amount: 9_900 }), PRO)];
  const all = 12_000_000_000n;
  test('the sum of its lines, as far as they are in its total and its total was paid', () => {
    const grid: [Readonly<Record<string, unknown>>, bigint][] = [
      [{ total: 9_900, amount_paid: 9_900 }, all],
      [{ total: 4_950, amount_paid: 4_950 }, all / 2n],
      [{ total: 0, amount_paid: 0 }, 0n],
      [{ total: 9_900, amount_paid: 1 }, all / 9_900n],
      [{ total: 9_900, amount_paid: 0, paid_out_of_band: true }, all],
      [{ total: 9_900, amount_paid: 900, starting_balance: -9_000, ending_balance: 0 }, all],
      [{ total: 9_900, amount_paid: 0, starting_balance: -20_000, ending_balance: -10_100 }, all],
      [{ total: 9_900, amount_paid: 10_000, starting_balance: 100, ending_balance: 0 }, all],
      [{ total: 9_900, amount_paid: 6_600, pre_payment_credit_notes_amount: 3_300 }, (all * 2n) / 3n],
      [{ total: 11_880, amount_paid: 11_880, total_tax_amounts: [{ amount: 1_980, inclusive: false }] }, all],
      [{ total: 9_900, amount_paid: 9_900, total_tax_amounts: [{ amount: 1_650, inclusive: true }] }, all],
      [{ total: 10_900, amount_paid: 10_900, shipping_cost: { amount_subtotal: 1_000 } }, all],
      [{ amount_paid: 9_900 }, all],
    ];
    for (const [invoice, micro] of grid) {
      expect([invoice, moveInvoice(whole, readInvoiceMoney(invoice))]).toEqual([invoice, micro]);
    }
  });

  test('below zero all of it counts: the money is on the customer’s balance', () => {
    const back = [moveLine(line({ amount: -9_900, proration: true }), PRO)];
    const money = readInvoiceMoney({
      total: -9_900,
      amount_paid: 0,
      starting_balance: 0,
      ending_balance: -9_900,
    });
    expect(moveInvoice(back, money)).toBe(-all);
    expect(moveInvoice(back, readInvoiceMoney({ total: 0, amount_paid: 0 }))).toBe(-all);
  });

  test('attack: a fee next to it neither adds nor takes, nor does its money pay for a plan with a coupon', () => {
    const fee = moveLine(line({ amount: 100, price: null, type: 'invoiceitem' }), null);
    expect(moveInvoice([...whole, fee], readInvoiceMoney({ total: 10_000, amount_paid: 10_000 }))).toBe(all);
    const half = moveLine(line({ amount: 9_900, discount_amounts: [{ amount: 4_950 }] }), PRO);
    const dear = moveLine(line({ amount: 5_000, price: null, type: 'invoiceitem' }), null);
    expect(moveInvoice([half, dear], readInvoiceMoney({ total: 9_950, amount_paid: 9_950 }))).toBe(all / 2n);
  });
});

describe('credits granted by all invoices of a company', () => {
  const best = { priceMinor: 9_900n, creditsMicro: 12_000_000_000n };
  const invoice = (movedMicro: bigint, linesMinor: bigint, currency = 'usd', creditedMinor = 0n) => ({
    ...{ currency, movedMicro, linesMinor, creditedMinor, best },
  });

  test('the maximum of their running sum: anything below is carried over', () => {
    const [pro, back, basic] = [invoice(120n, 99n), invoice(-90n, -70n), invoice(30n, 29n)];
    expect(grantedMicro([])).toBe(0n);
    expect(grantedMicro([pro, back])).toBe(120n);
    expect(grantedMicro([pro, back, basic, basic, basic])).toBe(120n);
    expect(grantedMicro([pro, back, basic, basic, basic, basic])).toBe(150n);
    expect(grantedMicro([back, pro])).toBe(30n);
  });

  test('never more than all money at the best rate that was paid', () => {
    // Changed to a worse plan without a proration, and back with one: 70 were paid, 9,000 credits are moved.
    const cycle = invoice(9_000_000_000n, 7_000n);
    expect(grantedMicro([invoice(12_000_000_000n, 9_900n), cycle])).toBe(
      (12_000_000_000n * 16_900n) / 9_900n,
    );
  });

  test('a credit on the first invoice was paid before the books begin; one on a later invoice was not', () => {
    const change = invoice(20_800_000_000n, 16_900n, 'usd', 2_900n);
    expect(grantedMicro([change])).toBe(20_800_000_000n);
    const later = grantedMicro([invoice(0n, 0n), change]);
    expect(later).toBe((12_000_000_000n * 16_900n) / 9_900n);
  });

  test('money in two currencies is bounded by a rate for each', () => {
    expect(grantedMicro([invoice(12n, 9_900n), invoice(12n, 9_900n, 'eur')])).toBe(24n);
  });

  test('only lines of plans count as money for credits, as far as they were paid', () => {
    const fee = moveLine(line({ amount: 100, price: null, type: 'invoiceitem' }), null);
    const whole = moveLine(line({ amount: 9_900 }), PRO);
    const paid = { total: 10_000, amount_paid: 5_000 };
    expect(countedMoney([whole, fee], readInvoiceMoney(paid))).toMatchObject({
      linesMinor: 4_950n,
      best: { priceMinor: 9_900n, creditsMicro: PRO.creditsMicro },
    });
  });
});
