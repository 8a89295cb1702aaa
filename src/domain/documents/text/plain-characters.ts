import type { TextRange } from './tokens.ts';

/** A text in plain characters, with the way back to the offsets of the original. */
export interface PlainText {
  readonly text: string;
  /** Null where the text is what it was. */
  readonly offsets: Int32Array | null;
}

// Written as escapes: as characters they would be invisible here too.
const SPECIAL =
  /\r\n?|[\u0085\u2028\u2029\v\f]|[\ufb00-\ufb06]|[\u00ad\u200b\u2060\ufeff]|[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]|[\uf076\uf0a7\uf0b7\uf0d8\uf0fc]|\p{L}\p{M}+/gu;

/**
 * The characters that the document reader leaves of a file, for a text that was sent as such: line feeds, plain blanks and
 * bullets, no soft hyphens, letters in place of ligatures and of letters with a separate accent.
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

/** A place of the plain text in the original one. */
export function originalPlace({ offsets }: PlainText, { start, end }: TextRange): TextRange {
  if (offsets === null) return { start, end };
  const from = offsets[start] ?? 0;
  // Up to where the next character begins: a ligature is as long as one, a letter and its accent as two.
  let next = end;
  while (next < offsets.length - 1 && offsets[next] === offsets[end - 1]) next++;
  return { start: from, end: offsets[next] ?? from };
}
