import type { DocumentKindGuess } from '../document-facts.ts';
import { type CvProfile, MOST } from '../parsed-cv.ts';
import { isObject, readJsonAnswer } from './json-answer.ts';
import { createLooseFields } from './loose-fields.ts';

export type ModelCvAnswer =
  /** Usable; `problems` says what of it had to be left out, and is worth one repair where it is not empty. */
  | {
      readonly outcome: 'read';
      readonly kind: DocumentKindGuess;
      readonly profile: CvProfile;
      readonly problems: readonly string[];
    }
  | { readonly outcome: 'unreadable'; readonly problems: readonly string[] };

/**
 * A model's answer as a profile, not yet held against the text: that is checkCv's work, and nothing of an answer may be
 * shown before it.
 */
export function readModelCv(answer: string): ModelCvAnswer {
  const json = readJsonAnswer(answer);
  if (json.outcome === 'none') return { outcome: 'unreadable', problems: [json.problem] };
  const whole = isObject(json.value.profile) ? { ...json.value, ...json.value.profile } : json.value;
  const known = ['basics', 'work', 'education', 'skills'].filter((key) => key in whole);
  if (known.length === 0)
    return { outcome: 'unreadable', problems: ['the object has none of basics, work, education, skills'] };
  const fields = createLooseFields();
  const { text, date, texts, items } = fields;
  const basics = isObject(whole.basics) ? whole.basics : {};
  const place = isObject(basics.location) ? basics.location : {};
  const [city, region] = [
    text('basics.location.city', place.city),
    text('basics.location.region', place.region),
  ];
  const profile: CvProfile = {
    basics: {
      name: text('basics.name', basics.name, 200),
      label: text('basics.label', basics.label, 300),
      email: text('basics.email', basics.email, 320),
      phone: text('basics.phone', basics.phone, 60),
      url: text('basics.url', basics.url, 500),
      summary: text('basics.summary', basics.summary),
      location: city === null && region === null ? null : { city, region, countryCode: null },
      profiles: items('basics.profiles', basics.profiles, MOST.other, (one, path) => ({
        network: text(`${path}.network`, one.network, 60),
        username: null,
        url: text(`${path}.url`, one.url, 500),
      })),
    },
    work: items('work', whole.work, MOST.work, (one, path) => ({
      name: text(`${path}.name`, one.name ?? one.company, 300),
      position: text(`${path}.position`, one.position ?? one.title, 300),
      location: text(`${path}.location`, one.location, 200),
      startDate: date(`${path}.startDate`, one.startDate),
      endDate: date(`${path}.endDate`, one.endDate),
      summary: text(`${path}.summary`, one.summary),
      highlights: texts(`${path}.highlights`, one.highlights, MOST.highlights),
    })),
    education: items('education', whole.education, MOST.education, (one, path) => ({
      institution: text(`${path}.institution`, one.institution ?? one.school, 300),
      area: text(`${path}.area`, one.area, 300),
      studyType: text(`${path}.studyType`, one.studyType ?? one.degree, 300),
      startDate: date(`${path}.startDate`, one.startDate),
      endDate: date(`${path}.endDate`, one.endDate),
    })),
    skills: texts('skills', whole.skills, MOST.skills).map((name) => ({ name, canonical: null })),
    languages: items('languages', whole.languages, MOST.other, (one, path) => {
      const language = text(`${path}.language`, one.language ?? one.name, 100);
      return language === null ? null : { language, fluency: text(`${path}.fluency`, one.fluency, 100) };
    }),
    certificates: items('certificates', whole.certificates, MOST.other, (one, path) => {
      const name = text(`${path}.name`, one.name, 300);
      return name === null
        ? null
        : { name, date: date(`${path}.date`, one.date), issuer: text(`${path}.issuer`, one.issuer, 300) };
    }),
    projects: items('projects', whole.projects, MOST.other, (one, path) => {
      const name = text(`${path}.name`, one.name, 300);
      if (name === null) return null;
      return {
        name,
        description: text(`${path}.description`, one.description),
        startDate: date(`${path}.startDate`, one.startDate),
        endDate: date(`${path}.endDate`, one.endDate),
        url: text(`${path}.url`, one.url, 500),
      };
    }),
    total_months_experience: null,
    current_title: null,
    current_company: null,
    highest_degree_level: null,
  };
  return { outcome: 'read', kind: kindOf(whole.document_kind, 'cv'), profile, problems: fields.problems };
}

export function kindOf(value: unknown, otherwise: DocumentKindGuess): DocumentKindGuess {
  return value === 'cv' || value === 'job_posting' || value === 'other' ? value : otherwise;
}
