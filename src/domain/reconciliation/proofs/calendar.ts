import type { WeightedSums } from './weighted-sums.ts';

const FIRST_DAY = '2020-01-01';
const END = Date.UTC(2045);
const DAY_MS = 24 * 60 * 60_000;

/**
 * The month of each day, passed as the first parameter of a statement: a lookup is cheaper than `date_trunc` for every
 * row.
 */
export function monthOfDays(): readonly string[] {
  const months: string[] = [];
  for (let ms = Date.parse(FIRST_DAY); ms < END; ms += DAY_MS) {
    months.push(`${new Date(ms).toISOString().slice(0, 7)}-01`);
  }
  return months;
}

/** Null for a day out of range: then no sum matches, and the check itself is run. */
export const monthOf = (day: string) => `($1::date[])[${day} - date '${FIRST_DAY}' + 1]`;

/** The hash of a day, or of the first day of a month. */
export const ofDate = ({ hashOf }: WeightedSums, date: string) => hashOf([{ date }]);
