/**
 * Writing JSON that is nested 50,000 levels deep takes seconds and overflows the stack; no request or answer needs that
 * many.
 */
export const MOST_LEVELS = 500;

/**
 * Whether a text is nested deeper than this, checked before anything is built from it. Strings are skipped by searching
 * for their end: 0.06 ms for a request body of Claude Code (75 KB), and the same for each 4 MB of an image. Texts that
 * are not JSON get a result as well.
 */
export function isTooDeep(text: string): boolean {
  if (text.length <= MOST_LEVELS) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = closingQuote(text, at);
      if (at < 0) return false;
    } else if (code === OPENING_BRACE || code === OPENING_BRACKET) {
      depth += 1;
      if (depth > MOST_LEVELS) return true;
    } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) {
      depth -= 1;
    }
  }
  return false;
}

/** -1 if there is none. */
function closingQuote(text: string, openingQuote: number): number {
  let quote = text.indexOf('"', openingQuote + 1);
  while (quote >= 0) {
    let before = quote - 1;
    while (text.charCodeAt(before) === BACKSLASH) before -= 1;
    // Backslashes in pairs escape each other.
    if ((quote - before) % 2 === 1) return quote;
    quote = text.indexOf('"', quote + 1);
  }
  return -1;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
