import { isObject } from '../../../ports/json-object.ts';
import type {
  DegreeLevel,
  Language,
  Place,
  Role,
  SkillMention,
  SkillVocabulary,
  TalentFacts,
  TextsToEmbed,
} from './facts.ts';
import { licencesIn } from './licences.ts';
import {
  cvTerms,
  outlineOf,
  placesOf,
  sectionsOf,
  shownSkills,
  type Place as TextPlace,
  termCounts,
  unrepeatedLines,
} from './outline.ts';
import { countryOf, placeFrom } from './places.ts';
import { withoutPronouns, withoutProtected } from './protected-words.ts';
import { degreeIn, languageCode, levelIn } from './qualifications.ts';
import { countedWords, englishTermsIn, inEnglish, isWorkWord } from './words.ts';
import { isPersonalLine, workText, workWords } from './work-text.ts';

/**
 * A talent as stored in the database. `profile` is JSON Resume from a parser or a client and must be treated as
 * untrusted.
 */
export interface StoredTalent {
  readonly profile: unknown;
  /** The reader's findings about the document; only its `language` is used. */
  readonly document: unknown;
  /** The text of the CV; null if no CV was sent, or it was not read yet. */
  readonly text: string | null;
  /** The positions of the profile's values in the text. */
  readonly evidence: unknown;
}

const MOST = {
  skills: 150,
  roles: 12,
  titles: 4,
  languages: 20,
  certificates: 30,
  texts: 200,
  terms: 300,
} as const;
const LONGEST_LINE = 300;
const LONGEST_TEXT = 5_000;
const EMBEDDED_TEXT = 1_200;
const READ_TEXT = 40_000;
const LEAST_NAMED = 5;

/**
 * Copies skills and experience, field by field. Everything else is omitted: name, photo, birth, contact details, and
 * the names of schools and employers. Only work-related words of the text are used (work-text.ts), which allows
 * comparing a CV in which the reader found little.
 */
export function readTalent(stored: StoredTalent, vocabulary: SkillVocabulary): TalentFacts {
  const { profile, document } = stored;
  const record = object(profile);
  const work = list(record.work, MOST.roles).map(object);
  const education = list(record.education, MOST.roles).map(object);
  const done = doneTexts(record, work);
  const texts = [...done, ...listedTexts(record)];
  const words = stored.text === null ? [] : workWords(stored.text, stored.evidence);
  const lines = words.map((line) => line.map(({ word }) => word).join(' '));
  const text = (stored.text ?? '').slice(0, READ_TEXT);
  const places = placesOf(text, stored.evidence);
  const sections = sectionsOf(text, places);
  const terms = cvTerms(text, words, sections);
  const licences = licencesIn(
    [
      text,
      ...list(record.certificates, MOST.certificates).map((one) => line(object(one).name ?? one) ?? ''),
    ].join('\n\n'),
  );
  const mentions = skillMentions(workText(text, stored.evidence), places, vocabulary);
  const shown = new Set([
    ...done.flatMap((one) => vocabulary.findIn(one)),
    ...shownSkills(mentions, sections),
  ]);
  const read = {
    skills: skillsOf(record, [...texts, lines.join('\n')], vocabulary),
    roles: rolesOf(record, work),
    languages: languagesOf(record),
    certificates: list(record.certificates, MOST.certificates).flatMap(
      (one) => line(object(one).name ?? one) ?? [],
    ),
  };
  const counted =
    terms.length === 0
      ? countedWords(texts, MOST.terms)
      : countedWords(withoutWordsOf(texts, lines), MOST.terms, termCounts(terms));
  return {
    ...read,
    totalMonths: months(record.total_months_experience),
    degree: highestDegree(record, education),
    areas: education.flatMap(({ area }) => line(area) ?? []).slice(0, MOST.roles),
    writtenIn: writtenIn(document),
    licence: licences.length === 0 ? null : [...new Set(licences.flatMap(({ classes }) => classes))],
    place: placeOfTalent(object(object(record.basics).location)),
    // Without a text, the company entered the list itself: there is no CV that could show more.
    named: stored.text === null ? [] : read.skills.filter((skill) => !shown.has(skill)),
    ...counted,
    english: englishTermsIn([...texts, ...lines], counted.terms),
    outline:
      terms.length === 0
        ? null
        : outlineOf(
            terms,
            mentions,
            places,
            read,
            licences.filter(({ start }) => start < text.length),
          ),
  };
}

/** Mentions in the text by name, and those found by the reader. */
function skillMentions(
  text: string,
  places: readonly TextPlace[],
  vocabulary: SkillVocabulary,
): readonly SkillMention[] {
  const found = places.flatMap(({ path, start, text: name }) =>
    /^skills\[\d+\]\.name$/.test(path) ? [{ name: vocabulary.canonical(name), start }] : [],
  );
  return [...vocabulary.mentionsIn(text), ...found];
}

/** Words of the profile that the text does not have, such as those a recruiter added. Possible names are omitted. */
function withoutWordsOf(texts: readonly string[], lines: readonly string[]): readonly string[] {
  const known = new Set(lines.flatMap((one) => one.split(' ')));
  const isNew = (word: string) => {
    const lower = word.toLowerCase();
    return !known.has(lower) && (word === lower || isWorkWord(word));
  };
  return texts.map((text) =>
    text
      .split(/[\s,;:()/-]+/)
      .filter(isNew)
      .join(' '),
  );
}

/** A short version of the talent, so that encoding is fast and the vector reflects what matters. */
export function talentTexts(facts: TalentFacts, { text, evidence }: StoredTalent): TextsToEmbed {
  const [titles, skills] = [talentTitles(facts), headSkills(facts)];
  return textsToEmbed(
    [titles, skills],
    [
      facts.areas.slice(0, 2),
      facts.certificates.slice(0, 5),
      text === null ? [] : unrepeatedLines(workWords(text, evidence)),
    ],
  );
}

/** As many skills without evidence as with it, but at least 5. */
function headSkills({ skills, named = [] }: TalentFacts): readonly string[] {
  const mentioned = new Set(named);
  const shown = skills.filter((skill) => !mentioned.has(skill));
  const most = Math.max(LEAST_NAMED, shown.length);
  const kept = new Set(named.slice(0, most));
  return skills.filter((skill) => !mentioned.has(skill) || kept.has(skill)).slice(0, 40);
}

/** The titles that are compared with the job's title, newest first. */
export function talentTitles({ roles }: TalentFacts): readonly string[] {
  return roles.slice(0, MOST.titles).map(({ title }) => title);
}

type Lists = readonly (readonly string[])[];

export function textsToEmbed(head: Lists, rest: Lists): TextsToEmbed {
  return [...new Set([textToEmbed([...head, ...rest]), textToEmbed(head)])].filter((text) => text !== '');
}

function textToEmbed(parts: Lists): string {
  const named = parts.filter((part) => part.length > 0);
  const text = withoutPronouns(withoutProtected(named.map((part) => part.join(', ')).join('. ')));
  return inEnglish(text).slice(0, EMBEDDED_TEXT);
}

function doneTexts(record: Fields, work: readonly Fields[]): readonly string[] {
  const projects = list(record.projects, MOST.roles).map(object);
  const texts = [
    ...work.flatMap(({ position, summary, highlights }) => [
      position,
      summary,
      ...list(highlights, MOST.texts),
    ]),
    ...projects.flatMap(({ name, description, highlights }) => [
      name,
      description,
      ...list(highlights, MOST.texts),
    ]),
    ...list(record.education, MOST.roles).map((one) => object(one).area),
    ...list(record.certificates, MOST.certificates).map((one) => object(one).name ?? one),
  ];
  return plainTexts(texts);
}

function listedTexts(record: Fields): readonly string[] {
  return plainTexts(list(record.skills, MOST.skills).map((one) => object(one).name ?? one));
}

function plainTexts(texts: readonly unknown[]): readonly string[] {
  return texts
    .flatMap((text) => (typeof text === 'string' ? text.slice(0, LONGEST_TEXT) : []))
    .filter((text) => !isPersonalLine(text))
    .slice(0, MOST.texts)
    .map(withoutProtected);
}

function skillsOf(record: Fields, texts: readonly string[], vocabulary: SkillVocabulary): readonly string[] {
  const named = list(record.skills, MOST.skills)
    .flatMap((one) => {
      const { canonical, name } = object(one);
      const keywords = list(object(one).keywords, 20);
      return [canonical ?? name ?? one, ...keywords].flatMap((text) => line(text) ?? []);
    })
    .filter((name) => !isPersonalLine(name));
  const skills = new Set(named.map((name) => vocabulary.canonical(name)));
  // One name may contain several skills ("Java/J2EE"), and descriptions of work name more than the list.
  for (const text of [...named, ...texts]) for (const skill of vocabulary.findIn(text)) skills.add(skill);
  return [...skills].slice(0, MOST.skills);
}

function rolesOf(record: Fields, work: readonly Fields[]): readonly Role[] {
  const roles = work.flatMap(({ position, startDate, endDate }): Role[] => {
    const title = line(position);
    return title === null
      ? []
      : [{ title: withoutProtected(title), months: monthsBetween(startDate, endDate) }];
  });
  openEnded(roles, months(record.total_months_experience));
  const isNew = (named: string) => !roles.some(({ title }) => title.toLowerCase() === named.toLowerCase());
  const current = line(record.current_title);
  const label = line(object(record.basics).label);
  // The headline of the CV is placed after the current title.
  if (label !== null && isNew(label)) {
    roles.splice(current === null ? 0 : 1, 0, { title: withoutProtected(label), months: null });
  }
  if (current !== null && isNew(current)) roles.unshift({ title: withoutProtected(current), months: null });
  return roles.filter(({ title }) => title !== '' && !isPersonalLine(title));
}

/** The length of a role that lasts until today is the total minus all other roles. */
function openEnded(roles: Role[], total: number | null): void {
  const at = roles.findIndex((role) => role.months === null);
  const role = roles[at];
  if (role === undefined || total === null || roles.slice(at + 1).some((other) => other.months === null))
    return;
  const others = roles.reduce((sum, other) => sum + (other.months ?? 0), 0);
  roles[at] = { ...role, months: Math.max(0, total - others) };
}

/** Null if either date is missing: the length of a role that lasts until today changes with time. */
function monthsBetween(start: unknown, end: unknown): number | null {
  const from = monthNumber(start);
  const to = monthNumber(end);
  return from === null || to === null || to < from ? null : Math.min(to - from + 1, 720);
}

function monthNumber(date: unknown): number | null {
  const [, year, month] = /^(\d{4})(?:-(\d{2}))?/.exec(typeof date === 'string' ? date : '') ?? [];
  return year === undefined ? null : Number(year) * 12 + (month === undefined ? 0 : Number(month) - 1);
}

/** The names that parsed CVs use for the highest degree. */
const LEVEL_NAMES: Readonly<Record<string, DegreeLevel>> = {
  doctorate: 5,
  master: 4,
  bachelor: 3,
  associate: 2,
  secondary: 1,
};

function highestDegree(record: Fields, education: readonly Fields[]): DegreeLevel | null {
  const stated = LEVEL_NAMES[line(record.highest_degree_level)?.toLowerCase() ?? ''];
  // Readers have no name for vocational training and report it as secondary.
  if (stated !== undefined && stated > 1) return stated;
  const texts = education.flatMap(({ studyType, area }) => [studyType, area]);
  const levels = texts.flatMap((text) => (typeof text === 'string' ? (degreeIn(text) ?? []) : []));
  return levels.length === 0 ? (stated ?? null) : (Math.max(...levels) as DegreeLevel);
}

function languagesOf(record: Fields): readonly Language[] {
  return list(record.languages, MOST.languages).flatMap((one): Language[] => {
    const { language, name, fluency, level } = object(one);
    const code = languageCode(line(language ?? name ?? one) ?? '');
    return code === null ? [] : [{ code, level: levelIn(line(fluency ?? level) ?? '') }];
  });
}

function writtenIn(document: unknown): string | null {
  const { language } = object(document);
  return typeof language === 'string' && /^[a-z]{2}$/.test(language) ? language : null;
}

function placeOfTalent({ city, region, countryCode, country }: Fields): Place | null {
  const code = line(countryCode ?? country);
  const known = code === null ? null : countryOf(code.length === 2 ? code.toUpperCase() : code);
  return placeFrom({ city: line(city), region: line(region), country: known });
}

type Fields = Readonly<Record<string, unknown>>;

export function object(value: unknown): Fields {
  return isObject(value) ? value : {};
}

export function list(value: unknown, most: number): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, most) : [];
}

export function line(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const cut = value.replace(/\s+/g, ' ').trim().slice(0, LONGEST_LINE);
  return cut === '' ? null : cut;
}

export function months(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
    ? Math.min(Math.round(value), 1_200)
    : null;
}
