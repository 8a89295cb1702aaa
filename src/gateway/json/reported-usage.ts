import { highestCounts, reportedTokens, withReasoning } from '../../domain/model-calls/reported-counts.ts';
import { isObject, type JsonObject } from '../../ports/json-object.ts';
import type { ReasoningCount } from '../../ports/model-upstream.ts';
import type { ClientWire } from './client-wire.ts';
import { jsonAt } from './json-text.ts';
import type { AnswerFields } from './scan-answer.ts';

/** The tokens that the upstream counted for one call. Missing parts count as 0; a block of zeros is still usage. */
export interface Usage {
  readonly promptTokens: number;
  /** Prompt tokens that the upstream read from its cache: never more than `promptTokens`. */
  readonly cachedTokens: number;
  /** Prompt tokens that it wrote to its cache, not including the cached ones. Omitted if it does not report them. */
  readonly cacheWriteTokens?: number;
  /** Those of them that stay in the cache for an hour. Omitted if it does not report how long they stay. */
  readonly hourWriteTokens?: number;
  readonly completionTokens: number;
}

/** Collects the usage that the events of a stream report. */
interface StreamUsage {
  /** `fields` are those of the event at bytes `start` to `end`. */
  note(bytes: Uint8Array, start: number, end: number, fields: AnswerFields): void;
  /** Null if none could be read yet. */
  usage(): Usage | null;
}

/** `reasoning` is for chat completions only. */
export function createStreamUsage(wire: ClientWire, reasoning?: ReasoningCount): StreamUsage {
  switch (wire) {
    case 'completions':
      return usageOfChunks(reasoning);
    case 'responses':
      return usageOfResponse();
    case 'messages':
      return usageOfMessage();
  }
}

function usageOfChunks(reasoning: ReasoningCount | undefined): StreamUsage {
  let top: JsonObject | null = null;
  let inner: JsonObject | null = null;
  return {
    note(bytes, start, end, { usageStart, usageEnd, hasInnerUsage }) {
      if (usageEnd > 0) {
        const block = jsonAt(bytes, usageStart, usageEnd);
        if (isObject(block)) top = highestCounts(top, block);
      } else if (hasInnerUsage) {
        for (const block of innerUsage(jsonAt(bytes, start, end))) inner = highestCounts(inner, block);
      }
    },
    usage: () => readUsage(top, 'completions', reasoning) ?? readUsage(inner, 'completions', reasoning),
  };
}

/** It is not null only in the events at the end of a response. */
function usageOfResponse(): StreamUsage {
  let usage: Usage | null = null;
  return {
    note(bytes, _start, _end, { innerUsageStart, innerUsageEnd }) {
      if (innerUsageEnd > 0) usage = readUsageAt(bytes, innerUsageStart, innerUsageEnd, 'responses') ?? usage;
    },
    usage: () => usage,
  };
}

/**
 * message_start has the counts of the prompt. message_delta has those of the answer so far, and those of the prompt again if
 * the provider has corrected them; a later one need not repeat them. Before the first message_delta nothing of the answer is
 * counted, so there is no usage.
 */
function usageOfMessage(): StreamUsage {
  let counts: Readonly<Record<string, unknown>> = {};
  let usage: Usage | null = null;
  return {
    note(bytes, _start, _end, { innerUsageStart, innerUsageEnd, usageStart, usageEnd }) {
      if (innerUsageEnd > 0) {
        const block = jsonAt(bytes, innerUsageStart, innerUsageEnd);
        if (isObject(block)) counts = block;
      }
      if (usageEnd === 0) return;
      const block = jsonAt(bytes, usageStart, usageEnd);
      if (!isObject(block)) return;
      const reported = Object.entries(block).filter(
        ([name, value]) => value !== null && MESSAGE_COUNTS.includes(name),
      );
      const corrected = { ...counts, ...Object.fromEntries(reported) };
      const read = readUsage(corrected, 'messages');
      if (read === null) return;
      counts = corrected;
      usage = read;
    },
    usage: () => usage,
  };
}

/**
 * Reads a `usage` block; null if it has neither prompt nor completion tokens (a total alone cannot be priced), or a count
 * that is not an integer from 0 to 2^53 - 1. Fails open, in favor of the client: usage that cannot be trusted is not charged.
 */
export function readUsage(
  block: unknown,
  wire: ClientWire = 'completions',
  reasoning?: ReasoningCount,
): Usage | null {
  const usage = readCounts(block, wire, reasoning);
  return usage !== null && wire === 'messages' ? withCompactions(usage, block) : usage;
}

function readCounts(block: unknown, wire: ClientWire, reasoning?: ReasoningCount): Usage | null {
  if (!isObject(block)) return null;
  const counts = USAGE_COUNTS[wire](block, reasoning);
  const prompt = readCount(counts.prompt);
  const completion = readCount(counts.completion);
  const cached = readCount(counts.cached);
  const written = readCount(counts.written);
  const hourWritten = readCount(counts.hourWritten);
  if (prompt === 'wrong' || completion === 'wrong' || cached === 'wrong' || written === 'wrong') return null;
  if (prompt === 'missing' && completion === 'missing') return null;
  return usageOf({
    // Anthropic's prompt count does not include the tokens read from or written to the cache.
    prompt: orNone(prompt) + (wire === 'messages' ? orNone(cached) + orNone(written) : 0),
    completion: orNone(completion),
    cached: orNone(cached),
    written: written === 'missing' ? null : written,
    // A wrong count of a part does not make the call free: all of it may then be for an hour.
    hourWritten: hourWritten === 'missing' ? null : hourWritten === 'wrong' ? orNone(written) : hourWritten,
  });
}

/**
 * Adds the tokens that Anthropic used to summarize the conversation: it bills them, but omits them from the top-level counts.
 */
function withCompactions(usage: Usage, block: unknown): Usage {
  if (!isObject(block) || !Array.isArray(block.iterations)) return usage;
  return block.iterations.reduce<Usage>((sum, entry: unknown) => {
    const more = isObject(entry) && entry.type === 'compaction' ? readCounts(entry, 'messages') : null;
    if (more === null) return sum;
    const { cacheWriteTokens: written = 0, hourWriteTokens: hourWritten = 0 } = sum;
    const isSplit = sum.hourWriteTokens !== undefined || more.hourWriteTokens !== undefined;
    const total = usageOf({
      prompt: sum.promptTokens + more.promptTokens,
      completion: sum.completionTokens + more.completionTokens,
      cached: sum.cachedTokens + more.cachedTokens,
      written: written + (more.cacheWriteTokens ?? 0),
      hourWritten: isSplit ? hourWritten + (more.hourWriteTokens ?? 0) : null,
    });
    return total ?? sum;
  }, usage);
}

function usageOf({ prompt, completion, cached, written, hourWritten }: ReadCounts): Usage | null {
  if (!Number.isSafeInteger(prompt)) return null;
  const cachedTokens = Math.min(cached, prompt);
  const usage = { promptTokens: prompt, cachedTokens, completionTokens: completion };
  if (written === null) return usage;
  const cacheWriteTokens = Math.min(written, prompt - cachedTokens);
  if (hourWritten === null || cacheWriteTokens === 0) return { ...usage, cacheWriteTokens };
  return { ...usage, cacheWriteTokens, hourWriteTokens: Math.min(hourWritten, cacheWriteTokens) };
}

interface ReadCounts {
  readonly prompt: number;
  readonly completion: number;
  readonly cached: number;
  readonly written: number | null;
  readonly hourWritten: number | null;
}

type Block = Readonly<Record<string, unknown>>;

/** The raw counts, from their fields in each wire format. */
const USAGE_COUNTS: Readonly<
  Record<ClientWire, (block: Block, reasoning?: ReasoningCount) => Record<keyof ReadCounts, unknown>>
> = {
  completions(block, reasoning) {
    const details = detailsIn(block.prompt_tokens_details);
    return {
      prompt: block.prompt_tokens,
      completion: withReasoning(
        {
          ...{ prompt: block.prompt_tokens, completion: block.completion_tokens, total: block.total_tokens },
          reasoning: detailsIn(block.completion_tokens_details).reasoning_tokens,
        },
        reasoning,
      ),
      // The fields of OpenAI, DeepSeek and Moonshot, in this order.
      cached: details.cached_tokens ?? block.prompt_cache_hit_tokens ?? block.cached_tokens,
      // OpenAI's name, which our own translation writes too, then Anthropic's, which LiteLLM and Qwen have adopted.
      written:
        details.cache_write_tokens ??
        block.cache_creation_input_tokens ??
        details.cache_creation_input_tokens,
      // Our own translation's name, then LiteLLM's.
      hourWritten:
        details.cache_write_1h_tokens ??
        detailsIn(details.cache_creation_token_details).ephemeral_1h_input_tokens,
    };
  },
  responses(block) {
    const details = detailsIn(block.input_tokens_details);
    const {
      cached_tokens: cached,
      cache_write_tokens: written,
      cache_write_1h_tokens: hourWritten,
    } = details;
    const { input_tokens: prompt, output_tokens: output, total_tokens: total } = block;
    const reasoning = detailsIn(block.output_tokens_details).reasoning_tokens;
    const completion = withReasoning({ prompt, completion: output, total, reasoning });
    return { prompt, completion, cached, written, hourWritten };
  },
  messages: (block) => ({
    prompt: block.input_tokens,
    completion: block.output_tokens,
    cached: block.cache_read_input_tokens,
    written: block.cache_creation_input_tokens,
    hourWritten: detailsIn(block.cache_creation).ephemeral_1h_input_tokens,
  }),
};

/** What is read of a message's usage: other names are not kept from event to event. */
const MESSAGE_COUNTS: readonly string[] = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'cache_creation',
  'iterations',
];

function detailsIn(value: unknown): Block {
  return isObject(value) ? value : {};
}

function orNone(count: number | 'missing'): number {
  return count === 'missing' ? 0 : count;
}

/** Reads the block at bytes `start` to `end`. */
export function readUsageAt(
  bytes: Uint8Array,
  start: number,
  end: number,
  wire: ClientWire = 'completions',
  reasoning?: ReasoningCount,
): Usage | null {
  return readUsage(jsonAt(bytes, start, end), wire, reasoning);
}

/** The same for embeddings, whose tokens are all of the prompt: Voyage and Jina report nothing but their total. */
export function readEmbeddingUsageAt(bytes: Uint8Array, start: number, end: number): Usage | null {
  const block = jsonAt(bytes, start, end);
  const isTotal = isObject(block) && (block.prompt_tokens ?? block.completion_tokens ?? null) === null;
  return readUsage(isTotal ? { prompt_tokens: block.total_tokens } : block);
}

/** Where two providers put usage in the last chunk, with or without usage at the top level: Moonshot in a choice, Groq in `x_groq`. */
function innerUsage(chunk: unknown): JsonObject[] {
  if (!isObject(chunk)) return [];
  const places = [chunk.x_groq, ...(Array.isArray(chunk.choices) ? chunk.choices : [])];
  return places.flatMap((place) => (isObject(place) && isObject(place.usage) ? [place.usage] : []));
}

function readCount(value: unknown): number | 'missing' | 'wrong' {
  if (value === undefined || value === null) return 'missing';
  return reportedTokens(value) ?? 'wrong';
}
