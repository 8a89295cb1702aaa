import { type JsonText, numberIn, OPENING_BRACE, QUOTE, stringIn, watchName } from './json-text.ts';
import type { MemberReader } from './scan-json.ts';
import { readMembers, valueEnd } from './scan-json.ts';

/** The end user and tags that a body names in `user`, `safety_identifier` and `metadata`. */
export interface BodyAttribution {
  user: string | null;
  safetyIdentifier: string | null;
  /** The members of `metadata`, as `name:value`. */
  tags: string[];
}

export interface Attributed {
  /** Null if the body has no attribution. */
  attribution: BodyAttribution | null;
}

/** In bytes. Longer names and values are ignored. */
const LONGEST_READ = 4_096;
/** The limit of tags read from a body, so that memory does not grow with it. Fewer are recorded. */
const MOST_READ = 16;

/**
 * Reads a top-level member. Returns the end of its value, or 0 if it is not one of these. Names are compared exactly: other
 * spellings are not attribution. If a member is repeated, the last one counts.
 */
export function readAttribution(
  text: JsonText,
  into: Attributed,
  nameStart: number,
  nameEnd: number,
  start: number,
): number {
  switch (nameEnd - nameStart - 2) {
    case 4:
      return isWritten(text.bytes, nameStart, 'user') ? readUser(text, into, 'user', start) : 0;
    case 8:
      return isWritten(text.bytes, nameStart, 'metadata') ? readMetadata(text, into, start) : 0;
    case 17:
      return isWritten(text.bytes, nameStart, 'safety_identifier')
        ? readUser(text, into, 'safetyIdentifier', start)
        : 0;
    default:
      return 0;
  }
}

function isWritten(bytes: Uint8Array, nameStart: number, name: string): boolean {
  for (let at = 0; at < name.length; at++) {
    if (bytes[nameStart + 1 + at] !== name.charCodeAt(at)) return false;
  }
  return true;
}

function attributionOf(into: Attributed): BodyAttribution {
  into.attribution ??= { user: null, safetyIdentifier: null, tags: [] };
  return into.attribution;
}

function readUser(
  text: JsonText,
  into: Attributed,
  member: 'user' | 'safetyIdentifier',
  start: number,
): number {
  const end = valueEnd(text, start);
  if (end >= 0) attributionOf(into)[member] = textAt(text.bytes, start, end);
  return end;
}

function readMetadata(text: JsonText, into: Attributed, start: number): number {
  if (text.bytes[start] !== OPENING_BRACE) return valueEnd(text, start);
  const attribution = attributionOf(into);
  attribution.tags = [];
  return readMembers(text, start, attribution, readMetadataMember);
}

/** Anthropic's `metadata` has the end user in `user_id`. */
const readMetadataMember: MemberReader<BodyAttribution> = (text, attribution, nameStart, nameEnd, start) => {
  const { bytes } = text;
  watchName(text, nameStart, nameEnd);
  const end = valueEnd(text, start);
  if (end < 0 || attribution.tags.length === MOST_READ) return end;
  const value = textAt(bytes, start, end);
  if (value === null || nameEnd - nameStart > LONGEST_READ) return end;
  const name = stringIn(bytes, nameStart, nameEnd);
  if (name === 'user_id') attribution.user ??= value;
  else attribution.tags.push(`${name}:${value}`);
  return end;
};

/** The text of a string or number; null for other types and for long values. */
function textAt(bytes: Uint8Array, start: number, end: number): string | null {
  if (bytes[start] === QUOTE) return end - start > LONGEST_READ ? null : stringIn(bytes, start, end);
  const number = end - start > LONGEST_READ ? null : numberIn(bytes, start, end, Number.NEGATIVE_INFINITY);
  return number === null ? null : String(number);
}
