import { describe, expect, test } from 'bun:test';
import { createSeededRandom } from '../../../test/doubles/seeded-random.ts';
import { creditsAsNumber } from '../../domain/credits/ledger/credit-account.ts';
import { microFrom } from './amounts.ts';

describe('credits on their way in and out', () => {
  test('every micro-credit survives both ways', () => {
    const random = createSeededRandom(7);
    for (let n = 0; n < 20_000; n += 1) {
      const micro =
        BigInt(random.below(2 ** 32)) * BigInt(random.below(2_000_000)) * (n % 2 === 0 ? 1n : -1n);
      expect(microFrom('credits', creditsAsNumber(micro))).toBe(micro);
    }
    for (const micro of [0n, 1n, -1n, 999_999n, 1_000_001n, 9_000_000_000_000_000n]) {
      expect(microFrom('credits', creditsAsNumber(micro))).toBe(micro);
    }
  });

  test('what is finer than a micro-credit, too large or no number is refused, not rounded', () => {
    for (const credits of [
      0.0000001,
      1.2345678,
      9_000_000_001,
      -1e300,
      Number.NaN,
      Number.POSITIVE_INFINITY,
    ]) {
      expect(() => microFrom('credits', credits)).toThrow('credits: ');
    }
    expect(microFrom('credits', 0.1 + 0.2)).toBe(300_000n);
  });
});
