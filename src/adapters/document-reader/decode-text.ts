/**
 * Bytes into text where nobody says in which encoding they are: by the mark at their beginning, by the zeros that
 * UTF-16 leaves between Latin letters, by being whole UTF-8, and else as windows-1252, of which Latin-1 is a part and
 * in which every byte is some character. Null for what is no text: too many control characters.
 */
export interface DecodedText {
  readonly text: string;
  readonly encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';
}

const LOOKED_AT = 64 * 1024;
/** A text file has none; a few come from old word processors. */
const MOST_CONTROLS = 0.01;

export function decodeText(bytes: Uint8Array): DecodedText | null {
  const encoding = encodingOf(bytes);
  const text = new TextDecoder(encoding).decode(bytes);
  return isText(text) ? { text, encoding } : null;
}

function encodingOf(bytes: Uint8Array): DecodedText['encoding'] {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  const zeros = countZeros(bytes.subarray(0, LOOKED_AT));
  if (zeros.odd > zeros.pairs * 0.4 && zeros.even < zeros.pairs * 0.1) return 'utf-16le';
  if (zeros.even > zeros.pairs * 0.4 && zeros.odd < zeros.pairs * 0.1) return 'utf-16be';
  return isUtf8(bytes) ? 'utf-8' : 'windows-1252';
}

function countZeros(bytes: Uint8Array): { even: number; odd: number; pairs: number } {
  const counts = { even: 0, odd: 0, pairs: bytes.length >> 1 };
  for (let at = 0; at + 1 < bytes.length; at += 2) {
    if (bytes[at] === 0) counts.even += 1;
    if (bytes[at + 1] === 0) counts.odd += 1;
  }
  return counts;
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function isText(text: string): boolean {
  const looked = text.slice(0, LOOKED_AT);
  let controls = 0;
  for (let at = 0; at < looked.length; at += 1) {
    const code = looked.charCodeAt(at);
    const isSpace = code >= 9 && code <= 13;
    if ((code < 32 && !isSpace) || (code >= 0x7f && code < 0xa0) || code === 0xfffd) controls += 1;
  }
  return controls <= looked.length * MOST_CONTROLS;
}
