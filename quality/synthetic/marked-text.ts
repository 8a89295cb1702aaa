import type { CV_KINDS, POSTING_KINDS } from '../../src/domain/documents/tagger/decode.ts';

/** The kinds that the taggers know. */
export type Label = (typeof CV_KINDS)[number] | (typeof POSTING_KINDS)[number];

/** A run of text that is of one kind, or of none. */
export interface Piece {
  readonly text: string;
  readonly label: Label | null;
}

/** A run of pieces; a line feed inside is a line feed of the document. */
export type Marked = readonly Piece[];

export interface MarkedSpan {
  readonly start: number;
  readonly end: number;
  readonly label: Label;
}

export const plain = (text: string): Marked => (text === '' ? [] : [{ text, label: null }]);
export const marked = (label: Label, text: string): Marked => (text === '' ? [] : [{ text, label }]);

/** What may be in a gap of a pattern: a text, marked text, or a function that makes one anew for each gap. */
type Filling = string | Marked | (() => string | Marked);
export type Fillings = Readonly<Record<string, Filling>>;

const GAP = /\{(\w+)\}/g;

/** Fills `{gaps}`. A gap without a filling is a mistake in the pattern. */
export function fill(pattern: string, fillings: Fillings): Marked {
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of pattern.matchAll(GAP)) {
    pieces.push(...plain(pattern.slice(from, match.index)));
    from = match.index + match[0].length;
    const filling = fillings[match[1] ?? ''];
    if (filling === undefined) throw new Error(`No filling for {${match[1]}} in: ${pattern}`);
    const value = typeof filling === 'function' ? filling() : filling;
    pieces.push(...(typeof value === 'string' ? plain(value) : value));
  }
  pieces.push(...plain(pattern.slice(from)));
  return pieces;
}

export const textOf = (pieces: Marked): string => pieces.map(({ text }) => text).join('');

export function mapText(pieces: Marked, change: (text: string, label: Label | null) => string): Marked {
  return pieces.map(({ text, label }) => ({ text: change(text, label), label }));
}

export const upper = (pieces: Marked): Marked => mapText(pieces, (text) => text.toUpperCase());

export function join(parts: readonly Marked[], between: string): Marked {
  return parts.flatMap((part, at) => (at === 0 ? part : [...plain(between), ...part]));
}

/** The lines of a marked text. A piece over two lines becomes two pieces of its kind. */
export function linesOf(pieces: Marked): Marked[] {
  const lines: Piece[][] = [[]];
  for (const { text, label } of pieces) {
    text.split('\n').forEach((part, at) => {
      if (at > 0) lines.push([]);
      if (part !== '') lines.at(-1)?.push({ text: part, label });
    });
  }
  return lines;
}

const cutOff = (pieces: Marked, from: number, to: number): Marked => {
  const cut: Piece[] = [];
  let at = 0;
  for (const { text, label } of pieces) {
    const part = text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (part !== '') cut.push({ text: part, label });
    at += text.length;
  }
  return cut;
};

/** A line in lines of at most `width` characters, broken at blanks. */
export function wrapped(line: Marked, width: number, indent = ''): Marked[] {
  const text = textOf(line);
  const lines: Marked[] = [];
  let from = 0;
  while (text.length - from > width) {
    let to = text.lastIndexOf(' ', from + width);
    if (to <= from) to = text.indexOf(' ', from + width);
    if (to === -1) break;
    lines.push(cutOff(line, from, to));
    from = to + 1;
  }
  lines.push(cutOff(line, from, text.length));
  return lines.map((part, at) => (at === 0 || indent === '' ? part : [...plain(indent), ...part]));
}

/** The text with the places of its marked pieces, without the blanks and commas at their ends. */
export function rendered(pieces: Marked): { text: string; spans: MarkedSpan[] } {
  const spans: MarkedSpan[] = [];
  let text = '';
  for (const piece of pieces) {
    const { label } = piece;
    if (label !== null) {
      const lead = /^[\s,;]*/.exec(piece.text)?.[0].length ?? 0;
      const body = piece.text.slice(lead).replace(/[\s,;]+$/, '');
      if (/[\p{L}\p{N}]/u.test(body))
        spans.push({ start: text.length + lead, end: text.length + lead + body.length, label });
    }
    text += piece.text;
  }
  return { text, spans };
}
