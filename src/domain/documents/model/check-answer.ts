import { degreeLevelOf, highestLevel } from '../cv/education.ts';
import { currentPosition, type Month, monthsOfExperience } from '../cv/work.ts';
import { createCheckedValues } from '../evidence.ts';
import { type CvProfile, type Evidence, MOST, type Posting } from '../parsed-document.ts';
import {
  findEmploymentType,
  findExperience,
  findRemote,
  findSeniority,
  findWorkMode,
} from '../posting/employment-terms.ts';
import { introducesList } from '../posting/headings.ts';
import { findSalary } from '../posting/pay.ts';
import { findLinks, findPhones } from '../text/contact-details.ts';
import { findEmails } from '../text/email-addresses.ts';
import type { Found } from '../text/tokens.ts';
import { canonicalSkill, placeBook } from '../words/word-lists.ts';
import { withoutOrders } from './extract-prompt.ts';

/** A record whose values all occur in the text. */
interface CheckedRecord<Value> {
  readonly value: Value;
  readonly evidence: readonly Evidence[];
  /** The values that were dropped. */
  readonly warnings: readonly string[];
}

/** The confidence in a model's value that the text confirms. */
const CONFIDENCE = 0.9;

/**
 * Checks a model's profile against its source text: values that are not in the text are dropped, and derived values
 * (months, levels, canonical names, country codes) are computed again and never taken from the model.
 */
export function checkCv(source: string, claimed: CvProfile, today: Month): CheckedRecord<CvProfile> {
  const text = withoutOrders(source);
  const values = createCheckedValues(text, CONFIDENCE);
  const basics = basicsOf(claimed.basics, text, values);
  const work = claimed.work
    .map((entry, at) => {
      const path = `work[${at}]`;
      return {
        name: values.text(`${path}.name`, entry.name),
        position: values.text(`${path}.position`, entry.position),
        location: values.text(`${path}.location`, entry.location),
        startDate: values.date(`${path}.startDate`, entry.startDate),
        endDate: values.date(`${path}.endDate`, entry.endDate),
        summary: values.text(`${path}.summary`, entry.summary),
        highlights: values.list(`${path}.highlights`, entry.highlights),
      };
    })
    // A dropped end date must not turn a past job into a current one.
    .map((entry, at) =>
      entry.endDate === null && claimed.work[at]?.endDate != null
        ? { ...entry, endDate: entry.startDate }
        : entry,
    );
  const education = claimed.education.map((entry, at) => {
    const path = `education[${at}]`;
    return {
      institution: values.text(`${path}.institution`, entry.institution),
      area: values.text(`${path}.area`, entry.area),
      studyType: values.text(`${path}.studyType`, entry.studyType),
      startDate: values.date(`${path}.startDate`, entry.startDate),
      endDate: values.date(`${path}.endDate`, entry.endDate),
    };
  });
  const others = othersOf(claimed, values);
  const kept = renumbered(
    { work: work.map(hasSomething), education: education.map(hasSomething), ...others.kept },
    values.evidence,
  );
  const workKept = work.filter(hasSomething);
  const educationKept = education.filter(hasSomething);
  const now = currentPosition(workKept);
  const levels = educationKept.map(({ studyType, institution }) =>
    degreeLevelOf(`${studyType ?? ''} ${institution ?? ''}`),
  );
  return {
    value: {
      basics,
      work: workKept,
      education: educationKept,
      ...others.lists,
      total_months_experience: monthsOfExperience(workKept, today),
      current_title: now?.position ?? null,
      current_company: now?.name ?? null,
      highest_degree_level: highestLevel(levels),
    },
    evidence: kept,
    warnings: warningsOf(values),
  };
}

/**
 * Checks a model's reading of a posting against its text. Words must occur in the text; figures and types (pay, months,
 * employment, remote) are read from the text itself, so a model cannot introduce a wrong figure.
 */
export function checkPosting(source: string, claimed: Posting): CheckedRecord<Posting> {
  const text = withoutOrders(source);
  const values = createCheckedValues(text, CONFIDENCE);
  const extra: Evidence[] = [];
  const found = <Value>(path: string, isClaimed: boolean, one: Found<Value> | null): Value | null => {
    if (!isClaimed || one === null) return null;
    extra.push({ path, start: one.start, end: one.end, confidence: CONFIDENCE });
    return one.value;
  };
  const name = values.text('hiringOrganization.name', claimed.hiringOrganization?.name ?? null);
  const months = found(
    'experienceRequirements.monthsOfExperience',
    claimed.experienceRequirements !== null,
    findExperience(text),
  );
  const places: Posting['jobLocation'] = [];
  for (const { city, region, country } of claimed.jobLocation) {
    const path = `jobLocation[${places.length}]`;
    const place = {
      city: values.text(`${path}.city`, city),
      region: values.text(`${path}.region`, region),
      country: values.text(`${path}.country`, country),
    };
    if (Object.values(place).some((part) => part !== null)) places.push(place);
  }
  const skills = values.list(
    'skills',
    claimed.skills.map((skill) => skill.name),
  );
  const description = source.slice(0, MOST.descriptionCharacters).trim();
  const title = values.text('title', claimed.title);
  const titlePlace = values.evidence.find(({ path }) => path === 'title') ?? null;
  const posting: Posting = {
    title,
    description: description === '' ? null : description,
    hiringOrganization: name === null ? null : { name },
    jobLocation: places,
    jobLocationType: found('jobLocationType', claimed.jobLocationType !== null, findRemote(text)),
    work_mode: found('work_mode', true, findWorkMode(text)),
    seniority: found('seniority', true, findSeniority(text, titlePlace)),
    employmentType: found('employmentType', claimed.employmentType !== null, findEmploymentType(text)),
    baseSalary: found('baseSalary', claimed.baseSalary !== null, findSalary(text)),
    must_have: values.list('must_have', claimed.must_have.filter(isRequirement)),
    nice_to_have: values.list('nice_to_have', claimed.nice_to_have.filter(isRequirement)),
    skills: skills.map((skill) => ({ name: skill, canonical: canonicalSkill(skill) })),
    responsibilities: values.list('responsibilities', claimed.responsibilities),
    experienceRequirements: months === null ? null : { monthsOfExperience: months },
    educationRequirements: values.list('educationRequirements', claimed.educationRequirements),
    jobBenefits: values.list('jobBenefits', claimed.jobBenefits),
    datePosted: values.date('datePosted', claimed.datePosted),
    validThrough: values.date('validThrough', claimed.validThrough),
  };
  const evidence = values.evidence.map((one) =>
    /^skills\[\d+\]$/.test(one.path) ? { ...one, path: `${one.path}.name` } : one,
  );
  return {
    value: posting,
    evidence: [...evidence, ...extra],
    warnings: warningsOf(values),
  };
}

/** "Nice to have:" introduces requirements but is not one. */
function isRequirement(value: string): boolean {
  return !introducesList(value);
}

type Values = ReturnType<typeof createCheckedValues>;

function warningsOf({ dropped }: Values): readonly string[] {
  return dropped.map((path) => `${path} was dropped: the document does not say it`);
}

function basicsOf(claimed: CvProfile['basics'], text: string, values: Values): CvProfile['basics'] {
  const emails = findEmails(text);
  const place = claimed.location;
  const city = values.text('basics.location.city', place?.city ?? null);
  const region = values.text('basics.location.region', place?.region ?? null);
  const named = [city, region]
    .flatMap((name) => (name === null ? [] : [placeBook.of(name)]))
    .find((known) => known !== undefined);
  const countryCode = named?.countryCode ?? null;
  return {
    name: values.text('basics.name', claimed.name),
    label: values.text('basics.label', claimed.label),
    // The end of another address ("jane@…" of "mary.jane@…") is not an address of the text.
    email: values.oneOf('basics.email', claimed.email, emails, isSameEmail),
    phone: phoneOf(claimed.phone, text, values),
    url: linkOf('basics.url', claimed.url, text, values),
    summary: values.text('basics.summary', claimed.summary),
    location: city === null && region === null ? null : { city, region, countryCode },
    profiles: profilesOf(claimed.profiles, text, values),
  };
}

function isSameEmail(one: string, other: string): boolean {
  return one.toLowerCase() === other.trim().toLowerCase();
}

/** A number in another form ("+49 30 123456" for "030/123456") is the one in the text, in the text's form. */
function phoneOf(claimed: string | null, text: string, values: Values): string | null {
  const phones = findPhones(text, []);
  const isKnown = phones.some(({ value }) => isSameNumber(value, claimed ?? ''));
  return isKnown
    ? values.oneOf('basics.phone', claimed, phones, isSameNumber)
    : values.text('basics.phone', claimed);
}

/** Without leading zeros, one number ends with the other. */
function isSameNumber(one: string, other: string): boolean {
  const [left, right] = [one, other].map((number) =>
    number.replace(/\(0\)/g, '').replace(/\D/g, '').replace(/^0+/, ''),
  );
  if (left === undefined || right === undefined || Math.min(left.length, right.length) < 6) return false;
  return left === right || left.endsWith(right) || right.endsWith(left);
}

/** Models add "https://" to addresses without it. */
function linkOf(path: string, claimed: string | null, text: string, values: Values): string | null {
  if (claimed === null) return null;
  const links = findLinks(text).map(({ start, end, value }) => ({ start, end, value: value.url }));
  const known = links.filter(({ value }) => bareLink(value) === bareLink(claimed));
  const bare = claimed.replace(/^https?:\/\//i, '');
  return known.length > 0
    ? values.oneOf(path, claimed, known, (one, other) => bareLink(one) === bareLink(other))
    : values.text(path, bare);
}

function bareLink(url: string): string {
  return url
    .trim()
    .toLowerCase()
    .replace(/^https?:\/\/(?:www\.)?|^www\./, '')
    .replace(/[/.]+$/, '');
}

function profilesOf(
  claimed: CvProfile['basics']['profiles'],
  text: string,
  values: Values,
): CvProfile['basics']['profiles'] {
  const kept: CvProfile['basics']['profiles'] = [];
  for (const { network, url } of claimed) {
    const found = linkOf(`basics.profiles[${kept.length}].url`, url, text, values);
    if (found !== null) kept.push({ network, username: lastPart(found), url: found });
  }
  return kept;
}

function lastPart(url: string | null): string | null {
  return url?.replace(/\/+$/, '').split('/').at(-1) || null;
}

function hasSomething(entry: object): boolean {
  return Object.entries(entry).some(
    ([key, value]) => value !== null && !Array.isArray(value) && !key.endsWith('Date'),
  );
}

function othersOf(claimed: CvProfile, values: Values) {
  const skills = claimed.skills.map(({ name }, at) => ({
    name: values.text(`skills[${at}].name`, name),
    canonical: canonicalSkill(name),
  }));
  const languages = claimed.languages.map(({ language, fluency }, at) => ({
    language: values.text(`languages[${at}].language`, language),
    fluency: values.text(`languages[${at}].fluency`, fluency),
  }));
  const certificates = claimed.certificates.map(({ name, date, issuer }, at) => ({
    name: values.text(`certificates[${at}].name`, name),
    date: values.date(`certificates[${at}].date`, date),
    issuer: values.text(`certificates[${at}].issuer`, issuer),
  }));
  const projects = claimed.projects.map(({ name, description, startDate, endDate, url }, at) => ({
    name: values.text(`projects[${at}].name`, name),
    description: values.text(`projects[${at}].description`, description),
    startDate: values.date(`projects[${at}].startDate`, startDate),
    endDate: values.date(`projects[${at}].endDate`, endDate),
    url: values.text(`projects[${at}].url`, url),
  }));
  return {
    kept: {
      skills: skills.map(({ name }) => name !== null),
      languages: languages.map(({ language }) => language !== null),
      certificates: certificates.map(({ name }) => name !== null),
      projects: projects.map(({ name }) => name !== null),
    },
    lists: {
      skills: skills.flatMap(({ name, canonical }) => (name === null ? [] : [{ name, canonical }])),
      languages: languages.flatMap(({ language, fluency }) =>
        language === null ? [] : [{ language, fluency }],
      ),
      certificates: certificates.flatMap((one) => (one.name === null ? [] : [{ ...one, name: one.name }])),
      projects: projects.flatMap((one) => (one.name === null ? [] : [{ ...one, name: one.name }])),
    },
  };
}

/** Dropped entries leave a gap: their paths are removed, and those of later entries move up. */
function renumbered(kept: Record<string, readonly boolean[]>, evidence: readonly Evidence[]): Evidence[] {
  return evidence.flatMap((one) => {
    const match = /^(\w+)\[(\d+)\](.*)$/.exec(one.path);
    const [, list = '', number = '', rest = ''] = match ?? [];
    const flags = kept[list];
    if (flags === undefined) return [one];
    const at = Number(number);
    if (flags[at] !== true) return [];
    const place = flags.slice(0, at).filter(Boolean).length;
    return [{ ...one, path: `${list}[${place}]${rest}` }];
  });
}
