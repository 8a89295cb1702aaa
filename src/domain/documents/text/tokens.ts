/**
 * A piece of a text as its layout shows it: a line, cell, column or bullet. In some texts line breaks are collapsed to
 * double blanks, in others columns are separated by blanks, so two blanks separate like a line feed.
 */
export interface Segment {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly isBulleted: boolean;
  /** Whether a line feed, and not only a wide gap, precedes it. */
  readonly beginsLine: boolean;
  /** Whether an empty line precedes it. */
  readonly beginsBlock: boolean;
}

const SEPARATOR =
  /[ \u00a0]*(?:\r?\n[ \t\u00a0]*)+|\t+|[ \u00a0]{2,}|[ \u00a0]*[|•▪●◦■‣➢➤✓✔❖\uf0b7\uf0a7\u2023\u2043][ \u00a0]*/g;
const LEADING_MARK = /^(?:[-–—*·o»>+]\s+|\d{1,2}[.)]\s+)/;
const BULLETS = /[•▪●◦■‣➢➤✓✔❖\uf0b7\uf0a7\u2023\u2043]/;

/** More than any document contains; the rest would be noise. */
const MOST_SEGMENTS = 40_000;

export function segmentsOf(text: string): Segment[] {
  const segments: Segment[] = [];
  let from = 0;
  let gap = '\n\n';
  for (const match of text.matchAll(SEPARATOR)) {
    if (match.index > from) {
      addSegment(segments, text, from, match.index, gap);
      gap = match[0];
    } else {
      gap += match[0];
    }
    from = match.index + match[0].length;
    if (segments.length >= MOST_SEGMENTS) return segments;
  }
  if (from < text.length) addSegment(segments, text, from, text.length, gap);
  return segments;
}

function addSegment(segments: Segment[], text: string, from: number, to: number, gap: string): void {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  if (start === end) return;
  const mark = LEADING_MARK.exec(text.slice(start, Math.min(end, start + 6)))?.[0];
  const isBulleted = mark !== undefined || BULLETS.test(gap);
  if (mark !== undefined && start + mark.length < end) start += mark.length;
  segments.push({
    start,
    end,
    text: text.slice(start, end),
    isBulleted,
    beginsLine: gap.includes('\n'),
    beginsBlock: /\n[^\n]*\n/.test(gap),
  });
}

function isBlank(code: number): boolean {
  return code === 32 || code === 160 || code === 9 || code === 10 || code === 13;
}

type TokenKind = 'word' | 'number' | 'mark' | 'email' | 'link' | 'phone' | 'date';

export interface Token {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly lower: string;
  readonly kind: TokenKind;
  /** The index of its segment. */
  readonly segment: number;
}

/** A range that is one token, whatever it consists of. */
export interface WholePlace {
  readonly start: number;
  readonly end: number;
  readonly kind: TokenKind;
}

const PIECE = /[\p{L}\p{N}]+(?:[.'’_-](?=[\p{L}\p{N}])[\p{L}\p{M}\p{N}]+)*[+#]*|[^\s\p{L}\p{N}]/gu;

/** The tokens of a phrase in a word list, split like a text so that the two can be compared. */
function wordsOf(phrase: string): string[] {
  return lowerOf(phrase).match(PIECE) ?? [];
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
    tokens.push({ start, end: start + text.length, text, lower: lowerOf(text), kind, segment: at });
  }
}

/** Lower case; the Turkish dotted capital becomes the plain "i" of the word lists. */
export function lowerOf(text: string): string {
  const lower = text.toLowerCase();
  return lower.includes('\u0307') ? lower.replaceAll('i\u0307', 'i') : lower;
}

interface Phrase<Value> {
  readonly words: readonly string[];
  readonly value: Value;
}

/** A phrase of a list found in a text: tokens `from` to `to`, exclusive. */
export interface SeenPhrase<Value> {
  readonly from: number;
  readonly to: number;
  readonly value: Value;
}

export interface PhraseBook<Value> {
  /** The longest phrases, from left to right, without overlaps. `accepts` may reject one by its form or position. */
  find(tokens: readonly Token[], accepts?: (seen: SeenPhrase<Value>) => boolean): SeenPhrase<Value>[];
  /** The value of exactly this phrase. */
  of(phrase: string): Value | undefined;
}

export function createPhraseBook<Value>(entries: Iterable<readonly [string, Value]>): PhraseBook<Value> {
  const byFirst = new Map<string, Phrase<Value>[]>();
  const whole = new Map<string, Value>();
  for (const [phrase, value] of entries) {
    const words = wordsOf(phrase);
    const first = words[0];
    const key = words.join(' ');
    if (first === undefined || whole.has(key)) continue;
    whole.set(key, value);
    const list = byFirst.get(first);
    if (list === undefined) byFirst.set(first, [{ words, value }]);
    else list.push({ words, value });
  }
  for (const list of byFirst.values()) list.sort((one, other) => other.words.length - one.words.length);

  return {
    of: (phrase) => whole.get(wordsOf(phrase).join(' ')),
    find: (tokens, accepts = () => true) => {
      const found: SeenPhrase<Value>[] = [];
      for (let at = 0; at < tokens.length; at++) {
        const candidates = byFirst.get(tokens[at]?.lower ?? '');
        if (candidates === undefined) continue;
        for (const { words, value } of candidates) {
          if (!standsAt(tokens, at, words)) continue;
          const seen = { from: at, to: at + words.length, value };
          if (!accepts(seen)) continue;
          found.push(seen);
          at += words.length - 1;
          break;
        }
      }
      return found;
    },
  };
}

/** A phrase may continue on a wrapped line, but not span a whole column: at most one change of segment. */
function standsAt(tokens: readonly Token[], at: number, words: readonly string[]): boolean {
  const first = tokens[at];
  const last = tokens[at + words.length - 1];
  if (first === undefined || last === undefined || last.segment - first.segment > 1) return false;
  for (let word = 1; word < words.length; word++) {
    if (tokens[at + word]?.lower !== words[word]) return false;
  }
  return true;
}

/** A range of a text: offsets in UTF-16 code units, the end excluded. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** A value found at a range of a text. */
export interface Found<Value> extends TextRange {
  readonly value: Value;
}

/** The first item of a sorted list that overlaps a range, by binary search. */
export function firstOverlap<Item extends TextRange>(
  sorted: readonly Item[],
  start: number,
  end: number,
): Item | undefined {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const one = sorted[middle];
    if (one !== undefined && one.end <= start) low = middle + 1;
    else high = middle;
  }
  const next = sorted[low];
  return next !== undefined && next.start < end ? next : undefined;
}

/** Whether a sorted list contains an item that overlaps a range. */
export function isTaken(sorted: readonly TextRange[], start: number, end: number): boolean {
  return firstOverlap(sorted, start, end) !== undefined;
}

/**
 * The 32-bit hash of a word (FNV-1a). The stored weights of the taggers refer to features by it, so it must never
 * change. A range hashes a part of the text without creating a string.
 */
export function hashOf(text: string, from = 0, to = text.length): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
