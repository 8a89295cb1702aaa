import type { UsageDimension } from '../domain/calls/usage-report.ts';

/** Days are UTC, YYYY-MM-DD, both included. */
export interface UsageParameters {
  readonly from: string;
  readonly to: string;
  /** Null where no breakdown besides those by model and by day is wanted. */
  readonly groupBy: readonly UsageDimension[] | null;
}

export type ReadUsageParameters =
  | { readonly outcome: 'read'; readonly parameters: UsageParameters }
  | { readonly outcome: 'invalid'; readonly param: ParameterName; readonly message: string };

type ParameterName = 'from' | 'to' | 'group_by';

const DAY_MS = 24 * 60 * 60 * 1000;
const DEFAULT_DAYS = 30;
export const MOST_DAYS = 400;
const FIRST_YEAR = 2000;
const LAST_YEAR = 2199;
/** A day in UTC, or a moment with its zone: what a server takes for local time nobody knows. */
const ISO = /^(\d{4})-(\d\d)-(\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d))?$/i;
const DIMENSIONS: readonly UsageDimension[] = ['model', 'day', 'key'];
const LONGEST = 64;

/**
 * `from` and `to` are days, both included, or moments: from the day in which the first lies to the one in which the
 * second ends, so that midnight ends the day before it. Without them the last 30 days, today included.
 */
export function readUsageParameters(search: URLSearchParams, nowMs: number): ReadUsageParameters {
  for (const param of ['from', 'to'] as const) {
    const given = search.getAll(param);
    if (given.length > 1) return invalid(param, `Give ${param} once.`);
    if (given[0] !== undefined && timeOf(given[0]) === null) return invalid(param, notATime(param));
  }
  const from = timeOf(search.get('from') ?? '');
  const to = timeOf(search.get('to') ?? '');
  const lastDayMs = to === null ? dayOf(nowMs) : dayOf(to.isDay ? to.atMs : to.atMs - 1);
  const firstDayMs = from === null ? lastDayMs - (DEFAULT_DAYS - 1) * DAY_MS : dayOf(from.atMs);
  if (firstDayMs > lastDayMs) {
    const param = to === null ? 'from' : 'to';
    const message =
      to === null ? 'from lies after today: there is nothing yet.' : 'to lies before from, or ends with it.';
    return invalid(param, message);
  }
  if ((lastDayMs - firstDayMs) / DAY_MS >= MOST_DAYS) {
    return invalid('from', `At most ${MOST_DAYS} days at once: ask for a later from or an earlier to.`);
  }
  const groupBy = readGroupBy(search.getAll('group_by'));
  if (groupBy === 'invalid') {
    return invalid('group_by', `group_by is one or more of ${DIMENSIONS.join(', ')}, with commas between.`);
  }
  return { outcome: 'read', parameters: { from: dayText(firstDayMs), to: dayText(lastDayMs), groupBy } };
}

function readGroupBy(given: readonly string[]): readonly UsageDimension[] | null | 'invalid' {
  if (given.length === 0) return null;
  const text = given.join(',');
  if (text.length > LONGEST) return 'invalid';
  const words = text.split(',').map((word) => word.trim());
  const known = DIMENSIONS.filter((dimension) => words.includes(dimension));
  return words.every((word) => DIMENSIONS.some((dimension) => dimension === word)) ? known : 'invalid';
}

function timeOf(text: string): { readonly atMs: number; readonly isDay: boolean } | null {
  // In an address a + stands for a space, which many clients forget in +01:00.
  const match = text.length > LONGEST ? null : ISO.exec(text.trim().replace(' ', '+'));
  if (match === null) return null;
  const [whole, year = '', month, day, time] = match;
  if (Number(year) < FIRST_YEAR || Number(year) > LAST_YEAR) return null;
  // The 30th of February is a day of March to Date, and a slip of somebody's to us.
  const atMidnight = Date.parse(`${year}-${month}-${day}T00:00:00Z`);
  if (Number.isNaN(atMidnight) || dayText(atMidnight) !== `${year}-${month}-${day}`) return null;
  const atMs = time === undefined ? atMidnight : Date.parse(whole.toUpperCase());
  return Number.isNaN(atMs) ? null : { atMs, isDay: time === undefined };
}

function dayOf(atMs: number): number {
  return Math.floor(atMs / DAY_MS) * DAY_MS;
}

function dayText(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

function notATime(param: ParameterName): string {
  return `${param} must be a day such as 2026-01-31, or a time with its zone such as 2026-01-31T12:00:00Z.`;
}

function invalid(param: ParameterName, message: string): ReadUsageParameters {
  return { outcome: 'invalid', param, message };
}
