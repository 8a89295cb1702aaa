import { z } from 'zod';
import { documentFactsSchema, evidenceSchema } from './document-facts.ts';

/** Bounds of a record: what a long CV has, several times over. */
export const MOST = {
  work: 60,
  education: 30,
  skills: 300,
  highlights: 40,
  other: 60,
  characters: 4000,
} as const;

const text = z.string().min(1).max(MOST.characters);
const maybe = text.nullable();

/** A year, a month or a day: `2019`, `2019-03`, `2019-03-01`. */
export const partialDateSchema = z
  .string()
  .regex(
    /^(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?$/,
    'a date like 2019 or 2019-03',
  );
const maybeDate = partialDateSchema.nullable();

export const DEGREE_LEVEL_NAMES = ['doctorate', 'master', 'bachelor', 'associate', 'secondary'] as const;

const locationSchema = z.object({
  city: maybe,
  region: maybe,
  /** ISO 3166-1, two letters; derived from the place that the text names. */
  countryCode: z.string().length(2).nullable(),
});

const basicsSchema = z.object({
  name: maybe,
  label: maybe,
  email: maybe,
  phone: maybe,
  url: maybe,
  summary: maybe,
  location: locationSchema.nullable(),
  profiles: z.array(z.object({ network: maybe, username: maybe, url: maybe })).max(MOST.other),
});

/** An entry with a start and no end goes on to this day, as in JSON Resume. */
const workSchema = z.object({
  name: maybe,
  position: maybe,
  location: maybe,
  startDate: maybeDate,
  endDate: maybeDate,
  summary: maybe,
  highlights: z.array(text).max(MOST.highlights),
});

const educationSchema = z.object({
  institution: maybe,
  area: maybe,
  studyType: maybe,
  startDate: maybeDate,
  endDate: maybeDate,
});

/** `name` as the text has it; `canonical` by our list, null for what the list does not know. */
export const skillSchema = z.object({ name: text, canonical: maybe });

export const cvProfileSchema = z.object({
  basics: basicsSchema,
  work: z.array(workSchema).max(MOST.work),
  education: z.array(educationSchema).max(MOST.education),
  skills: z.array(skillSchema).max(MOST.skills),
  languages: z.array(z.object({ language: text, fluency: maybe })).max(MOST.other),
  certificates: z.array(z.object({ name: text, date: maybeDate, issuer: maybe })).max(MOST.other),
  projects: z
    .array(z.object({ name: text, description: maybe, startDate: maybeDate, endDate: maybeDate, url: maybe }))
    .max(MOST.other),
  /** Time in work, overlaps counted once; null where no entry has dates. */
  total_months_experience: z.number().int().nonnegative().nullable(),
  current_title: maybe,
  current_company: maybe,
  highest_degree_level: z.enum(DEGREE_LEVEL_NAMES).nullable(),
});

export const parsedCvSchema = z.object({
  document: documentFactsSchema,
  /** Null for a text that is not a CV. */
  profile: cvProfileSchema.nullable(),
  evidence: z.array(evidenceSchema),
});

export type CvProfile = z.infer<typeof cvProfileSchema>;
export type CvWork = CvProfile['work'][number];
export type CvEducation = CvProfile['education'][number];
export type ParsedSkill = z.infer<typeof skillSchema>;
export type ParsedCv = z.infer<typeof parsedCvSchema>;
