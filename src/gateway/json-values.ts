/** Values and names that have been scanned already and stand whole between two places, quotes included. */

const BACKSLASH = 0x5c;

export function stringIn(bytes: Uint8Array, start: number, end: number): string {
  return (
    shortAsciiIn(bytes, start + 1, end - 1) ??
    (JSON.parse(new TextDecoder().decode(bytes.subarray(start, end))) as string)
  );
}

/** Null for a value that is not a number or is below `least`. Bounded, so that it is a whole number once rounded. */
export function numberIn(bytes: Uint8Array, start: number, end: number, least: number): number | null {
  const first = bytes[start] as number;
  if (first !== 0x2d && (first < 0x30 || first > 0x39)) return null;
  const written = shortAsciiIn(bytes, start, end) ?? new TextDecoder().decode(bytes.subarray(start, end));
  const value = Number(written);
  return value >= least ? Math.min(value, Number.MAX_SAFE_INTEGER) : null;
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
  for (const name of names) if (spells(bytes, start, end, name)) return name;
  return null;
}

/** By the bytes, without making a string: a body may be nothing but names with escapes, millions of them. */
function spells(bytes: Uint8Array, start: number, end: number, name: string): boolean {
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

/** Four digits that have been scanned. */
function hexNumberAt(bytes: Uint8Array, start: number): number {
  let number = 0;
  for (let at = start; at < start + 4; at++) {
    const byte = bytes[at] as number;
    number = number * 16 + (byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57);
  }
  return number;
}
