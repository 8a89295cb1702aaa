import { findLinks, findPhones, type Link } from './contact-details.ts';
import { type DateSpan, findDates } from './dates.ts';
import { findEmails } from './email-addresses.ts';
import { cutFlat, isFlat } from './flat-text.ts';
import { cutTowns, knownPlacesIn, knownSkillsIn, type PlaceSeen, type SkillSeen } from './gazetteer.ts';
import { findCodesAndSums, findVersions } from './other-numbers.ts';
import { type Heading, headingOf, namesSection, type SectionKind, sectionsOf } from './sections.ts';
import {
  type Found,
  firstOverlap,
  type Segment,
  segmentsOf,
  type TextRange,
  type Token,
  tokensOf,
  type WholePlace,
} from './tokens.ts';

/** A text with its layout facts; every later step reads this instead of the text. */
export interface LaidOutText {
  readonly text: string;
  /** Whether it has lost its line ends, so that its segments are long and start anywhere. */
  readonly isFlat: boolean;
  readonly segments: readonly Segment[];
  readonly headings: readonly (Heading | null)[];
  /** The type of section that contains each segment. */
  readonly sections: readonly SectionKind[];
  readonly tokens: readonly Token[];
  /** The index of each segment's first token; one more entry than there are segments. */
  readonly tokenStarts: readonly number[];
  readonly emails: readonly Found<string>[];
  readonly phones: readonly Found<string>[];
  readonly links: readonly Found<Link>[];
  readonly dates: readonly DateSpan[];
  readonly skills: readonly SkillSeen[];
  readonly places: readonly PlaceSeen[];
}

/** The document reader's limit; only the beginning of a longer text is read. */
export const MOST_CHARACTERS = 500_000;

export function layOut(whole: string): LaidOutText {
  const text = whole.length > MOST_CHARACTERS ? whole.slice(0, MOST_CHARACTERS) : whole;
  const emails = findEmails(text);
  const links = findLinks(text).filter(
    (link) => !emails.some((one) => one.start < link.end && link.start < one.end),
  );
  const addresses = [...emails, ...links].sort((one, other) => one.start - other.start);
  // The year within an address (`/2018/04/post`) is part of it.
  const dates = findDates(text).filter(
    ({ start, end }) => !(text[start - 1] === '/' && (firstOverlap(addresses, start, end)?.end ?? 0) > end),
  );
  const taken = [...addresses, ...dates, ...findCodesAndSums(text)].sort(
    (one, other) => one.start - other.start,
  );
  const phones = findPhones(text, taken);
  const lines = cutTowns(segmentsOf(text));
  const hasNoLines = isFlat(text, lines);
  const segments = hasNoLines ? cutFlat(lines, dates) : lines;
  const tokens = tokensOf(segments, wholePlaces(emails, links, phones, [...dates, ...findVersions(text)]));
  const tokenStarts = startsOf(segments, tokens);
  const headings = segments.map((segment, at) => headingOf(segment, segments[at - 1], segments[at + 1]));
  const sections = sectionsOf({ segments, headings, tokens, tokenStarts, dates });
  const skills = knownSkillsIn({ tokens, sections, segments });
  const places = knownPlacesIn(tokens);
  return {
    text,
    isFlat: hasNoLines,
    segments,
    headings,
    sections,
    tokens,
    tokenStarts,
    emails,
    phones,
    links,
    dates,
    skills,
    places,
  };
}

function wholePlaces(
  emails: readonly Found<string>[],
  links: readonly Found<Link>[],
  phones: readonly Found<string>[],
  dates: readonly TextRange[],
): WholePlace[] {
  const all: WholePlace[] = [
    ...emails.map(({ start, end }) => ({ start, end, kind: 'email' as const })),
    ...links.map(({ start, end }) => ({ start, end, kind: 'link' as const })),
    ...phones.map(({ start, end }) => ({ start, end, kind: 'phone' as const })),
    ...dates.map(({ start, end }) => ({ start, end, kind: 'date' as const })),
  ].sort((one, other) => one.start - other.start);
  const apart: WholePlace[] = [];
  for (const one of all) {
    if (one.start >= (apart.at(-1)?.end ?? 0)) apart.push(one);
  }
  return apart;
}

function startsOf(segments: readonly Segment[], tokens: readonly Token[]): number[] {
  const starts: number[] = [];
  let at = 0;
  for (let segment = 0; segment < segments.length; segment++) {
    starts.push(at);
    while (at < tokens.length && tokens[at]?.segment === segment) at++;
  }
  starts.push(tokens.length);
  return starts;
}

/** A text with its columns placed one after the other, and a mapping to the offsets of the original. */
export interface UnfoldedText {
  readonly text: string;
  /** Null if the text has no columns and is unchanged. */
  readonly offsets: Int32Array | null;
}

const GAP = /\S( {3,})(?=\S)/;
const LEAST_LINES = 8;
const LONGEST_LINE = 400;

/**
 * Unfolds plain text that was printed in two columns: many lines have a wide gap, and the text after it starts at the
 * same position in most of them. The left column is read first, then the right one, as a person would.
 */
export function unfoldColumns(text: string): UnfoldedText {
  const lines = text.split('\n');
  const filled = lines.filter((line) => line.trim() !== '' && line.length <= LONGEST_LINE);
  if (filled.length < LEAST_LINES || text.includes('\t')) return { text, offsets: null };
  const column = commonColumn(filled);
  if (column === null || isTable(filled, column)) return { text, offsets: null };
  const left: string[] = [];
  const offsets: number[] = [];
  const right: { text: string; at: number }[] = [];
  const pieces: { text: string; at: number }[] = [];
  let at = 0;
  let begun = false;
  for (const line of lines) {
    const isParted =
      line.length > column && line.slice(column - 2, column).trim() === '' && /\S/.test(line[column] ?? '');
    begun ||= isParted;
    // The name and text that spans both columns are above the columns.
    if (isParted) {
      pieces.push({ text: line.slice(0, column).trimEnd(), at });
      right.push({ text: line.slice(column), at: at + column });
    } else {
      pieces.push({ text: line, at });
      if (begun && line.trim() === '') right.push({ text: '', at });
    }
    at += line.length + 1;
  }
  for (const piece of [...pieces, { text: '', at }, ...right]) {
    left.push(piece.text);
    for (let index = 0; index <= piece.text.length; index++)
      offsets.push(Math.min(text.length, piece.at + index));
  }
  return { text: left.join('\n'), offsets: Int32Array.from(offsets) };
}

/** Dates, labels or headings on the left with their content on the right are read line by line. */
function isTable(lines: readonly string[], column: number): boolean {
  const cells = lines.flatMap((line) => {
    const cell = line.slice(0, column).trim();
    const isParted = cell !== '' && line.length > column && line.slice(column - 2, column).trim() === '';
    // The colon of a label may be at the start of the right column.
    return isParted ? [line[column] === ':' ? `${cell}:` : cell] : [];
  });
  const keys = cells.filter(
    (cell) =>
      cell.endsWith(':') ||
      /^\D{0,12}(?:19|20)\d\d|^\D{0,4}\d{1,2}[./]\d{2,4}/.test(cell) ||
      namesSection(cell),
  );
  return keys.length >= 2 && keys.length >= cells.length / 2;
}

/** Where the right column starts: in at least a third of all lines, and in most of those that have a gap. */
function commonColumn(lines: readonly string[]): number | null {
  const counts = new Map<number, number>();
  let parted = 0;
  for (const line of lines) {
    const indent = /^ {8,}(?=\S)/.exec(line)?.[0].length;
    const gap = GAP.exec(line);
    const column = indent ?? (gap === null ? null : gap.index + gap[0].length);
    if (column === null) continue;
    parted++;
    counts.set(column, (counts.get(column) ?? 0) + 1);
  }
  const [best] = [...counts].sort((one, other) => other[1] - one[1]);
  if (best === undefined) return null;
  const [column, count] = best;
  return count >= lines.length / 3 && count >= parted * 0.6 && count >= 5 ? column : null;
}

/** The position of unfolded text in the original; for several lines, that of the first line. */
export function foldedPlace(
  { text, offsets }: UnfoldedText,
  start: number,
  end: number,
): { start: number; end: number } {
  if (offsets === null) return { start, end };
  const lineEnd = text.indexOf('\n', start);
  const last = lineEnd === -1 || lineEnd >= end ? end : lineEnd;
  return { start: offsets[start] ?? 0, end: (offsets[last - 1] ?? 0) + 1 };
}
