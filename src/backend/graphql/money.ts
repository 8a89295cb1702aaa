import { fromMinorUnits } from '../../domain/catalog/currency.ts';

/** An amount as clients see it, in the currency's major unit. Only for showing: inside, money is whole minor units. */
export function amountFrom(amountMinor: bigint, currency: string): number {
  return Number(fromMinorUnits(amountMinor, currency));
}
