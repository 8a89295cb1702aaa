export interface RtfHandler {
  open(): void;
  close(): void;
  /** A word with its number, if it has one; whether `\*` is before it: groups with unknown words are to be ignored. */
  word(name: string, value: number | null, isIgnorable: boolean): void;
  /** A byte of text; whether it is written as itself. */
  byte(byte: number, isRaw: boolean): void;
  isFull(): boolean;
}

/** Word writes some thirty levels. */
const MOST_DEPTH = 1_000;
/** Longer words are of no program. */
const LONGEST_WORD = 64;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const BLANK = 0x20;
/** Symbols that are characters, or that mean the same as a word. */
const SYMBOLS: Readonly<Record<string, string>> = { '\n': 'par', '\r': 'par', '\t': 'tab' };
const AS_BYTES: Readonly<Record<string, number>> = {
  '\\': BACKSLASH,
  '{': OPEN,
  '}': CLOSE,
  '~': BLANK,
  _: MINUS,
};

/**
 * Reads the groups, words and bytes of RTF in one pass, without going back. `unclosed`: only the last brace is missing, as
 * some programs write it; `cut`: more is missing.
 */
export function readRtfTokens(
  bytes: Uint8Array,
  handler: RtfHandler,
): 'read' | 'unclosed' | 'cut' | 'too-deep' {
  let depth = 0;
  let isIgnorable = false;
  let at = 0;

  function readWord(): boolean {
    const begin = at;
    while (isLetter(bytes[at])) at += 1;
    const name = String.fromCharCode(...bytes.subarray(begin, Math.min(at, begin + LONGEST_WORD)));
    const numberAt = at;
    if (bytes[at] === MINUS && isDigit(bytes[at + 1])) at += 1;
    while (isDigit(bytes[at])) at += 1;
    const value = at === numberAt ? null : numberIn(bytes.subarray(numberAt, at));
    if (bytes[at] === BLANK) at += 1;
    if (name === 'bin') {
      at += Math.max(0, value ?? 0);
      return at <= bytes.length;
    }
    handler.word(name, value, isIgnorable);
    isIgnorable = false;
    return true;
  }

  function readSymbol(): void {
    const symbol = String.fromCharCode(bytes[at] ?? 0);
    at += 1;
    if (symbol === '*') {
      isIgnorable = true;
      return;
    }
    const byte = AS_BYTES[symbol];
    const word = SYMBOLS[symbol];
    if (byte !== undefined) handler.byte(byte, false);
    else if (word !== undefined) handler.word(word, null, false);
    else if (symbol === "'") {
      const value = hexAt(bytes, at);
      if (value === null) return;
      at += 2;
      handler.byte(value, false);
    }
    // A line end of two bytes is one.
    if (symbol === '\r' && bytes[at] === 0x0a) at += 1;
  }

  while (at < bytes.length && !handler.isFull()) {
    const byte = bytes[at] ?? 0;
    at += 1;
    if (byte === OPEN) {
      depth += 1;
      if (depth > MOST_DEPTH) return 'too-deep';
      isIgnorable = false;
      handler.open();
    } else if (byte === CLOSE) {
      depth -= 1;
      handler.close();
      if (depth <= 0) return 'read';
    } else if (byte !== BACKSLASH) {
      if (byte === 0x09) handler.word('tab', null, false);
      else if (byte !== 0x0a && byte !== 0x0d) handler.byte(byte, true);
    } else if (!isLetter(bytes[at])) readSymbol();
    else if (!readWord()) return 'cut';
  }
  if (handler.isFull()) return 'read';
  return depth <= 1 ? 'unclosed' : 'cut';
}

function isLetter(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a));
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** Twelve characters hold every number that RTF has; more of them are a larger one. */
function numberIn(bytes: Uint8Array): number {
  return Number(String.fromCharCode(...bytes.subarray(0, 12)));
}

function hexAt(bytes: Uint8Array, at: number): number | null {
  const digits = String.fromCharCode(bytes[at] ?? 0, bytes[at + 1] ?? 0);
  return /^[0-9a-f]{2}$/i.test(digits) ? Number.parseInt(digits, 16) : null;
}
