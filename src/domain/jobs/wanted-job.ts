import { z } from 'zod';
import { JOB_FIELD_NAMES, type JobFieldName, type JobFields } from './job.ts';

/** What somebody wants a job to be: left out is not said; null takes away what a job need not have. */
export type WantedFields = { readonly [Name in JobFieldName]?: JobFields[Name] | null | undefined };

export type CheckedFields =
  | { readonly outcome: 'checked'; readonly fields: Partial<JobFields> }
  | { readonly outcome: 'invalid'; readonly field: JobFieldName; readonly message: string };

export const LONGEST_TITLE = 300;
export const LONGEST_DESCRIPTION = 100_000;
export const LONGEST_REQUIREMENT = 500;
export const MOST_REQUIREMENTS = 100;
export const MOST_MONTHS = 1_200;

/** PostgreSQL keeps no NUL, and a lone surrogate is no character. */
const STORABLE = /^[^\0\p{Cs}]*$/u;
const ONE_LINE = /^[^\p{Cc}\p{Cs}\u2028\u2029]*$/u;
const UNPRINTABLE = 'no control characters are allowed';

const line = (longest: number) =>
  z.string().trim().min(1, 'it must not be empty').max(longest).regex(ONE_LINE, UNPRINTABLE);
const requirements = z.array(line(LONGEST_REQUIREMENT)).max(MOST_REQUIREMENTS);

const FORMS = {
  title: line(LONGEST_TITLE),
  description: z.string().trim().max(LONGEST_DESCRIPTION).regex(STORABLE, UNPRINTABLE),
  location: line(300).nullable(),
  remote: z.boolean(),
  employmentType: line(100).nullable(),
  mustHave: requirements,
  niceToHave: requirements,
  minMonthsExperience: z.int().min(0).max(MOST_MONTHS).nullable(),
} as const satisfies { readonly [Name in JobFieldName]: z.ZodType<JobFields[Name]> };

/** Each field that was given, trimmed and within its bounds. Null for one that a job must have counts as left out. */
export function checkWantedFields(wanted: WantedFields): CheckedFields {
  const fields: Record<string, unknown> = {};
  for (const name of JOB_FIELD_NAMES) {
    const value = wanted[name];
    const form = FORMS[name];
    if (value === undefined || (value === null && !form.safeParse(null).success)) continue;
    const read = form.safeParse(value);
    if (!read.success) {
      return {
        outcome: 'invalid',
        field: name,
        message: read.error.issues[0]?.message ?? 'it cannot be used',
      };
    }
    fields[name] = read.data;
  }
  return { outcome: 'checked', fields: fields as Partial<JobFields> };
}
