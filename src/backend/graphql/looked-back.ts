import { badInput } from './refusals.ts';

/** How far back operators look: past a week a month's invoice knows more. */
const MOST_HOURS = 168;
const HOUR_MS = 3_600_000;

/** The moment so many hours ago. */
export function hoursAgo(hours: number | null | undefined, usual: number, nowMs: number): Date {
  const wanted = hours ?? usual;
  if (wanted < 1 || wanted > MOST_HOURS) {
    throw badInput('hours', `a whole number from 1 to ${MOST_HOURS} is needed`);
  }
  return new Date(nowMs - wanted * HOUR_MS);
}

/** From `from`, or so many hours ago, to `to`, or now; a week at most. */
export function timeSpan(
  args: {
    readonly from?: Date | null | undefined;
    readonly to?: Date | null | undefined;
    readonly hours?: number | null | undefined;
  },
  usualHours: number,
  nowMs: number,
): { readonly from: Date; readonly to: Date } {
  // A call may have begun by a clock that is ahead of this one.
  const latestMs = nowMs + HOUR_MS;
  const to = new Date(Math.min(args.to?.getTime() ?? latestMs, latestMs));
  const from = args.from ?? hoursAgo(args.hours, usualHours, nowMs);
  if (from.getTime() >= to.getTime()) throw badInput('from', 'it must be before `to`, and not in the future');
  if (to.getTime() - from.getTime() > (MOST_HOURS + 1) * HOUR_MS) {
    throw badInput('from', `at most ${MOST_HOURS} hours before \`to\``);
  }
  return { from, to };
}
