/** Spans of time as labels write them, read apart from the engine's own dates so that neither hides the other's mistakes. */
export interface LabelSpan {
  /** Months since year 0. */
  readonly from: number;
  /** The last month; null for "present". */
  readonly to: number | null;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const POINT = String.raw`(?:([A-Za-z]{3,9})\.?,? )?((?:19|20)\d\d)`;
const SPAN = new RegExp(
  `^${POINT} ?(?:to|till|until|-|–) ?(?:${POINT}|(present|current|now|till date|date))$`,
  'i',
);

/** Null where the label is no span in a form that cannot be misread. */
export function labelSpan(label: string): LabelSpan | null {
  const match = SPAN.exec(label.replace(/\s+/g, ' ').trim());
  if (match === null) return null;
  const [, fromName, fromYear, toName, toYear, present] = match;
  const from = pointOf(fromName, fromYear);
  const to = present === undefined ? pointOf(toName, toYear) : 'present';
  return from === null || to === null ? null : spanBetween(from, to);
}

export interface LabelPoint {
  readonly year: number;
  readonly month: number | null;
}

function pointOf(name: string | undefined, year: string | undefined): LabelPoint | null {
  const month = name === undefined ? null : MONTHS.indexOf(name.slice(0, 3).toLowerCase()) + 1;
  return month === 0 ? null : { year: Number(year), month };
}

/**
 * A year alone is taken at its most likely: 2015 to 2018 are three years, a year by itself is a half, and a span that ends
 * in a year ends in its middle.
 */
export function spanBetween(from: LabelPoint, to: LabelPoint | 'present'): LabelSpan {
  const start = from.year * 12 + (from.month ?? 1);
  if (to === 'present') return { from: start, to: null };
  if (to.month !== null) return { from: start, to: to.year * 12 + to.month };
  if (from.month !== null) return { from: start, to: Math.max(start, to.year * 12 + 6) };
  return { from: start, to: to.year > from.year ? to.year * 12 : start + 5 };
}

/** The months of all spans, those of two at a time once. */
export function monthsOf(spans: readonly LabelSpan[], today: number): number {
  const worked = new Set<number>();
  for (const { from, to } of spans) {
    for (let month = from; month <= Math.min(to ?? today, today); month++) worked.add(month);
  }
  return worked.size;
}

/** The last month that any of the spans names, or the December of the year in which an open one began. */
export function lastMonth(spans: readonly LabelSpan[]): number {
  return Math.max(...spans.map(({ from, to }) => to ?? Math.ceil(from / 12) * 12));
}

export function isoMonth(month: number): string {
  return `${Math.floor((month - 1) / 12)}-${String(((month - 1) % 12) + 1).padStart(2, '0')}`;
}
