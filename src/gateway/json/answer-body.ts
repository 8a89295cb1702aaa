import { reportedTokens } from '../../domain/calls/settlement/finished-call.ts';
import { joinBytes } from '../../http/bytes.ts';
import { isObject } from '../../ports/json-object.ts';
import type { ClientWire } from './client-wire.ts';
import { type AnswerFields, createAnswerFields, scanAnswer } from './scan-answer.ts';

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

interface WholeAnswer {
  readonly usage: Usage | null;
  /** Unchanged except for the names of models and providers, and for hidden costs. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Whether it has a top-level `error`, regardless of its status. */
  readonly isError: boolean;
  /** If false, it is not an answer of this wire format, and nothing is known about its content. */
  readonly isJsonObject: boolean;
}

/** Reads an answer that is not streamed. Usage in an incomplete answer does not count. */
export function readWholeAnswer(
  bytes: Uint8Array<ArrayBuffer>,
  alias: string,
  wire: ClientWire = 'completions',
  hidesCosts = false,
): WholeAnswer {
  const fields = createAnswerFields(null, hidesCosts);
  scanAnswer(bytes, 0, bytes.length, fields);
  const { isWhole, usageStart, usageEnd, errorStart, errorEnd, toRestamp } = fields;
  const usage = isWhole && usageEnd > 0 ? readUsageAt(bytes, usageStart, usageEnd, wire) : null;
  return {
    usage,
    bytes: toRestamp.length === 0 ? bytes : restamped(bytes, fields, alias),
    // A failed response has `error` too; with usage it still counts as a response.
    isError: (wire !== 'responses' || usage === null) && isErrorAt(bytes, errorStart, errorEnd),
    isJsonObject: isWhole,
  };
}

/** Collects the usage that the events of a stream report. */
interface StreamUsage {
  /** `fields` are those of the event at bytes `start` to `end`. */
  note(bytes: Uint8Array, start: number, end: number, fields: AnswerFields): void;
  /** The last usage that could be read; null if there is none yet. */
  usage(): Usage | null;
}

export function createStreamUsage(wire: ClientWire): StreamUsage {
  switch (wire) {
    case 'completions':
      return usageOfChunks();
    case 'responses':
      return usageOfResponse();
    case 'messages':
      return usageOfMessage();
  }
}

function usageOfChunks(): StreamUsage {
  let top: Usage | null = null;
  let inner: Usage | null = null;
  return {
    note(bytes, start, end, { usageStart, usageEnd, hasInnerUsage }) {
      if (usageEnd > 0) top = readUsageAt(bytes, usageStart, usageEnd) ?? top;
      else if (hasInnerUsage) inner = readInnerUsageAt(bytes, start, end) ?? inner;
    },
    usage: () => top ?? inner,
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
 * the provider has corrected them. Before the first message_delta nothing of the answer is counted, so there is no usage.
 */
function usageOfMessage(): StreamUsage {
  let started: Readonly<Record<string, unknown>> = {};
  let usage: Usage | null = null;
  return {
    note(bytes, _start, _end, { innerUsageStart, innerUsageEnd, usageStart, usageEnd }) {
      if (innerUsageEnd > 0) {
        const block = parseAt(bytes, innerUsageStart, innerUsageEnd);
        if (isObject(block)) started = block;
      }
      if (usageEnd === 0) return;
      const block = parseAt(bytes, usageStart, usageEnd);
      if (!isObject(block)) return;
      const reported = Object.entries(block).filter(([, value]) => value !== null);
      usage = readUsage({ ...started, ...Object.fromEntries(reported) }, 'messages') ?? usage;
    },
    usage: () => usage,
  };
}

/**
 * No provider identifier reaches a client (G-16): the top-level `model` of every answer and chunk is replaced by the alias,
 * and so is a `provider` that is a string (OpenRouter's). Only the bytes of the value are replaced: integers past 2^53, white
 * space and the order of names are preserved. What the provider charges the operator is removed from `usage`. Other fields
 * that hint at the provider (`id`, `system_fingerprint`, `x_groq`) are kept: clients read them, and they contain no names.
 */
interface RestampedBytes {
  /** Adds these bytes unchanged. They are not read before `take` is called. */
  keep(source: Uint8Array, start: number, end: number): void;
  /** Adds the alias as a JSON string. */
  stamp(): void;
  /** Returns everything added since the last call, or null. */
  take(): Uint8Array | null;
}

/** Six aliases are documented and operators may add more. The cache is cleared when it reaches this size. */
const MOST_STAMPS = 64;
const stamps = new Map<string, Uint8Array>();

/** The alias as a JSON string, cached because every answer contains it. */
function stampOf(alias: string): Uint8Array {
  const known = stamps.get(alias);
  if (known !== undefined) return known;
  if (stamps.size >= MOST_STAMPS) stamps.clear();
  const stamp = new TextEncoder().encode(JSON.stringify(alias));
  stamps.set(alias, stamp);
  return stamp;
}

export function createRestampedBytes(alias: string): RestampedBytes {
  const stampBytes = stampOf(alias);
  let pieces: Uint8Array[] = [];
  let size = 0;
  // Adjacent bytes of one source form one piece: a chunk that needs no stamp is passed on without a copy.
  let run: Uint8Array | null = null;
  let runStart = 0;
  let runEnd = 0;

  function endRun(): void {
    if (run === null) return;
    pieces.push(runStart === 0 && runEnd === run.length ? run : run.subarray(runStart, runEnd));
    size += runEnd - runStart;
    run = null;
  }

  return {
    keep(source, start, end) {
      if (run === source && runEnd === start) {
        runEnd = end;
        return;
      }
      endRun();
      if (start === end) return;
      run = source;
      runStart = start;
      runEnd = end;
    },
    stamp() {
      endRun();
      pieces.push(stampBytes);
      size += stampBytes.length;
    },
    take() {
      endRun();
      if (pieces.length === 0) return null;
      const bytes = joinBytes(pieces, size);
      pieces = [];
      size = 0;
      return bytes;
    },
  };
}

/**
 * Reads a `usage` block; null if it has neither prompt nor completion tokens (a total alone cannot be priced), or a count
 * that is not an integer from 0 to 2^53 - 1. Fails open, in favor of the client: usage that cannot be trusted is not charged.
 */
export function readUsage(block: unknown, wire: ClientWire = 'completions'): Usage | null {
  const usage = readCounts(block, wire);
  return usage !== null && wire === 'messages' ? withCompactions(usage, block) : usage;
}

function readCounts(block: unknown, wire: ClientWire): Usage | null {
  if (!isObject(block)) return null;
  const counts = USAGE_COUNTS[wire](block);
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
const USAGE_COUNTS: Readonly<Record<ClientWire, (block: Block) => Record<keyof ReadCounts, unknown>>> = {
  completions(block) {
    const details = detailsIn(block.prompt_tokens_details);
    return {
      prompt: block.prompt_tokens,
      completion: block.completion_tokens,
      // The fields of OpenAI, DeepSeek and Moonshot, in this order.
      cached: details.cached_tokens ?? block.prompt_cache_hit_tokens ?? block.cached_tokens,
      // OpenRouter's name, which our own translation writes too, then Anthropic's name, which LiteLLM adopted.
      written: details.cache_write_tokens ?? block.cache_creation_input_tokens,
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
    return { prompt: block.input_tokens, completion: block.output_tokens, cached, written, hourWritten };
  },
  messages: (block) => ({
    prompt: block.input_tokens,
    completion: block.output_tokens,
    cached: block.cache_read_input_tokens,
    written: block.cache_creation_input_tokens,
    hourWritten: detailsIn(block.cache_creation).ephemeral_1h_input_tokens,
  }),
};

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
): Usage | null {
  return readUsage(parseAt(bytes, start, end), wire);
}

/**
 * Reads usage from where two providers put it in the last chunk of a stream, with or without usage at the top level: Moonshot
 * in a choice, Groq in `x_groq`.
 */
export function readInnerUsageAt(bytes: Uint8Array, start: number, end: number): Usage | null {
  const chunk = parseAt(bytes, start, end);
  if (!isObject(chunk)) return null;
  const places = [chunk.x_groq, ...(Array.isArray(chunk.choices) ? chunk.choices : [])];
  for (const place of places) {
    const usage = isObject(place) ? readUsage(place.usage) : null;
    if (usage !== null) return usage;
  }
  return null;
}

/** Whether it is the final chunk with usage and without choices. */
export function isUsageChunkAt(bytes: Uint8Array, start: number, end: number): boolean {
  const chunk = parseAt(bytes, start, end);
  return (
    isObject(chunk) && isObject(chunk.usage) && Array.isArray(chunk.choices) && chunk.choices.length === 0
  );
}

/** Whether a top-level `error` is an error: null, false, zero and an empty string are not. */
export function isErrorAt(bytes: Uint8Array, start: number, end: number): boolean {
  if (start === end) return false;
  const value = parseAt(bytes, start, end);
  return value === undefined || Boolean(value);
}

function restamped(
  bytes: Uint8Array<ArrayBuffer>,
  { toRestamp, toRemove }: AnswerFields,
  alias: string,
): Uint8Array<ArrayBuffer> {
  const output = createRestampedBytes(alias);
  let at = 0;
  let removed = 0;
  for (let next = 0; next < toRestamp.length; next += 2) {
    const start = toRestamp[next] as number;
    output.keep(bytes, at, start);
    if (start === toRemove[removed]) removed += 1;
    else output.stamp();
    at = toRestamp[next + 1] as number;
  }
  output.keep(bytes, at, bytes.length);
  return output.take() as Uint8Array<ArrayBuffer>;
}

function readCount(value: unknown): number | 'missing' | 'wrong' {
  if (value === undefined || value === null) return 'missing';
  return reportedTokens(value) ?? 'wrong';
}

/** Shared, because it keeps no state: it decodes only complete texts. */
const decoder = new TextDecoder();

/** Undefined if it is not JSON. */
function parseAt(bytes: Uint8Array, start: number, end: number): unknown {
  try {
    return JSON.parse(decoder.decode(bytes.subarray(start, end)));
  } catch {
    return undefined;
  }
}
