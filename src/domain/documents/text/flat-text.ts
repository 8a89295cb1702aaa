import headings from '../words/headings.json' with { type: 'json' };
import { degreeBook } from '../words/word-lists.ts';
import type { DateSpan } from './dates.ts';
import { headingOf } from './sections.ts';
import type { Segment } from './tokens.ts';

/** Lines of a CV have 50 to 100 characters; a higher average indicates paragraphs that were once lines. */
const FLAT_LINE = 160;
const LEAST_CHARACTERS = 300;
/** A text with this many headings on lines of their own still has its lines. */
const MOST_HEADINGS = 2;

/**
 * Whether a text has lost its line ends, as texts copied from a page or table do. Some have two blanks in place of a
 * line end: their headings are separate segments.
 */
export function isFlat(text: string, segments: readonly Segment[]): boolean {
  if (text.length < LEAST_CHARACTERS) return false;
  let lines = 0;
  for (const line of text.split('\n')) if (line.trim() !== '') lines++;
  if (text.length / Math.max(1, lines) <= FLAT_LINE) return false;
  const whole = segments.filter((segment) => headingOf(segment)?.length === segment.text.length);
  return whole.length < MOST_HEADINGS;
}

/** Single words that are usually a heading. */
const LONE =
  'education|skills|experience|certifications|certificates|languages|projects|interests|hobbies|references|declaration|achievements|awards|objective|internships';
const PHRASES = Object.values(headings)
  .flatMap((lines) => lines.flatMap((line) => line.split('; ')))
  .filter((name) => name.includes(' '))
  .sort((one, other) => other.length - one.length)
  .map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
const HEADING = new RegExp(`(?<![\\p{L}\\d-])(?:(${PHRASES.join('|')})|(${LONE}))(?![\\p{L}\\d-])`, 'giu');

/** The segments of a flat text, cut before and after headings, and after time spans. */
export function cutFlat(segments: readonly Segment[], dates: readonly DateSpan[]): Segment[] {
  const cut: Segment[] = [];
  let next = 0;
  for (const segment of segments) {
    const places = [...headingPlaces(segment.text)].map((offset) => segment.start + offset);
    while (next < dates.length && (dates[next]?.start ?? 0) < segment.start) next++;
    for (let at = next; at < dates.length && (dates[at]?.end ?? 0) <= segment.end; at++) {
      const date = dates[at];
      if (date?.isRange === true) places.push(date.end);
    }
    let from = segment.start;
    for (const place of places.sort((one, other) => one - other)) {
      from = addPart(cut, segment, from, place);
    }
    addPart(cut, segment, from, segment.end);
  }
  return cut;
}

function addPart(cut: Segment[], whole: Segment, from: number, to: number): number {
  if (to <= from) return from;
  const raw = whole.text.slice(from - whole.start, to - whole.start);
  const start = from + raw.length - raw.trimStart().length;
  const text = raw.trim();
  if (text === '') return to;
  if (start === whole.start && to === whole.end) cut.push(whole);
  else
    cut.push({
      start,
      end: start + text.length,
      text,
      isBulleted: whole.isBulleted && start === whole.start,
      beginsLine: start === whole.start ? whole.beginsLine : true,
      beginsBlock: start === whole.start && whole.beginsBlock,
    });
  return to;
}

function* headingPlaces(text: string): Generator<number> {
  for (const match of text.matchAll(HEADING)) {
    const [whole, , lone] = match;
    if (!isCapital(whole)) continue;
    const end = match.index + whole.length;
    if (lone !== undefined && !standsAlone(text, match.index, end, whole)) continue;
    yield match.index;
    yield end;
  }
}

function isCapital(phrase: string): boolean {
  return phrase.split(/[\s&/-]+/).every((word) => /^(?:\p{Lu}|and$|of$|et$|und$|y$|e$|to$)/u.test(word));
}

/** "… further projects Education Masters in Physics", but not "Board of Education" or "Special Education Teacher". */
function standsAlone(text: string, start: number, end: number, word: string): boolean {
  const before = /(\S+)\s*$/.exec(text.slice(Math.max(0, start - 40), start))?.[1] ?? '';
  const after = /^\s*:?\s*(\S+)/.exec(text.slice(end, end + 40))?.[1] ?? '';
  if (word === word.toUpperCase()) return true;
  if (!/^[\p{Lu}\d]/u.test(after) || /^(?:of|in|and|&|the|for|to|with)$/i.test(before)) return false;
  const isOpen =
    before === '' || /^\p{Ll}|\d$|[.:;)]$/u.test(before) || /^(?:present|current|now)$/i.test(before);
  return isOpen || degreeBook.of(after.replace(/[,;:]$/, '')) !== undefined;
}
