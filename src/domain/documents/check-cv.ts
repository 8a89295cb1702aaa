import { createCheckedValues } from './checked-values.ts';
import { currentPosition } from './cv/current-position.ts';
import { degreeLevelOf, highestLevel } from './cv/education.ts';
import { type Month, monthsOfExperience } from './cv/experience-months.ts';
import type { Evidence } from './document-facts.ts';
import type { CvProfile } from './parsed-cv.ts';
import { findEmails } from './text/emails.ts';
import { placeBook } from './words/place-names.ts';
import { canonicalSkill } from './words/skill-names.ts';

export interface CheckedCv {
  readonly profile: CvProfile;
  readonly evidence: readonly Evidence[];
  readonly warnings: readonly string[];
}

/** What a model's word is worth once the text bears it out. */
const CONFIDENCE = 0.9;

/**
 * A profile that somebody else made, against the text it was made from: what the text does not have is dropped, and what
 * is derived (months, levels, canonical names, country codes) is derived again and never taken over.
 */
export function checkCv(text: string, claimed: CvProfile, today: Month): CheckedCv {
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
    // An end that was dropped must not turn a past job into a present one.
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
    profile: {
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
    warnings: values.dropped.map((path) => `${path} was dropped: the document does not say it`),
  };
}

type Values = ReturnType<typeof createCheckedValues>;

function basicsOf(claimed: CvProfile['basics'], text: string, values: Values): CvProfile['basics'] {
  const repaired =
    claimed.email === null
      ? null
      : findEmails(text).find(({ value }) => value.toLowerCase() === claimed.email?.toLowerCase());
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
    email: values.text('basics.email', repaired?.value ?? claimed.email),
    phone: values.text('basics.phone', claimed.phone),
    url: values.text('basics.url', claimed.url),
    summary: values.text('basics.summary', claimed.summary),
    location: city === null && region === null ? null : { city, region, countryCode },
    profiles: profilesOf(claimed.profiles, values),
  };
}

function profilesOf(
  claimed: CvProfile['basics']['profiles'],
  values: Values,
): CvProfile['basics']['profiles'] {
  const kept: CvProfile['basics']['profiles'] = [];
  for (const { network, url } of claimed) {
    const found = values.text(`basics.profiles[${kept.length}].url`, url);
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

/** Entries that were dropped leave a gap: the paths of the later ones move up, and those of dropped ones go. */
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
