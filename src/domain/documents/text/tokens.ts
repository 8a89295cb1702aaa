import type { Segment } from './segments.ts';

export type TokenKind = 'word' | 'number' | 'mark' | 'email' | 'link' | 'phone' | 'date';

export interface Token {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly lower: string;
  readonly kind: TokenKind;
  /** The place of its segment in the text's list of segments. */
  readonly segment: number;
}

/** A place that is one token whatever it is made of. */
export interface WholePlace {
  readonly start: number;
  readonly end: number;
  readonly kind: TokenKind;
}

const PIECE = /[\p{L}\p{N}]+(?:[.'’_-](?=[\p{L}\p{N}])[\p{L}\p{M}\p{N}]+)*[+#]*|[^\s\p{L}\p{N}]/gu;

/** The tokens of a phrase of a word list: as a text would be cut, so that the two can be compared. */
export function wordsOf(phrase: string): string[] {
  return phrase.toLowerCase().match(PIECE) ?? [];
}

/** `wholes` is sorted and has no overlaps. */
export function tokensOf(segments: readonly Segment[], wholes: readonly WholePlace[]): Token[] {
  const tokens: Token[] = [];
  let next = 0;
  segments.forEach((segment, at) => {
    let from = segment.start;
    while (next < wholes.length && (wholes[next]?.end ?? 0) <= segment.start) next++;
    for (let index = next; index < wholes.length; index++) {
      const whole = wholes[index];
      if (whole === undefined || whole.start >= segment.end) break;
      const start = Math.max(whole.start, segment.start);
      const end = Math.min(whole.end, segment.end);
      addPieces(tokens, segment, at, from, start);
      const text = segment.text.slice(start - segment.start, end - segment.start);
      tokens.push({ start, end, text, lower: `<${whole.kind}>`, kind: whole.kind, segment: at });
      from = end;
    }
    addPieces(tokens, segment, at, from, segment.end);
  });
  return tokens;
}

function addPieces(tokens: Token[], segment: Segment, at: number, from: number, to: number): void {
  if (from >= to) return;
  const part = segment.text.slice(from - segment.start, to - segment.start);
  for (const match of part.matchAll(PIECE)) {
    const text = match[0];
    const start = from + match.index;
    const kind = /^\p{N}+$/u.test(text) ? 'number' : /^[\p{L}\p{N}]/u.test(text) ? 'word' : 'mark';
    tokens.push({ start, end: start + text.length, text, lower: text.toLowerCase(), kind, segment: at });
  }
}
