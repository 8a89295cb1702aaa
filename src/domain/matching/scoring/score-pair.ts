import { placeCloseness } from '../facts/places.ts';
import { titleCloseness } from '../facts/titles.ts';
import { PARTS, type PartName, type Weights } from '../weights.ts';
import { speechCredit, wordsCredit } from './certificates.ts';
import { wordsCompared } from './closeness.ts';
import {
  type AskedItem,
  comparedTalent,
  type JobFeatures,
  saysEnough,
  type TalentFeatures,
} from './features.ts';

/**
 * The score of a pair, 0 to 100, in numbers alone; explain-pair.ts says it in words.
 *
 *   job to talent   how far the talent fulfils what the job asks for: all parts, each by its weight, shared out over the
 *                   parts that apply to this pair
 *   talent to job   how far the job is for the talent: wanted skills, title, place, closeness
 *   skills          weigh the less the fewer of them a job names
 *   the gate        every must-have of a kind that we can tell (skills, language, degree, years, certificate) is met, in
 *                   part or not. With all of them met the score stays as it is; with none, 0.35 of it is left where a person
 *                   listed them, and 0.9 where they were read out of a posting, which is less sure
 *   combined        six parts of the first to four of the second, under the gate
 */
export interface PairScore extends ScoreNumbers {
  /** By the order of PARTS: 0 to 1, null where the part does not apply. */
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
/** What is left of a score without any of the must-haves that a person listed. */
const WITHOUT_GIVEN_MUSTS = 0.35;
const SHARE_POWER = 1.5;

/** All that is looked at of a pair, before anything is weighed: each 0 to 1, null where it does not apply. */
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
  /** Whether the CV says enough to be compared at all. */
  readonly isEnough: boolean;
  readonly mustCount: number;
  readonly mustMet: number;
  /** Of the must-haves, what is there; null where there are none. */
  readonly mustShare: number | null;
  readonly isMustGiven: boolean;
  readonly skillSureness: number;
}

/** What was learnt beside the weights of the parts (quality/match-weights.ts). */
export interface Shares {
  /** Of a closeness of texts, what their words say; the rest is the encoder's. */
  readonly words: number;
  /** What is left of a score without any of the must-haves that were read out of a posting, which is less sure. */
  readonly withoutReadMusts: number;
}

export const SHARES: Shares = { words: 0.4, withoutReadMusts: 0.9 };

export function scorePair(talent: TalentFeatures, job: JobFeatures, weights: Weights): PairScore {
  return scoreOf(comparePair(talent, job), weights);
}

export function comparePair(whole: TalentFeatures, job: JobFeatures): Comparison {
  const talent = comparedTalent(whole, job);
  const near = nearTitles(talent, job);
  const titles = titleFits(talent, job, near);
  const words = wordsCompared(talent, job, titles?.forJob ?? 0);
  const ofNamed = NAMED_CREDIT * talent.namedShare * (1 - words.unshown / 2);
  const skills = skillsAsked(talent, job, ofNamed);
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

/** By words and by the vectors of the embed alias; by words alone where one of the vectors is missing. */
function closeness({ byWords, byVectors }: Comparison, { words }: Shares): number | null {
  if (byWords === null || byVectors === null) return byWords ?? byVectors;
  return words * byWords + (1 - words) * byVectors;
}

/** What the must-haves leave of a score: all of it where each is met. */
function shareLeft({ mustShare, isMustGiven }: Comparison, { withoutReadMusts }: Shares): number {
  if (mustShare === null) return 1;
  const lowest = isMustGiven ? WITHOUT_GIVEN_MUSTS : withoutReadMusts;
  return lowest + (1 - lowest) * Math.min(1, mustShare) ** SHARE_POWER;
}

/** 0 to 100. Parts that do not apply give their weight to the others. */
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

/** What each part weighs for this pair; 0 where it does not apply. They add up to 1. */
export function appliedWeights(
  parts: readonly (number | null)[],
  weights: Weights,
  job: Pick<JobFeatures, 'skillSureness'>,
): readonly number[] {
  const own = PARTS.map((_, at) => (parts[at] == null ? 0 : weightFor(at, weights, job)));
  const sum = own.reduce((total, weight) => total + weight, 0);
  return own.map((weight) => (sum === 0 ? 0 : weight / sum));
}

/** One decimal: more would claim what no score knows. */
export function rounded(score: number): number {
  return Math.round(score * 10) / 10;
}

/** What a skill is worth that is mentioned without a job, project, school or certificate that shows it. */
const NAMED_CREDIT = 0.75;
/** A newer title says more about the current occupation. */
const RECENCY = [1, 0.95, 0.88, 0.8] as const;
/** For each rank of the job above the title, or below it. */
const RANK_UP = 0.12;
const RANK_DOWN = 0.12;
/** A role this close to the job's title counts wholly as experience in the job, one half as close by half. */
const SAME_WORK = 0.6;
const LONG_EXPERIENCE_MONTHS = 60;
/** A CV that says the words of the title somewhere may be of one who does the work under another name. */
const TITLE_IN_TEXT = 0.5;

function skillCredit(skill: AskedItem['skills'][number], talent: TalentFeatures, ofNamed: number): number {
  let best = heldCredit(skill.name, talent, ofNamed);
  for (const { name, credit } of skill.near)
    if (credit > best) best = Math.max(best, credit * heldCredit(name, talent, ofNamed));
  return best;
}

/** 1 for a skill that something in the CV shows, less for one that is only mentioned. */
function heldCredit(name: string, { skills, named }: TalentFeatures, ofNamed: number): number {
  if (!skills.has(name)) return 0;
  return named.has(name) ? ofNamed : 1;
}

/** `ofNamed` is what a skill counts that is only mentioned. */
export function askedCredit(item: AskedItem, talent: TalentFeatures, ofNamed = talent.namedShare): number {
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

/** From where on a must-have counts as met. */
export const MET = { skills: 0.5, speech: 0.7, degree: 0.8, months: 0.75 } as const;

/** How much of what is asked for is there, and how many of the must-haves among it are. One walk: it is most of the work. */
interface Fulfilled {
  readonly part: number | null;
  readonly mustCount: number;
  readonly mustMet: number;
  /** What is there of the must-haves: 1 for each that is met, less for one that is near. */
  readonly mustCredit: number;
}

function skillsAsked(talent: TalentFeatures, job: JobFeatures, ofNamed: number): Fulfilled {
  let [sum, weight, mustCount, mustMet, mustCredit] = [0, 0, 0, 0, 0];
  for (const item of job.asked) {
    sum += item.weight * askedCredit(item, talent, ofNamed);
    weight += item.weight;
    if (!item.isMust) continue;
    // A must-have that is mentioned is met: that nothing shows it lowers the part, and does not close the gate.
    const credit = askedCredit(item, talent);
    mustCount += 1;
    mustCredit += Math.min(1, credit / MET.skills);
    if (credit >= MET.skills) mustMet += 1;
  }
  return { part: weight === 0 ? null : sum / weight, mustCount, mustMet, mustCredit };
}

/** How much of what the talent can do is wanted. A long list of skills is no fault: the job's own list is the measure. */
function skillsUsed(talent: TalentFeatures, job: JobFeatures, ofNamed: number): number | null {
  if (talent.weighed.length === 0 || job.wantedCount === 0) return null;
  let used = 0;
  for (const skill of talent.weighed) if (job.wanted.has(skill)) used += heldCredit(skill, talent, ofNamed);
  return Math.min(1, used / Math.min(talent.weighed.length, job.wantedCount));
}

/** How well the titles stand for the job, and the job for the titles. */
interface TitleFits {
  readonly forJob: number;
  readonly forTalent: number;
}

/** A candidate without titles in the CV may still have done the work, but that is the exception. */
const NO_TITLES = 0.2;

export function titleFits(
  talent: Pick<TalentFeatures, 'titles' | 'shownSet'>,
  job: JobFeatures,
  near: readonly number[] = nearTitles(talent, job),
): TitleFits | null {
  if (job.title.words.length === 0) return null;
  const said = TITLE_IN_TEXT * wordsCredit(job.titleWords, talent.shownSet);
  let [forJob, forTalent] =
    talent.titles.length === 0 ? [Math.max(said, NO_TITLES), NO_TITLES] : [said, said];
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

/** How close each title is to the job's: for the titles and for the experience, so it is looked at once a pair. */
export function nearTitles({ titles }: Pick<TalentFeatures, 'titles'>, job: JobFeatures): readonly number[] {
  return titles.map((title) => titleCloseness(title, job.title));
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
