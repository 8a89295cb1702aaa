import { placeCloseness } from '../facts/places.ts';
import { TITLE_IN_TEXT, titleCloseness } from '../facts/titles.ts';
import { PARTS, type PartName, type Weights } from '../weights.ts';
import { speechCredit, wordsCredit } from './certificates.ts';
import { wordsCompared } from './closeness.ts';
import {
  comparedPair,
  type JobFeatures,
  type SkillItem,
  saysEnough,
  type TalentFeatures,
} from './features.ts';

/**
 * The score of a pair, 0 to 100, as numbers only; explain-pair.ts puts it into words.
 *
 *   job to talent   how far the talent meets the job's requirements: the weighted mean of all parts that apply to the pair
 *   talent to job   how far the job suits the talent: wanted skills, title, place, closeness
 *   skills          weigh less the fewer of them a job names
 *   the gate        each must-have of a known type (skills, language, degree, years, certificate) is met, partly met or
 *                   not met. If all are met the score is unchanged; if none is, 0.35 of it remains for must-haves listed
 *                   by a person, and 0.9 for must-haves read from a posting, which are less certain
 *   combined        60% job to talent and 40% talent to job, both reduced by the gate
 */
export interface PairScore extends ScoreNumbers {
  /** In the order of PARTS: 0 to 1, or null if the part does not apply. */
  readonly parts: readonly (number | null)[];
  readonly mustCount: number;
  readonly mustMet: number;
}

/** Each 0 to 100. */
export interface ScoreNumbers {
  /** Both directions combined. */
  readonly score: number;
  readonly jobToTalent: number;
  readonly talentToJob: number;
}

const TO_TALENT = 0.6;
/** The share of a score that remains if none of the must-haves listed by a person is met. */
const WITHOUT_GIVEN_MUSTS = 0.35;
const SHARE_POWER = 1.5;

/** All comparisons of a pair before weighting: each 0 to 1, or null if it does not apply. */
export interface Comparison {
  readonly skills: number | null;
  /** How far the talent's skills are wanted. */
  readonly used: number | null;
  readonly titles: TitleFits | null;
  readonly experience: number | null;
  readonly education: number | null;
  readonly speech: number | null;
  readonly place: number | null;
  readonly byWords: number | null;
  readonly byVectors: number | null;
  /** Whether the CV contains enough to be compared. */
  readonly isEnough: boolean;
  readonly mustCount: number;
  readonly mustMet: number;
  /** The met share of the must-haves; null if there are none. */
  readonly mustShare: number | null;
  readonly isMustGiven: boolean;
  readonly skillSureness: number;
}

/** Values learned in addition to the weights of the parts (quality/match-weights.ts). */
export interface Shares {
  /** The share of the words in the closeness of texts; the rest is the encoder's. */
  readonly words: number;
  /** The share of a score that remains if none of the must-haves read from a posting is met; these are less certain. */
  readonly withoutReadMusts: number;
}

export const SHARES: Shares = { words: 0.4, withoutReadMusts: 0.9 };

export function scorePair(talent: TalentFeatures, job: JobFeatures, weights: Weights): PairScore {
  return scoreOf(comparePair(talent, job), weights);
}

export function comparePair(whole: TalentFeatures, posting: JobFeatures): Comparison {
  const { talent, job } = comparedPair(whole, posting);
  const near = nearTitles(talent, job);
  const titles = titleFits(talent, job, near);
  const words = wordsCompared(talent, job, titles?.forJob ?? 0);
  const ofNamed = NAMED_CREDIT * talent.namedShare * (1 - words.unshown / 2);
  const skills = compareSkills(talent, job, ofNamed);
  const education = educationFit(talent, job);
  const speech = speechFit(talent, job);
  let mustCount = skills.mustCount + speech.mustCount;
  let mustMet = skills.mustMet + speech.mustMet;
  let mustCredit = skills.mustCredit + speech.mustCredit;
  if (job.isMonthsMust && job.months !== null && job.months > 0) {
    const credit = Math.min(1, (talent.months ?? 0) / (job.months * MET.months));
    mustCount += 1;
    mustCredit += credit;
    if (credit === 1) mustMet += 1;
  }
  if (job.isDegreeMust && education !== null) {
    const credit = Math.min(1, education / MET.degree);
    mustCount += 1;
    mustCredit += credit;
    if (credit === 1) mustMet += 1;
  }
  return {
    skills: skills.part,
    used: skillsUsed(talent, job, ofNamed),
    titles,
    experience: experienceFit(talent, job, near),
    education,
    speech: speech.part,
    place: placeFit(talent, job),
    byWords: words.byWords,
    byVectors: words.byVectors,
    isEnough: saysEnough(talent),
    mustCount,
    mustMet,
    mustShare: mustCount === 0 ? null : mustCredit / mustCount,
    isMustGiven: job.facts.isMustGiven !== false,
    skillSureness: job.skillSureness,
  };
}

export function scoreOf(pair: Comparison, weights: Weights, shares: Shares = SHARES): PairScore {
  const { skills, titles, experience, education, speech, place, mustCount, mustMet } = pair;
  const close = closeness(pair, shares);
  const parts = [skills, titles?.forJob ?? null, experience, education, speech, place, close];
  const ofTalent = [pair.used, titles?.forTalent ?? null, null, null, null, place, close];
  const left = shareLeft(pair, shares);
  const jobToTalent = left * weighted(parts, weights, pair);
  const talentToJob = weighted(ofTalent, weights, pair);
  const combined = TO_TALENT * jobToTalent + (1 - TO_TALENT) * left * talentToJob;
  if (!pair.isEnough) return { ...NO_SCORE, parts, mustCount, mustMet };
  return {
    score: rounded(combined),
    jobToTalent: rounded(jobToTalent),
    talentToJob: rounded(talentToJob),
    parts,
    mustCount,
    mustMet,
  };
}

const NO_SCORE: ScoreNumbers = { score: 0, jobToTalent: 0, talentToJob: 0 };

/** Combines words and the vectors of the embed alias; only words if either vector is missing. */
function closeness({ byWords, byVectors }: Comparison, { words }: Shares): number | null {
  if (byWords === null || byVectors === null) return byWords ?? byVectors;
  return words * byWords + (1 - words) * byVectors;
}

/** The share of a score that remains after the must-haves; 1 if all are met. */
function shareLeft({ mustShare, isMustGiven }: Comparison, { withoutReadMusts }: Shares): number {
  if (mustShare === null) return 1;
  const lowest = isMustGiven ? WITHOUT_GIVEN_MUSTS : withoutReadMusts;
  return lowest + (1 - lowest) * Math.min(1, mustShare) ** SHARE_POWER;
}

/** 0 to 100. The weight of parts that do not apply is distributed over the others. */
function weighted(
  parts: readonly (number | null)[],
  weights: Weights,
  job: Pick<JobFeatures, 'skillSureness'>,
): number {
  let [sum, weight] = [0, 0];
  for (let at = 0; at < PARTS.length; at += 1) {
    const value = parts[at] ?? null;
    if (value === null) continue;
    const own = weightFor(at, weights, job);
    sum += own * value;
    weight += own;
  }
  return weight === 0 ? 0 : (100 * sum) / weight;
}

function weightFor(at: number, weights: Weights, job: Pick<JobFeatures, 'skillSureness'>): number {
  const own = weights[PARTS[at] as PartName];
  return at === 0 ? own * job.skillSureness : own;
}

/** The weight of each part for this pair; 0 if it does not apply. The weights add up to 1, unless none applies. */
export function appliedWeights(
  parts: readonly (number | null)[],
  weights: Weights,
  job: Pick<JobFeatures, 'skillSureness'>,
): readonly number[] {
  const own = PARTS.map((_, at) => (parts[at] == null ? 0 : weightFor(at, weights, job)));
  const sum = own.reduce((total, weight) => total + weight, 0);
  return own.map((weight) => (sum === 0 ? 0 : weight / sum));
}

/** Rounds to one decimal; a score is not more precise than that. */
export function rounded(score: number): number {
  return Math.round(score * 10) / 10;
}

/** The credit of a skill that is mentioned without a job, project, school or certificate that shows it. */
const NAMED_CREDIT = 0.75;
/** A newer title says more about the current occupation. */
const RECENCY = [1, 0.95, 0.88, 0.8] as const;
/** Per rank that the job is above or below the title. */
const RANK_UP = 0.12;
const RANK_DOWN = 0.12;
/** A role at least this close to the job's title counts fully as experience in the job; one half as close counts half. */
const SAME_WORK = 0.6;
const LONG_EXPERIENCE_MONTHS = 60;

function skillCredit(skill: SkillItem['skills'][number], talent: TalentFeatures, ofNamed: number): number {
  let best = heldCredit(skill.name, talent, ofNamed);
  for (const { name, credit } of skill.near)
    if (credit > best) best = Math.max(best, credit * heldCredit(name, talent, ofNamed));
  return best;
}

/** 1 for a skill that the CV shows, less for one that is only mentioned. */
function heldCredit(name: string, { skills, named }: TalentFeatures, ofNamed: number): number {
  if (!skills.has(name)) return 0;
  return named.has(name) ? ofNamed : 1;
}

/** `ofNamed` is the credit of a skill that is only mentioned. */
export function itemCredit(item: SkillItem, talent: TalentFeatures, ofNamed = talent.namedShare): number {
  if (item.skills.length === 0) return wordsCredit(item.terms, talent.wordSet);
  let sum = 0;
  let best = 0;
  for (const skill of item.skills) {
    const credit = skillCredit(skill, talent, ofNamed);
    sum += credit;
    if (credit > best) best = credit;
  }
  return item.isAny ? best : sum / item.skills.length;
}

/** The credit from which a must-have counts as met. */
export const MET = { skills: 0.5, speech: 0.7, degree: 0.8, months: 0.75 } as const;

/**
 * The met share of the requirements, and how many must-haves are met. Computed in one pass, because it is most of the
 * work.
 */
interface Fulfilled {
  readonly part: number | null;
  readonly mustCount: number;
  readonly mustMet: number;
  /** The sum over the must-haves: 1 for each that is met, less for one that is partly met. */
  readonly mustCredit: number;
}

function compareSkills(talent: TalentFeatures, job: JobFeatures, ofNamed: number): Fulfilled {
  let [sum, weight, mustCount, mustMet, mustCredit] = [0, 0, 0, 0, 0];
  for (const item of job.skillItems) {
    sum += item.weight * itemCredit(item, talent, ofNamed);
    weight += item.weight;
    if (!item.isMust) continue;
    // A must-have that is only mentioned is met: missing evidence lowers the part but not the gate.
    const credit = itemCredit(item, talent);
    mustCount += 1;
    mustCredit += Math.min(1, credit / MET.skills);
    if (credit >= MET.skills) mustMet += 1;
  }
  return { part: weight === 0 ? null : sum / weight, mustCount, mustMet, mustCredit };
}

/**
 * The share of the talent's skills that is wanted. A long list is no disadvantage: the shorter of both lists is the
 * measure.
 */
function skillsUsed(talent: TalentFeatures, job: JobFeatures, ofNamed: number): number | null {
  if (talent.weighed.length === 0 || job.skillCount === 0) return null;
  let used = 0;
  for (const skill of talent.weighed)
    if (job.relevantSkills.has(skill)) used += heldCredit(skill, talent, ofNamed);
  return Math.min(1, used / Math.min(talent.weighed.length, job.skillCount));
}

/** How well the titles fit the job, and the job the titles. */
interface TitleFits {
  readonly forJob: number;
  readonly forTalent: number;
}

/** A talent without titles in the CV may have done the work, but that is the exception. */
const NO_TITLES = 0.2;

/** Everything of a talent that is compared with the title of a job. */
type TitledTalent = Pick<TalentFeatures, 'titles' | 'shownSet' | 'skills' | 'named'>;

export function titleFits(
  talent: TitledTalent,
  job: JobFeatures,
  near: readonly number[] = nearTitles(talent, job),
): TitleFits | null {
  if (job.title.words.length === 0) return null;
  // A CV that contains the words of the title may describe the same work under another title.
  const inText = TITLE_IN_TEXT * wordsCredit(job.titleWords, talent.shownSet);
  let [forJob, forTalent] =
    talent.titles.length === 0 ? [Math.max(inText, NO_TITLES), NO_TITLES] : [inText, inText];
  for (let at = 0; at < talent.titles.length; at += 1) {
    const title = talent.titles[at];
    if (title === undefined) continue;
    const up = job.title.rank - title.rank;
    const fit = (near[at] ?? 0) * (RECENCY[at] ?? 0);
    // A step up demands more; a step down is rarely wanted.
    forJob = Math.max(forJob, fit * Math.max(0.4, 1 - Math.max(0, up) * RANK_UP));
    forTalent = Math.max(forTalent, fit * Math.max(0.4, 1 - Math.max(0, -up) * RANK_DOWN));
  }
  return { forJob, forTalent };
}

/** The closeness of each title to the job's, computed once per pair for both titles and experience. */
export function nearTitles(talent: TitledTalent, job: JobFeatures): readonly number[] {
  const { words } = job.title;
  const isNear = talent.titles.some((title) => title.words.some((word) => words.includes(word)));
  if (!isNear) return talent.titles.map(() => 0);
  const shown = shownTitleWords(talent, job);
  return talent.titles.map((title) => titleCloseness(title, job.title, shown));
}

/** The words of the job's title that the CV shows outside its lists of skills. */
function shownTitleWords({ shownSet, skills, named }: TitledTalent, job: JobFeatures): ReadonlySet<string> {
  const isShown = (form: string) => shownSet.has(form) || (skills.has(form) && !named.has(form));
  return new Set([...job.titleForms].flatMap(([word, forms]) => (forms.some(isShown) ? [word] : [])));
}

/** More experience than required does not raise the score: it would only reflect age. */
function experienceFit(talent: TalentFeatures, job: JobFeatures, near: readonly number[]): number | null {
  if (job.months === null || job.months === 0) return null;
  if (talent.months === null) return 0.3;
  const all = Math.min(1, talent.months / job.months);
  let same = 0;
  let isDated = false;
  for (let at = 0; at < talent.titles.length; at += 1) {
    const months = talent.facts.roles[at]?.months ?? null;
    if (months === null) continue;
    isDated = true;
    same += months * Math.min(1, (near[at] ?? 0) / SAME_WORK);
  }
  return isDated ? 0.4 * all + 0.6 * Math.min(1, same / job.months) : all;
}

function educationFit(talent: TalentFeatures, job: JobFeatures): number | null {
  if (job.degree === null) return null;
  const { level, orExperience } = job.degree;
  const has = talent.facts.degree ?? 0;
  // A candidate may have a degree that the CV does not name.
  const unknown = talent.facts.degree === null ? 0.25 : 0;
  if (has >= level) {
    return talent.areaWords.length === 0 || wordsInCommon(talent.areaWords, job.wordSet) ? 1 : 0.9;
  }
  const instead = orExperience && (talent.months ?? 0) >= LONG_EXPERIENCE_MONTHS ? 0.85 : 0;
  return Math.max(instead, unknown, has > 0 && has === level - 1 ? 0.5 : 0);
}

function wordsInCommon(words: readonly string[], known: ReadonlySet<string>): boolean {
  return words.some((word) => known.has(word));
}

function speechFit(talent: TalentFeatures, job: JobFeatures): Fulfilled {
  let [sum, weight, mustCount, mustMet, mustCredit] = [0, 0, 0, 0, 0];
  for (const item of job.speech) {
    const own = item.isMust ? 1 : 0.5;
    const credit = speechCredit(item, talent);
    sum += own * credit;
    weight += own;
    if (!item.isMust) continue;
    mustCount += 1;
    mustCredit += Math.min(1, credit / MET.speech);
    if (credit >= MET.speech) mustMet += 1;
  }
  return { part: weight === 0 ? null : sum / weight, mustCount, mustMet, mustCredit };
}

function placeFit(talent: TalentFeatures, job: JobFeatures): number | null {
  if (job.facts.remote) return 1;
  const { place } = talent.facts;
  if (place === null) return null;
  let best: number | null = null;
  for (const one of job.facts.places) {
    const closeness = placeCloseness(one, place);
    if (closeness !== null && (best === null || closeness > best)) best = closeness;
  }
  return best;
}
