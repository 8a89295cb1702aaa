import type { TokenPrice } from './price-of.ts';

/** Credits for a million tokens, as somebody wants them: by command as text, by MODEL_CONFIG as numbers. */
export interface WantedPrice {
  readonly prompt: string | number;
  readonly cached: string | number;
  readonly completion: string | number;
}

export type CheckedPrice =
  | { readonly outcome: 'fine'; readonly price: TokenPrice }
  | { readonly outcome: 'wrong'; readonly problem: string };

const MOST_MICRO = 1_000_000_000_000n;

export function checkPrice(wanted: WantedPrice): CheckedPrice {
  const promptMicro = microIn(wanted.prompt);
  const cachedMicro = microIn(wanted.cached);
  const completionMicro = microIn(wanted.completion);
  if (promptMicro === null) return wrong('prompt');
  if (cachedMicro === null) return wrong('cached');
  if (completionMicro === null) return wrong('completion');
  return { outcome: 'fine', price: { promptMicro, cachedMicro, completionMicro } };
}

function wrong(part: string): CheckedPrice {
  const problem = `the ${part} price must be credits for a million tokens, from 0 to 1000000, with at most 6 decimals`;
  return { outcome: 'wrong', problem };
}

/** Exactly: what has more than six decimals is refused, not rounded. */
function microIn(credits: string | number): bigint | null {
  const text = typeof credits === 'number' ? decimalsOf(credits) : credits;
  const match = text === null ? null : /^(\d{1,7})(?:\.(\d{1,6}))?$/.exec(text);
  if (match === null) return null;
  const micro = BigInt(match[1] ?? '0') * 1_000_000n + BigInt((match[2] ?? '').padEnd(6, '0'));
  return micro <= MOST_MICRO ? micro : null;
}

/** Without an exponent, which a number as small as a micro-credit would be written with. */
function decimalsOf(credits: number): string | null {
  if (!(credits >= 0 && credits <= 1_000_000)) return null;
  const text = credits.toFixed(6);
  return Number(text) === credits ? text : null;
}
