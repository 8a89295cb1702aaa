/** The members of a body that change what the provider charges for the same tokens. */
export const TIER_FIELDS = ['service_tier', 'speed', 'inference_geo'] as const;
export type TierField = (typeof TIER_FIELDS)[number];

/** By field, as the body or the answer says it; a field that it does not have is left out. */
export type Tiers = { readonly [Field in TierField]?: string };

/** By field and value: what a call's tokens cost then, in millionths of their price. */
export type PriceFactors = { readonly [Field in TierField]?: Readonly<Record<string, number>> };

/** How a call was charged where that was not at the plain price. */
export interface TierUse {
  readonly priceFactorMillionths: number;
  /** The values whose factors these are, as `fast us`. */
  readonly tier: string;
}

interface TierRules {
  /** Values that no provider charges more for than for a call without the field. */
  readonly plain: readonly string[];
  /** Whether a body without the field, or with `auto`, leaves the choice to the settings of the operator's account. */
  readonly isOpen: boolean;
}

const RULES: Readonly<Record<TierField, TierRules>> = {
  service_tier: {
    plain: ['auto', 'default', 'standard', 'standard_only', 'on_demand', 'flex', 'batch'],
    isOpen: true,
  },
  speed: { plain: ['standard'], isOpen: false },
  inference_geo: { plain: ['global', 'not_available'], isOpen: true },
};

export const WHOLE_PRICE = 1_000_000;
/** The database takes the same for the largest. */
export const MOST_PRICE_FACTOR = 100;

/** An alias as a company calls it. */
interface Chargeable {
  readonly priceFactors?: PriceFactors | null;
  /** Left out where it is called with the operator's key. */
  readonly ownKey?: unknown;
}

/** What applies to calls of the alias. A company with its own provider key pays its provider itself. */
function factorsOf({ priceFactors, ownKey }: Chargeable): PriceFactors | null {
  return ownKey === undefined ? (priceFactors ?? null) : null;
}

/** The first field whose value may cost more and has no factor; null where the call can be priced. */
export function unpricedTier(alias: Chargeable, asked: Tiers): TierField | null {
  if (alias.ownKey !== undefined) return null;
  const isUnpriced = (field: TierField) => {
    const value = asked[field];
    return (
      value !== undefined && !isPlain(field, value) && factorOf(alias.priceFactors, field, value) === null
    );
  };
  return TIER_FIELDS.find(isUnpriced) ?? null;
}

/** The values of a field that can be used on every alias. */
export function plainTiers(field: TierField): readonly string[] {
  return RULES[field].plain;
}

/** The largest factor that a call can be charged at, in millionths: what is held for it. */
export function mostFactor(alias: Chargeable, asked: Tiers | null | undefined): number {
  const factors = factorsOf(alias);
  if (factors === null || asked == null) return WHOLE_PRICE;
  return TIER_FIELDS.reduce(
    (all, field) => multiplied(all, boundOf(factors, field, asked[field])),
    WHOLE_PRICE,
  );
}

/**
 * What the tokens of a call cost, by the tier that its provider reports. Where it reports none, by the one that was
 * requested. Never more than what was requested costs. Undefined at the plain price.
 */
export function tierUse(
  alias: Chargeable,
  asked: Tiers | null | undefined,
  reported: Tiers = {},
): TierUse | undefined {
  const factors = factorsOf(alias);
  if (factors === null || asked == null) return undefined;
  let all = WHOLE_PRICE;
  const values: string[] = [];
  for (const field of TIER_FIELDS) {
    const most = boundOf(factors, field, asked[field]);
    const value = usedValue(factors, field, asked[field], reported[field]);
    const own = Math.min(
      value === undefined ? WHOLE_PRICE : (factorOf(factors, field, value) ?? WHOLE_PRICE),
      most,
    );
    if (own === WHOLE_PRICE) continue;
    all = multiplied(all, own);
    // Only names of the operator's own are recorded.
    const isOwn = value !== undefined && factorOf(factors, field, value) === own;
    values.push(isOwn ? value : (asked[field] ?? field));
  }
  return values.length === 0 ? undefined : { priceFactorMillionths: all, tier: values.join(' ') };
}

/** Which value decides: the reported one where something is known of it. */
function usedValue(
  factors: PriceFactors,
  field: TierField,
  asked: string | undefined,
  reported: string | undefined,
): string | undefined {
  if (reported === undefined) return asked;
  return isPlain(field, reported) || factorOf(factors, field, reported) !== null ? reported : asked;
}

/** `auto` is the provider's choice among all that the operator has given a factor. */
function boundOf(factors: PriceFactors, field: TierField, asked: string | undefined): number {
  if (asked !== undefined && asked !== 'auto') return factorOf(factors, field, asked) ?? WHOLE_PRICE;
  return RULES[field].isOpen ? Math.max(WHOLE_PRICE, ...Object.values(factors[field] ?? {})) : WHOLE_PRICE;
}

function isPlain(field: TierField, value: string): boolean {
  return RULES[field].plain.includes(value);
}

function factorOf(factors: PriceFactors | null | undefined, field: TierField, value: string): number | null {
  const own = factors?.[field];
  return own !== undefined && Object.hasOwn(own, value) ? (own[value] ?? null) : null;
}

function multiplied(one: number, other: number): number {
  if (other === WHOLE_PRICE) return one;
  return Math.min(Math.ceil((one * other) / WHOLE_PRICE), MOST_PRICE_FACTOR * WHOLE_PRICE);
}
