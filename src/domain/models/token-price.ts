import type { TokenPrice } from './aliases.ts';

/** Requested credits per million tokens: text from commands, numbers from MODEL_CONFIG. */
export interface TokenPriceParams {
  readonly prompt: string | number;
  readonly cached: string | number;
  readonly completion: string | number;
  /** If omitted, the price of the prompt. */
  readonly cacheWrite?: string | number | null | undefined;
}

type CheckedPrice =
  | { readonly outcome: 'fine'; readonly price: TokenPrice }
  | { readonly outcome: 'wrong'; readonly problem: string };

const MOST_MICRO = 1_000_000_000_000n;

export function checkPrice(params: TokenPriceParams): CheckedPrice {
  const promptMicro = creditsToMicro(params.prompt);
  const cachedMicro = creditsToMicro(params.cached);
  const completionMicro = creditsToMicro(params.completion);
  if (promptMicro === null) return wrongPrice('prompt');
  if (cachedMicro === null) return wrongPrice('cached');
  if (completionMicro === null) return wrongPrice('completion');
  const cacheWriteMicro = params.cacheWrite == null ? null : creditsToMicro(params.cacheWrite);
  if (params.cacheWrite != null && cacheWriteMicro === null) return wrongPrice('cache write');
  return { outcome: 'fine', price: { promptMicro, cachedMicro, completionMicro, cacheWriteMicro } };
}

export function isSamePrice(a: TokenPrice, b: TokenPrice): boolean {
  return (
    a.promptMicro === b.promptMicro &&
    a.cachedMicro === b.cachedMicro &&
    a.completionMicro === b.completionMicro &&
    (a.cacheWriteMicro ?? null) === (b.cacheWriteMicro ?? null)
  );
}

function wrongPrice(part: string): CheckedPrice {
  const problem = `the ${part} price must be credits for a million tokens, from 0 to 1000000, with at most 6 decimals`;
  return { outcome: 'wrong', problem };
}

/** Exact: a value with more than six decimals is refused, not rounded. */
export function creditsToMicro(credits: string | number): bigint | null {
  const text = typeof credits === 'number' ? decimalsOf(credits) : credits;
  const match = text === null ? null : /^(\d{1,7})(?:\.(\d{1,6}))?$/.exec(text);
  if (match === null) return null;
  const micro = BigInt(match[1] ?? '0') * 1_000_000n + BigInt((match[2] ?? '').padEnd(6, '0'));
  return micro <= MOST_MICRO ? micro : null;
}

/** Without the exponent that JavaScript uses for numbers as small as a micro-credit. */
function decimalsOf(credits: number): string | null {
  if (!(credits >= 0 && credits <= 1_000_000)) return null;
  const text = credits.toFixed(6);
  return Number(text) === credits ? text : null;
}
