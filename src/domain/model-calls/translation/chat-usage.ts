import { isObject, type JsonObject } from '../../../ports/json-object.ts';
import type { ReasoningCount } from '../../../ports/model-upstream.ts';
import { highestCounts, reportedTokens, withReasoning } from '../reported-counts.ts';

/** The tokens of an answer as chat completions count them: the prompt includes tokens read from and written to a cache. */
export interface ChatUsage {
  readonly prompt: number;
  readonly cached: number;
  readonly cacheWrite: number;
  /** The part of it that stays in the cache for an hour; null if it is not reported. */
  readonly hourWrite: number | null;
  readonly completion: number;
  /** The completion tokens that the model used for reasoning; null if it does not report them. */
  readonly reasoning: number | null;
}

/** Reads the usage of a whole answer. */
export function readChatUsage(answer: JsonObject, reasoning?: ReasoningCount): ChatUsage | null {
  const counted = createStreamedUsage(reasoning);
  counted.note(answer);
  return counted.usage();
}

/** Collects the usage of chunks: at the top level, or where Groq and Moonshot put it. */
export function createStreamedUsage(reasoning?: ReasoningCount) {
  let block: JsonObject | null = null;
  return {
    /** Whether the chunk has usage. */
    note(chunk: JsonObject): boolean {
      const choices = Array.isArray(chunk.choices) ? chunk.choices : [];
      for (const place of [chunk, chunk.x_groq, ...choices]) {
        if (!isObject(place) || usageOf(place.usage, reasoning) === null) continue;
        if (isObject(place.usage)) block = highestCounts(block, place.usage);
        return true;
      }
      return false;
    },
    usage: (): ChatUsage | null => usageOf(block, reasoning),
  };
}

/**
 * Follows the gateway's rules for answers that are not translated: missing parts count as 0, and a block with neither
 * prompt nor completion, or with an implausible count, is ignored.
 */
function usageOf(block: unknown, counted: ReasoningCount | undefined): ChatUsage | null {
  if (!isObject(block)) return null;
  const details = isObject(block.prompt_tokens_details) ? block.prompt_tokens_details : {};
  const thought = isObject(block.completion_tokens_details) ? block.completion_tokens_details : {};
  const prompt = countOf(block.prompt_tokens);
  const { prompt_tokens, completion_tokens, total_tokens: total } = block;
  const { reasoning_tokens: reasoning } = thought;
  const counts = { prompt: prompt_tokens, completion: completion_tokens, reasoning, total };
  const completion = countOf(withReasoning(counts, counted));
  // OpenAI's place, then DeepSeek's, then Moonshot's.
  const cached = countOf(details.cached_tokens ?? block.prompt_cache_hit_tokens ?? block.cached_tokens);
  // OpenAI's name, then Anthropic's, where LiteLLM has it and where Qwen does.
  const ofAnthropic = block.cache_creation_input_tokens ?? details.cache_creation_input_tokens;
  const written = countOf(details.cache_write_tokens ?? ofAnthropic);
  if ((block.prompt_tokens ?? block.completion_tokens ?? null) === null) return null;
  if (prompt === null || completion === null || cached === null || written === null) return null;
  const cachedOfPrompt = Math.min(cached, prompt);
  const cacheWrite = Math.min(written, prompt - cachedOfPrompt);
  return {
    prompt,
    cached: cachedOfPrompt,
    cacheWrite,
    hourWrite: hourWriteOf(details, cacheWrite),
    completion,
    reasoning: reportedTokens(reasoning) ?? unreported(completion, completion_tokens),
  };
}

/** As the gateway reads it: LiteLLM's place besides our own, and all of the writes if the count is wrong. */
function hourWriteOf(details: JsonObject, cacheWrite: number): number | null {
  const { cache_creation_token_details: split } = details;
  const given =
    details.cache_write_1h_tokens ?? (isObject(split) ? split.ephemeral_1h_input_tokens : undefined);
  if (given == null || cacheWrite === 0) return null;
  return Math.min(reportedTokens(given) ?? cacheWrite, cacheWrite);
}

/** The reasoning that only the total shows; null if there is none. */
function unreported(completion: number, counted: unknown): number | null {
  const more = completion - (countOf(counted) ?? 0);
  return more > 0 ? more : null;
}

/** Null if the value is no valid count. */
function countOf(value: unknown): number | null {
  return reportedTokens(value ?? 0);
}

/** The counts of a cache, as our chat completions and responses name them. */
export function cacheDetails({ cached, cacheWrite, hourWrite }: ChatUsage): JsonObject {
  return {
    cached_tokens: cached,
    cache_write_tokens: cacheWrite,
    ...(hourWrite === null ? {} : { cache_write_1h_tokens: hourWrite }),
  };
}

export function usageInChat(usage: ChatUsage): JsonObject {
  const { prompt, completion, reasoning } = usage;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: cacheDetails(usage),
    ...(reasoning === null ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}
