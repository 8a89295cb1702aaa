/** Micro-credits for a million tokens. */
export interface EstimatePrices {
  readonly promptMicro: bigint;
  readonly completionMicro: bigint;
}

const PER = 1_000_000;
/**
 * Both factors of an estimate come from the client. Held amounts are summed within 2^53, so a single one stays so far
 * below it that 500 of these fit; it is 17 million credits.
 */
const MOST_HELD_MICRO = 2 ** 44;

/**
 * What a call is expected to cost, in micro-credits, rounded up. Cached prompt tokens are cheaper and not known
 * beforehand, so all of the prompt counts whole.
 */
export function estimateCost(
  price: EstimatePrices | null,
  { promptTokens, completionTokens }: { readonly promptTokens: number; readonly completionTokens: number },
): number {
  if (price === null) return 0;
  const prompt = promptTokens * Number(price.promptMicro);
  const cost = (prompt + completionTokens * Number(price.completionMicro)) / PER;
  return Math.min(Math.ceil(cost), MOST_HELD_MICRO);
}
