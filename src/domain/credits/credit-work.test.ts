import { expect, test } from 'bun:test';
import { toMinorUnits } from '../catalog/currency.ts';
import { postpaidTerms } from './credit-work.ts';
import { invoiceAmountMinor } from './invoices/monthly-invoices.ts';

test('P-29 a POSTPAID company pays in the minor units of its currency', () => {
  const amounts = ['usd', 'jpy', 'kwd', 'isk'].map((currency) => {
    const terms = postpaidTerms({ currency, pricePerCredit: '0.0123', dueDays: 14 }, toMinorUnits);
    return [currency, terms.minorPerMajor, terms.leastMinor, invoiceAmountMinor(1_000_000_001n, terms)];
  });
  expect(amounts).toEqual([
    // 12.3000000123 of each, rounded up to what can be paid.
    ['usd', 100n, 1n, 1_231n],
    ['jpy', 1n, 1n, 13n],
    ['kwd', 1_000n, 10n, 12_310n],
    ['isk', 100n, 100n, 1_300n],
  ]);
});
