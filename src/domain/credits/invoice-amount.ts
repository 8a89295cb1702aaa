/** What a credit costs a POSTPAID company. All of it exact: no amount of money passes through a float. */
export interface PostpaidTerms {
  /** Three letters, lower case. */
  readonly currency: string;
  /** Minor units in one unit of the currency: 100 for usd, 1 for jpy. */
  readonly minorPerMajor: bigint;
  /** The least that can be paid, and what every amount is a multiple of: 1 for usd, 10 for kwd, 100 for isk. */
  readonly leastMinor: bigint;
  /** In units of the currency, as a decimal: `0.01`. */
  readonly pricePerCredit: string;
  /** An invoice is overdue so many days after it was made. */
  readonly dueDays: number;
}

const MICRO_PER_CREDIT = 1_000_000n;
const DECIMAL = /^(\d{1,9})(?:\.(\d{1,12}))?$/;

/** Null for what is no price above zero. */
export function readPrice(text: string): { readonly units: bigint; readonly scale: bigint } | null {
  const match = DECIMAL.exec(text);
  if (match === null) return null;
  const [, whole = '', fraction = ''] = match;
  const units = BigInt(whole + fraction);
  return units === 0n ? null : { units, scale: 10n ** BigInt(fraction.length) };
}

/** What usage costs, rounded up once, to the least amount that the currency can pay. */
export function invoiceAmountMinor(usageMicro: bigint, terms: PostpaidTerms): bigint {
  const price = readPrice(terms.pricePerCredit);
  if (price === null) throw new Error(`"${terms.pricePerCredit}" is no price of a credit`);
  const asked = usageMicro * price.units * terms.minorPerMajor;
  const step = MICRO_PER_CREDIT * price.scale * terms.leastMinor;
  return ((asked + step - 1n) / step) * terms.leastMinor;
}
