import { beginsWithDay } from '../../../ports/clock.ts';

/** The most days of a report. */
export const MOST_USAGE_DAYS = 400;
const DEFAULT_DAYS = 30;
const DAY_MS = 24 * 60 * 60 * 1000;

/** One end of a period as given: a day in UTC, or a time. */
export interface UsageBound {
  readonly atMs: number;
  readonly isDay: boolean;
}

/**
 * The period of a report. Each end is a day, YYYY-MM-DD in UTC and inclusive, or a time in ISO 8601: inclusive for `from`,
 * exclusive for `to`.
 */
export interface UsageRange {
  readonly from: string;
  readonly to: string;
}

type ReadUsageRange =
  | { readonly outcome: 'read'; readonly range: UsageRange }
  /** `from` is after today, and there is no `to`. */
  | { readonly outcome: 'in-future' }
  | { readonly outcome: 'reversed' }
  | { readonly outcome: 'too-long' };

/**
 * Without `to` the period ends with today; without `from` it has 30 days. An end at midnight is the end of the previous day.
 */
export function readUsageRange(
  { from, to }: { readonly from: UsageBound | null; readonly to: UsageBound | null },
  nowMs: number,
): ReadUsageRange {
  const beforeMs = to === null ? dayOf(nowMs) + DAY_MS : to.isDay ? dayOf(to.atMs) + DAY_MS : to.atMs;
  const lastDayMs = dayOf(beforeMs - 1);
  const fromMs = from === null ? lastDayMs - (DEFAULT_DAYS - 1) * DAY_MS : from.atMs;
  if (fromMs >= beforeMs) return { outcome: to === null ? 'in-future' : 'reversed' };
  if ((lastDayMs - dayOf(fromMs)) / DAY_MS >= MOST_USAGE_DAYS) return { outcome: 'too-long' };
  return { outcome: 'read', range: rangeOf({ fromMs, beforeMs }) };
}

/** From one time up to another one, which is exclusive. */
export interface Span {
  readonly fromMs: number;
  readonly beforeMs: number;
}

export function spanOf({ from, to }: UsageRange): Span {
  const isDay = (text: string) => text.length === DAY_LENGTH;
  return { fromMs: Date.parse(from), beforeMs: Date.parse(to) + (isDay(to) ? DAY_MS : 0) };
}

/** Ends at midnight are written as days. */
export function rangeOf({ fromMs, beforeMs }: Span): UsageRange {
  return {
    from: fromMs === dayOf(fromMs) ? dayText(fromMs) : new Date(fromMs).toISOString(),
    to: beforeMs === dayOf(beforeMs) ? dayText(beforeMs - 1) : new Date(beforeMs).toISOString(),
  };
}

/** The days wholly within a span, null if there are none, and the partial days around them. */
export function splitSpan({ fromMs, beforeMs }: Span): {
  readonly days: UsageRange | null;
  readonly parts: readonly Span[];
} {
  const firstMs = dayOf(fromMs + DAY_MS - 1);
  const afterMs = dayOf(beforeMs);
  if (firstMs > afterMs) return { days: null, parts: [{ fromMs, beforeMs }] };
  const parts = [
    { fromMs, beforeMs: firstMs },
    { fromMs: afterMs, beforeMs },
  ].filter((part) => part.fromMs < part.beforeMs);
  return { days: firstMs === afterMs ? null : rangeOf({ fromMs: firstMs, beforeMs: afterMs }), parts };
}

/** The whole days that a span touches. */
export function widenSpan({ fromMs, beforeMs }: Span): Span {
  return { fromMs: dayOf(fromMs), beforeMs: dayOf(beforeMs + DAY_MS - 1) };
}

const DAY_LENGTH = 'YYYY-MM-DD'.length;

function dayOf(atMs: number): number {
  return Math.floor(atMs / DAY_MS) * DAY_MS;
}

function dayText(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, DAY_LENGTH);
}

const LONGEST_TIME = 64;
/** A day in UTC, or a time with its zone: without a zone it would be ambiguous. */
const ISO_TIME = /^(\d{4})-(\d\d)-(\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d))?$/i;

/** Matches the year, month, day and time of an ISO time in a query string. */
export function matchIsoTime(text: string): RegExpExecArray | null {
  // In a query string + means a space, and many clients do not escape it in +01:00.
  const written = text.trim().replace(' ', '+');
  return written.length > LONGEST_TIME ? null : ISO_TIME.exec(written);
}

/** A day is read as its start in UTC. Null if the text is not a time. */
export function momentIn(text: string): Date | null {
  const match = matchIsoTime(text);
  const moment = match === null || !beginsWithDay(match[0]) ? null : new Date(match[0]);
  return moment === null || Number.isNaN(moment.getTime()) ? null : moment;
}
