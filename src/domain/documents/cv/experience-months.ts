/** A month of a year, as one number. */
export interface Month {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
}

export interface DatedEntry {
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
