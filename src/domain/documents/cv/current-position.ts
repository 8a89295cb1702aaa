import type { CvWork } from '../parsed-cv.ts';

/** What somebody does now: the entry that goes on; with none, the one that ended last; without dates, the first. */
export function currentPosition(work: readonly CvWork[]): CvWork | null {
  const named = work.filter(({ position, name }) => position !== null || name !== null);
  const going = named.filter(({ startDate, endDate }) => startDate !== null && endDate === null);
  if (going.length > 0) return latest(going, ({ startDate }) => startDate ?? '');
  const ended = named.filter(({ endDate }) => endDate !== null);
  if (ended.length > 0) return latest(ended, ({ endDate }) => endDate ?? '');
  return named[0] ?? null;
}

/** The first of the largest, because the first entry of a CV is the newest. */
function latest(work: readonly CvWork[], key: (entry: CvWork) => string): CvWork | null {
  return work.reduce<CvWork | null>((top, one) => (top === null || key(one) > key(top) ? one : top), null);
}
