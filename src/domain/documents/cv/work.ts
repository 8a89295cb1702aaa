import { type Traced, traced } from '../evidence.ts';
import { type CvWork, MOST } from '../parsed-document.ts';
import type { Mention } from '../tagger/decode.ts';
import type { LaidOutText } from '../text/layout.ts';
import type { SectionKind } from '../text/sections.ts';
import { type Anchor, type Entry, fillGaps, groupEntries, segmentAt } from './entries.ts';
import type { SeenMentions } from './mentions.ts';

export interface FoundWork {
  readonly name: Traced | null;
  readonly position: Traced | null;
  readonly location: Traced | null;
  readonly entry: Entry;
  readonly summary: Traced | null;
  readonly highlights: readonly Traced[];
}

/** Sections of other things: a job among them has a title, and an employer or a time. */
const CLOSED_SECTIONS: ReadonlySet<SectionKind> = new Set([
  'education',
  'skills',
  'languages',
  'certificates',
]);

export function findWork(laidOut: LaidOutText, seen: SeenMentions): FoundWork[] {
  const anchors = anchorsOf(laidOut, seen.mentions);
  const entries = groupEntries(laidOut, anchors)
    .filter((entry) => isJob(laidOut, entry))
    .slice(0, MOST.work);
  fillGaps(laidOut, entries, seen);
  return entries.map((entry, at) => {
    const next = entries[at + 1];
    return {
      ...described(laidOut, entry, next?.firstSegment ?? laidOut.segments.length),
      entry,
      ...namesOf(laidOut, entry),
    };
  });
}

function anchorsOf(laidOut: LaidOutText, mentions: readonly Mention[]): Anchor[] {
  const anchors: Anchor[] = [];
  const dated = new Set(laidOut.dates.map(({ start }) => segmentAt(laidOut, start)));
  for (const mention of mentions) {
    const { kind, start, end, segment } = mention;
    const section = laidOut.sections[segment];
    if (section === undefined || isInProse(laidOut, mention, dated)) continue;
    if (kind === 'title') anchors.push({ kind: 'part', start, end, segment, mention });
    else if (kind === 'company') anchors.push({ kind: 'head', start, end, segment, mention });
    else if (kind === 'place') anchors.push({ kind: 'place', start, end, segment, mention });
    // A school stands where a teacher's employer stands.
    else if (kind === 'school' && section === 'work')
      anchors.push({ kind: 'head', start, end, segment, mention });
  }
  for (const date of laidOut.dates) {
    const segment = segmentAt(laidOut, date.start);
    const section = laidOut.sections[segment];
    if (section === undefined) continue;
    if (!date.isRange && isLong(laidOut, segment)) continue;
    anchors.push({ kind: 'date', start: date.start, end: date.end, segment, date });
  }
  return anchors.sort((one, other) => one.start - other.start);
}

function isLong({ tokenStarts }: LaidOutText, segment: number): boolean {
  return (tokenStarts[segment + 1] ?? 0) - (tokenStarts[segment] ?? 0) > 16;
}

/** A position that a sentence speaks of ("reported to the project manager") heads no entry. */
function isInProse(laidOut: LaidOutText, mention: Mention, dated: ReadonlySet<number>): boolean {
  if (!isLong(laidOut, mention.segment)) return false;
  const first = laidOut.tokenStarts[mention.segment] ?? 0;
  return mention.from - first > (dated.has(mention.segment) ? 12 : 2);
}

function isJob(laidOut: LaidOutText, entry: Entry): boolean {
  if (entry.head === null && entry.part === null) return false;
  const section = laidOut.sections[entry.firstSegment] ?? 'top';
  if (section === 'work') return true;
  if (CLOSED_SECTIONS.has(section))
    return entry.part !== null && (entry.head !== null || entry.date !== null);
  // Under an unknown heading, or none at all.
  return (
    entry.date?.isRange === true || (entry.part !== null && (entry.date !== null || entry.head !== null))
  );
}

function namesOf({ text }: LaidOutText, { head, part, place }: Entry) {
  const trace = (mention: Mention | null) =>
    mention === null ? null : traced(text, mention.start, mention.end, mention.confidence);
  return { name: trace(head), position: trace(part), location: trace(place) };
}

const LONGEST_SUMMARY = 1200;

/** What stands between an entry's header and the next entry: bullets are highlights, the rest is its summary. */
function described(
  laidOut: LaidOutText,
  entry: Entry,
  before: number,
): { summary: Traced | null; highlights: Traced[] } {
  const { segments, headings, sections, text } = laidOut;
  const highlights: Traced[] = [];
  let summary: { start: number; end: number } | null = null;
  for (let at = entry.lastSegment + 1; at < before; at++) {
    const segment = segments[at];
    if (segment === undefined || headings[at] !== null || sections[at] !== sections[entry.lastSegment]) break;
    if (segment.isBulleted && highlights.length < MOST.highlights) {
      highlights.push(traced(text, segment.start, segment.end, 0.7));
    } else if (highlights.length === 0) {
      const start: number = summary?.start ?? segment.start;
      if (segment.end - start <= LONGEST_SUMMARY) summary = { start, end: segment.end };
    }
  }
  return { summary: summary === null ? null : traced(text, summary.start, summary.end, 0.6), highlights };
}

/**
 * The current job: the entry without an end, of several the one that started last. Null where every entry has ended, and
 * where no entry has dates: a job is current only if the text says so.
 */
export function currentPosition(work: readonly CvWork[]): CvWork | null {
  const going = work.filter(
    ({ position, name, startDate, endDate }) =>
      (position !== null || name !== null) && startDate !== null && endDate === null,
  );
  // The first of the latest, because the first entry of a CV is the newest.
  return going.reduce<CvWork | null>(
    (top, one) => (top === null || (one.startDate ?? '') > (top.startDate ?? '') ? one : top),
    null,
  );
}

/** A month of a year, as one number. */
export interface Month {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
}

interface DatedEntry {
  readonly startDate: string | null;
  /** Null goes on to this day. */
  readonly endDate: string | null;
}

/** Nobody works for longer; a longer span is a typing error. */
const LONGEST_MONTHS = 60 * 12;

/** The months in which there was work, each counted once however many entries it lies in. */
export function monthsOfExperience(entries: readonly DatedEntry[], today: Month): number | null {
  const now = today.year * 12 + today.month;
  const spans = entries
    .flatMap((entry) => spanOf(entry, now) ?? [])
    .sort((one, other) => one.from - other.from);
  if (spans.length === 0) return null;
  let months = 0;
  let reached = -1;
  for (const { from, to } of spans) {
    const start = Math.max(from, reached);
    if (to > start) months += to - start;
    reached = Math.max(reached, to);
  }
  return months;
}

/** From the first month up to, not including, `to`. Years alone: 2015 to 2018 are three years, 2015 to 2015 a half. */
function spanOf({ startDate, endDate }: DatedEntry, now: number): { from: number; to: number } | null {
  if (startDate === null) return null;
  const [year = 0, month] = startDate.split('-').map(Number);
  const from = year * 12 + (month ?? 1);
  if (endDate === null) return bounded(from, now + 1, now);
  const [endYear = 0, endMonth] = endDate.split('-').map(Number);
  if (endMonth !== undefined) return bounded(from, endYear * 12 + endMonth + 1, now);
  if (month !== undefined) return bounded(from, Math.max(endYear * 12 + 7, from + 1), now);
  return bounded(from, endYear === year ? from + 6 : endYear * 12 + 1, now);
}

function bounded(from: number, to: number, now: number): { from: number; to: number } | null {
  const end = Math.min(to, now + 1);
  return end <= from || end - from > LONGEST_MONTHS ? null : { from, to: end };
}
