import { isUtf8, mayHaveControlCharacter } from '../../http/bytes.ts';

/**
 * Reads the basics of JSON for both scanners: characters, white space, strings and names. scan-json.ts scans requests and
 * validates every byte; scan-answer.ts scans answers and validates only what it needs (decisions/0024).
 */
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const BACKSLASH = 0x5c;
export const OPENING_BRACE = 0x7b;
export const CLOSING_BRACE = 0x7d;

/** JSON's white space is exactly these four characters. */
export function spaceEnd(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return at;
  }
  return end;
}

/** A body as bytes, and as a view of the same memory to read it by words. */
export interface JsonText {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly ahead: Ahead;
  /** Names to find in objects at any depth. */
  readonly watch: NameWatch;
  /** How many names of members were read, at any depth. */
  readonly count: { names: number };
}

/** Results of the native search, so that no byte is searched twice. */
interface Ahead {
  /** The next one from the searched position on; the body's length if there is none. */
  quote: number;
  backslash: number;
  /** Set once a native check has failed. The loop then checks each byte and finds the position. */
  isOff: boolean;
}

interface NameWatch {
  readonly names: readonly string[];
  /** Whether one of them was the name of a member. */
  found: boolean;
}

export function jsonText(bytes: Uint8Array, watchedNames: readonly string[] = []): JsonText {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const ahead = { quote: 0, backslash: 0, isOff: false };
  return { bytes, view, ahead, watch: { names: watchedNames, found: false }, count: { names: 0 } };
}

/** After the first match, nothing more is compared. */
export function watchName({ bytes, watch }: JsonText, start: number, end: number): void {
  if (watch.found) return;
  const { names } = watch;
  for (let at = 0; at < names.length; at++) {
    if (!isFoldedName(bytes, start, end, names[at] as string)) continue;
    watch.found = true;
    return;
  }
}

/**
 * Scanning functions return the position after what they read, or a negative number that encodes the position of the failure.
 */
export function failedAt(place: number): number {
  return -1 - place;
}

export function placeOfFailure(failure: number): number {
  return -1 - failure;
}

/** After this many bytes of a string, the native search is used. */
const LONG_TEXT = 512;
/** Shorter pieces without an escape are not worth the search. */
const LONG_PIECE = 1_024;
/** If escapes are frequent, the search is not retried before this many bytes. */
const PAUSE = 8_192;

/**
 * Scans a string from its opening quote to the position after the closing one, and validates its escapes and UTF-8. Strings
 * are nearly all of a chat body, so they determine the speed. Measured on 1 MB of base64, an image in a message: byte by byte
 * 0.6 to 1.4 GB/s, by words 4.6 GB/s, `JSON.parse` of the decoded body 3.8 GB/s plus a copy of it; on text in other
 * alphabets, where every character is checked, 1 GB/s. Long pieces of a long string are validated natively, five times as
 * fast as by words and ten times on other alphabets.
 */
export function stringEnd(text: JsonText, openingQuote: number): number {
  const { bytes, view } = text;
  let at = openingQuote + 1;
  let nativeFrom = at + LONG_TEXT;
  for (;;) {
    at = plainEnd(view, at, nativeFrom);
    if (at >= bytes.length) return failedAt(bytes.length);
    if (at >= nativeFrom) {
      const proven = provenEnd(text, at);
      nativeFrom = proven > at ? proven : at + PAUSE;
      at = proven;
    }
    const byte = bytes[at] as number;
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at = escapeEnd(bytes, at);
    else if (byte >= 0x80) at = sequencesEnd(bytes, at);
    else if (byte >= 0x20) at++;
    else return failedAt(at);
    if (at < 0) return at;
  }
}

/**
 * Starts within a string, at the beginning of a character. Returns the position of the next quote or backslash if everything
 * before it is valid UTF-8 without control characters. Returns `start` if that is too near to be worth it, or if the check
 * fails.
 */
function provenEnd({ bytes, ahead }: JsonText, start: number): number {
  if (ahead.isOff) return start;
  if (ahead.quote < start) ahead.quote = placeOf(bytes, QUOTE, start);
  if (ahead.backslash < start) ahead.backslash = placeOf(bytes, BACKSLASH, start);
  const end = Math.min(ahead.quote, ahead.backslash);
  if (end - start < LONG_PIECE) return start;
  const piece = bytes.subarray(start, end);
  ahead.isOff = !isUtf8(piece) || mayHaveControlCharacter(piece);
  return ahead.isOff ? start : end;
}

function placeOf(bytes: Uint8Array, byte: number, start: number): number {
  const place = bytes.indexOf(byte, start);
  return place === -1 ? bytes.length : place;
}

/**
 * Reads one UTF-8 sequence of two to four bytes: no overlong form, no surrogate, nothing above U+10FFFF. Past the end of the
 * body a byte is undefined, which bitwise operators treat as 0: not a continuation.
 */
export function sequenceEnd(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] as number;
  const second = bytes[at + 1] as number;
  if (lead < 0xc2 || (second & 0xc0) !== 0x80) return failedAt(at);
  if (lead < 0xe0) return at + 2;
  if (((bytes[at + 2] as number) & 0xc0) !== 0x80) return failedAt(at);
  // The code point without its lowest six bits: below 0x20 is overlong; 0x360 to 0x37f are the surrogates.
  const upper = ((lead & 0x0f) << 6) | (second & 0x3f);
  if (lead < 0xf0) return upper < 0x20 || (upper >= 0x360 && upper < 0x380) ? failedAt(at) : at + 3;
  // For a lead byte from 0xf0 on, `upper` omits the lowest twelve bits: 0x10 is U+10000, 0x110 would be U+110000.
  if (((bytes[at + 3] as number) & 0xc0) !== 0x80) return failedAt(at);
  return upper < 0x10 || upper >= 0x110 ? failedAt(at) : at + 4;
}

/** The text of a scanned string; `start` and `end` include its quotes. */
export function stringIn(bytes: Uint8Array, start: number, end: number): string {
  return (
    shortAsciiIn(bytes, start + 1, end - 1) ??
    (JSON.parse(new TextDecoder().decode(bytes.subarray(start, end))) as string)
  );
}

/** Shared, because it keeps no state: it decodes only complete texts. */
const decoder = new TextDecoder();

/** The value at bytes `start` to `end`; undefined if it is not JSON. */
export function jsonAt(bytes: Uint8Array, start: number, end: number): unknown {
  try {
    return JSON.parse(decoder.decode(bytes.subarray(start, end)));
  } catch {
    return undefined;
  }
}

/** A scanned value as a number; null if it is not a number or is below `least`. Capped at 2^53 - 1. */
export function numberIn(bytes: Uint8Array, start: number, end: number, least: number): number | null {
  const first = bytes[start] as number;
  if (first !== 0x2d && (first < 0x30 || first > 0x39)) return null;
  const written = shortAsciiIn(bytes, start, end) ?? new TextDecoder().decode(bytes.subarray(start, end));
  const value = Number(written);
  return value >= least ? Math.min(value, Number.MAX_SAFE_INTEGER) : null;
}

/**
 * Returns the matching name, or null. Names are compared unescaped, as every parser does: "mod\u0065l" is model. The given
 * names must consist of characters without a short escape in JSON, such as letters.
 */
export function nameAmong<Name extends string>(
  bytes: Uint8Array,
  start: number,
  end: number,
  names: readonly Name[],
): Name | null {
  for (const name of names) if (isName(bytes, start, end, name)) return name;
  return null;
}

/** Compares bytes without creating a string: a body may consist of millions of escaped names. */
export function isName(bytes: Uint8Array, start: number, end: number, name: string): boolean {
  let at = start + 1;
  for (let index = 0; index < name.length; index++) {
    const code = name.charCodeAt(index);
    if (bytes[at] === code) at++;
    else if (bytes[at] === BACKSLASH && bytes[at + 1] === 0x75 && hexNumberAt(bytes, at + 2) === code)
      at += 6;
    else return false;
  }
  return at === end - 1;
}

/**
 * Like `isName`, but ignores case: some parsers (such as Go's) treat "Model" as model, and the long s (U+017F) and the Kelvin
 * sign (U+212A) as s and k. `name` must be in lower case.
 */
export function isFoldedName(bytes: Uint8Array, start: number, end: number, name: string): boolean {
  let at = start + 1;
  for (let index = 0; index < name.length; index++) {
    const letter = name.charCodeAt(index);
    const byte = bytes[at] as number;
    if (foldsTo(byte, letter)) at++;
    else if (byte === BACKSLASH && bytes[at + 1] === 0x75 && foldsTo(hexNumberAt(bytes, at + 2), letter))
      at += 6;
    else if (letter === 0x73 && byte === 0xc5 && bytes[at + 1] === 0xbf) at += 2;
    else if (letter === 0x6b && byte === 0xe2 && bytes[at + 1] === 0x84 && bytes[at + 2] === 0xaa) at += 3;
    else return false;
  }
  return at === end - 1;
}

function foldsTo(code: number, letter: number): boolean {
  if (code === letter) return true;
  if (letter < 0x61 || letter > 0x7a) return false;
  return (
    code === letter - 0x20 || (code === 0x17f && letter === 0x73) || (code === 0x212a && letter === 0x6b)
  );
}

/**
 * Returns the first byte from `start` on that is not plain ASCII: a quote, a backslash, a control character or one above
 * 0x7f. The last three bytes of the body are not checked, because they are less than a word. After four plain words it
 * continues in blocks: any earlier, they would cost more than they save if such bytes are frequent (escaped source code). It
 * stops soon after `limit`.
 */
function plainEnd(view: DataView, start: number, limit: number): number {
  const lastWord = Math.min(view.byteLength - 4, limit);
  let blocksFrom = start + 16;
  let at = start;
  while (at <= lastWord) {
    const found = unusualBytes(view.getInt32(at, true));
    // The lowest set bit belongs to the first such byte.
    if (found !== 0) return at + ((31 - Math.clz32(found & -found)) >> 3);
    at += 4;
    if (at < blocksFrom) continue;
    at = plainBlocksEnd(view, at, limit);
    blocksFrom = at + 16;
  }
  return at;
}

/** Returns the first block of 16 bytes from `start` on that is not all plain. */
function plainBlocksEnd(view: DataView, start: number, limit: number): number {
  const lastBlock = Math.min(view.byteLength - 16, limit);
  let at = start;
  while (at <= lastBlock) {
    const found =
      unusualBytes(view.getInt32(at, true)) |
      unusualBytes(view.getInt32(at + 4, true)) |
      unusualBytes(view.getInt32(at + 8, true)) |
      unusualBytes(view.getInt32(at + 12, true));
    if (found !== 0) break;
    at += 16;
  }
  return at;
}

/**
 * Sets the highest bit of each byte that is not plain. With 2 flipped, the quote (0x22) is 0x20 and the control characters
 * stay below it, so that subtracting 0x21 finds both. The other half turns a backslash into 0 and subtracts 1. Plain bytes
 * stay below 0x80 in both halves, a byte above 0x7f does not in at least one. A borrow affects only bytes after a match.
 */
function unusualBytes(word: number): number {
  return (((word ^ 0x02020202) - 0x21212121) | ((word ^ 0x5c5c5c5c) - 0x01010101)) & 0x80808080;
}

function escapeEnd(bytes: Uint8Array, backslash: number): number {
  const letter = bytes[backslash + 1];
  switch (letter) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f: // slash
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return backslash + 2;
    case 0x75: // u and four digits
      for (let at = backslash + 2; at < backslash + 6; at++) {
        if (!isHexDigit(bytes[at])) return failedAt(at);
      }
      return backslash + 6;
    default:
      return failedAt(backslash + 1);
  }
}

function isHexDigit(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const small = byte | 0x20;
  return (byte >= 0x30 && byte <= 0x39) || (small >= 0x61 && small <= 0x66);
}

/** Characters above 0x7f rarely occur alone, so this reads all that follow each other. */
function sequencesEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  while ((bytes[at] as number) >= 0x80) {
    at = sequenceEnd(bytes, at);
    if (at < 0) return at;
  }
  return at;
}

/** Reads nearly every model and number: 20 ns, compared to 120 ns for a decoder and a parser. Null for other text. */
function shortAsciiIn(bytes: Uint8Array, start: number, end: number): string | null {
  if (end - start > 40) return null;
  let text = '';
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte >= 0x80 || byte === BACKSLASH) return null;
    text += String.fromCharCode(byte);
  }
  return text;
}

/** Expects four hexadecimal digits that have been scanned. */
function hexNumberAt(bytes: Uint8Array, start: number): number {
  let number = 0;
  for (let at = start; at < start + 4; at++) {
    const byte = bytes[at] as number;
    number = number * 16 + (byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57);
  }
  return number;
}
