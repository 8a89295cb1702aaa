import type { DateSpan } from '../text/dates.ts';
import type { LaidOutText } from '../text/layout.ts';
import type { Entry } from './entries.ts';

const PROJECT =
  /^(?:(?:end )?client|customer|project|projekt|kunde|projet|cliente?|proyecto|progetto|projeto|proiect)(?: (?:name|title|[#(]?\d{1,2}\)?))?\s?[:#–-]/iu;
const MOST_ABOVE = 8;

/**
 * Projects within a job are not jobs: blocks that start with "Project:" or "Client:" below a job whose time span
 * contains theirs. If there is no such job above, as in a freelancer's CV, they are jobs.
 */
export function withoutProjects(laidOut: LaidOutText, entries: readonly Entry[]): Entry[] {
  let job: Entry | null = null;
  return entries.filter((entry) => {
    const isProject = hasProjectLabel(laidOut, entry);
    const section = laidOut.sections[entry.firstSegment];
    const isWithin =
      job !== null &&
      (section === 'projects' || section === laidOut.sections[job.firstSegment]) &&
      contains(job.date, entry.date);
    if (isProject && isWithin) return false;
    job = !isProject && entry.date?.isRange === true ? entry : entry.date === null ? job : null;
    return true;
  });
}

/** Whether the block names a project before any part of the entry. */
function hasProjectLabel({ segments }: LaidOutText, { firstSegment, head }: Entry): boolean {
  if (head?.isLabelled === true) return false;
  for (let at = firstSegment; at >= 0 && firstSegment - at <= MOST_ABOVE; at--) {
    if (PROJECT.test(segments[at]?.text.slice(0, 40) ?? '')) return true;
    if (segments[at]?.beginsBlock !== false) return false;
  }
  return false;
}

/** A year without a month may be any of its months. */
function contains(outer: DateSpan | null, inner: DateSpan | null): boolean {
  if (outer?.from == null) return false;
  if (inner?.from == null) return true;
  const begins = outer.from.year * 12 + (outer.from.month ?? 1);
  if (inner.from.year * 12 + (inner.from.month ?? 12) < begins) return false;
  if (outer.to === 'present') return true;
  if (inner.to === 'present' || outer.to === null) return false;
  const last = inner.to ?? inner.from;
  return last.year * 12 + (last.month ?? 1) <= outer.to.year * 12 + (outer.to.month ?? 12);
}
