/** What the upstream counted of one call. Missing parts count as 0, and zeros are usage. */
export interface Usage {
  readonly promptTokens: number;
  /** Those of the prompt that the upstream had in its cache: never more than the prompt's. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
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

/** Where OpenAI puts it, then DeepSeek, then Moonshot. */
function cachedIn(block: Readonly<Record<string, unknown>>): unknown {
  const details = block.prompt_tokens_details;
  const inDetails = isObject(details) ? details.cached_tokens : undefined;
  return inDetails ?? block.prompt_cache_hit_tokens ?? block.cached_tokens;
}

function readCount(value: unknown): number | 'missing' | 'wrong' {
  if (value === undefined || value === null) return 'missing';
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 'wrong';
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
