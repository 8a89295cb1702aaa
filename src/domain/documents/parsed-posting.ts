import { z } from 'zod';
import { documentFactsSchema, evidenceSchema } from './document-facts.ts';
import { MOST, partialDateSchema, skillSchema } from './parsed-cv.ts';

const text = z.string().min(1).max(MOST.characters);
const maybe = text.nullable();

export const EMPLOYMENT_TYPES = [
  'FULL_TIME',
  'PART_TIME',
  'CONTRACTOR',
  'TEMPORARY',
  'INTERN',
  'VOLUNTEER',
  'PER_DIEM',
  'OTHER',
] as const;

export const SALARY_UNITS = ['HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR'] as const;

/** The vocabulary of schema.org's JobPosting, with what must and what may be brought along. */
export const postingSchema = z.object({
  title: maybe,
  description: z.string().max(20_000).nullable(),
  hiringOrganization: z.object({ name: text }).nullable(),
  jobLocation: z.array(z.object({ city: maybe, region: maybe, country: maybe })).max(20),
  /** Remote work, wholly or in part of the week at the person's choice; null where the text does not say so. */
  jobLocationType: z.literal('TELECOMMUTE').nullable(),
  employmentType: z.enum(EMPLOYMENT_TYPES).nullable(),
  baseSalary: z
    .object({
      currency: z.string().length(3).nullable(),
      minValue: z.number().nonnegative().nullable(),
      maxValue: z.number().nonnegative().nullable(),
      unitText: z.enum(SALARY_UNITS).nullable(),
    })
    .nullable(),
  must_have: z.array(text).max(MOST.other),
  nice_to_have: z.array(text).max(MOST.other),
  skills: z.array(skillSchema).max(MOST.skills),
  responsibilities: z.array(text).max(MOST.other),
  experienceRequirements: z.object({ monthsOfExperience: z.number().int().nonnegative() }).nullable(),
  educationRequirements: z.array(text).max(MOST.other),
  jobBenefits: z.array(text).max(MOST.other),
  datePosted: partialDateSchema.nullable(),
  validThrough: partialDateSchema.nullable(),
});

export const parsedPostingSchema = z.object({
  document: documentFactsSchema,
  /** Null for a text that is not a posting. */
  posting: postingSchema.nullable(),
  evidence: z.array(evidenceSchema),
});

export type Posting = z.infer<typeof postingSchema>;
export type ParsedPosting = z.infer<typeof parsedPostingSchema>;
export type EmploymentType = (typeof EMPLOYMENT_TYPES)[number];
export type SalaryUnit = (typeof SALARY_UNITS)[number];
