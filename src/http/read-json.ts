/**
 * Reads JSON from outside, with a limit on its nesting. JavaScriptCore parses any depth, but serializing 50,000 nested arrays
 * (50 KB) takes 4 seconds and then overflows the stack, so the depth is checked on the bytes, before anything is built.
 */

/** The deepest document that we accept is the input schema of a tool in an MCP message, with some 15 levels. */
export const MOST_LEVELS = 64;

export type ReadJson =
  | { readonly outcome: 'read'; readonly value: unknown }
  | { readonly outcome: 'too-deep' }
  | { readonly outcome: 'not-json' };

export const TOO_DEEP = `The JSON is nested deeper than ${MOST_LEVELS} levels.`;

/** Requires strict UTF-8, as RFC 8259 does. */
export function readJson(bytes: Uint8Array): ReadJson {
  if (isNestedTooDeep(bytes)) return { outcome: 'too-deep' };
  try {
    return { outcome: 'read', value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) };
  } catch {
    return { outcome: 'not-json' };
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Opening brackets and braces; the closing ones are two higher in ASCII. */
const [OPENING_BRACKET, OPENING_BRACE] = [0x5b, 0x7b];

/** Whether the bytes open more than `MOST_LEVELS` brackets at once. They do not have to be valid JSON. */
export function isNestedTooDeep(bytes: Uint8Array): boolean {
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfString(bytes, at);
      if (at < 0) return false;
    } else if (byte === OPENING_BRACKET || byte === OPENING_BRACE) {
      depth += 1;
      if (depth > MOST_LEVELS) return true;
    } else if (byte === OPENING_BRACKET + 2 || byte === OPENING_BRACE + 2) depth -= 1;
  }
  return false;
}

/** The same for a parsed value. Iterative: a recursive check would overflow on the values that it has to find. */
export function isValueTooDeep(value: unknown): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth <= MOST_LEVELS; depth += 1) {
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
    if (level.length === 0) return false;
  }
  return true;
}

/** The position of the closing quote; -1 if there is none. */
function endOfString(bytes: Uint8Array, start: number): number {
  let end = bytes.indexOf(QUOTE, start + 1);
  while (end !== -1) {
    let before = end - 1;
    while (bytes[before] === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 1) return end;
    end = bytes.indexOf(QUOTE, end + 1);
  }
  return -1;
}
