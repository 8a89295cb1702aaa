import { joinBytes } from '../../http/bytes.ts';
import { isObject } from '../../ports/json-object.ts';
import type { ReasoningCount } from '../../ports/model-upstream.ts';
import type { ClientWire } from './client-wire.ts';
import { jsonAt } from './json-text.ts';
import { readEmbeddingUsageAt, readUsageAt, type Usage } from './reported-usage.ts';
import { type AnswerFields, createAnswerFields, scanAnswer } from './scan-answer.ts';

interface WholeAnswer {
  readonly usage: Usage | null;
  /** Unchanged except for the names of models and providers, and for hidden costs. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Whether it has a top-level `error`, regardless of its status. */
  readonly isError: boolean;
  /** If false, it is not an answer of this wire format, and nothing is known about its content. */
  readonly isJsonObject: boolean;
}

interface AnswerRules {
  /** Whether what the provider charges for the call is removed. */
  readonly hidesCosts?: boolean;
  /** Only for chat completions. */
  readonly reasoning?: ReasoningCount | undefined;
  /** Whether a total alone is the prompt. */
  readonly isEmbedding?: boolean;
  /** What clients may read of a text of the provider; all of it if omitted. */
  readonly withoutNames?: WithoutNames | undefined;
}

export type WithoutNames = (text: string) => string;

/**
 * Reads an answer that is not streamed. Usage in an incomplete answer does not count. A byte order mark is removed: not
 * every client's JSON parser accepts it.
 */
export function readWholeAnswer(
  answer: Uint8Array<ArrayBuffer>,
  alias: string,
  wire: ClientWire = 'completions',
  { hidesCosts = false, reasoning, isEmbedding = false, withoutNames }: AnswerRules = {},
): WholeAnswer {
  const bytes = answer[0] === BYTE_ORDER_MARK[0] ? withoutMark(answer) : answer;
  const fields = createAnswerFields(null, hidesCosts);
  scanAnswer(bytes, 0, bytes.length, fields);
  const { isWhole, usageStart, usageEnd, errorStart, errorEnd, toRestamp } = fields;
  let usage: Usage | null = null;
  if (isWhole && usageEnd > 0) {
    usage = isEmbedding
      ? readEmbeddingUsageAt(bytes, usageStart, usageEnd)
      : readUsageAt(bytes, usageStart, usageEnd, wire, reasoning);
  }
  return {
    usage,
    bytes: toRestamp.length === 0 ? bytes : restamped(bytes, fields, alias, withoutNames),
    // A failed response has `error` too; with usage it still counts as a response.
    isError: (wire !== 'responses' || usage === null) && isErrorAt(bytes, errorStart, errorEnd),
    isJsonObject: isWhole,
  };
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;

function withoutMark(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return BYTE_ORDER_MARK.every((byte, at) => bytes[at] === byte)
    ? bytes.subarray(BYTE_ORDER_MARK.length)
    : bytes;
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
 * An error inside of an answer, without the names of the provider (G-16); null if it stays as it is. It is a failed response,
 * or that of a choice or an item: an answer or a stream that is one error has been replaced by our envelope.
 */
export function cleanedError(
  bytes: Uint8Array,
  start: number,
  end: number,
  withoutNames: WithoutNames | undefined,
): Uint8Array | null {
  if (withoutNames === undefined) return null;
  const text = new TextDecoder().decode(bytes.subarray(start, end));
  try {
    const cleaned = JSON.stringify(JSON.parse(text), (_, value) =>
      typeof value === 'string' ? withoutNames(value) : value,
    );
    return cleaned === JSON.stringify(JSON.parse(text)) ? null : new TextEncoder().encode(cleaned);
  } catch {
    return new TextEncoder().encode('null');
  }
}

/** Whether it is the final chunk with usage and without choices, which some servers leave out instead of sending none. */
export function isUsageChunkAt(bytes: Uint8Array, start: number, end: number): boolean {
  const chunk = jsonAt(bytes, start, end);
  if (!isObject(chunk) || !isObject(chunk.usage)) return false;
  const { choices = null } = chunk;
  return choices === null || (Array.isArray(choices) && choices.length === 0);
}

/** Whether a top-level `error` is an error: null, false, zero and an empty string are not. */
export function isErrorAt(bytes: Uint8Array, start: number, end: number): boolean {
  if (start === end) return false;
  const value = jsonAt(bytes, start, end);
  return value === undefined || Boolean(value);
}

function restamped(
  bytes: Uint8Array<ArrayBuffer>,
  { toRestamp, toRemove, toClean }: AnswerFields,
  alias: string,
  withoutNames: WithoutNames | undefined,
): Uint8Array<ArrayBuffer> {
  const output = createRestampedBytes(alias);
  let at = 0;
  let removed = 0;
  let cleaned = 0;
  for (let next = 0; next < toRestamp.length; next += 2) {
    const start = toRestamp[next] as number;
    const end = toRestamp[next + 1] as number;
    output.keep(bytes, at, start);
    if (start === toRemove[removed]) removed += 1;
    else if (start === toClean[cleaned]) {
      cleaned += 1;
      const error = cleanedError(bytes, start, end, withoutNames);
      output.keep(error ?? bytes, error === null ? start : 0, error?.length ?? end);
    } else output.stamp();
    at = end;
  }
  output.keep(bytes, at, bytes.length);
  return output.take() as Uint8Array<ArrayBuffer>;
}
