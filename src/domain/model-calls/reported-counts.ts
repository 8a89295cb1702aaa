import { isObject, type JsonObject } from '../../ports/json-object.ts';
import type { ReasoningCount } from '../../ports/model-upstream.ts';

/** A token count that a provider reported; null if it is invalid: negative, fractional, beyond 2^53 or not a number. */
export function reportedTokens(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

type WrittenCounts = Readonly<Record<'prompt' | 'completion' | 'reasoning' | 'total', unknown>>;

/**
 * The tokens that a model wrote, as its provider bills them. Most count reasoning within the completion. Where some report it
 * beside that, an answer without it would be nearly free. The numbers tell: the total is the sum of all three, or there is
 * more reasoning than completion. A count that is not valid is returned as it is.
 */
export function withReasoning(
  { prompt, completion, reasoning, total }: WrittenCounts,
  counted: ReasoningCount = 'by-numbers',
): unknown {
  const [read, wrote, sum] = [
    reportedTokens(prompt ?? 0),
    reportedTokens(completion ?? 0),
    reportedTokens(total),
  ];
  if (read === null || wrote === null) return completion;
  if (counted === 'in-total' && prompt != null && reasoning == null) {
    return Math.max((sum ?? 0) - read, wrote);
  }
  const more = reportedTokens(reasoning) ?? 0;
  if (more === 0 || sum === read + wrote) return completion;
  const isBeside = counted === 'beside' || more > wrote || sum === read + wrote + more;
  return isBeside ? wrote + more : completion;
}

/** More than any provider reports: OpenAI has 16 names, and LiteLLM has counts of the cache's writes three levels deep. */
const MOST_COUNTS = 64;
const LONGEST_NAME = 64;
const MOST_LEVELS = 3;

/**
 * Two reports of one stream as one: of each count the highest. Some providers report the parts of usage in several chunks, some
 * the counts so far in each, and some end with a chunk of zeros. What is kept is bounded, whatever the chunks bring.
 */
export function highestCounts(
  one: JsonObject | null,
  other: JsonObject,
  levels: number = MOST_LEVELS,
): JsonObject {
  const both: Record<string, unknown> = { ...one };
  let names = Object.keys(both).length;
  for (const [name, value] of Object.entries(other)) {
    const known = both[name];
    if (known === undefined && (names++ >= MOST_COUNTS || name.length > LONGEST_NAME)) continue;
    if (isObject(value)) {
      const isPart = levels > 1 && (known == null || isObject(known));
      if (isPart) both[name] = highestCounts(isObject(known) ? known : null, value, levels - 1);
    } else if (known == null || (reportedTokens(value) ?? -1) > (reportedTokens(known) ?? -1)) {
      both[name] = typeof value === 'number' || value == null ? value : Number.NaN;
    }
  }
  return both;
}
