import { isErrorAt, readUsageAt, type Usage } from './read-usage.ts';
import { createAnswerFields, scanAnswer } from './restamp-fields.ts';

/**
 * No provider identifier reaches a client (G-16): the top-level `model` of every answer and every chunk is the
 * alias, and so is a `provider` that is a text (OpenRouter's). The value's bytes are replaced and all others stay:
 * integers past 2^53, white space and the order of names survive. Other fields are kept, though some hint at who
 * answered (`id`, `system_fingerprint`, `x_groq`): clients read them, and what they hint at is not a name.
 */
export interface RestampedBytes {
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
      const bytes = joined(pieces, size);
      pieces = [];
      size = 0;
      return bytes;
    },
  };
}

function joined(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined) return only;
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

export interface WholeAnswer {
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
