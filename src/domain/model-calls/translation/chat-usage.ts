import { isObject, type JsonObject } from '../../../ports/json-object.ts';
import { reportedTokens } from '../../calls/settlement/finished-call.ts';

/** The tokens of an answer as chat completions count them: the prompt includes tokens read from and written to a cache. */
export interface ChatUsage {
  readonly prompt: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly completion: number;
  /** The completion tokens that the model used for reasoning; null if it does not report them. */
  readonly reasoning: number | null;
}

/** Reads the usage of an answer or a chunk: at the top level, or where Groq and Moonshot put it. */
export function readChatUsage(answer: JsonObject): ChatUsage | null {
  const choices = Array.isArray(answer.choices) ? answer.choices : [];
  for (const place of [answer, answer.x_groq, ...choices]) {
    const usage = isObject(place) ? usageOf(place.usage) : null;
    if (usage !== null) return usage;
  }
  return null;
}

/**
 * Follows the gateway's rules for answers that are not translated: missing parts count as 0, and a block with neither
 * prompt nor completion, or with an implausible count, is ignored.
 */
function usageOf(block: unknown): ChatUsage | null {
  if (!isObject(block)) return null;
  const details = isObject(block.prompt_tokens_details) ? block.prompt_tokens_details : {};
  const thought = isObject(block.completion_tokens_details) ? block.completion_tokens_details : {};
  const prompt = countOf(block.prompt_tokens);
  const completion = countOf(block.completion_tokens);
  // OpenAI's place, then DeepSeek's, then Moonshot's.
  const cached = countOf(details.cached_tokens ?? block.prompt_cache_hit_tokens ?? block.cached_tokens);
  // OpenRouter's name, then the one that LiteLLM adopts from Anthropic.
  const written = countOf(details.cache_write_tokens ?? block.cache_creation_input_tokens);
  if ((block.prompt_tokens ?? block.completion_tokens ?? null) === null) return null;
  if (prompt === null || completion === null || cached === null || written === null) return null;
  const cachedOfPrompt = Math.min(cached, prompt);
  return {
    prompt,
    cached: cachedOfPrompt,
    cacheWrite: Math.min(written, prompt - cachedOfPrompt),
    completion,
    reasoning: reportedTokens(thought.reasoning_tokens),
  };
}

/** Null if the value is no valid count. */
function countOf(value: unknown): number | null {
  return reportedTokens(value ?? 0);
}

export function usageInChat({ prompt, cached, cacheWrite, completion, reasoning }: ChatUsage): JsonObject {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWrite },
    ...(reasoning === null ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}
