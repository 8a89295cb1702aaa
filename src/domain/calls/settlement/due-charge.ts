import { ALIAS_NAMES } from '../../models/aliases.ts';

/** SQL over a row of `calls` with the columns of its price. What `charge_calls` computes, for calls that are stored. */

const DOCUMENTED = ALIAS_NAMES.map(({ name }) => `'${name}'`).join(', ');

/**
 * Whether the price of this alias may be that of a call: the one that served it, or the requested one, which limits what a
 * fallback costs. Names are compared as `storedNameOf` computes them.
 */
export function mayHavePriceOf(ofAlias: string): string {
  const stored = (name: string) => `case when regexp_replace(${name}, '^.*/', '') in (${DOCUMENTED})
        then regexp_replace(${name}, '^.*/', '') else ${name} end`;
  return `${ofAlias} in (${stored('served_by')}, ${stored('alias')})`;
}

export const IS_CHARGED = "(outcome = 'SUCCEEDED' and alias is not null and prompt_tokens is not null)";

/**
 * The charge for these tokens at the price, with the surcharge. The stored share of a surcharge is rounded up, while a charge
 * is rounded up once, over tokens and surcharge: with both it may be one higher than what was charged.
 */
export function chargeOf(prompt: string, completion: string): string {
  const cached = `least(cached_tokens, ${prompt})`;
  const written = `least(coalesce(cache_write_tokens, 0), ${prompt} - ${cached})`;
  // What the part of them that is written for an hour costs beyond the others.
  const hourWrites = `case when hour_write_factor_millionths is null then 0 else least(coalesce(hour_write_tokens, 0), ${written})
        * div(coalesce(cache_write_micro, prompt_micro) * (hour_write_factor_millionths - 1000000)::numeric + 999999, 1000000) end`;
  return `(div((((${prompt} - ${cached} - ${written}) * prompt_micro::numeric + ${cached} * cached_micro::numeric
        + ${written} * coalesce(cache_write_micro, prompt_micro)::numeric + ${hourWrites}) * coalesce(price_factor_millionths, 1000000)
        + ${completion} * completion_micro::numeric * coalesce(completion_factor_millionths, price_factor_millionths, 1000000))
        * coalesce(charge_share_millionths, 1000000)
        + 999999999999999999, 1000000000000000000) + coalesce(surcharge_micro, 0))`;
}
