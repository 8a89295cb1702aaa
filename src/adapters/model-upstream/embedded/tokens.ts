/** OpenAI's o200k_base. What it says of a text is what usage says of it. */
export interface Tokens {
  /** Lets others run between slices. Rejects with the signal's reason. */
  count(text: string, signal: AbortSignal): Promise<number>;
  /** For short texts: at once. */
  countNow(text: string): number;
  /** The text's beginning in at most `limit` tokens. */
  fit(text: string, limit: number): FittedText;
  /** Null where a number is no token. A character broken off at an end becomes U+FFFD. */
  decode(tokens: readonly number[]): string | null;
}

export interface FittedText {
  readonly text: string;
  readonly tokenCount: number;
  /** The text in pieces of a few tokens, never within a character. */
  readonly pieces: readonly string[];
  readonly isCut: boolean;
}

/** Tokens to a piece: a stream of single tokens is four fifths envelope. */
const PIECE_TOKENS = 4;
/** Short slices are cut-up runs, which take eight times as long to a character. */
const SHORT_SLICE_COST = 1_024;
/** Of the tokenizer's own cache; its default of 100,000 may grow to 50 MB. */
const MERGE_CACHE = 10_000;
/** Special tokens in a text are text: `<|endoftext|>` in a prompt ends nothing. */
const AS_TEXT = { disallowedSpecial: new Set<string>() };

/** A byte order mark is a character like others. */
const newDecoder = () => new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Loaded at first use: 80 MB of memory and half a second, only where an embedded model is called.
 *
 * Decoding is done here from the tokenizer's table: its own decoder is one for all calls and keeps half a
 * character of one call for the next.
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

  /** Without the character that the last token begins and does not end. */
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
   * A beginning of a text may have fewer tokens than it had in the whole (`8  25` has four, `8  ` two), or end
   * within a character. Usage is what its own text has; should that ever be more than asked for, it gets shorter.
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
 * Cuts a text for the tokenizer, in one pass and no further than it is asked to.
 *
 * The tokenizer merges byte pairs in a time that grows with the square of a run: 100,000 spaces took it 38 s.
 * So a run of letters, of marks or of white space is cut after 128 characters; one so long is counted as at most
 * one token more for each cut. And a long text is cut into slices, so that other work can run
 * in between: there only between a letter and a space that a letter follows, where the tokenizer's own
 * pattern always ends a piece. The count stays exact.
 */
const LONGEST_RUN = 128;
/** About 4,000 tokens of English, 1 to 2 ms. */
const SLICE_LENGTH = 16_384;
/** A text without such a place (Chinese, say) is cut where any run ends, at this length. */
const LONGEST_SLICE = 2 * SLICE_LENGTH;

export function* tokenSlices(text: string): Generator<string> {
  let sliceStart = 0;
  let runStart = 0;
  let runKind = -1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    // The second half of a pair belongs to its first: no cut between them.
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

/** As the tokenizer's pattern tells them apart; digits are never more than three to a piece. */
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
