import type { CvWork } from '../parsed-cv.ts';

/**
 * What somebody does now: the entry that goes on, of several the one begun last. Null where every entry has ended, and
 * where no entry tells its time: what is not said to go on is not current.
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
