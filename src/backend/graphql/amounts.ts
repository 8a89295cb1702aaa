import { fromMinorUnits } from '../../domain/catalog/currency.ts';
import { creditsAsNumber } from '../../domain/credits/ledger/credit-account.ts';
import { badInput } from './errors.ts';

/** Beyond this a Float no longer distinguishes single micro-credits. */
const MOST_CREDITS = 9_000_000_000;

const DECIMALS = 6;

export function creditsOrNull(micro: bigint | null): number | null {
  return micro === null ? null : creditsAsNumber(micro);
}

/**
 * Converts a client's amount to whole micro-credits, by its decimal digits. More than six decimals are refused, not
 * rounded; only errors of floating-point addition (0.1 + 0.2) are removed.
 */
export function microFrom(field: string, credits: number): bigint {
  if (!Number.isFinite(credits) || Math.abs(credits) > MOST_CREDITS) {
    throw badInput(field, `a number of credits up to ${MOST_CREDITS} is needed`);
  }
  const digits = credits.toFixed(DECIMALS);
  if (Math.abs(credits - Number(digits)) > Math.abs(credits) * 4 * Number.EPSILON) {
    throw badInput(field, `credits have at most ${DECIMALS} decimals`);
  }
  return BigInt(digits.replace('.', ''));
}

/** An amount in the currency's major unit. For display only: internally, money is in whole minor units. */
export function amountFrom(amountMinor: bigint, currency: string): number {
  return Number(fromMinorUnits(amountMinor, currency));
}
