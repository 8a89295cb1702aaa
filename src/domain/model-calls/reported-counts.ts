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

/**
 * Two reports of one stream as one: of each count the highest. Some providers report the parts of usage in several chunks, some
 * the counts so far in each, and some end with a chunk of zeros.
 */
export function highestCounts(one: JsonObject | null, other: JsonObject): JsonObject {
  if (one === null) return other;
  const both: Record<string, unknown> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const known = both[name];
    if (isObject(known) && isObject(value)) both[name] = highestCounts(known, value);
    else if (known == null || (reportedTokens(value) ?? -1) > (reportedTokens(known) ?? -1))
      both[name] = value;
  }
  return both;
}
