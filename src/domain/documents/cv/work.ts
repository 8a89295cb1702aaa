import type { Traced } from '../evidence-notes.ts';
import { traced } from '../evidence-notes.ts';
import { MOST } from '../parsed-cv.ts';
import type { Mention } from '../tagger/decode.ts';
import type { SectionKind } from '../text/headings.ts';
import type { LaidOutText } from '../text/lay-out.ts';
import { type Anchor, type Entry, groupEntries } from './entries.ts';
import { fillGaps } from './fill-gaps.ts';
import type { SeenMentions } from './mentions.ts';
import { segmentAt } from './segment-at.ts';

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
  // Under a heading that nobody knows, or none at all.
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
