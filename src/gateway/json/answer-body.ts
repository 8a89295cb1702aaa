import { reportedTokens } from '../../domain/calls/settlement/finished-call.ts';
import { joinBytes } from '../../http/bytes.ts';
import { isObject } from '../../ports/json-object.ts';
import type { ClientWire } from './client-wire.ts';
import { type AnswerFields, createAnswerFields, scanAnswer } from './scan-answer.ts';

/** What the upstream counted of one call. Missing parts count as 0, and zeros are usage. */
export interface Usage {
  readonly promptTokens: number;
  /** Those of the prompt that the upstream had in its cache: never more than the prompt's. */
  readonly cachedTokens: number;
  /** Those of the prompt that it has written to its cache, apart from the cached ones. Left out where it says nothing. */
  readonly cacheWriteTokens?: number;
  readonly completionTokens: number;
}

interface WholeAnswer {
  readonly usage: Usage | null;
  /** As they came, but for the names. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** It says `error` at its top, whatever its status was. */
  readonly isError: boolean;
  /** Otherwise it is no answer of this wire, and nothing is known of what it holds. */
  readonly isJsonObject: boolean;
}

/** Of an answer that is not a stream. Usage in an answer that is cut off does not count. */
export function readWholeAnswer(
  bytes: Uint8Array<ArrayBuffer>,
  alias: string,
  wire: ClientWire = 'completions',
): WholeAnswer {
  const fields = createAnswerFields();
  scanAnswer(bytes, 0, bytes.length, fields);
  const { isWhole, usageStart, usageEnd, errorStart, errorEnd, toRestamp } = fields;
  const usage = isWhole && usageEnd > 0 ? readUsageAt(bytes, usageStart, usageEnd, wire) : null;
  return {
    usage,
    bytes: toRestamp.length === 0 ? bytes : restamped(bytes, toRestamp, alias),
    // A response that failed says so in `error`; with usage it is one all the same.
    isError: (wire !== 'responses' || usage === null) && isErrorAt(bytes, errorStart, errorEnd),
    isJsonObject: isWhole,
  };
}

/** What the events of a stream say of usage, one after the other. */
export interface StreamUsage {
  /** `fields` are those of the event, which is bytes `start` to `end`. */
  note(bytes: Uint8Array, start: number, end: number, fields: AnswerFields): void;
  /** The last one that could be read; null where none has come. */
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

/** Only the events at a response's end have one that is not null. */
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
 * message_start has the prompt's counts, message_delta the answer's so far, and where the provider knows better by then
 * the prompt's again. Before the first message_delta nothing of the answer is counted, and that is no usage.
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
 * No provider identifier reaches a client (G-16): the top-level `model` of every answer and every chunk is the
 * alias, and so is a `provider` that is a text (OpenRouter's). The value's bytes are replaced and all others stay:
 * integers past 2^53, white space and the order of names survive. Other fields are kept, though some hint at who
 * answered (`id`, `system_fingerprint`, `x_groq`): clients read them, and what they hint at is not a name.
 */
interface RestampedBytes {
  /** These bytes as they are. They are read when `take` is called, not before. */
  keep(source: Uint8Array, start: number, end: number): void;
  /** The alias, as a JSON string. */
  stamp(): void;
  /** Everything since the last time, or null. */
  take(): Uint8Array | null;
}

/** Six aliases are all that there are; more would be those of another prefix. */
const MOST_STAMPS = 64;
const stamps = new Map<string, Uint8Array>();

/** The alias as a JSON string. It is made once: every answer has one. */
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
  // What stands side by side in one source is one piece: a chunk that needs no stamp is passed on uncopied.
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
 * A `usage` block, or null where it is none: without prompt and completion tokens (a total alone cannot be
 * priced), or with a count that is not a whole number from 0 to 2^53. Fails open, for the client: what cannot be
 * believed is not charged.
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
  if (prompt === 'wrong' || completion === 'wrong' || cached === 'wrong' || written === 'wrong') return null;
  if (prompt === 'missing' && completion === 'missing') return null;
  return usageOf({
    // Anthropic counts what was read from the cache and what was written to it beside the prompt, not in it.
    prompt: orNone(prompt) + (wire === 'messages' ? orNone(cached) + orNone(written) : 0),
    completion: orNone(completion),
    cached: orNone(cached),
    written: written === 'missing' ? null : written,
  });
}

/** What Anthropic used to summarize the conversation, which it bills and does not count at the top. */
function withCompactions(usage: Usage, block: unknown): Usage {
  if (!isObject(block) || !Array.isArray(block.iterations)) return usage;
  return block.iterations.reduce<Usage>((sum, entry: unknown) => {
    const more = isObject(entry) && entry.type === 'compaction' ? readCounts(entry, 'messages') : null;
    if (more === null) return sum;
    const { cacheWriteTokens: written = 0 } = sum;
    const total = usageOf({
      prompt: sum.promptTokens + more.promptTokens,
      completion: sum.completionTokens + more.completionTokens,
      cached: sum.cachedTokens + more.cachedTokens,
      written: written + (more.cacheWriteTokens ?? 0),
    });
    return total ?? sum;
  }, usage);
}

function usageOf({ prompt, completion, cached, written }: ReadCounts): Usage | null {
  if (!Number.isSafeInteger(prompt)) return null;
  const cachedTokens = Math.min(cached, prompt);
  const usage = { promptTokens: prompt, cachedTokens, completionTokens: completion };
  return written === null ? usage : { ...usage, cacheWriteTokens: Math.min(written, prompt - cachedTokens) };
}

interface ReadCounts {
  readonly prompt: number;
  readonly completion: number;
  readonly cached: number;
  readonly written: number | null;
}

type Block = Readonly<Record<string, unknown>>;

/** Where the counts are, as they came. */
const USAGE_COUNTS: Readonly<Record<ClientWire, (block: Block) => Record<keyof ReadCounts, unknown>>> = {
  completions(block) {
    const details = detailsIn(block.prompt_tokens_details);
    return {
      prompt: block.prompt_tokens,
      completion: block.completion_tokens,
      // Where OpenAI puts it, then DeepSeek, then Moonshot.
      cached: details.cached_tokens ?? block.prompt_cache_hit_tokens ?? block.cached_tokens,
      // OpenRouter's name, which our own translation writes too; then the one that LiteLLM takes over from Anthropic.
      written: details.cache_write_tokens ?? block.cache_creation_input_tokens,
    };
  },
  responses(block) {
    const details = detailsIn(block.input_tokens_details);
    const { cached_tokens: cached, cache_write_tokens: written } = details;
    return { prompt: block.input_tokens, completion: block.output_tokens, cached, written };
  },
  messages: (block) => ({
    prompt: block.input_tokens,
    completion: block.output_tokens,
    cached: block.cache_read_input_tokens,
    written: block.cache_creation_input_tokens,
  }),
};

function detailsIn(value: unknown): Block {
  return isObject(value) ? value : {};
}

function orNone(count: number | 'missing'): number {
  return count === 'missing' ? 0 : count;
}

/** The block that stands from `start` to `end`. */
export function readUsageAt(
  bytes: Uint8Array,
  start: number,
  end: number,
  wire: ClientWire = 'completions',
): Usage | null {
  return readUsage(parseAt(bytes, start, end), wire);
}

/**
 * Usage that stands where two providers put it in the last chunk of a stream, with or without one at the top:
 * Moonshot in a choice, Groq in `x_groq`.
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

/** Whether it is the chunk with usage and no choices, which comes last. */
export function isUsageChunkAt(bytes: Uint8Array, start: number, end: number): boolean {
  const chunk = parseAt(bytes, start, end);
  return (
    isObject(chunk) && isObject(chunk.usage) && Array.isArray(chunk.choices) && chunk.choices.length === 0
  );
}

/** Whether a top-level `error` says that there is one: null, false, zero and an empty text do not. */
export function isErrorAt(bytes: Uint8Array, start: number, end: number): boolean {
  if (start === end) return false;
  const value = parseAt(bytes, start, end);
  return value === undefined || Boolean(value);
}

function restamped(
  bytes: Uint8Array<ArrayBuffer>,
  toRestamp: readonly number[],
  alias: string,
): Uint8Array<ArrayBuffer> {
  const output = createRestampedBytes(alias);
  let at = 0;
  for (let next = 0; next < toRestamp.length; next += 2) {
    output.keep(bytes, at, toRestamp[next] as number);
    output.stamp();
    at = toRestamp[next + 1] as number;
  }
  output.keep(bytes, at, bytes.length);
  return output.take() as Uint8Array<ArrayBuffer>;
}

function readCount(value: unknown): number | 'missing' | 'wrong' {
  if (value === undefined || value === null) return 'missing';
  return reportedTokens(value) ?? 'wrong';
}

/** Without a state: it is never used for a part of a text. */
const decoder = new TextDecoder();

/** Undefined where it is not JSON. */
function parseAt(bytes: Uint8Array, start: number, end: number): unknown {
  try {
    return JSON.parse(decoder.decode(bytes.subarray(start, end)));
  } catch {
    return undefined;
  }
}
