/** The fields of a body that change the provider's price for the same tokens. */
export const TIER_FIELDS = ['service_tier', 'speed', 'inference_geo'] as const;
/** With these a call that sends or asks for audio, whose tokens cost many times what those of text do. */
const PRICED_FIELDS = [...TIER_FIELDS, 'modalities'] as const;
export type PricedField = (typeof PRICED_FIELDS)[number];
export const AUDIO = 'audio';

/**
 * What can have price factors. Those of `prompt_tokens` are by the number of tokens above which a prompt costs more. They
 * apply to the completion too, unless `long_prompt_completion` has another one for the same number. `cache_write` has one,
 * for writes that stay in the provider's cache for an hour.
 */
export const FACTOR_FIELDS = [
  ...PRICED_FIELDS,
  ...(['prompt_tokens', 'long_prompt_completion', 'cache_write'] as const),
] as const;
type FactorField = (typeof FACTOR_FIELDS)[number];
/** As Anthropic writes it. */
export const HOUR = '1h';

/** By field, as in the body or the answer; missing fields are omitted. */
export type Tiers = { readonly [Field in PricedField]?: string };

/** What a body requests that affects its price. */
export interface RequestedTiers extends Tiers {
  /** Whether it has its provider store parts of the prompt for an hour. */
  readonly writesForHour?: true;
}

/** By field and value: the price of a call's tokens, in millionths of the plain price. */
export type PriceFactors = { readonly [Field in FactorField]?: Readonly<Record<string, number>> };

/** How a call was charged if not at the plain price. */
interface TierUse {
  readonly priceFactorMillionths: number;
  /** For the completion, if that has another factor than the prompt. */
  readonly completionFactorMillionths?: number;
  /** The values that the factor results from, for example `fast us`. */
  readonly tier: string;
}

interface TierRules {
  /** Values for which no provider charges more than for a call without the field. */
  readonly plain: readonly string[];
  /** Whether the operator's account settings decide if a body omits the field or has `auto`. */
  readonly isOpen: boolean;
}

const RULES: Readonly<Record<PricedField, TierRules>> = {
  service_tier: {
    plain: ['auto', 'default', 'standard', 'standard_only', 'on_demand', 'flex', 'batch'],
    isOpen: true,
  },
  speed: { plain: ['standard'], isOpen: false },
  inference_geo: { plain: ['global', 'not_available'], isOpen: true },
  modalities: { plain: ['text'], isOpen: false },
};

export const WHOLE_PRICE = 1_000_000;
/** The database limits factors to the same maximum. */
export const MOST_PRICE_FACTOR = 100;

/** An alias as called by a company. */
export interface Chargeable {
  readonly priceFactors?: PriceFactors | null;
  /** Omitted if it is called with the operator's key. */
  readonly ownKey?: unknown;
}

/** The factors for calls of the alias: none for a company with its own provider key, which pays its provider itself. */
function factorsOf({ priceFactors, ownKey }: Chargeable): PriceFactors | null {
  return ownKey === undefined ? (priceFactors ?? null) : null;
}

/** The fields whose values may cost more and have no factor; none if the call can be priced. */
export function unpricedTiers(alias: Chargeable, tiers: Tiers): readonly PricedField[] {
  if (alias.ownKey !== undefined) return NO_FIELDS;
  return PRICED_FIELDS.filter((field) => {
    const value = tiers[field];
    return (
      value !== undefined && !isPlain(field, value) && factorOf(alias.priceFactors, field, value) === null
    );
  });
}

/** The values of a field that are allowed on every alias. */
export function plainTiers(field: PricedField): readonly string[] {
  return RULES[field].plain;
}

/**
 * The largest factor that the prompt of a call can be charged at, or its completion, in millionths; this is held for it.
 * `promptTokens` are the most that its prompt can have.
 */
export function mostFactor(
  alias: Chargeable,
  requested: Tiers | null | undefined,
  promptTokens = 0,
  part: 'prompt' | 'completion' = 'prompt',
): number {
  const factors = factorsOf(alias);
  if (factors === null) return WHOLE_PRICE;
  const ofTiers =
    requested == null
      ? WHOLE_PRICE
      : PRICED_FIELDS.reduce(
          (all, field) => multiplied(all, boundOf(factors, field, requested[field])),
          WHOLE_PRICE,
        );
  const long = Object.entries(factors.prompt_tokens ?? {})
    .filter(([above]) => promptTokens > Number(above))
    .map(([above, factor]) => (part === 'prompt' ? factor : completionFactor(factors, above, factor)));
  return multiplied(ofTiers, Math.max(WHOLE_PRICE, ...long));
}

/** Whether completions of long prompts have factors of their own. */
export function splitsLongPrompts(alias: Chargeable): boolean {
  return factorsOf(alias)?.long_prompt_completion !== undefined;
}

/**
 * The factors for the tokens of a call, by the tier that its provider reports, or by the requested one if the reported
 * one is missing or unknown, and by the length of its prompt. Never more than the requested tier costs. Undefined at the
 * plain price.
 */
export function tierUse(
  alias: Chargeable,
  requested: Tiers | null | undefined,
  reported: Tiers = {},
  promptTokens = 0,
): TierUse | undefined {
  const factors = factorsOf(alias);
  if (factors === null) return undefined;
  let all = WHOLE_PRICE;
  const values: string[] = [];
  for (const field of requested == null ? NO_FIELDS : PRICED_FIELDS) {
    const most = boundOf(factors, field, requested?.[field]);
    const value = usedValue(factors, field, requested?.[field], reported[field]);
    const own = Math.min(
      value === undefined ? WHOLE_PRICE : (factorOf(factors, field, value) ?? WHOLE_PRICE),
      most,
    );
    if (own === WHOLE_PRICE) continue;
    all = multiplied(all, own);
    // Only values that the operator configured are recorded.
    const isOwn = value !== undefined && factorOf(factors, field, value) === own;
    values.push(isOwn ? value : (requested?.[field] ?? field));
  }
  const long = longPrompt(factors, promptTokens);
  if (long === null || (long.factor === WHOLE_PRICE && long.completion === WHOLE_PRICE)) {
    return values.length === 0 ? undefined : { priceFactorMillionths: all, tier: values.join(' ') };
  }
  const ofCompletion = multiplied(all, long.completion);
  all = multiplied(all, long.factor);
  const tier = [...values, `prompt_tokens>${long.above}`].join(' ');
  return ofCompletion === all
    ? { priceFactorMillionths: all, tier }
    : { priceFactorMillionths: all, completionFactorMillionths: ofCompletion, tier };
}

const NO_FIELDS: readonly PricedField[] = [];

interface LongPrompt {
  readonly above: number;
  readonly factor: number;
  readonly completion: number;
}

/** The highest number of tokens with a factor that the prompt exceeds; null if there is none. */
function longPrompt(factors: PriceFactors, promptTokens: number): LongPrompt | null {
  const { prompt_tokens: long } = factors;
  if (long === undefined) return null;
  let found: LongPrompt | null = null;
  for (const [tokens, factor] of Object.entries(long)) {
    const above = Number(tokens);
    if (promptTokens > above && above >= (found?.above ?? 0)) {
      found = { above, factor, completion: completionFactor(factors, tokens, factor) };
    }
  }
  return found;
}

function completionFactor(
  { long_prompt_completion: own }: PriceFactors,
  above: string,
  ofPrompt: number,
): number {
  return own !== undefined && Object.hasOwn(own, above) ? (own[above] ?? ofPrompt) : ofPrompt;
}

/** The value that decides: the reported one if it is known. */
function usedValue(
  factors: PriceFactors,
  field: PricedField,
  requested: string | undefined,
  reported: string | undefined,
): string | undefined {
  if (reported === undefined) return requested;
  return isPlain(field, reported) || factorOf(factors, field, reported) !== null ? reported : requested;
}

/** With `auto`, or without the field, the provider may choose any value that has a factor. */
function boundOf(factors: PriceFactors, field: PricedField, requested: string | undefined): number {
  if (requested !== undefined && requested !== 'auto')
    return factorOf(factors, field, requested) ?? WHOLE_PRICE;
  return RULES[field].isOpen ? Math.max(WHOLE_PRICE, ...Object.values(factors[field] ?? {})) : WHOLE_PRICE;
}

function isPlain(field: PricedField, value: string): boolean {
  return RULES[field].plain.includes(value);
}

function factorOf(
  factors: PriceFactors | null | undefined,
  field: PricedField,
  value: string,
): number | null {
  const own = factors?.[field];
  return own !== undefined && Object.hasOwn(own, value) ? (own[value] ?? null) : null;
}

function multiplied(one: number, other: number): number {
  if (other === WHOLE_PRICE) return one;
  return Math.min(Math.ceil((one * other) / WHOLE_PRICE), MOST_PRICE_FACTOR * WHOLE_PRICE);
}
