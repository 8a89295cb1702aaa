import type { DocumentKindGuess } from '../document-facts.ts';
import { MOST } from '../parsed-cv.ts';
import { EMPLOYMENT_TYPES, type Posting, SALARY_UNITS } from '../parsed-posting.ts';
import { isObject, readJsonAnswer } from './json-answer.ts';
import { createLooseFields, type LooseFields } from './loose-fields.ts';
import { kindOf } from './read-model-cv.ts';

export type ModelPostingAnswer =
  | {
      readonly outcome: 'read';
      readonly kind: DocumentKindGuess;
      readonly posting: Posting;
      readonly problems: readonly string[];
    }
  | { readonly outcome: 'unreadable'; readonly problems: readonly string[] };

/** As readModelCv: what the model says, not yet held against the text. */
export function readModelPosting(answer: string): ModelPostingAnswer {
  const json = readJsonAnswer(answer);
  if (json.outcome === 'none') return { outcome: 'unreadable', problems: [json.problem] };
  const whole = isObject(json.value.posting) ? { ...json.value, ...json.value.posting } : json.value;
  if (!['title', 'must_have', 'skills', 'responsibilities'].some((key) => key in whole)) {
    return {
      outcome: 'unreadable',
      problems: ['the object has none of title, must_have, skills, responsibilities'],
    };
  }
  const fields = createLooseFields();
  const { text, date, texts, items, number } = fields;
  const organisation = isObject(whole.hiringOrganization)
    ? whole.hiringOrganization.name
    : whole.hiringOrganization;
  const name = text('hiringOrganization', organisation, 300);
  const months = number('monthsOfExperience', whole.monthsOfExperience);
  const posting: Posting = {
    title: text('title', whole.title, 300),
    description: null,
    hiringOrganization: name === null ? null : { name },
    jobLocation: items('jobLocation', whole.jobLocation, 20, (one, path) => ({
      city: text(`${path}.city`, one.city ?? one.name, 200),
      region: text(`${path}.region`, one.region, 200),
      country: text(`${path}.country`, one.country, 200),
    })),
    jobLocationType:
      whole.isRemote === true || whole.jobLocationType === 'TELECOMMUTE' ? 'TELECOMMUTE' : null,
    employmentType: EMPLOYMENT_TYPES.find((type) => type === whole.employmentType) ?? null,
    baseSalary: salaryOf(whole.baseSalary, fields),
    must_have: texts('must_have', whole.must_have, MOST.other),
    nice_to_have: texts('nice_to_have', whole.nice_to_have, MOST.other),
    skills: texts('skills', whole.skills, MOST.skills).map((skill) => ({ name: skill, canonical: null })),
    responsibilities: texts('responsibilities', whole.responsibilities, MOST.other),
    experienceRequirements: months === null ? null : { monthsOfExperience: Math.round(months) },
    educationRequirements: texts('educationRequirements', whole.educationRequirements, MOST.other),
    jobBenefits: texts('jobBenefits', whole.jobBenefits, MOST.other),
    datePosted: date('datePosted', whole.datePosted),
    validThrough: date('validThrough', whole.validThrough),
  };
  return {
    outcome: 'read',
    kind: kindOf(whole.document_kind, 'job_posting'),
    posting,
    problems: fields.problems,
  };
}

function salaryOf(value: unknown, { text, number }: LooseFields): Posting['baseSalary'] {
  if (!isObject(value)) return null;
  const minValue = number('baseSalary.minValue', value.minValue);
  const maxValue = number('baseSalary.maxValue', value.maxValue);
  if (minValue === null && maxValue === null) return null;
  const currency = text('baseSalary.currency', value.currency, 10)?.toUpperCase() ?? null;
  return {
    currency: currency !== null && /^[A-Z]{3}$/.test(currency) ? currency : null,
    minValue,
    maxValue,
    unitText: SALARY_UNITS.find((unit) => unit === value.unitText) ?? null,
  };
}
