import { describe, expect, test } from 'bun:test';
import { createSeededRandom } from '../../../test/doubles/seeded-random.ts';
import { fromMinorUnits, isKnownCurrency, toMinorUnits } from './currency.ts';

function minor(price: string | number, currency: string): bigint | string {
  const converted = toMinorUnits(price, currency);
  return converted.outcome === 'converted' ? converted.amountMinor : converted.message;
}

describe('P-10 a price becomes whole minor units by its currency', () => {
  test.each([
    ['19.99', 'usd', 1_999n],
    [19.99, 'USD', 1_999n],
    ['0.1', 'eur', 10n],
    [0, 'usd', 0n],
    [1000, 'jpy', 1_000n],
    ['1.25', 'kwd', 1_250n],
    ['5', 'isk', 500n],
    ['999999.99', 'usd', 99_999_999n],
    ['000012.50', 'usd', 1_250n],
  ])('%s %s', (price, currency, wanted) => {
    expect(minor(price, currency)).toBe(wanted);
  });

  test.each([
    [1000.5, 'jpy', '1000.5 is not a price in JPY: that currency has no decimals.'],
    ['5.5', 'isk', '5.5 is not a price in ISK: that currency has no decimals.'],
    ['1.255', 'kwd', '1.255 is not a price in KWD: that currency has at most 2 decimals.'],
    ['1000000', 'usd', 'A price in USD is at most 999999.99.'],
    ['100000000', 'jpy', 'A price in JPY is at most 99999999.'],
    ['1000000', 'isk', 'A price in ISK is at most 999999.'],
  ])('%s %s is refused with the reason', (price, currency, wanted) => {
    expect(minor(price, currency)).toBe(wanted);
  });

  test.each(['-1', '-0.01', 'NaN', 'Infinity', '1e3', '1e-7', '', ' ', '1,50', '0x10', '1.', '.5', '1.2.3'])(
    '%p is no price',
    (price) => expect(minor(price, 'usd')).toContain('is not a price'),
  );

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 1e21, 1e-7])('the number %p is no price', (price) => {
    expect(minor(price, 'usd')).toContain('is not a price');
  });

  test('an unknown currency is refused, with the value shortened', () => {
    for (const currency of ['', 'xxx', 'us', 'usdt', 'toString', '__proto__', 'x'.repeat(10_000)]) {
      expect(isKnownCurrency(currency)).toBe(false);
      const message = String(minor('1', currency));
      expect(message).toContain('is not a currency we can charge in');
      expect(message.length).toBeLessThan(150);
    }
  });
});

test('P-10 minor units are shown with the digits the currency has', () => {
  expect(fromMinorUnits(1_999n, 'usd')).toBe('19.99');
  expect(fromMinorUnits(5n, 'usd')).toBe('0.05');
  expect(fromMinorUnits(-1_250n, 'eur')).toBe('-12.50');
  expect(fromMinorUnits(1_000n, 'jpy')).toBe('1000');
  expect(fromMinorUnits(1_250n, 'kwd')).toBe('1.25');
  expect(fromMinorUnits(1_255n, 'kwd')).toBe('1.255');
  expect(fromMinorUnits(500n, 'isk')).toBe('5');
  expect(fromMinorUnits(0n, 'usd')).toBe('0.00');
});

test('P-10 every whole amount a currency holds comes back as it went', () => {
  const random = createSeededRandom(20_231_016);
  const steps = { usd: 1n, jpy: 1n, kwd: 10n, isk: 100n, ugx: 100n, huf: 1n } as const;
  for (let round = 0; round < 2_000; round += 1) {
    const currency = random.pick(Object.keys(steps) as (keyof typeof steps)[]);
    const amount = (BigInt(random.below(99_999_999)) / steps[currency]) * steps[currency];
    expect(minor(fromMinorUnits(amount, currency), currency)).toBe(amount);
  }
});
