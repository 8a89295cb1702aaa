import { isObject } from '../../../ports/json-object.ts';
import {
  type CvProfile,
  type DocumentKindGuess,
  EMPLOYMENT_TYPES,
  MOST,
  type Posting,
  SALARY_UNITS,
} from '../parsed-document.ts';
import { findDates, isoOf, meansPresent } from '../text/dates.ts';

/**
 * A model's answer as a record that is not yet checked against the text. check-answer.ts does that, and nothing of an
 * answer may be shown before.
 */
type ModelAnswer<Value> =
  /** Usable. `problems` lists what had to be omitted; if it is not empty, one repair is worthwhile. */
  | {
      readonly outcome: 'read';
      readonly kind: DocumentKindGuess;
      readonly value: Value;
      readonly problems: readonly string[];
      /** Whether the answer was cut off, so that only its beginning was read. */
      readonly isCutOff: boolean;
    }
  | { readonly outcome: 'unreadable'; readonly problems: readonly string[] };

export function readModelCv(answer: string): ModelAnswer<CvProfile> {
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
  return {
    outcome: 'read',
    kind: documentKindIn(whole.document_kind, 'cv'),
    value: profile,
    ...endOf(json, fields),
  };
}

export function readModelPosting(answer: string): ModelAnswer<Posting> {
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
    jobLocation: items('jobLocation', whole.jobLocation, MOST.locations, (one, path) => ({
      city: text(`${path}.city`, one.city ?? one.name, 200),
      region: text(`${path}.region`, one.region, 200),
      country: text(`${path}.country`, one.country, 200),
    })),
    jobLocationType:
      whole.isRemote === true || whole.jobLocationType === 'TELECOMMUTE' ? 'TELECOMMUTE' : null,
    // Read from the text, regardless of the model.
    work_mode: null,
    seniority: null,
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
    kind: documentKindIn(whole.document_kind, 'job_posting'),
    value: posting,
    ...endOf(json, fields),
  };
}

const CUT_OFF =
  'the answer broke off before its end: answer again and leave out summaries, highlights, descriptions and responsibilities';

function endOf({ isCutOff }: JsonObjectRead, { problems }: LooseFields) {
  return { isCutOff, problems: isCutOff ? [CUT_OFF, ...problems] : problems };
}

function documentKindIn(value: unknown, otherwise: DocumentKindGuess): DocumentKindGuess {
  return value === 'cv' || value === 'job_posting' || value === 'other' ? value : otherwise;
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

/**
 * Reads the fields of an answer leniently: a missing value for null, a number for a text, one item for a list. A value
 * that cannot be read becomes null and adds a problem; the rest of the answer is kept.
 */
interface LooseFields {
  text(path: string, value: unknown, longest?: number): string | null;
  date(path: string, value: unknown): string | null;
  number(path: string, value: unknown): number | null;
  texts(path: string, value: unknown, most: number): string[];
  /** The objects of a list, converted by `read`; null omits an item. */
  items<Item>(
    path: string,
    value: unknown,
    most: number,
    read: (fields: Readonly<Record<string, unknown>>, path: string) => Item | null,
  ): Item[];
  readonly problems: readonly string[];
}

const NOTHING = /^(?:null|none|n\/?a|unknown|not (?:specified|mentioned|available|provided)|-|–)?$/i;
const MOST_PROBLEMS = 30;

function createLooseFields(): LooseFields {
  const problems: string[] = [];
  const say = (problem: string) => {
    if (problems.length < MOST_PROBLEMS) problems.push(problem);
    return null;
  };
  const text = (path: string, value: unknown, longest: number = MOST.characters): string | null => {
    if (value === undefined || value === null) return null;
    if (typeof value === 'number') return String(value);
    if (typeof value !== 'string') return say(`${path} must be a string or null`);
    const clean = value.trim();
    if (NOTHING.test(clean)) return null;
    return clean.length > longest ? say(`${path} is longer than ${longest} characters`) : clean;
  };
  return {
    problems,
    text,
    date: (path, value) => {
      const raw = text(path, value);
      if (raw === null || meansPresent(raw)) return null;
      if (/^(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2]))?$/.test(raw)) return raw;
      const point = findDates(raw)[0]?.from ?? null;
      return point === null ? say(`${path} must be a date like 2019 or 2019-03, or null`) : isoOf(point);
    },
    number: (path, value) => {
      if (value === undefined || value === null || value === '') return null;
      const number = typeof value === 'string' ? Number(value.replace(/[,\s]/g, '')) : value;
      if (typeof number === 'number' && Number.isFinite(number) && number >= 0) return number;
      return say(`${path} must be a number or null`);
    },
    texts: (path, value, most) => {
      if (value === undefined || value === null) return [];
      const list = Array.isArray(value) ? value : [value];
      return list.slice(0, most).flatMap((one, at) => {
        const plain = isObject(one) ? (one.name ?? one.skill ?? one.text ?? null) : one;
        return text(`${path}[${at}]`, plain) ?? [];
      });
    },
    items: (path, value, most, read) => {
      if (value === undefined || value === null) return [];
      if (!Array.isArray(value)) {
        say(`${path} must be a list`);
        return [];
      }
      return value.slice(0, most).flatMap((one, at) => {
        const place = `${path}[${at}]`;
        const fields = typeof one === 'string' ? { name: one, language: one } : one;
        if (!isObject(fields)) {
          say(`${place} must be an object`);
          return [];
        }
        return read(fields, place) ?? [];
      });
    },
  };
}

interface JsonObjectRead {
  readonly outcome: 'object';
  readonly value: Readonly<Record<string, unknown>>;
  readonly isCutOff: boolean;
}

type JsonAnswer = JsonObjectRead | { readonly outcome: 'none'; readonly problem: string };

/** An answer has a few thousand characters; a much longer one is from a model that does not stop. */
const LONGEST_ANSWER = 400_000;

/** The JSON object of an answer: alone, in a code fence, or surrounded by prose. */
function readJsonAnswer(answer: string): JsonAnswer {
  if (answer.length > LONGEST_ANSWER) return { outcome: 'none', problem: 'the answer is too long' };
  const fenced = /```(?:json)?\s*([\s\S]*?)```/.exec(answer)?.[1];
  for (const candidate of [answer, fenced, outermost(answer)]) {
    if (candidate === undefined || candidate === null) continue;
    const value = parsed(candidate);
    if (isObject(value)) return { outcome: 'object', value, isCutOff: false };
    if (value !== undefined) return { outcome: 'none', problem: 'the answer is JSON, but not an object' };
  }
  const closed = parsed(closedJson(answer) ?? '');
  if (isObject(closed) && Object.keys(closed).length > 0)
    return { outcome: 'object', value: closed, isCutOff: true };
  const problem = answer.includes('{')
    ? 'the answer is broken JSON: an unclosed bracket or quote, or text after the object'
    : 'the answer has no JSON object';
  return { outcome: 'none', problem };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.trim());
  } catch {
    return undefined;
  }
}

function outermost(text: string): string | null {
  const [from, to] = [text.indexOf('{'), text.lastIndexOf('}')];
  return from === -1 || to <= from ? null : text.slice(from, to + 1);
}

/**
 * Closes an object that was cut off after its last complete value, as when a model reaches its limit. Null if there is
 * nothing to close, or if a bracket closes one that was not opened.
 */
function closedJson(answer: string): string | null {
  const from = answer.indexOf('{');
  if (from === -1) return null;
  const open: string[] = [];
  /** Where the text can be cut, and the brackets that close it there. */
  let whole: { readonly end: number; readonly closing: string } | null = null;
  const closing = () => open.toReversed().join('');
  let isText = false;
  for (let at = from; at < answer.length; at++) {
    const character = answer[at];
    if (isText) {
      if (character === '\\') at++;
      else if (character === '"') isText = false;
      continue;
    }
    if (character === '"') isText = true;
    else if (character === '{' || character === '[') open.push(character === '{' ? '}' : ']');
    else if (character === ',') whole = { end: at, closing: closing() };
    else if (character === '}' || character === ']') {
      if (open.pop() !== character) return null;
      if (open.length === 0) return null;
      whole = { end: at + 1, closing: closing() };
    }
  }
  return whole === null ? null : answer.slice(from, whole.end) + whole.closing;
}
