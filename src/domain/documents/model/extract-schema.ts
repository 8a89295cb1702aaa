import { z } from 'zod';
import { EMPLOYMENT_TYPES, SALARY_UNITS } from '../parsed-posting.ts';

const maybe = z.string().nullable();
const date = z.string().nullable().describe('YYYY or YYYY-MM as the document says it; null if it does not');

/**
 * What a model is asked for: the profile without what is derived from it (months, levels, canonical names, country
 * codes), because that is computed here from what the text bears out.
 */
export const modelCvSchema = z.object({
  document_kind: z.enum(['cv', 'job_posting', 'other']),
  basics: z.object({
    name: maybe,
    label: maybe,
    email: maybe,
    phone: maybe,
    url: maybe,
    summary: maybe,
    location: z.object({ city: maybe, region: maybe }).nullable(),
    profiles: z.array(z.object({ network: maybe, url: maybe })),
  }),
  work: z.array(
    z.object({
      name: maybe.describe('the employer'),
      position: maybe,
      location: maybe,
      startDate: date,
      endDate: date.describe('null if the work goes on to this day'),
      summary: maybe,
      highlights: z.array(z.string()),
    }),
  ),
  education: z.array(
    z.object({ institution: maybe, area: maybe, studyType: maybe, startDate: date, endDate: date }),
  ),
  skills: z.array(z.string()),
  languages: z.array(z.object({ language: z.string(), fluency: maybe })),
  certificates: z.array(z.object({ name: z.string(), date, issuer: maybe })),
  projects: z.array(
    z.object({ name: z.string(), description: maybe, startDate: date, endDate: date, url: maybe }),
  ),
});

export const modelPostingSchema = z.object({
  document_kind: z.enum(['cv', 'job_posting', 'other']),
  title: maybe,
  hiringOrganization: maybe,
  jobLocation: z.array(z.object({ city: maybe, region: maybe, country: maybe })),
  isRemote: z.boolean(),
  employmentType: z.enum(EMPLOYMENT_TYPES).nullable(),
  baseSalary: z
    .object({
      currency: maybe.describe('ISO 4217'),
      minValue: z.number().nullable(),
      maxValue: z.number().nullable(),
      unitText: z.enum(SALARY_UNITS).nullable(),
    })
    .nullable(),
  must_have: z.array(z.string()),
  nice_to_have: z.array(z.string()),
  skills: z.array(z.string()),
  responsibilities: z.array(z.string()),
  monthsOfExperience: z.number().nullable(),
  educationRequirements: z.array(z.string()),
  jobBenefits: z.array(z.string()),
  datePosted: date,
  validThrough: date,
});

export type ModelCv = z.infer<typeof modelCvSchema>;
export type ModelPosting = z.infer<typeof modelPostingSchema>;

/** The JSON schemas that go along with a request to the extract alias (`response_format: json_schema`). */
export function extractSchema(kind: 'cv' | 'job_posting'): { name: string; schema: Record<string, unknown> } {
  const schema = kind === 'cv' ? modelCvSchema : modelPostingSchema;
  return {
    name: kind === 'cv' ? 'parsed_cv' : 'parsed_jd',
    schema: z.toJSONSchema(schema, { target: 'draft-7' }),
  };
}
