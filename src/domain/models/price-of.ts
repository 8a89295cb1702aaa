/** What a million tokens cost, in micro-credits. */
export interface TokenPrice {
  readonly promptMicro: bigint;
  readonly cachedMicro: bigint;
  readonly completionMicro: bigint;
}

/** One of an alias's prices. It is in force from its moment until that of the next one. */
export interface PriceVersion extends TokenPrice {
  readonly id: string;
  readonly inForceFromMs: number;
}

export interface PricedTokens {
  readonly promptTokens: number;
  /** A part of the prompt's: what is beyond them is not counted. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

const PER = 1_000_000n;

/**
 * What tokens cost in micro-credits: the three parts are summed exactly and rounded up once, so that a call costs at
 * most one micro-credit more than its tokens, and never less. The statement that charges (domain/calls) computes
 * the same.
 */
export function priceOf(price: TokenPrice, tokens: PricedTokens): bigint {
  const prompt = BigInt(tokens.promptTokens);
  const given = BigInt(tokens.cachedTokens);
  const cached = given > prompt ? prompt : given;
  const sum =
    (prompt - cached) * price.promptMicro +
    cached * price.cachedMicro +
    BigInt(tokens.completionTokens) * price.completionMicro;
  return (sum + PER - 1n) / PER;
}

/**
 * The price in force at a moment; before the first one, the first. Null only for an alias without any, which the
 * database does not have. For estimates: what is charged is looked up by the statement that charges.
 */
export function priceAt(
  { prices }: { readonly prices: readonly PriceVersion[] },
  atMs: number,
): PriceVersion | null {
  return prices.findLast(({ inForceFromMs }) => inForceFromMs <= atMs) ?? prices[0] ?? null;
}
