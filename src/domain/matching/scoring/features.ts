import type { JobFacts, Requirement, StoredVector, TalentFacts } from '../facts/facts.ts';
import { isSoft, type NearSkill, nearTo } from '../facts/qualifications.ts';
import { talentTitles } from '../facts/read-talent.ts';
import { shapeOfTitle, type TitleShape } from '../facts/titles.ts';
import { askedWords, saidWords, stem, type WeighedWords, wordsOf } from '../facts/words.ts';

/** Facts made ready for scoring, once a version: a pair then costs look-ups and one walk over words. */
export interface TalentFeatures {
  readonly id: string;
  readonly version: number;
  readonly facts: TalentFacts;
  readonly skills: ReadonlySet<string>;
  /** Those that tell something about the work, at most `MOST_WEIGHED`. */
  readonly weighed: readonly string[];
  readonly titles: readonly TitleShape[];
  readonly months: number | null;
  readonly languages: ReadonlyMap<string, number>;
  readonly words: WeighedWords;
  readonly wordSet: ReadonlySet<string>;
  readonly certificateWords: ReadonlySet<string>;
  readonly areaWords: readonly string[];
  readonly vector: StoredVector | null;
}

export interface JobFeatures {
  readonly id: string;
  readonly version: number;
  readonly facts: JobFacts;
  readonly title: TitleShape;
  readonly asked: readonly AskedItem[];
  /** 0 to 1: a posting that names one skill by the way says little about skills. Their weight is taken by so much. */
  readonly skillSureness: number;
  /** Every skill that is asked for or mentioned, and those that are near one. */
  readonly wanted: ReadonlySet<string>;
  readonly wantedCount: number;
  readonly months: number | null;
  readonly isMonthsMust: boolean;
  readonly degree: Extract<Requirement, { kind: 'degree' }> | null;
  readonly isDegreeMust: boolean;
  readonly speech: readonly SpeechItem[];
  readonly words: WeighedWords;
  readonly wordSet: ReadonlySet<string>;
  /** The words of the title as texts have them. */
  readonly titleWords: readonly string[];
  readonly vector: StoredVector | null;
}

/** Skills or words that are asked for, with what they weigh. */
export interface AskedItem {
  readonly text: string;
  readonly isMust: boolean;
  readonly weight: number;
  readonly isAny: boolean;
  readonly skills: readonly { readonly name: string; readonly near: readonly NearSkill[] }[];
  /** Where there are no skills. */
  readonly terms: readonly string[];
}

export interface SpeechItem {
  readonly requirement: Extract<Requirement, { kind: 'language' | 'certificate' }>;
  readonly isMust: boolean;
  readonly words: readonly string[];
}

const MOST_WEIGHED = 25;
/** Three must-haves are enough to go by. */
const SURE_FROM_WEIGHT = 3;
const CERTIFICATE_WORDS = 8;
const TITLE_WORDS = 12;
const WEIGHT = { must: 1, nice: 0.5, mentioned: 0.2, words: 0.3 } as const;
/** Said of every certificate. */
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
  ].map(stem),
);

export function talentFeatures(
  id: string,
  version: number,
  facts: TalentFacts,
  vector: StoredVector | null,
): TalentFeatures {
  const ofRoles = facts.roles.reduce((sum, { months }) => sum + (months ?? 0), 0);
  return {
    id,
    version,
    facts,
    skills: new Set(facts.skills),
    weighed: facts.skills.filter((skill) => !isSoft(skill)).slice(0, MOST_WEIGHED),
    titles: talentTitles(facts).map(shapeOfTitle),
    months: facts.totalMonths ?? (ofRoles > 0 ? ofRoles : null),
    languages: new Map(facts.languages.map(({ code, level }) => [code, level ?? 0])),
    words: saidWords(facts),
    wordSet: new Set(facts.terms),
    certificateWords: new Set(facts.certificates.flatMap((name) => wordsOf([name], 30))),
    areaWords: wordsOf(facts.areas, 20),
    vector,
  };
}

export function jobFeatures(
  id: string,
  version: number,
  facts: JobFacts,
  vector: StoredVector | null,
): JobFeatures {
  const asked = [
    ...facts.must.flatMap((one) => askedItem(one, true)),
    ...facts.nice.flatMap((one) => askedItem(one, false)),
    ...facts.mentioned.map((name) => mentionedItem(name)),
  ];
  const wanted = new Set(asked.flatMap(({ skills }) => skills.map(({ name }) => name)));
  const wantedCount = wanted.size;
  for (const { skills } of asked)
    for (const { near } of skills) for (const { name } of near) wanted.add(name);
  const all = [...facts.must, ...facts.nice];
  const degree = all.find((one) => one.kind === 'degree') ?? null;
  const years = facts.must.find((one) => one.kind === 'experience')?.months ?? null;
  return {
    id,
    version,
    facts,
    title: shapeOfTitle(facts.title),
    asked,
    skillSureness: Math.min(1, asked.reduce((sum, { weight }) => sum + weight, 0) / SURE_FROM_WEIGHT),
    wanted,
    wantedCount,
    months: facts.minMonths ?? years,
    isMonthsMust: facts.minMonths !== null || years !== null,
    degree,
    isDegreeMust: degree !== null && facts.must.includes(degree),
    speech: [
      ...facts.must.flatMap((one) => speechItem(one, true)),
      ...facts.nice.flatMap((one) => speechItem(one, false)),
    ],
    words: askedWords(facts),
    wordSet: new Set(facts.terms),
    titleWords: wordsOf([facts.title], TITLE_WORDS),
    vector,
  };
}

function askedItem(requirement: Requirement, isMust: boolean): readonly AskedItem[] {
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

function mentionedItem(name: string): AskedItem {
  const skills = [{ name, near: nearTo(name) }];
  return { text: name, isMust: false, weight: WEIGHT.mentioned, isAny: false, skills, terms: [] };
}

function speechItem(requirement: Requirement, isMust: boolean): readonly SpeechItem[] {
  if (requirement.kind === 'language') return [{ requirement, isMust, words: [] }];
  if (requirement.kind !== 'certificate') return [];
  const words = wordsOf([requirement.name], CERTIFICATE_WORDS).filter((word) => !OF_CERTIFICATES.has(word));
  return [{ requirement, isMust, words }];
}
