import { isObject, type JsonObject } from '../../../ports/json-object.ts';
import { reportedTokens } from '../../calls/settlement/finished-call.ts';

/** The tokens of an answer as chat completions count them: the prompt has what was read from and written to a cache in it. */
export interface ChatUsage {
  readonly prompt: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly completion: number;
  /** Those of the completion that the model thought with; null where it does not say. */
  readonly reasoning: number | null;
}

/** Of an answer or a chunk: at its top, or where Groq and Moonshot put it. */
export function readChatUsage(answer: JsonObject): ChatUsage | null {
  const choices = Array.isArray(answer.choices) ? answer.choices : [];
  for (const place of [answer, answer.x_groq, ...choices]) {
    const usage = isObject(place) ? usageOf(place.usage) : null;
    if (usage !== null) return usage;
  }
  return null;
}

/**
 * By the rules of the gateway for answers that are not translated: missing parts count as 0, a block without prompt and
 * completion is none, and so is one with a count that cannot be believed.
 */
function usageOf(block: unknown): ChatUsage | null {
  if (!isObject(block)) return null;
  const details = isObject(block.prompt_tokens_details) ? block.prompt_tokens_details : {};
  const thought = isObject(block.completion_tokens_details) ? block.completion_tokens_details : {};
  const prompt = countOf(block.prompt_tokens);
  const completion = countOf(block.completion_tokens);
  // Where OpenAI puts it, then DeepSeek, then Moonshot.
  const cached = countOf(details.cached_tokens ?? block.prompt_cache_hit_tokens ?? block.cached_tokens);
  // OpenRouter's name, and the one that LiteLLM takes over from Anthropic.
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

/** Null for what is no count. */
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
