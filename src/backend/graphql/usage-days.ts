import { badInput } from './refusals.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const DEFAULT_DAYS = 30;
const MOST_DAYS = 400;
const FIRST_DAY_MS = Date.UTC(2000, 0, 1);
const LAST_DAY_MS = Date.UTC(2199, 11, 31);

interface Range {
  readonly from?: Date | null | undefined;
  readonly to?: Date | null | undefined;
}

/** From the day of `from` to the day of `to`, in UTC; the last 30 days unless told, and never more than 400. */
export function usageDays(
  { from, to }: Range,
  nowMs: number,
): { readonly from: string; readonly to: string } {
  for (const [field, day] of Object.entries({ from, to })) {
    if (day == null || (day.getTime() >= FIRST_DAY_MS && day.getTime() < LAST_DAY_MS)) continue;
    throw badInput(field, 'a day from 2000 to 2199 is needed');
  }
  const lastMs = dayOf(to?.getTime() ?? nowMs);
  const firstMs = from == null ? lastMs - (DEFAULT_DAYS - 1) * DAY_MS : dayOf(from.getTime());
  if (firstMs > lastMs) throw badInput('from', 'it lies after the end of the period');
  if ((lastMs - firstMs) / DAY_MS >= MOST_DAYS) {
    throw badInput('from', `at most ${MOST_DAYS} days at once: ask for a later from or an earlier to`);
  }
  return { from: dayText(firstMs), to: dayText(lastMs) };
}

function dayOf(atMs: number): number {
  return Math.floor(atMs / DAY_MS) * DAY_MS;
}

function dayText(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
