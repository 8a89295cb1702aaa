import { describe, expect, test } from 'bun:test';
import { monthlyInvoicesContract, TERMS } from '../../../../test/contracts/monthly-invoices.contract.ts';
import { useMemoryDatabase } from '../../../../test/setup/use-memory-database.ts';
import { invoiceAmountMinor, readPrice } from './monthly-invoices.ts';

const database = useMemoryDatabase();

monthlyInvoicesContract('PGlite', () => database);

describe('P-29 what usage costs', () => {
  test('it is exact, and rounded up once to what the currency can pay', () => {
    for (const [usageMicro, terms, wanted] of [
      [1n, TERMS, 1n],
      [1_000_000n, TERMS, 1n],
      [1_000_001n, TERMS, 2n],
      [12_345_678_900_000n, TERMS, 12_345_679n],
      [1_000_000n, { ...TERMS, pricePerCredit: '0.0125' }, 2n],
      [100_000_000n, { ...TERMS, pricePerCredit: '3' }, 30_000n],
      [100_000_000n, { ...TERMS, minorPerMajor: 1n, pricePerCredit: '1.5' }, 150n],
      [1_000_000n, { ...TERMS, minorPerMajor: 1_000n, leastMinor: 10n, pricePerCredit: '0.001' }, 10n],
      [1_000_000n, { ...TERMS, leastMinor: 100n }, 100n],
    ] as const) {
      expect(invoiceAmountMinor(usageMicro, terms)).toBe(wanted);
    }
  });

  test.each(['0', '0.000', '', '-1', '1e3', '.5', '1.', '0.0000000000001', ' 1', 'x'])(
    '%p is no price',
    (text) => {
      expect(readPrice(text)).toBeNull();
    },
  );
});
