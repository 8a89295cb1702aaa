import {
  CLOSING_BRACE,
  COLON,
  COMMA,
  failedAt,
  type JsonText,
  OPENING_BRACE,
  QUOTE,
  spaceEnd,
  stringEnd,
  watchName,
} from './json-text.ts';

/**
 * Reads JSON as bytes, in one pass and without building objects: a forwarded body must not be parsed and serialized, which
 * loses integers past 2^53, escapes, white space and repeated names.
 *
 * It accepts what `JSON.parse` accepts after a strict UTF-8 decoder, except for a byte order mark, which is left to the
 * caller. Nesting is limited only by the length of the body: an open bracket costs one bit, not a stack frame.
 */

/**
 * The names of members that a body may have. Names cost the most time: 20 MB of them take a second in which the process does
 * nothing else. A conversation of a million tokens has some 100,000.
 */
export const MOST_NAMES = 500_000;

const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
export const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;

/** Returns the end of the value: `valueEnd` if it does not read the value. The name includes its quotes. */
export type MemberReader<Into> = (
  text: JsonText,
  into: Into,
  nameStart: number,
  nameEnd: number,
  valueStart: number,
) => number;

/** Calls the reader for each member of an object. Returns the position after the closing brace. */
export function readMembers<Into>(
  text: JsonText,
  openingBrace: number,
  into: Into,
  readMember: MemberReader<Into>,
): number {
  const { bytes } = text;
  let at = spaceEnd(bytes, openingBrace + 1, bytes.length);
  if (bytes[at] === CLOSING_BRACE) return at + 1;
  for (;;) {
    const nameStart = at;
    const nameEnd = nameEndAt(text, nameStart);
    if (nameEnd < 0) return nameEnd;
    const valueStart = valueStartAfter(bytes, nameEnd);
    if (valueStart < 0) return valueStart;
    at = readMember(text, into, nameStart, nameEnd, valueStart);
    if (at < 0) return at;
    at = spaceEnd(bytes, at, bytes.length);
    if (bytes[at] === CLOSING_BRACE) return at + 1;
    if (bytes[at] !== COMMA) return failedAt(at);
    at = spaceEnd(bytes, at + 1, bytes.length);
  }
}

/** Like `MemberReader`, for an element: `start` is its first byte. */
type ElementReader<Into> = (text: JsonText, into: Into, start: number, index: number) => number;

/** Calls the reader for each element of an array. Returns the position after the closing bracket. */
export function readElements<Into>(
  text: JsonText,
  openingBracket: number,
  into: Into,
  readElement: ElementReader<Into>,
): number {
  const { bytes } = text;
  let at = spaceEnd(bytes, openingBracket + 1, bytes.length);
  if (bytes[at] === CLOSING_BRACKET) return at + 1;
  for (let index = 0; ; index++) {
    at = readElement(text, into, at, index);
    if (at < 0) return at;
    at = spaceEnd(bytes, at, bytes.length);
    if (bytes[at] === CLOSING_BRACKET) return at + 1;
    if (bytes[at] !== COMMA) return failedAt(at);
    at = spaceEnd(bytes, at + 1, bytes.length);
  }
}

/** Counts the strings, arrays and objects in an array; numbers are the tokens of one text. */
export function readTexts(text: JsonText, openingBracket: number): { end: number; texts: number } {
  const counted = { texts: 0 };
  const end = readElements(text, openingBracket, counted, countText);
  return { end, texts: counted.texts };
}

function countText(text: JsonText, counted: { texts: number }, start: number): number {
  const first = text.bytes[start];
  if (first === QUOTE || first === OPENING_BRACKET || first === OPENING_BRACE) counted.texts++;
  return valueEnd(text, start);
}

/** Returns the position after any value. `start` is its first byte, not white space. */
export function valueEnd(text: JsonText, start: number): number {
  const { bytes } = text;
  const first = bytes[start];
  return first === OPENING_BRACE || first === OPENING_BRACKET
    ? bracketsEnd(text, start)
    : scalarEnd(text, start);
}

/**
 * Reads an object or an array. The types of the open brackets are the bits of `kinds`, the innermost the lowest, 1 for an
 * object. Every 32 levels, that number is pushed to `outerKinds` and a new one begins.
 */
function bracketsEnd(text: JsonText, start: number): number {
  const { bytes } = text;
  const outerKinds: number[] = [];
  let kinds = 0;
  let depth = 0;
  let at = start;
  for (;;) {
    // A value begins at `at`.
    const first = bytes[at];
    if (first === OPENING_BRACE || first === OPENING_BRACKET) {
      const isObject = first === OPENING_BRACE;
      at = spaceEnd(bytes, at + 1, bytes.length);
      if (bytes[at] === (isObject ? CLOSING_BRACE : CLOSING_BRACKET)) {
        at++;
      } else {
        if (depth > 0 && (depth & 31) === 0) outerKinds.push(kinds);
        kinds = (kinds << 1) | (isObject ? 1 : 0);
        depth++;
        if (isObject) at = memberValueStart(text, at);
        if (at < 0) return at;
        continue;
      }
    } else {
      at = scalarEnd(text, at);
      if (at < 0) return at;
    }
    // A value has ended before `at`: closes the brackets that end with it, until another value follows.
    for (;;) {
      if (depth === 0) return at;
      at = spaceEnd(bytes, at, bytes.length);
      const isObject = (kinds & 1) === 1;
      if (bytes[at] === COMMA) {
        at = spaceEnd(bytes, at + 1, bytes.length);
        if (isObject) at = memberValueStart(text, at);
        if (at < 0) return at;
        break;
      }
      if (bytes[at] !== (isObject ? CLOSING_BRACE : CLOSING_BRACKET)) return failedAt(at);
      at++;
      depth--;
      kinds = depth > 0 && (depth & 31) === 0 ? (outerKinds.pop() ?? 0) : kinds >>> 1;
    }
  }
}

/** Returns the start of the value of a member. */
function memberValueStart(text: JsonText, nameStart: number): number {
  const nameEnd = nameEndAt(text, nameStart);
  if (nameEnd < 0) return nameEnd;
  watchName(text, nameStart, nameEnd);
  return valueStartAfter(text.bytes, nameEnd);
}

function nameEndAt(text: JsonText, at: number): number {
  text.count.names += 1;
  if (text.count.names > MOST_NAMES) return failedAt(at);
  return text.bytes[at] === QUOTE ? stringEnd(text, at) : failedAt(at);
}

function valueStartAfter(bytes: Uint8Array, nameEnd: number): number {
  const colon = spaceEnd(bytes, nameEnd, bytes.length);
  return bytes[colon] === COLON ? spaceEnd(bytes, colon + 1, bytes.length) : failedAt(colon);
}

function scalarEnd(text: JsonText, at: number): number {
  const { bytes } = text;
  switch (bytes[at]) {
    case QUOTE:
      return stringEnd(text, at);
    case 0x74:
      return wordEnd(bytes, at, 'true');
    case 0x66:
      return wordEnd(bytes, at, 'false');
    case 0x6e:
      return wordEnd(bytes, at, 'null');
    default:
      return numberEnd(bytes, at);
  }
}

function wordEnd(bytes: Uint8Array, start: number, word: string): number {
  for (let index = 1; index < word.length; index++) {
    if (bytes[start + index] !== word.charCodeAt(index)) return failedAt(start + index);
  }
  return start + word.length;
}

/** -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? */
function numberEnd(bytes: Uint8Array, start: number): number {
  let at = bytes[start] === MINUS ? start + 1 : start;
  if (bytes[at] === ZERO) {
    at++;
  } else {
    at = digitsEnd(bytes, at);
    if (at < 0) return at;
  }
  if (bytes[at] === POINT) {
    at = digitsEnd(bytes, at + 1);
    if (at < 0) return at;
  }
  const exponent = bytes[at];
  if (exponent !== 0x65 && exponent !== 0x45) return at;
  const sign = bytes[at + 1];
  return digitsEnd(bytes, sign === MINUS || sign === 0x2b ? at + 2 : at + 1);
}

/** Requires at least one digit. */
function digitsEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  for (; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte < ZERO || byte > 0x39) break;
  }
  return at === start ? failedAt(at) : at;
}
