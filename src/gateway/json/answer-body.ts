import { reportedTokens } from '../../domain/calls/settlement/finished-call.ts';
import { joinBytes } from '../../http/bytes.ts';
import { createAnswerFields, scanAnswer } from './scan-answer.ts';

/** What the upstream counted of one call. Missing parts count as 0, and zeros are usage. */
export interface Usage {
  readonly promptTokens: number;
  /** Those of the prompt that the upstream had in its cache: never more than the prompt's. */
  readonly cachedTokens: number;
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
export function readWholeAnswer(bytes: Uint8Array<ArrayBuffer>, alias: string): WholeAnswer {
  const fields = createAnswerFields();
  scanAnswer(bytes, 0, bytes.length, fields);
  const { isWhole, usageStart, usageEnd, errorStart, errorEnd, toRestamp } = fields;
  return {
    usage: isWhole && usageEnd > 0 ? readUsageAt(bytes, usageStart, usageEnd) : null,
    bytes: toRestamp.length === 0 ? bytes : restamped(bytes, toRestamp, alias),
    isError: isErrorAt(bytes, errorStart, errorEnd),
    isJsonObject: isWhole,
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

export function createRestampedBytes(alias: string): RestampedBytes {
  const stampBytes = new TextEncoder().encode(JSON.stringify(alias));
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
export function readUsage(block: unknown): Usage | null {
  if (!isObject(block)) return null;
  const prompt = readCount(block.prompt_tokens);
  const completion = readCount(block.completion_tokens);
  const cached = readCount(cachedIn(block));
  if (prompt === 'wrong' || completion === 'wrong' || cached === 'wrong') return null;
  if (prompt === 'missing' && completion === 'missing') return null;
  const promptTokens = prompt === 'missing' ? 0 : prompt;
  return {
    promptTokens,
    cachedTokens: cached === 'missing' ? 0 : Math.min(cached, promptTokens),
    completionTokens: completion === 'missing' ? 0 : completion,
  };
}

/** The block that stands from `start` to `end`. */
export function readUsageAt(bytes: Uint8Array, start: number, end: number): Usage | null {
  return readUsage(parseAt(bytes, start, end));
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

/** Where OpenAI puts it, then DeepSeek, then Moonshot. */
function cachedIn(block: Readonly<Record<string, unknown>>): unknown {
  const details = block.prompt_tokens_details;
  const inDetails = isObject(details) ? details.cached_tokens : undefined;
  return inDetails ?? block.prompt_cache_hit_tokens ?? block.cached_tokens;
}

function readCount(value: unknown): number | 'missing' | 'wrong' {
  if (value === undefined || value === null) return 'missing';
  return reportedTokens(value) ?? 'wrong';
}

/** Undefined where it is not JSON. */
function parseAt(bytes: Uint8Array, start: number, end: number): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes.subarray(start, end)));
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
