import type { TextRange } from './tokens.ts';

/** A text in plain characters, with a mapping to the offsets of the original. */
export interface PlainText {
  readonly text: string;
  /** Null if the text is unchanged. */
  readonly offsets: Int32Array | null;
}

// Written as escapes, because the characters would be invisible here.
const SPECIAL =
  /\r\n?|[\u0085\u2028\u2029\v\f]|[\ufb00-\ufb06]|[\u00ad\u200b\u2060\ufeff]|[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]|[\uf076\uf0a7\uf0b7\uf0d8\uf0fc]|\p{L}\p{M}+/gu;

/**
 * Converts a text that was sent as such to the characters that the document reader produces for a file: line feeds,
 * plain blanks and bullets, no soft hyphens, and letters in place of ligatures and of letters with a separate accent.
 */
export function plainCharacters(text: string): PlainText {
  const pieces: string[] = [];
  const changes: { readonly at: number; readonly length: number; readonly plain: string }[] = [];
  let from = 0;
  for (const match of text.matchAll(SPECIAL)) {
    const plain = plainOf(match[0]);
    if (plain === match[0]) continue;
    pieces.push(text.slice(from, match.index), plain);
    from = match.index + match[0].length;
    changes.push({ at: match.index, length: match[0].length, plain });
  }
  if (changes.length === 0) return { text, offsets: null };
  const plain = [...pieces, text.slice(from)].join('');
  const offsets = new Int32Array(plain.length + 1);
  let [to, original] = [0, 0];
  for (const change of [...changes, { at: text.length, length: 0, plain: '' }]) {
    while (original < change.at) offsets[to++] = original++;
    for (let index = 0; index < change.plain.length; index++) offsets[to++] = change.at;
    original = change.at + change.length;
  }
  offsets[to] = text.length;
  return { text: plain, offsets };
}

function plainOf(special: string): string {
  if (/^[\r\n\u0085\u2028\u2029\v\f]/.test(special)) return '\n';
  if (/^[\ufb00-\ufb06]/.test(special)) return special.normalize('NFKC');
  if (/^[\u00ad\u200b\u2060\ufeff]/.test(special)) return '';
  if (/^\p{Co}/u.test(special)) return '\u2022';
  return /^\p{L}/u.test(special) ? special.normalize('NFC') : ' ';
}

/** The position in the original of a range of the plain text. */
export function originalPlace({ offsets }: PlainText, { start, end }: TextRange): TextRange {
  if (offsets === null) return { start, end };
  const from = offsets[start] ?? 0;
  // Up to the start of the next character: a ligature is one character long, a letter with a separate accent two.
  let next = end;
  while (next < offsets.length - 1 && offsets[next] === offsets[end - 1]) next++;
  return { start: from, end: offsets[next] ?? from };
}
