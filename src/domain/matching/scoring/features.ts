import type { JobFacts, Requirement, StoredVector, TalentFacts } from '../facts/facts.ts';
import { licencesIn } from '../facts/licences.ts';
import { isSoft, type NearSkill, nearTo } from '../facts/qualifications.ts';
import { talentTitles } from '../facts/read-talent.ts';
import { formsOfTitle, shapeOfTitle, type TitleShape } from '../facts/titles.ts';
import {
  englishTermOf,
  stem,
  termOf,
  type WeighedWords,
  weighedCvWords,
  weighedPostingWords,
  wordsOf,
} from '../facts/words.ts';
import {
  type CvPassages,
  copiedWords,
  cvPassages,
  type PostingPassages,
  postingPassages,
  withoutWords,
} from './copied-passages.ts';

/** Facts prepared for scoring once per version, so that scoring a pair takes lookups and one pass over the words. */
export interface TalentFeatures {
  readonly id: string;
  readonly version: number;
  readonly facts: TalentFacts;
  readonly skills: ReadonlySet<string>;
  /** Skills that are specific to the work, at most `MOST_WEIGHED`. */
  readonly weighed: readonly string[];
  readonly titles: readonly TitleShape[];
  readonly months: number | null;
  readonly languages: ReadonlyMap<string, number>;
  readonly words: WeighedWords;
  /** Without words that occur only in a list of skills; null if there are none of those. */
  readonly shownWords: WeighedWords | null;
  readonly wordSet: ReadonlySet<string>;
  readonly shownSet: ReadonlySet<string>;
  readonly certificateWords: ReadonlySet<string>;
  readonly areaWords: readonly string[];
  readonly vector: StoredVector | null;
  /** Those of `skills` that no job, project, school or certificate shows. */
  readonly named: ReadonlySet<string>;
  /** 0 to 1: below 1 if there are more than `MOST_NAMED` of them. */
  readonly namedShare: number;
  readonly passages: CvPassages | null;
  /** Whether a passage that repeats the posting was removed. */
  readonly isPartCopied: boolean;
  /** Whether some of its words have an English form, for comparing it with a posting in another language. */
  readonly hasEnglish: boolean;
}

export interface JobFeatures {
  readonly id: string;
  readonly version: number;
  readonly facts: JobFacts;
  readonly title: TitleShape;
  readonly skillItems: readonly SkillItem[];
  /** 0 to 1, a factor for the weight of skills: a posting that only mentions one skill says little about skills. */
  readonly skillSureness: number;
  /** Every skill that is asked for or mentioned, and the skills near them. */
  readonly relevantSkills: ReadonlySet<string>;
  readonly skillCount: number;
  readonly months: number | null;
  readonly isMonthsMust: boolean;
  readonly degree: Extract<Requirement, { kind: 'degree' }> | null;
  readonly isDegreeMust: boolean;
  readonly speech: readonly SpeechItem[];
  readonly words: WeighedWords;
  readonly wordSet: ReadonlySet<string>;
  /** The words of the title in the form in which texts are compared. */
  readonly titleWords: readonly string[];
  /** The words of the title for its field, with the words and skills that show them in a CV. */
  readonly titleForms: ReadonlyMap<string, readonly string[]>;
  readonly vector: StoredVector | null;
  readonly passages: PostingPassages | null;
  /** Whether some of its words have an English form, as for a talent. */
  readonly hasEnglish: boolean;
}

/** Requested skills or words, with their weight. */
export interface SkillItem {
  readonly text: string;
  readonly isMust: boolean;
  readonly weight: number;
  readonly isAny: boolean;
  readonly skills: readonly { readonly name: string; readonly near: readonly NearSkill[] }[];
  /** Used if there are no skills. */
  readonly terms: readonly string[];
}

export interface SpeechItem {
  readonly requirement: Extract<Requirement, { kind: 'language' | 'certificate' }>;
  readonly isMust: boolean;
  readonly words: readonly string[];
  /** Classes of a driving licence; null for other certificates. */
  readonly licence: readonly string[] | null;
  /** "Level 3"; null if the certificate has no level. */
  readonly level: number | null;
  /** Whether any CV of this occupation has all its words, even without the certificate: "licensed electrician". */
  readonly isOccupation: boolean;
}

const MOST_WEIGHED = 25;
/** A longer list of skills without evidence is worth no more than one of this length. */
const MOST_NAMED = 40;
/** Three must-haves are enough for the full weight of skills. */
const SURE_FROM_WEIGHT = 3;
const CERTIFICATE_WORDS = 8;
const TITLE_WORDS = 12;
const WEIGHT = { must: 1, nice: 0.5, mentioned: 0.2, words: 0.3 } as const;
/** Words that occur with any certificate. */
const OF_CERTIFICATES = new Set(
  [
    'certificate',
    'certification',
    'certified',
    'license',
    'licence',
    'licensed',
    'registered',
    'registration',
    'valid',
    'current',
    'active',
    'geprüfter',
    'geprüfte',
    'zertifikat',
  ].map((word) => termOf(word) ?? stem(word)),
);

export function talentFeatures(
  id: string,
  version: number,
  facts: TalentFacts,
  vector: StoredVector | null,
  formOf = termOf,
): TalentFeatures {
  const ofRoles = facts.roles.reduce((sum, { months }) => sum + (months ?? 0), 0);
  const passages = facts.outline == null ? null : cvPassages(facts.outline);
  return {
    id,
    version,
    facts: compactFacts(facts, passages),
    skills: new Set(facts.skills),
    weighed: facts.skills.filter((skill) => !isSoft(skill)).slice(0, MOST_WEIGHED),
    titles: talentTitles(facts).map(shapeOfTitle),
    months: facts.totalMonths ?? (ofRoles > 0 ? ofRoles : null),
    languages: new Map(facts.languages.map(({ code, level }) => [code, level ?? 0])),
    words: weighedCvWords(facts),
    shownWords: shownWords(facts),
    wordSet: new Set(facts.terms),
    shownSet: new Set(facts.terms.filter((_, at) => (facts.counts?.[at] ?? 1) >= 1)),
    certificateWords: new Set(facts.certificates.flatMap((name) => wordsOf([name], 30, formOf))),
    areaWords: wordsOf(facts.areas, 20, formOf),
    vector,
    named: new Set(facts.named),
    namedShare: Math.min(1, MOST_NAMED / Math.max(1, facts.named?.length ?? 0)),
    passages,
    isPartCopied: false,
    hasEnglish: hasEnglish(facts),
  };
}

/** A word that occurs only in lists has a count below 1 (facts/outline.ts). */
function shownWords({ terms, counts = [] }: TalentFacts): WeighedWords | null {
  const isShown = (_: unknown, at: number) => (counts[at] ?? 1) >= 1;
  if (counts.every((count) => count >= 1)) return null;
  return weighedCvWords({ terms: terms.filter(isShown), counts: counts.filter(isShown) });
}

/** Stores the words of a CV only once: as an array of numbers they would be four times as large. */
function compactFacts(facts: TalentFacts, passages: CvPassages | null): TalentFacts {
  if (passages === null || facts.outline == null) return facts;
  return { ...facts, outline: { ...facts.outline, words: passages.words } };
}

/** What is compared of a talent and a job. */
interface ComparedPair {
  readonly talent: TalentFeatures;
  readonly job: JobFeatures;
}

/** Without the passages of the CV that repeat the posting, and in English where both are in different languages. */
export function comparedPair(whole: TalentFeatures, job: JobFeatures): ComparedPair {
  const talent = comparedTalent(whole, job);
  const [one, other] = [whole.facts, job.facts];
  if (!(whole.hasEnglish || job.hasEnglish) || (one.writtenIn !== null && one.writtenIn === other.writtenIn))
    return { talent, job };
  return { talent: englishTalent(talent), job: englishJob(job) };
}

function hasEnglish({ english }: Pick<TalentFacts, 'english'>): boolean {
  return english !== undefined && Object.keys(english).length > 0;
}

/** Computed once per version, and only for those that are compared with another language. */
const englishTalents = new WeakMap<TalentFeatures, TalentFeatures>();
const englishJobs = new WeakMap<JobFeatures, JobFeatures>();

function englishTalent(talent: TalentFeatures): TalentFeatures {
  const { facts, id, version, vector, isPartCopied } = talent;
  const known = englishTalents.get(talent);
  if (known !== undefined || !talent.hasEnglish) return known ?? talent;
  const read = { ...facts, ...inEnglish(facts), outline: null };
  const english = { ...talentFeatures(id, version, read, vector, englishTermOf), isPartCopied };
  englishTalents.set(talent, english);
  return english;
}

function englishJob(job: JobFeatures): JobFeatures {
  const { facts, id, version, vector } = job;
  const known = englishJobs.get(job);
  if (known !== undefined || !job.hasEnglish) return known ?? job;
  const translated = (one: Requirement) =>
    one.kind === 'words' ? { ...one, terms: inEnglish({ ...facts, terms: one.terms }).terms } : one;
  const [must, nice] = [facts.must.map(translated), facts.nice.map(translated)];
  const english = jobFeatures(
    id,
    version,
    { ...facts, ...inEnglish(facts), must, nice },
    vector,
    englishTermOf,
  );
  englishJobs.set(job, english);
  return english;
}

function inEnglish({ terms, counts = [], english = {} }: Pick<TalentFacts, 'terms' | 'counts' | 'english'>) {
  const sums = new Map<string, number>();
  for (const [at, term] of terms.entries()) {
    const name = Object.hasOwn(english, term) ? (english[term] ?? '') : term;
    const [before, count] = [sums.get(name) ?? 0, counts[at] ?? 1];
    // Below 1 is a word that occurs only in lists: two of them are still one.
    if (name !== '') sums.set(name, Math.max(before, count) < 1 ? Math.max(before, count) : before + count);
  }
  return { terms: [...sums.keys()], counts: [...sums.values()] };
}

/** The talent without the passages of the CV that repeat the posting. */
function comparedTalent(talent: TalentFeatures, job: JobFeatures): TalentFeatures {
  const { facts, passages, id, version, vector } = talent;
  if (passages === null || job.passages === null || facts.outline == null) return talent;
  const marks = copiedWords(passages, job.passages);
  if (marks === null) return talent;
  const own = withoutWords(facts, facts.outline, marks);
  return { ...talentFeatures(id, version, own, vector), isPartCopied: true };
}

const LEAST_WORDS = 3;

/** A name, an address and a language are not a CV: the score would consist only of defaults for unknown values. */
export function saysEnough({ titles, weighed, months, facts }: TalentFeatures): boolean {
  if (titles.length + weighed.length + facts.certificates.length > 0) return true;
  return (months ?? 0) > 0 || facts.degree !== null || facts.terms.length >= LEAST_WORDS;
}

export function jobFeatures(
  id: string,
  version: number,
  facts: JobFacts,
  vector: StoredVector | null,
  formOf = termOf,
): JobFeatures {
  const skillItems = countedOnce([
    ...facts.must.flatMap((one) => skillItem(one, true)),
    ...facts.nice.flatMap((one) => skillItem(one, false)),
    ...facts.mentioned.map((name) => mentionedItem(name)),
  ]);
  const relevantSkills = new Set(skillItems.flatMap(({ skills }) => skills.map(({ name }) => name)));
  const skillCount = relevantSkills.size;
  for (const { skills } of skillItems)
    for (const { near } of skills) for (const { name } of near) relevantSkills.add(name);
  const all = [...facts.must, ...facts.nice];
  const degree = all.find((one) => one.kind === 'degree') ?? null;
  const titleWords = wordsOf([facts.title], TITLE_WORDS, formOf);
  const title = shapeOfTitle(facts.title);
  const years = facts.must.find((one) => one.kind === 'experience')?.months ?? null;
  return {
    id,
    version,
    facts,
    title,
    skillItems,
    skillSureness: Math.min(1, skillItems.reduce((sum, { weight }) => sum + weight, 0) / SURE_FROM_WEIGHT),
    relevantSkills,
    skillCount,
    months: facts.minMonths ?? years,
    isMonthsMust: facts.minMonths !== null || years !== null,
    degree,
    isDegreeMust: degree !== null && facts.must.includes(degree),
    speech: [
      ...facts.must.flatMap((one) => speechItem(one, true, titleWords, formOf)),
      ...facts.nice.flatMap((one) => speechItem(one, false, titleWords, formOf)),
    ],
    words: weighedPostingWords(facts),
    wordSet: new Set(facts.terms),
    titleWords,
    titleForms: formsOfTitle(title),
    vector,
    passages: facts.words === undefined ? null : postingPassages(facts.words),
    hasEnglish: hasEnglish(facts),
  };
}

/** A skill that several lines name weighs once: each line weighs by the share of its skills that no line before it has. */
function countedOnce(items: readonly SkillItem[]): readonly SkillItem[] {
  const named = new Set<string>();
  return items.map((item) => {
    const { skills, weight } = item;
    const added = skills.filter(({ name }) => !named.has(name));
    for (const { name } of added) named.add(name);
    return added.length === skills.length
      ? item
      : { ...item, weight: (weight * added.length) / skills.length };
  });
}

function skillItem(requirement: Requirement, isMust: boolean): readonly SkillItem[] {
  const { text } = requirement;
  const weight = isMust ? WEIGHT.must : WEIGHT.nice;
  if (requirement.kind === 'skills') {
    const skills = requirement.skills.map((name) => ({ name, near: nearTo(name) }));
    const count = requirement.isAny ? 1 : Math.min(skills.length, 4);
    return [{ text, isMust, weight: weight * Math.sqrt(count), isAny: requirement.isAny, skills, terms: [] }];
  }
  if (requirement.kind !== 'words') return [];
  const { terms } = requirement;
  return [{ text, isMust: false, weight: weight * WEIGHT.words, isAny: false, skills: [], terms }];
}

function mentionedItem(name: string): SkillItem {
  const skills = [{ name, near: nearTo(name) }];
  return { text: name, isMust: false, weight: WEIGHT.mentioned, isAny: false, skills, terms: [] };
}

function speechItem(
  requirement: Requirement,
  isMust: boolean,
  title: readonly string[],
  formOf: typeof termOf,
): readonly SpeechItem[] {
  const other = { requirement, isMust, words: [], licence: null, level: null, isOccupation: false } as const;
  if (requirement.kind === 'language') return [{ ...other, requirement }];
  if (requirement.kind !== 'certificate') return [];
  const words = wordsOf([requirement.name], CERTIFICATE_WORDS, formOf).filter(
    (word) => !OF_CERTIFICATES.has(word),
  );
  const licences = licencesIn(requirement.name);
  const licence = licences.length === 0 ? null : licences.flatMap(({ classes }) => classes);
  const isOccupation = words.every((word) => title.includes(word));
  return [{ requirement, isMust, words, licence, level: certificateLevel(requirement.name), isOccupation }];
}

/** Reads "3" from "Level 3 Food Hygiene". */
export function certificateLevel(name: string): number | null {
  const level = /(?:level|stufe|niveau|grade)\s*(\d)(?!\d)/iu.exec(name)?.[1];
  return level === undefined ? null : Number(level);
}
