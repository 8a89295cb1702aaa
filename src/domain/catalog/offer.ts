import { toMinorUnits } from './currency.ts';

/** The common input of new plans and packs. */
export interface OfferParams {
  readonly name: string;
  /** In major units, for example 19.99. */
  readonly price: string | number;
  readonly currency: string;
  readonly creditsMicro: bigint;
}

export type CheckedOffer =
  | {
      readonly outcome: 'fine';
      readonly name: string;
      readonly priceMinor: bigint;
      readonly currency: string;
    }
  | { readonly outcome: 'invalid'; readonly field: OfferField; readonly message: string };

export type OfferField =
  | 'name'
  | 'price'
  | 'currency'
  | 'credits'
  | 'sortOrder'
  | 'interval'
  | 'trialDays'
  | 'trialCredits'
  | 'creditsExpireAfterDays'
  | 'billingMode';

const LONGEST_NAME = 200;
/** A billion credits: far more than is sold, and far below the limit of 64 bits. */
export const MOST_CREDITS_MICRO = 1_000_000_000n * 1_000_000n;

export function checkOffer(
  params: OfferParams,
  allowed: { readonly freeOfCharge: boolean; readonly withoutCredits: boolean },
): CheckedOffer {
  const name = params.name.trim();
  if (name === '' || name.length > LONGEST_NAME || !name.isWellFormed() || /\p{Cc}/u.test(name)) {
    return invalid('name', `A name has 1 to ${LONGEST_NAME} characters, in one line.`);
  }
  const { creditsMicro } = params;
  const least = allowed.withoutCredits ? 0n : 1n;
  if (creditsMicro < least || creditsMicro > MOST_CREDITS_MICRO) {
    const from = allowed.withoutCredits ? 'Zero' : 'More than zero';
    return invalid('credits', `${from} and at most a billion credits can be sold at once.`);
  }
  const minor = toMinorUnits(params.price, params.currency);
  if (minor.outcome === 'refused') {
    const field = minor.message.includes('is not a currency') ? 'currency' : 'price';
    return invalid(field, minor.message);
  }
  if (minor.amountMinor === 0n && !allowed.freeOfCharge) {
    return invalid('price', 'A price must be above zero.');
  }
  return { outcome: 'fine', name, priceMinor: minor.amountMinor, currency: minor.currency };
}

const MOST_SORT_ORDER = 1_000_000;

export function sortOrderProblem(
  sortOrder: number,
): { readonly field: 'sortOrder'; readonly message: string } | null {
  if (Number.isInteger(sortOrder) && Math.abs(sortOrder) <= MOST_SORT_ORDER) return null;
  const message = `A sort order is a whole number between -${MOST_SORT_ORDER} and ${MOST_SORT_ORDER}.`;
  return { field: 'sortOrder', message };
}

const MOST_EXPIRY_DAYS = 3_650;

/** Checks after how many days sold credits expire; null is never. */
export function expiryProblem(
  days: number | null,
): { readonly field: 'creditsExpireAfterDays'; readonly message: string } | null {
  if (days === null || (Number.isInteger(days) && days >= 1 && days <= MOST_EXPIRY_DAYS)) return null;
  const message = `Credits expire after 1 to ${MOST_EXPIRY_DAYS} days; leave it out and they never do.`;
  return { field: 'creditsExpireAfterDays', message };
}

function invalid(field: OfferField, message: string): CheckedOffer {
  return { outcome: 'invalid', field, message };
}
