import { isUtf8, mayHaveControlCharacter } from '../../http/bytes.ts';

/**
 * The bytes of JSON that both scanners read with: characters, white space, strings and names. scan-json.ts goes through
 * requests and proves every byte; scan-answer.ts goes through answers and proves only what it needs (decisions/0024).
 */
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const BACKSLASH = 0x5c;
export const OPENING_BRACE = 0x7b;
export const CLOSING_BRACE = 0x7d;

/** JSON's white space is these four, and no other that Unicode knows. */
export function spaceEnd(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return at;
  }
  return end;
}

/** A body, and the same memory once more to be read by words. */
export interface JsonText {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly ahead: Ahead;
  /** Names to look for in objects at any depth. */
  readonly watch: NameWatch;
}

/** What the native search has found so far, so that no byte is searched twice. */
interface Ahead {
  /** The next one that is not before the place from which it was searched; the body's length where there is none. */
  quote: number;
  backslash: number;
  /** Something that no string may hold was found: the place is for the loop to find. */
  isOff: boolean;
}

interface NameWatch {
  readonly names: readonly string[];
  /** One of them was a member's name. */
  found: boolean;
}

export function jsonText(bytes: Uint8Array, watchedNames: readonly string[] = []): JsonText {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const ahead = { quote: 0, backslash: 0, isOff: false };
  return { bytes, view, ahead, watch: { names: watchedNames, found: false } };
}

/** After the first find nothing more is compared. */
export function watchName({ bytes, watch }: JsonText, start: number, end: number): void {
  if (watch.found) return;
  const { names } = watch;
  for (let at = 0; at < names.length; at++) {
    if (!isFoldedName(bytes, start, end, names[at] as string)) continue;
    watch.found = true;
    return;
  }
}

/** Every scanning function gives the place after what it read, or this: a negative number that holds the place. */
export function failedAt(place: number): number {
  return -1 - place;
}

export function placeOfFailure(failure: number): number {
  return -1 - failure;
}

/** A string of which so much was read is long enough for the native search. */
const LONG_TEXT = 512;
/** A piece of it without an escape is worth the search from this length on. */
const LONG_PIECE = 1_024;
/** Where escapes are many, the search is tried again only after so much. */
const PAUSE = 8_192;

/**
 * From the opening quote to behind the closing one; its escapes and its UTF-8 are proven on the way. Strings are nearly
 * all of a chat body, so they decide its speed. Measured on 1 MB of base64, an image in a message: byte by byte 0.6 to
 * 1.4 GB/s, by words 4.6, `JSON.parse` of the decoded body 3.8 and a copy of it; on text in other alphabets, where every
 * character is checked, 1 GB/s. The long pieces of a long string are proven natively, five times as fast as by words and
 * ten times on other alphabets.
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
 * From within a string, at the beginning of a character, up to its next quote or backslash: all of it is proven to be
 * UTF-8 without control characters. `start` where that is too near to be worth it, or where it cannot be proven.
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
 * One UTF-8 sequence of two to four bytes: no overlong form, no surrogate, nothing above U+10FFFF. Past the end of the
 * body a byte is undefined, which bitwise operators take for 0: not a continuation.
 */
export function sequenceEnd(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] as number;
  const second = bytes[at + 1] as number;
  if (lead < 0xc2 || (second & 0xc0) !== 0x80) return failedAt(at);
  if (lead < 0xe0) return at + 2;
  if (((bytes[at + 2] as number) & 0xc0) !== 0x80) return failedAt(at);
  // The code point's bits from the seventh on: below 0x20 is overlong; 0x360 to 0x37f are the surrogates.
  const upper = ((lead & 0x0f) << 6) | (second & 0x3f);
  if (lead < 0xf0) return upper < 0x20 || (upper >= 0x360 && upper < 0x380) ? failedAt(at) : at + 3;
  // Of a lead from 0xf0 on `upper` begins at the thirteenth bit: 0x10 is U+10000, 0x110 would be U+110000.
  if (((bytes[at + 3] as number) & 0xc0) !== 0x80) return failedAt(at);
  return upper < 0x10 || upper >= 0x110 ? failedAt(at) : at + 4;
}

/** The text of a string that has been scanned; `start` and `end` include its quotes. */
export function stringIn(bytes: Uint8Array, start: number, end: number): string {
  return (
    shortAsciiIn(bytes, start + 1, end - 1) ??
    (JSON.parse(new TextDecoder().decode(bytes.subarray(start, end))) as string)
  );
}

/** A scanned value as a number; null where it is none or is below `least`. Bounded, so that it is a whole number once rounded. */
export function numberIn(bytes: Uint8Array, start: number, end: number, least: number): number | null {
  const first = bytes[start] as number;
  if (first !== 0x2d && (first < 0x30 || first > 0x39)) return null;
  const written = shortAsciiIn(bytes, start, end) ?? new TextDecoder().decode(bytes.subarray(start, end));
  const value = Number(written);
  return value >= least ? Math.min(value, Number.MAX_SAFE_INTEGER) : null;
}

/**
 * Which of these names it is. Names are compared unescaped, as every parser does: "mod\u0065l" is model. They must be
 * of characters that JSON has no short escape for, letters for example.
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

/** By the bytes, without making a string: a body may be nothing but names with escapes, millions of them. */
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
 * As `isName`, whatever the case of the letters: some parsers (Go's, for one) take "Model" for model, and the long s
 * (U+017F) and the Kelvin sign (U+212A) for s and k. `name` is in lower case.
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
 * The first byte from `start` on that is not plain ASCII: a quote, a backslash, a control character or one above 0x7f.
 * Of the last three bytes of the body none is checked: they are fewer than a word. After four plain words it goes on
 * by blocks: earlier than that they would cost more than they save where such bytes are many (escaped source code). It
 * stops soon after `limit`.
 */
function plainEnd(view: DataView, start: number, limit: number): number {
  const lastWord = Math.min(view.byteLength - 4, limit);
  let blocksFrom = start + 16;
  let at = start;
  while (at <= lastWord) {
    const found = unusualBytes(view.getInt32(at, true));
    // The lowest bit that is set belongs to the first such byte.
    if (found !== 0) return at + ((31 - Math.clz32(found & -found)) >> 3);
    at += 4;
    if (at < blocksFrom) continue;
    at = plainBlocksEnd(view, at, limit);
    blocksFrom = at + 16;
  }
  return at;
}

/** The first of the blocks of 16 bytes from `start` on that is not all plain. */
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
 * The highest bit of each byte that is not plain. With 2 flipped, the quote (0x22) is 0x20 and the control characters
 * stay below it, so that taking away 0x21 finds both; the other half makes a backslash 0 and takes away 1. Plain bytes
 * stay below 0x80 in both halves, a byte above 0x7f does not in one. A borrow spoils only what follows a find.
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

/** Characters above 0x7f seldom come alone: as many as stand here in a row. */
function sequencesEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  while ((bytes[at] as number) >= 0x80) {
    at = sequenceEnd(bytes, at);
    if (at < 0) return at;
  }
  return at;
}

/** Nearly every model and number is one of these: 20 ns, where a decoder and a parser take 120. Null for others. */
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

/** Four digits that have been scanned. */
function hexNumberAt(bytes: Uint8Array, start: number): number {
  let number = 0;
  for (let at = start; at < start + 4; at++) {
    const byte = bytes[at] as number;
    number = number * 16 + (byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57);
  }
  return number;
}
