import { z } from 'zod';
import {
  MOST_USAGE_DAYS,
  readUsageRange,
  type UsageBound,
  type UsageRange,
} from '../../domain/calls/usage/usage-range.ts';
import { searchWords } from '../../domain/jobs/job.ts';
import { isId, isPrintable } from '../../domain/keys/api-key.ts';
import { badInput, notFound } from './errors.ts';
import { isGivenAsDay } from './schema-builder.ts';

/** Every bound on what users enter. A resolver reads each text from outside through one of these first. */
const LONGEST_LINE = 200;
const LONGEST_SECRET = 512;
const LONGEST_EMAIL = 254;
const MOST_WORDS = 50;
/** PostgreSQL does not store NUL, a lone surrogate is not a character, and control characters garble tables. */
const PRINTABLE = /^[^\p{C}\u2028\u2029]*$/u;
const STORABLE = /^[^\0\p{Cs}]*$/u;

const CONTROL = 'no control characters are allowed';

const bounds = {
  /** A name or title: one line of text. */
  line: z.string().trim().min(1, 'it must not be empty').max(LONGEST_LINE).refine(isPrintable, CONTROL),
  email: z.string().trim().min(3).max(LONGEST_EMAIL).regex(PRINTABLE, CONTROL),
  /** Passwords and one-time tokens: any characters, unchanged. */
  secret: z.string().max(LONGEST_SECRET).regex(STORABLE, CONTROL),
  /** A sentence with line breaks, such as a reason. */
  paragraph: z.string().trim().min(1, 'it must not be empty').max(2_000).regex(STORABLE, CONTROL),
  /** A list of short words: scopes, aliases. */
  words: z.array(z.string().max(LONGEST_LINE).regex(PRINTABLE, CONTROL)).max(MOST_WORDS),
  /** Ids of the payment provider, as many as one request may process. */
  providerIds: z.array(z.string().min(1).max(255).regex(PRINTABLE, CONTROL)).max(1_000),
  /** An address or key of a provider; the domain validates it. */
  technical: z.string().max(4_096).regex(PRINTABLE, CONTROL),
} as const;

/** The value within its bounds, or BAD_USER_INPUT that names the field. The message never repeats the value. */
export function bounded<Kind extends keyof typeof bounds>(
  kind: Kind,
  field: string,
  value: unknown,
): z.output<(typeof bounds)[Kind]> {
  const read = bounds[kind].safeParse(value);
  if (read.success) return read.data as z.output<(typeof bounds)[Kind]>;
  throw badInput(field, read.error.issues[0]?.message ?? 'it cannot be read');
}

/** The words of a search; none where it is left out or blank. */
export function searchArg(search: string | null | undefined): readonly string[] {
  return search == null || search.trim() === '' ? [] : searchWords(bounded('line', 'search', search));
}

/** Null and left out stay null. */
export function boundedOrNull<Kind extends keyof typeof bounds>(
  kind: Kind,
  field: string,
  value: unknown,
): z.output<(typeof bounds)[Kind]> | null {
  return value === null || value === undefined ? null : bounded(kind, field, value);
}

/** A malformed id is NOT_FOUND; the database would report an error. */
export function idOf(what: string, value: string | number): string {
  const id = String(value);
  if (!isId(id)) throw notFound(what);
  return id;
}

/** How far back operators look, in hours: a day by default, a week at most. */
const USUAL_HOURS = 24;
const MOST_HOURS = 168;
const HOUR_MS = 3_600_000;

/** The time so many hours ago. */
export function hoursAgo(hours: number | null | undefined, nowMs: number): Date {
  const requested = hours ?? USUAL_HOURS;
  if (requested < 1 || requested > MOST_HOURS) {
    throw badInput('hours', `a whole number from 1 to ${MOST_HOURS} is needed`);
  }
  return new Date(nowMs - requested * HOUR_MS);
}

/** From `from`, or so many hours ago, to `to`, or now; a week at most. */
export function timeSpan(
  args: {
    readonly from?: Date | null | undefined;
    readonly to?: Date | null | undefined;
    readonly hours?: number | null | undefined;
  },
  nowMs: number,
): { readonly from: Date; readonly to: Date } {
  // A call may have been recorded by a clock that is ahead of this one.
  const latestMs = nowMs + HOUR_MS;
  const to = new Date(Math.min(args.to?.getTime() ?? latestMs, latestMs));
  const from = args.from ?? hoursAgo(args.hours, nowMs);
  if (from.getTime() >= to.getTime()) throw badInput('from', 'it must be before `to`, and not in the future');
  if (to.getTime() - from.getTime() > (MOST_HOURS + 1) * HOUR_MS) {
    throw badInput('from', `at most ${MOST_HOURS} hours before \`to\``);
  }
  return { from, to };
}

const FIRST_DAY_MS = Date.UTC(2000, 0, 1);
const LAST_DAY_MS = Date.UTC(2199, 11, 31);

interface Period {
  readonly from?: Date | null | undefined;
  readonly to?: Date | null | undefined;
}

/** A date includes its whole day, a time is exact. The last 30 days by default, at most 400 days. */
export function usagePeriod({ from, to }: Period, nowMs: number): UsageRange {
  for (const [field, day] of Object.entries({ from, to })) {
    if (day == null || (day.getTime() >= FIRST_DAY_MS && day.getTime() < LAST_DAY_MS)) continue;
    throw badInput(field, 'a day from 2000 to 2199 is needed');
  }
  const read = readUsageRange({ from: boundOf(from), to: boundOf(to) }, nowMs);
  if (read.outcome === 'read') return read.range;
  throw badInput(
    'from',
    {
      'in-future': 'it is in the future: there is no usage yet',
      reversed: 'it must be before `to`',
      'too-long': `at most ${MOST_USAGE_DAYS} days at once: give a later from or an earlier to`,
    }[read.outcome],
  );
}

function boundOf(moment: Date | null | undefined): UsageBound | null {
  return moment == null ? null : { atMs: moment.getTime(), isDay: isGivenAsDay(moment) };
}
