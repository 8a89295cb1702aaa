/** OpenAI's o200k_base tokenizer. Usage is counted with it. */
export interface Tokens {
  /** Yields to other work between slices. Rejects with the signal's reason. */
  count(text: string, signal: AbortSignal): Promise<number>;
  /** Synchronous, for short texts. */
  countNow(text: string): number;
  /** The beginning of the text in at most `limit` tokens. */
  fit(text: string, limit: number): FittedText;
  /** Null if a number is not a token. A character cut off at either end becomes U+FFFD. */
  decode(tokens: readonly number[]): string | null;
}

export interface FittedText {
  readonly text: string;
  readonly tokenCount: number;
  /** The text in pieces of a few tokens, never split within a character. */
  readonly pieces: readonly string[];
  readonly isCut: boolean;
}

/** Tokens per piece: in a stream of single tokens, four fifths are envelope. */
const PIECE_TOKENS = 4;
/** Short slices are parts of long runs, which take eight times as long per character. */
const SHORT_SLICE_COST = 1_024;
/** The size of the tokenizer's own cache; its default of 100,000 may grow to 50 MB. */
const MERGE_CACHE = 10_000;
/** Special tokens in a text are treated as text: `<|endoftext|>` in a prompt ends nothing. */
const AS_TEXT = { disallowedSpecial: new Set<string>() };

/** A byte order mark is an ordinary character. */
const newDecoder = () => new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Loaded on first use, because it takes 80 MB of memory and half a second, and is only needed if an embedded model is
 * called.
 *
 * Decoding uses the tokenizer's table directly: its own decoder is shared by all calls and carries a partial character
 * of one call over to the next.
 */
export async function loadTokens(): Promise<Tokens> {
  const [{ encode, countTokens, setMergeCacheSize }, { default: table }] = await Promise.all([
    import('gpt-tokenizer/encoding/o200k_base'),
    import('gpt-tokenizer/bpeRanks/o200k_base'),
  ]);
  setMergeCacheSize(MERGE_CACHE);
  const toBytes = new TextEncoder();

  function countNow(text: string): number {
    let sum = 0;
    for (const slice of tokenSlices(text)) sum += countTokens(slice, AS_TEXT);
    return sum;
  }

  function encodeUpTo(text: string, limit: number): number[] {
    const tokens: number[] = [];
    for (const slice of tokenSlices(text)) {
      for (const token of encode(slice, AS_TEXT)) tokens.push(token);
      if (tokens.length > limit) break;
    }
    return tokens;
  }

  function bytesOf(tokens: readonly number[]): Uint8Array | null {
    const parts: Uint8Array[] = [];
    for (const token of tokens) {
      const part = table[token];
      if (part === undefined) return null;
      parts.push(typeof part === 'string' ? toBytes.encode(part) : Uint8Array.from(part));
    }
    return Buffer.concat(parts);
  }

  /** Without an incomplete character at the end. */
  function wholeCharacters(tokens: readonly number[]): string {
    return newDecoder().decode(bytesOf(tokens) ?? new Uint8Array(), { stream: true });
  }

  function piecesOf(tokens: readonly number[]): string[] {
    const decoder = newDecoder();
    const pieces: string[] = [];
    for (let at = 0; at < tokens.length; at += PIECE_TOKENS) {
      const bytes = bytesOf(tokens.slice(at, at + PIECE_TOKENS)) ?? new Uint8Array();
      const piece = decoder.decode(bytes, { stream: true });
      if (piece !== '') pieces.push(piece);
    }
    return pieces;
  }

  /**
   * The beginning of a text may have fewer tokens than it had within the whole (`8  25` has four, `8  ` two), or end
   * within a character. Usage counts the text's own tokens; if those exceed the limit, the text is shortened.
   */
  function beginning(tokens: readonly number[], limit: number): string {
    for (let kept = limit; kept > 0; kept -= 1) {
      const text = wholeCharacters(tokens.slice(0, kept));
      if (countNow(text) <= limit) return text;
    }
    return '';
  }

  return {
    countNow,
    async count(text, signal) {
      let sum = 0;
      let sinceYield = 0;
      for (const slice of tokenSlices(text)) {
        sinceYield += Math.max(slice.length, SHORT_SLICE_COST);
        sum += countTokens(slice, AS_TEXT);
        if (sinceYield < SLICE_LENGTH) continue;
        sinceYield = 0;
        await new Promise((resolve) => setImmediate(resolve));
        signal.throwIfAborted();
      }
      return sum;
    },
    fit(text, limit) {
      const whole = text.toWellFormed();
      const tokens = encodeUpTo(whole, limit);
      if (tokens.length <= limit) {
        return { text: whole, tokenCount: tokens.length, pieces: piecesOf(tokens), isCut: false };
      }
      const kept = beginning(tokens, limit);
      const keptTokens = encodeUpTo(kept, limit);
      return { text: kept, tokenCount: keptTokens.length, pieces: piecesOf(keptTokens), isCut: true };
    },
    decode(tokens) {
      const bytes = bytesOf(tokens);
      return bytes === null ? null : newDecoder().decode(bytes);
    },
  };
}

/**
 * Splits a text for the tokenizer, in one pass and only as far as it is read.
 *
 * The tokenizer merges byte pairs in a time that grows with the square of a run: 100,000 spaces took it 38 s. A run of
 * letters, of marks or of white space is therefore cut after 128 characters; each cut adds at most one token to the
 * count. A long text is also cut into slices, so that other work can run in between: only between a letter and a space
 * that is followed by a letter, where the tokenizer's own pattern always ends a piece. These cuts leave the count
 * exact.
 */
const LONGEST_RUN = 128;
/** About 4,000 tokens of English, 1 to 2 ms. */
const SLICE_LENGTH = 16_384;
/** A text without such a boundary (such as Chinese) is cut where any run ends, at this length. */
const LONGEST_SLICE = 2 * SLICE_LENGTH;

export function* tokenSlices(text: string): Generator<string> {
  let sliceStart = 0;
  let runStart = 0;
  let runKind = -1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    // The second half of a surrogate pair belongs to the first: there is no cut between them.
    if (code >= 0xdc00 && code <= 0xdfff) continue;
    const kind = kindOf(text, at, code);
    const runEnds = kind !== runKind;
    const sliceLength = at - sliceStart;
    const cuts = runEnds
      ? (sliceLength >= SLICE_LENGTH && isBetweenWords(text, at)) || sliceLength >= LONGEST_SLICE
      : at - runStart >= LONGEST_RUN;
    if (cuts) {
      yield text.slice(sliceStart, at);
      sliceStart = at;
    }
    if (cuts || runEnds) runStart = at;
    runKind = kind;
  }
  yield text.slice(sliceStart);
}

const SPACE = 0;
const LETTER = 1;
const DIGIT = 2;
const MARK = 3;

/** Classified like the tokenizer's pattern does; digits are at most three to a piece. */
function kindOf(text: string, at: number, code: number): number {
  if (code < 0x80) {
    if (isAsciiLetter(code)) return LETTER;
    if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) return SPACE;
    return code >= 0x30 && code <= 0x39 ? DIGIT : MARK;
  }
  const character = String.fromCodePoint(text.codePointAt(at) ?? code);
  if (/[\p{L}\p{M}]/u.test(character)) return LETTER;
  if (/\p{N}/u.test(character)) return DIGIT;
  return /\s/u.test(character) ? SPACE : MARK;
}

function isAsciiLetter(code: number): boolean {
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

function isBetweenWords(text: string, at: number): boolean {
  return (
    text.charCodeAt(at) === 0x20 &&
    isAsciiLetter(text.charCodeAt(at - 1)) &&
    isAsciiLetter(text.charCodeAt(at + 1))
  );
}
