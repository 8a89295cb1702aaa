import { type Chargeable, HOUR, type RequestedTiers, WHOLE_PRICE } from './tiers.ts';

/** Cache writes that stay for an hour, at a price in millionths of that of other cache writes. */
export interface HourWrites {
  readonly tokens: number;
  readonly factorMillionths: number;
}

interface WrittenTokens {
  readonly cacheWriteTokens?: number | undefined;
  readonly hourWriteTokens?: number | undefined;
}

/**
 * What a write to the provider's cache for an hour costs, in millionths of the price of one for five minutes. Without a
 * factor of the alias it is what Anthropic charges: twice the price of the prompt for the one, 1.25 times for the other.
 * Undefined with a company's own provider key.
 */
export function hourWriteFactor({ priceFactors, ownKey }: Chargeable): number | undefined {
  if (ownKey !== undefined) return undefined;
  return Math.max(WHOLE_PRICE, priceFactors?.cache_write?.[HOUR] ?? USUAL_HOUR_FACTOR);
}

const USUAL_HOUR_FACTOR = 1_600_000;

/**
 * The cache writes that stay for an hour, as the provider reports them. If it does not report how long they stay, the
 * request decides. Undefined if there are none, as for nearly every call, and with a company's own key.
 */
export function hourWritesOf(
  alias: Chargeable,
  requested: RequestedTiers | null | undefined,
  tokens: WrittenTokens | null,
): HourWrites | undefined {
  const written = tokens?.cacheWriteTokens ?? 0;
  if (tokens === null || written === 0) return undefined;
  const hour = Math.min(tokens.hourWriteTokens ?? (requested?.writesForHour === true ? written : 0), written);
  const factorMillionths = hour === 0 ? undefined : hourWriteFactor(alias);
  return factorMillionths === undefined ? undefined : { tokens: hour, factorMillionths };
}
