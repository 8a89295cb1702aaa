import { isObject } from '../../../../ports/json-object.ts';
import { reportedTokens } from '../../../calls/settlement/finished-call.ts';
import type { JsonObject } from './members.ts';

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

/** Missing parts count as 0; a block without prompt and completion is none. */
function usageOf(block: unknown): ChatUsage | null {
  if (!isObject(block)) return null;
  const prompt = reportedTokens(block.prompt_tokens);
  const completion = reportedTokens(block.completion_tokens);
  if (prompt === null && completion === null) return null;
  const details = isObject(block.prompt_tokens_details) ? block.prompt_tokens_details : {};
  const thought = isObject(block.completion_tokens_details) ? block.completion_tokens_details : {};
  const cached = Math.min(reportedTokens(details.cached_tokens) ?? 0, prompt ?? 0);
  // OpenRouter's name, and the one that LiteLLM takes over from Anthropic.
  const written = reportedTokens(details.cache_write_tokens ?? block.cache_creation_input_tokens) ?? 0;
  return {
    prompt: prompt ?? 0,
    cached,
    cacheWrite: Math.min(written, (prompt ?? 0) - cached),
    completion: completion ?? 0,
    reasoning: reportedTokens(thought.reasoning_tokens),
  };
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
