import { type Traced, traced } from '../evidence.ts';
import { type CvWork, MOST } from '../parsed-document.ts';
import type { Mention } from '../tagger/decode.ts';
import { type DateSpan, isoOf } from '../text/dates.ts';
import type { LaidOutText } from '../text/layout.ts';
import type { SectionKind } from '../text/sections.ts';
import { namesPosition } from '../words/word-lists.ts';
import { type Anchor, type Entry, fillGaps, groupEntries, segmentAt } from './entries.ts';
import { formLabelOf, isBesideWork, serviceSegments } from './form-labels.ts';
import { isLabel, type SeenMentions } from './mentions.ts';
import { withoutProjects } from './projects-in-jobs.ts';
import { refereeSegments } from './referees.ts';
import {
  isBreak,
  isBreakSpan,
  isUnpaidPosition,
  jobsAside,
  namesBreak,
  unpaidSegments,
} from './unpaid-work.ts';

export interface FoundWork {
  readonly name: Traced | null;
  readonly position: Traced | null;
  readonly location: Traced | null;
  readonly entry: Entry;
  readonly isPaid: boolean;
  readonly summary: Traced | null;
  readonly highlights: readonly Traced[];
}

/** Sections about other things: a job in them needs a title, and an employer or a date. */
const CLOSED_SECTIONS: ReadonlySet<SectionKind> = new Set([
  'education',
  'skills',
  'languages',
  'certificates',
]);

interface FoundJobs {
  readonly jobs: readonly FoundWork[];
  /** The time spans of paid work, including those whose employer and position could not be read. */
  readonly spans: readonly DateSpan[];
  /** Months of the jobs in a CV that gives durations but no dates. */
  readonly undatedMonths: number;
}

export function findWork(laidOut: LaidOutText, seen: SeenMentions): FoundJobs {
  const anchors = anchorsOf(laidOut, seen.mentions);
  const service = serviceSegments(laidOut);
  const isService = ({ date, part, firstSegment }: Entry) => {
    const found = service[date === null ? firstSegment : segmentAt(laidOut, date.start)] ?? 0;
    return found === 2 || (found === 1 && part === null);
  };
  const ofReferees = refereeSegments(laidOut);
  // Freelancers list customers with the time of each project under the same heading.
  const isReferee = ({ date, firstSegment }: Entry) =>
    ofReferees[firstSegment] === 1 && date?.isRange !== true;
  const grouped = withoutProjects(
    laidOut,
    groupEntries(laidOut, anchors).filter((entry) => !isService(entry) && !isReferee(entry)),
  );
  const unpaid = unpaidSegments(laidOut);
  const jobsSeen = jobsAside(
    laidOut,
    grouped.filter((entry) => isJob(laidOut, entry)),
    unpaid,
  );
  const entries = withoutLoneNames(laidOut, withoutHeadlines(laidOut, jobsSeen)).slice(0, MOST.work);
  fillGaps(laidOut, entries, seen);
  const isPaid = (entry: Entry) => unpaid[entry.firstSegment] !== 1 && !isUnpaidPosition(laidOut, entry);
  const jobs = entries.map((entry, at) => {
    const next = entries[at + 1];
    return {
      isPaid: isPaid(entry),
      ...described(laidOut, entry, next?.firstSegment ?? laidOut.segments.length),
      entry,
      ...namesOf(laidOut, entry),
    };
  });
  const paid = entries.filter(isPaid);
  const studied = new Set(
    seen.mentions.flatMap(({ kind, segment }) => (kind === 'degree' || kind === 'school' ? [segment] : [])),
  );
  const bare = grouped.filter(
    (entry) => unpaid[entry.firstSegment] !== 1 && isBareSpan(laidOut, entry, studied),
  );
  const dates = [...paid, ...bare].flatMap(({ date }) => date ?? []);
  const ranges = dates.filter(({ isRange }) => isRange);
  return {
    jobs,
    // If jobs have time spans, a single year is that of a project or award.
    spans: ranges.length > 0 ? ranges : dates,
    undatedMonths: dates.length > 0 ? 0 : paid.reduce((sum, entry) => sum + durationOf(laidOut, entry), 0),
  };
}

/** The distance at which a school or degree makes a time span one of education. */
const NEAR = 2;

/**
 * A time span among the jobs, on a short line, of which nothing else could be read; not near a school, and not a break.
 */
function isBareSpan(laidOut: LaidOutText, entry: Entry, studied: ReadonlySet<number>): boolean {
  const { head, part, date, firstSegment, lastSegment } = entry;
  if (head !== null || part !== null || date?.isRange !== true) return false;
  if (laidOut.sections[firstSegment] !== 'work') return false;
  if (!laidOut.isFlat && isLong(laidOut, firstSegment)) return false;
  if (namesBreak(laidOut, firstSegment)) return false;
  for (let at = firstSegment - NEAR; at <= lastSegment + NEAR; at++) if (studied.has(at)) return false;
  return true;
}

const DURATION =
  /(?<![\p{L}\d.])(?:(\d{1,2}(?:[.,]5)?)\+?\s?(?:years?|yrs?|y|jahren?|ans?|años?|anni|anno|anos?|jaar|lata?|yıl|år))?(?:[\s,]{0,2}(?:and|und|et|y|e|en|i|ve|och)?\s?(\d{1,2})\s?(?:months?|mos?|m|monaten?|monate?|mois|meses|mesi|mese|maanden|miesi[ęą]c\p{L}*|ay|månader))?(?!\p{L})/giu;
/** A longer duration is an age or a whole career, not one job. */
const LONGEST_DURATION = 40 * 12;

/** "Duration: 2 yrs 3 mos" on a short line of a job. */
function durationOf(laidOut: LaidOutText, { firstSegment, lastSegment }: Entry): number {
  for (let at = firstSegment; at <= lastSegment + 1; at++) {
    const segment = laidOut.segments[at];
    if (segment === undefined || isLong(laidOut, at) || laidOut.headings[at] != null) continue;
    if (laidOut.sections[at] !== 'work') continue;
    for (const [whole, years, months] of segment.text.matchAll(DURATION)) {
      if (whole.trim() === '' || (years === undefined && months === undefined)) continue;
      const total = Number((years ?? '0').replace(',', '.')) * 12 + Number(months ?? 0);
      if (total > 0 && total <= LONGEST_DURATION) return Math.round(total);
    }
  }
  return 0;
}

function anchorsOf(laidOut: LaidOutText, mentions: readonly Mention[]): Anchor[] {
  const anchors: Anchor[] = [];
  const dated = new Set(laidOut.dates.map(({ start }) => segmentAt(laidOut, start)));
  const named = new Set(
    mentions
      .filter(({ kind }) => kind === 'title' || kind === 'company')
      .filter(({ start, end }) => !isBreak(laidOut.text.slice(start, end)))
      .map(({ segment }) => segment),
  );
  const paired = pairedMentions(mentions);
  for (const [at, mention] of mentions.entries()) {
    const { kind, start, end, segment } = mention;
    const section = laidOut.sections[segment];
    if (section === undefined) continue;
    if (kind === 'title' && isBreak(laidOut.text.slice(start, end))) continue;
    if (mention.isLabelled !== true && !paired.has(mention) && isInProse(laidOut, mention, dated)) continue;
    if (kind === 'title') anchors.push({ kind: 'part', start, end, segment, mention });
    else if (kind === 'company') anchors.push({ kind: 'head', start, end, segment, mention });
    else if (kind === 'place') anchors.push({ kind: 'place', start, end, segment, mention });
    // A school takes the place of a teacher's employer.
    else if (kind === 'school' && section === 'work' && !isBehindDegree(mention, mentions[at - 1]))
      anchors.push({ kind: 'head', start, end, segment, mention });
  }
  for (const date of laidOut.dates) {
    const segment = segmentAt(laidOut, date.start);
    const section = laidOut.sections[segment];
    if (section === undefined) continue;
    if (!date.isRange && isLong(laidOut, segment)) continue;
    if (isBesideWork(laidOut, segment) || isBreakSpan(laidOut, date, segment, named)) continue;
    anchors.push({ kind: 'date', start: date.start, end: date.end, segment, date });
  }
  return anchors.sort((one, other) => one.start - other.start);
}

/** "Bachelor in Electronics, Leeds University", where the heading of the studies was lost. */
function isBehindDegree({ from }: Mention, before: Mention | undefined): boolean {
  return before?.kind === 'degree' && from - before.to <= 2;
}

function isLong({ tokenStarts }: LaidOutText, segment: number): boolean {
  return (tokenStarts[segment + 1] ?? 0) - (tokenStarts[segment] ?? 0) > 16;
}

/** A position mentioned in a sentence ("reported to the project manager") does not start an entry. */
function isInProse(laidOut: LaidOutText, mention: Mention, dated: ReadonlySet<number>): boolean {
  if (!isLong(laidOut, mention.segment)) return false;
  if (isBeforeSpan(laidOut, mention)) return false;
  const first = laidOut.tokenStarts[mention.segment] ?? 0;
  return mention.from - first > (dated.has(mention.segment) ? 12 : 2);
}

/** Chosen with the network, on CVs that may be inspected. */
const SURE = 0.7;
const PAIR_REACH = 4;

/**
 * A position and an employer next to each other, both with high confidence, also in a sentence: "as a Senior DBA at
 * Acme Ltd".
 */
function pairedMentions(mentions: readonly Mention[]): ReadonlySet<Mention> {
  const sure = mentions.filter(
    ({ kind, confidence }) => (kind === 'title' || kind === 'company') && confidence >= SURE,
  );
  const found = new Set<Mention>();
  sure.forEach((one, at) => {
    const next = sure[at + 1];
    if (next === undefined || next.kind === one.kind || next.from - one.to > PAIR_REACH) return;
    found.add(one).add(next);
  });
  return found;
}

const MOST_BEFORE_SPAN = 14;

/**
 * In a text without lines, a position and an employer come right before a time span, even if two blanks separate them
 * from it.
 */
function isBeforeSpan({ tokens, headings }: LaidOutText, { to, segment }: Mention): boolean {
  for (let at = to; at < to + MOST_BEFORE_SPAN; at++) {
    const token = tokens[at];
    if (token === undefined || (token.segment > segment && headings[token.segment] !== null)) return false;
    if (token.kind === 'date') return true;
  }
  return false;
}

function isJob(laidOut: LaidOutText, entry: Entry): boolean {
  if (entry.head === null && entry.part === null) return false;
  const section = laidOut.sections[entry.firstSegment] ?? 'top';
  // A school is an employer if it has a position or a time span.
  if (entry.head?.kind === 'school' && entry.part === null && entry.date?.isRange !== true) return false;
  if (section === 'work') return true;
  if (CLOSED_SECTIONS.has(section))
    return entry.part !== null && (entry.head !== null || entry.date !== null);
  // Under an unknown heading, or none at all.
  return (
    entry.date?.isRange === true || (entry.part !== null && (entry.date !== null || entry.head !== null))
  );
}

/** "Tester at Acme Ltd" outside the jobs, repeated with its dates among them, is counted once. */
function withoutHeadlines(laidOut: LaidOutText, entries: readonly Entry[]): Entry[] {
  const { text, sections } = laidOut;
  const wordsOf = ({ start, end }: Mention) => text.slice(start, end).toLowerCase().replace(/\s+/g, ' ');
  const keyOf = ({ head, part }: Entry) =>
    head === null || part === null ? null : `${wordsOf(part)}\n${wordsOf(head)}`;
  const dated = new Set(entries.flatMap((entry) => (entry.date === null ? [] : (keyOf(entry) ?? []))));
  return entries.filter((entry) => {
    if (entry.date !== null || sections[entry.firstSegment] === 'work') return true;
    const key = keyOf(entry);
    return key === null || !dated.has(key);
  });
}

const LEAST_WHOLE = 2;

/**
 * A product alone on a line of the list below a job is not an employer, and "Inbetriebnahme beim Kunden" is no position:
 * where two or more jobs have a position, an employer and a time span, a line with only a name, or with only a position
 * that no word of it says, is dropped.
 */
function withoutLoneNames(laidOut: LaidOutText, entries: readonly Entry[]): Entry[] {
  const { isFlat, segments, tokens } = laidOut;
  const whole = entries.filter(
    ({ head, part, date }) => head !== null && part !== null && date?.isRange === true,
  );
  if (isFlat || whole.length < LEAST_WHOLE) return [...entries];
  return entries.filter(({ head, part, date }) => {
    if (date !== null || (head !== null && part !== null)) return true;
    if (part !== null)
      return (
        part.isLabelled === true || namesPosition(tokens.slice(part.from, part.to).map(({ lower }) => lower))
      );
    if (head === null) return true;
    const line = segments[head.segment];
    return line === undefined || head.start > line.start || head.end < line.end;
  });
}

function namesOf({ text }: LaidOutText, { head, part, place }: Entry) {
  const trace = (mention: Mention | null) =>
    mention === null ? null : traced(text, mention.start, mention.end, mention.confidence);
  return { name: trace(head), position: trace(part), location: trace(place) };
}

const LONGEST_SUMMARY = 1200;

/** The text between an entry's header and the next entry: bullets are highlights, the rest is the summary. */
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
    // A label of the next entry's first line.
    if (isLabel(laidOut, segment) || formLabelOf(segment.text)?.kind === 'label') continue;
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
 * The current job: the entry without an end, or the one that started last if there are several. Null if every entry has
 * ended or no entry has dates: a job is current only if the text says so.
 */
export function currentPosition(work: readonly CvWork[]): CvWork | null {
  const going = work.filter(
    ({ position, name, startDate, endDate }) =>
      (position !== null || name !== null) && startDate !== null && endDate === null,
  );
  // The first of those with the latest start, because the first entry of a CV is the newest.
  return going.reduce<CvWork | null>(
    (top, one) => (top === null || (one.startDate ?? '') > (top.startDate ?? '') ? one : top),
    null,
  );
}

export interface Month {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
}

interface DatedEntry {
  readonly startDate: string | null;
  /** Null continues to the present. */
  readonly endDate: string | null;
}

/** The longest working life; a longer span is a typing error. */
const LONGEST_MONTHS = 60 * 12;

/** The number of months with work, each counted once even if several entries include it. */
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

/** The months of all time spans found, and of the jobs that only state a duration. */
export function monthsWorked({ spans, undatedMonths }: FoundJobs, today: Month): number | null {
  const dated = spans.flatMap(({ from, to }) => {
    if (from === null) return [];
    const startDate = isoOf(from);
    return [{ startDate, endDate: to === 'present' ? null : to === null ? startDate : isoOf(to) }];
  });
  const months = monthsOfExperience(dated, today);
  return months === null && undatedMonths === 0 ? null : (months ?? 0) + undatedMonths;
}

/**
 * From the first month to `to`, exclusive. For years without months, 2015 to 2018 is three years, and 2015 to 2015 half
 * a year.
 */
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
