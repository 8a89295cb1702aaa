import type { Evidence } from './parsed-document.ts';
import { findDates, isoOf } from './text/dates.ts';
import type { Found, TextRange } from './text/tokens.ts';

/** A value with the place it was read from. */
export interface Traced extends Found<string> {
  readonly confidence: number;
}

export interface EvidenceNotes {
  /** Notes where a value stands and gives the value; null stays null and leaves no note. */
  note(path: string, traced: Traced | null): string | null;
  readonly all: Evidence[];
}

export function createEvidenceNotes(): EvidenceNotes {
  const all: Evidence[] = [];
  return {
    all,
    note: (path, traced) => {
      if (traced === null) return null;
      const confidence = Math.round(Math.min(1, Math.max(0, traced.confidence)) * 100) / 100;
      all.push({ path, start: traced.start, end: traced.end, confidence });
      return traced.value;
    },
  };
}

/** What stands at a place, with its white space made single blanks. */
export function traced(text: string, start: number, end: number, confidence: number): Traced {
  return { value: text.slice(start, end).replace(/\s+/g, ' ').trim(), start, end, confidence };
}

/** Keeps of a record's values those that the text has, notes where, and counts the rest. */
interface CheckedValues {
  text(path: string, value: string | null): string | null;
  /** A date that the text has; of a month that it has not, the year, if it has that. */
  date(path: string, value: string | null): string | null;
  /** The items of a list that the text has, each with its place. */
  list(path: string, values: readonly string[]): string[];
  readonly evidence: readonly Evidence[];
  readonly dropped: readonly string[];
}

/** The first dropped values are enough of a warning. */
const MOST_REPORTED = 20;

export function createCheckedValues(text: string, confidence: number): CheckedValues {
  const finder = createEvidenceFinder(text);
  const evidence: Evidence[] = [];
  const dropped: string[] = [];
  const dates = datesIn(text);
  /** Where the latest entry of a list was found: the next one is looked for from there on. */
  let latest = 0;

  const drop = (path: string) => {
    if (dropped.length < MOST_REPORTED) dropped.push(path);
    return null;
  };
  const textOf = (path: string, value: string | null): string | null => {
    if (value === null || value.trim() === '') return null;
    const found = finder.find(value, latest);
    if (found === null) return drop(path);
    evidence.push({ path, ...found, confidence });
    if (/\[\d+\]/.test(path)) latest = found.start;
    return value.trim();
  };
  return {
    evidence,
    dropped,
    text: textOf,
    date: (path, value) => {
      if (value === null) return null;
      const month = value.slice(0, 7);
      const year = value.slice(0, 4);
      const place = dates.get(month) ?? dates.get(year);
      if (place === undefined) return drop(path);
      evidence.push({ path, ...place, confidence });
      return dates.has(month) ? month : year;
    },
    list: (path, values) => {
      const kept: string[] = [];
      for (const value of values) {
        const found = finder.find(value);
        if (found === null) drop(`${path}[${kept.length}]`);
        else {
          evidence.push({ path: `${path}[${kept.length}]`, ...found, confidence });
          kept.push(value.trim());
        }
      }
      return kept;
    },
  };
}

interface EvidenceFinder {
  /**
   * Where a value stands in the text, whatever white space, capitals and kinds of quotes and dashes either has; null
   * where it does not stand there. The place nearest behind `from` is preferred, so that the second job's company is
   * not found in the first.
   */
  find(value: string, from?: number): TextRange | null;
}

/** A longer value is a copied page, not a value. */
const LONGEST_VALUE = 20_000;

export function createEvidenceFinder(text: string): EvidenceFinder {
  const squeezed = squeeze(text);
  return {
    find: (value, from = 0) => {
      if (value.length > LONGEST_VALUE) return null;
      const wanted = squeeze(value).text;
      if (wanted === '') return null;
      return search(text, squeezed, wanted, from) ?? (from === 0 ? null : search(text, squeezed, wanted, 0));
    },
  };
}

/** Every month and year that the text names, with the first place of each. */
function datesIn(text: string): Map<string, TextRange> {
  const found = new Map<string, TextRange>();
  const add = (iso: string, start: number, end: number) => {
    if (!found.has(iso)) found.set(iso, { start, end });
  };
  for (const { start, end, from, to } of findDates(text)) {
    for (const point of [from, to]) {
      if (point === null || point === 'present') continue;
      add(isoOf(point), start, end);
      add(String(point.year), start, end);
    }
  }
  return found;
}

/** Tries are bounded: a value of one letter could be in the middle of every word. */
const MOST_TRIES = 2000;

function search(
  text: string,
  { text: haystack, offsets }: SqueezedText,
  wanted: string,
  from: number,
): TextRange | null {
  let at = haystack.indexOf(wanted, from === 0 ? 0 : placeOf(offsets, haystack.length, from));
  for (let tries = 0; at !== -1 && tries < MOST_TRIES; tries++) {
    const start = offsets[at] ?? 0;
    const end = (offsets[at + wanted.length - 1] ?? 0) + 1;
    if (isWhole(text, start, end)) return { start, end };
    at = haystack.indexOf(wanted, at + 1);
  }
  return null;
}

function placeOf(offsets: Int32Array, count: number, from: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((offsets[middle] ?? 0) < from) low = middle + 1;
    else high = middle;
  }
  return low;
}

const WORD = /[\p{L}\p{N}]/u;

/** "Go" is not found in "good", nor "Java" in "JavaScript". */
function isWhole(text: string, start: number, end: number): boolean {
  const startsWord = WORD.test(text[start] ?? '') && WORD.test(text[start - 1] ?? '');
  const endsWord = WORD.test(text[end - 1] ?? '') && WORD.test(text[end] ?? '');
  const isCut = /[+#]/.test(text[end] ?? '') && WORD.test(text[end - 1] ?? '') && end - start <= 2;
  return !startsWord && !endsWord && !isCut;
}

/**
 * A text without its white space and in small letters, with the way back to the offsets of the original. Line breaks
 * that a reader put into a name, blanks that a PDF put into an address, and capitals are no difference in it.
 */
interface SqueezedText {
  readonly text: string;
  /** The offset in the original of each character, and one more for the end. */
  readonly offsets: Int32Array;
}

const BLANK = /\s|\u00a0|\u00ad|\u200b|\u200c|\u200d|\ufeff/;

/** One character for one character, so that offsets hold: what would become longer stays as it is. */
function folded(character: string): string {
  switch (character) {
    case '’':
    case '‘':
    case '`':
    case '´':
      return "'";
    case '“':
    case '”':
    case '„':
      return '"';
    case '–':
    case '—':
    case '−':
    case '‐':
    case '‑':
      return '-';
    default: {
      const lower = character.toLowerCase();
      return lower.length === character.length ? lower : character;
    }
  }
}

function squeeze(original: string): SqueezedText {
  const kept: string[] = [];
  const offsets = new Int32Array(original.length + 1);
  let count = 0;
  for (let at = 0; at < original.length; at++) {
    const character = original[at] ?? '';
    if (BLANK.test(character)) continue;
    kept.push(folded(character));
    offsets[count++] = at;
  }
  offsets[count] = original.length;
  return { text: kept.join(''), offsets };
}
