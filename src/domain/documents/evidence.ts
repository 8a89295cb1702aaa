import type { Evidence } from './parsed-document.ts';
import { findDates, isoOf } from './text/dates.ts';
import type { Found, TextRange } from './text/tokens.ts';

/** A value with its position in the text. */
export interface Traced extends Found<string> {
  readonly confidence: number;
}

export interface EvidenceNotes {
  /** Records the position of a value and returns the value; null is returned without a record. */
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

/** The text at a position, with white space collapsed to single blanks. */
export function traced(text: string, start: number, end: number, confidence: number): Traced {
  return { value: text.slice(start, end).replace(/\s+/g, ' ').trim(), start, end, confidence };
}

/** Keeps the values of a record that occur in the text, records their positions, and lists the rest as dropped. */
interface CheckedValues {
  text(path: string, value: string | null): string | null;
  /** A date that the text contains; if it does not contain the month, the year, if that occurs. */
  date(path: string, value: string | null): string | null;
  /** The items of a list that the text contains, each with its position. */
  list(path: string, values: readonly string[]): string[];
  /** A value that must equal one of those found in the text in a form of their own: an address, a number, a link. */
  oneOf(
    path: string,
    value: string | null,
    found: readonly Found<string>[],
    isSame: (one: string, other: string) => boolean,
  ): string | null;
  readonly evidence: readonly Evidence[];
  readonly dropped: readonly string[];
}

/** The first dropped values are enough for a warning. */
const MOST_REPORTED = 20;

export function createCheckedValues(text: string, confidence: number): CheckedValues {
  const finder = createEvidenceFinder(text);
  const evidence: Evidence[] = [];
  const dropped: string[] = [];
  const dates = datesIn(text);
  /** The position of the latest list entry; the search for the next one starts there. */
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
    return wordsAt(text, found, value);
  };
  return {
    evidence,
    dropped,
    text: textOf,
    date: (path, value) => {
      if (value === null) return null;
      const month = value.slice(0, 7);
      const year = value.slice(0, 4);
      const places = dates.get(month) ?? dates.get(year);
      if (places === undefined) return drop(path);
      evidence.push({ path, ...nearestTo(places, latest), confidence });
      return dates.has(month) ? month : year;
    },
    oneOf: (path, value, found, isSame) => {
      if (value === null || value.trim() === '') return null;
      const one = found.find((other) => isSame(other.value, value));
      if (one === undefined) return drop(path);
      evidence.push({ path, start: one.start, end: one.end, confidence });
      return one.value;
    },
    list: (path, values) => {
      const kept: string[] = [];
      for (const value of values) {
        const found = finder.find(value);
        if (found === null) drop(`${path}[${kept.length}]`);
        else {
          evidence.push({ path: `${path}[${kept.length}]`, ...found, confidence });
          kept.push(wordsAt(text, found, value));
        }
      }
      return kept;
    },
  };
}

/**
 * The given value if it differs from the text only in blanks, capitals, quotes and dashes. If letters differ (missing
 * accents, ligatures), the words of the text.
 */
function wordsAt(text: string, { start, end }: TextRange, value: string): string {
  const own = text.slice(start, end);
  return spelling(own) === spelling(value) ? value.trim() : own.replace(/\s+/g, ' ').trim();
}

function spelling(text: string): string {
  return Array.from(text.normalize('NFC'), (character) => (isSkipped(character) ? '' : plainMark(character)))
    .join('')
    .toLowerCase();
}

interface EvidenceFinder {
  /**
   * The position of a value in the text, ignoring white space, capitals, accents, hyphens at line ends and the types of
   * quotes and dashes; null if it does not occur. One or two letters must be written alike ("Go" is not "go"). The
   * first position from `from` on is preferred, so that the second job's company is not found in the first.
   */
  find(value: string, from?: number): TextRange | null;
}

/** A longer value is a copied page. */
const LONGEST_VALUE = 20_000;

export function createEvidenceFinder(text: string): EvidenceFinder {
  const squeezed = squeeze(text);
  return {
    find: (value, from = 0) => {
      if (value.length > LONGEST_VALUE) return null;
      const wanted = { value: value.trim(), squeezed: squeeze(value).text };
      if (wanted.squeezed === '') return null;
      return search(text, squeezed, wanted, from) ?? (from === 0 ? null : search(text, squeezed, wanted, 0));
    },
  };
}

/** More positions of one year than this are no help. */
const MOST_PLACES = 50;

/** Every month and year that the text names, with their positions. */
function datesIn(text: string): Map<string, TextRange[]> {
  const found = new Map<string, TextRange[]>();
  const add = (iso: string, start: number, end: number) => {
    const places = found.get(iso);
    if (places === undefined) found.set(iso, [{ start, end }]);
    else if (places.length < MOST_PLACES) places.push({ start, end });
  };
  for (const { start, end, from, to } of findDates(text)) {
    for (const point of [from, to]) {
      if (point === null || point === 'present') continue;
      add(isoOf(point), start, end);
      if (point.month !== null) add(String(point.year), start, end);
    }
  }
  return found;
}

/** The date of an entry is close to its employer and position. */
function nearestTo(places: readonly TextRange[], at: number): TextRange {
  return places.reduce((best, one) => (Math.abs(one.start - at) < Math.abs(best.start - at) ? one : best));
}

/** Limits the attempts: a value of one letter could occur in the middle of every word. */
const MOST_TRIES = 2000;

function search(
  text: string,
  { text: haystack, offsets }: SqueezedText,
  wanted: { readonly value: string; readonly squeezed: string },
  from: number,
): TextRange | null {
  const { squeezed, value } = wanted;
  let at = haystack.indexOf(squeezed, from === 0 ? 0 : placeOf(offsets, haystack.length, from));
  for (let tries = 0; at !== -1 && tries < MOST_TRIES; tries++) {
    const start = offsets[at] ?? 0;
    const end = endOf(text, offsets[at + squeezed.length - 1] ?? 0);
    if (isWhole(text, start, end) && (squeezed.length > 2 || isShortWord(text, start, end, value)))
      return { start, end };
    at = haystack.indexOf(squeezed, at + 1);
  }
  return null;
}

/** The position after a character and the combining accents that follow it. */
function endOf(text: string, last: number): number {
  let end = last + 1;
  while (end < text.length && COMBINING.test(text[end] ?? '')) end++;
  return end;
}

/** "R" is not found in "R&D", nor "C" as the initial in "C. Smith", nor "Go" in "go to market". */
function isShortWord(text: string, start: number, end: number, value: string): boolean {
  const isInitial = /^\.\s?\p{Lu}/u.test(text.slice(end, end + 3));
  const isJoined = /[&'’]/.test(text[end] ?? '') || /[&'’]/.test(text[start - 1] ?? '');
  return text.slice(start, end) === value && !isInitial && !isJoined;
}

function placeOf(offsets: readonly number[], count: number, from: number): number {
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
 * A text without white space, dashes and accents and in lower case, with a mapping to the offsets of the original. It
 * ignores line breaks that a reader put into a name, blanks that a PDF put into an address, and capitals.
 */
interface SqueezedText {
  readonly text: string;
  /** The offset of each character in the original, and one more for the end. */
  readonly offsets: readonly number[];
}

const BLANK = /\s|\u00a0|\u00ad|\u200b|\u200c|\u200d|\ufeff/;
/** A hyphen at the end of a line may belong to the word or to the line break, so all of them are ignored. */
const DASH = /[-\u2010-\u2015\u2212]/;
const COMBINING = /\p{M}/u;

function isSkipped(character: string): boolean {
  return BLANK.test(character) || DASH.test(character);
}

function plainMark(character: string): string {
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
    default:
      return character;
  }
}

/** Letters that are not a base letter with an accent. */
const SPELLED: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ı: 'i',
};

/** Lower case without accents; a ligature as its letters. */
function folded(character: string): string {
  const plain = plainMark(character).toLowerCase();
  if (plain.charCodeAt(0) < 128 && plain.length === 1) return plain;
  return SPELLED[plain] ?? plain.normalize('NFKD').replace(/\p{M}/gu, '');
}

function squeeze(original: string): SqueezedText {
  const kept: string[] = [];
  const offsets: number[] = [];
  for (let at = 0; at < original.length; at++) {
    const character = original[at] ?? '';
    if (isSkipped(character) || COMBINING.test(character)) continue;
    const letters = folded(character);
    kept.push(letters);
    for (let letter = 0; letter < letters.length; letter++) offsets.push(at);
  }
  offsets.push(original.length);
  return { text: kept.join(''), offsets };
}
