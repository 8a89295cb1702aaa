import { z } from 'zod';

/** The languages that can be detected; `und` if the text is too short or in another language. */
const DOCUMENT_LANGUAGES = [
  'en',
  'de',
  'fr',
  'es',
  'it',
  'pt',
  'nl',
  'pl',
  'cs',
  'sk',
  'hu',
  'ro',
  'sv',
  'da',
  'no',
  'tr',
  'und',
] as const;

const documentFactsSchema = z.object({
  kind: z.enum(['cv', 'job_posting', 'other']),
  language: z.enum(DOCUMENT_LANGUAGES),
  /** The confidence in the kind, 0 to 1. */
  confidence: z.number().min(0).max(1),
  warnings: z.array(z.string()),
});

/**
 * The position of a value of the record: `path` as in `work[0].position`, `start` and `end` as offsets in UTF-16 code
 * units into the text that was read.
 */
const evidenceSchema = z.object({
  path: z.string(),
  start: z.number().int().nonnegative(),
  end: z.number().int().nonnegative(),
  confidence: z.number().min(0).max(1),
});

export type DocumentFacts = z.infer<typeof documentFactsSchema>;
export type DocumentKindGuess = DocumentFacts['kind'];
export type DocumentLanguage = DocumentFacts['language'];
export type Evidence = z.infer<typeof evidenceSchema>;

/** Limits of a record: several times what a long CV or posting contains. */
export const MOST = {
  work: 60,
  education: 30,
  skills: 300,
  highlights: 40,
  locations: 20,
  other: 60,
  characters: 4000,
  descriptionCharacters: 20_000,
} as const;

const text = z.string().min(1).max(MOST.characters);
const maybe = text.nullable();

/** A year, a month or a day: `2019`, `2019-03`, `2019-03-01`. */
const maybeDate = z
  .string()
  .regex(/^(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?$/, 'a date like 2019 or 2019-03')
  .nullable();

/** From highest to lowest. */
export const DEGREE_LEVELS = ['doctorate', 'master', 'bachelor', 'associate', 'secondary'] as const;

export type DegreeLevel = (typeof DEGREE_LEVELS)[number];

const locationSchema = z.object({
  city: maybe,
  region: maybe,
  /** ISO 3166-1, two letters; derived from the place named in the text. */
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

/** An entry with a start but no end continues to the present, as in JSON Resume. */
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

/** `name` is as in the text; `canonical` is from our list, null if the list does not contain it. */
const skillSchema = z.object({ name: text, canonical: maybe });

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
  /** Time at work, with overlaps counted once; null if no entry has dates. */
  total_months_experience: z.number().int().nonnegative().nullable(),
  current_title: maybe,
  current_company: maybe,
  highest_degree_level: z.enum(DEGREE_LEVELS).nullable(),
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
export type ParsedCv = z.infer<typeof parsedCvSchema>;

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

const WORK_MODES = ['REMOTE', 'HYBRID', 'ON_SITE'] as const;

/** From lowest to highest; null if the posting names no rank. */
const SENIORITIES = ['INTERN', 'JUNIOR', 'MID', 'SENIOR', 'LEAD', 'DIRECTOR', 'EXECUTIVE'] as const;

export const SALARY_UNITS = ['HOUR', 'DAY', 'WEEK', 'MONTH', 'YEAR'] as const;

/** Uses the vocabulary of schema.org's JobPosting, plus must-haves and nice-to-haves. */
export const postingSchema = z.object({
  title: maybe,
  description: z.string().max(MOST.descriptionCharacters).nullable(),
  hiringOrganization: z.object({ name: text }).nullable(),
  jobLocation: z.array(z.object({ city: maybe, region: maybe, country: maybe })).max(MOST.locations),
  /** Remote work; null if the text does not mention it, or if part of the work is done on site. */
  jobLocationType: z.literal('TELECOMMUTE').nullable(),
  work_mode: z.enum(WORK_MODES).nullable(),
  seniority: z.enum(SENIORITIES).nullable(),
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
  datePosted: maybeDate,
  validThrough: maybeDate,
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
export type WorkMode = (typeof WORK_MODES)[number];
export type Seniority = (typeof SENIORITIES)[number];
export type SalaryUnit = (typeof SALARY_UNITS)[number];
