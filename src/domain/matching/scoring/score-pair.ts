import { cosine } from '../facts/facts.ts';
import { placeCloseness } from '../facts/places.ts';
import { titleCloseness } from '../facts/titles.ts';
import { commonWeight } from '../facts/words.ts';
import { PARTS, type PartName, type Weights } from '../weights.ts';
import type { AskedItem, JobFeatures, SpeechItem, TalentFeatures } from './features.ts';

/**
 * The score of a pair, 0 to 100, in numbers alone; explain-pair.ts says it in words.
 *
 *   job to talent   how far the talent fulfils what the job asks for: all parts, each by its weight, shared out over the
 *                   parts that apply to this pair
 *   talent to job   how far the job is for the talent: wanted skills, title, place, closeness
 *   skills          weigh the less the fewer of them a job names
 *   the gate        every must-have of a kind that we can tell (skills, language, degree, years, certificate) is met or
 *                   not. With all of them met there is no bound; else nothing above 35 to 90, by the share that is met
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
const LOWEST_BOUND = 35;
const BOUND_SPAN = 55;

export function scorePair(talent: TalentFeatures, job: JobFeatures, weights: Weights): PairScore {
  const skills = skillsAsked(talent, job);
  const near = nearTitles(talent.titles, job);
  const titles = titleFits(talent, job, near);
  const education = educationFit(talent, job);
  const speech = speechFit(talent, job);
  const place = placeFit(talent, job);
  const close = closeness(talent, job);
  const experience = experienceFit(talent, job, near);
  const parts = [skills.part, titles?.forJob ?? null, experience, education, speech.part, place, close];
  let mustCount = skills.mustCount + speech.mustCount;
  let mustMet = skills.mustMet + speech.mustMet;
  if (job.isMonthsMust && job.months !== null && job.months > 0) {
    mustCount += 1;
    if (talent.months !== null && talent.months >= job.months * MET.months) mustMet += 1;
  }
  if (job.isDegreeMust && education !== null) {
    mustCount += 1;
    if (education >= MET.degree) mustMet += 1;
  }
  const bound = mustMet === mustCount ? 100 : LOWEST_BOUND + BOUND_SPAN * (mustMet / mustCount) ** 1.5;
  const jobToTalent = Math.min(bound, weighted(parts, weights, job));
  const used = skillsUsed(talent, job);
  const ofTalent = [used, titles?.forTalent ?? null, null, null, null, place, close];
  const talentToJob = weighted(ofTalent, weights, job);
  const combined = Math.min(bound, TO_TALENT * jobToTalent + (1 - TO_TALENT) * talentToJob);
  return {
    score: rounded(combined),
    jobToTalent: rounded(jobToTalent),
    talentToJob: rounded(talentToJob),
    parts,
    mustCount,
    mustMet,
  };
}

/** 0 to 100. Parts that do not apply give their weight to the others. */
function weighted(parts: readonly (number | null)[], weights: Weights, job: JobFeatures): number {
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

/** A newer title says more about the current occupation. */
const RECENCY = [1, 0.95, 0.88, 0.8] as const;
/** For each rank of the job above the title, or below it. */
const RANK_UP = 0.12;
const RANK_DOWN = 0.12;
/** A role this close to the job's title counts wholly as experience in the job, one half as close by half. */
const SAME_WORK = 0.6;
const LONG_EXPERIENCE_MONTHS = 60;
/** Of the embedded sentence encoder: below, texts have nothing to do with each other; above, they say the same. */
const FAR_COSINE = 0.35;
const NEAR_COSINE = 0.9;
/** Two texts about one job have about a third of their words in common, by weight. */
const WORDS_IN_COMMON = 3;
/** A long CV has more of any job's words: what it has in common counts less, but not by the whole of its length. */
const USUAL_WEIGHT = 60;
const BY_LENGTH = 0.8;
const SHORTEST = 15;
const WORDS_SHARE = 0.75;

function skillCredit({ name, near }: AskedItem['skills'][number], skills: ReadonlySet<string>): number {
  if (skills.has(name)) return 1;
  for (const one of near) if (skills.has(one.name)) return one.credit;
  return 0;
}

export function askedCredit(item: AskedItem, talent: TalentFeatures): number {
  if (item.skills.length === 0) return wordsCredit(item.terms, talent.wordSet);
  let sum = 0;
  let best = 0;
  for (const skill of item.skills) {
    const credit = skillCredit(skill, talent.skills);
    sum += credit;
    if (credit > best) best = credit;
  }
  return item.isAny ? best : sum / item.skills.length;
}

function wordsCredit(words: readonly string[], known: ReadonlySet<string>): number {
  let count = 0;
  for (const word of words) if (known.has(word)) count += 1;
  return words.length === 0 ? 0 : count / words.length;
}

/** From where on a must-have counts as met. */
export const MET = { skills: 0.5, speech: 0.7, degree: 0.8, months: 0.75 } as const;

/** How much of what is asked for is there, and how many of the must-haves among it are. One walk: it is most of the work. */
interface Fulfilled {
  readonly part: number | null;
  readonly mustCount: number;
  readonly mustMet: number;
}

function skillsAsked(talent: TalentFeatures, job: JobFeatures): Fulfilled {
  let [sum, weight, mustCount, mustMet] = [0, 0, 0, 0];
  for (const item of job.asked) {
    const credit = askedCredit(item, talent);
    sum += item.weight * credit;
    weight += item.weight;
    if (!item.isMust) continue;
    mustCount += 1;
    if (credit >= MET.skills) mustMet += 1;
  }
  return { part: weight === 0 ? null : sum / weight, mustCount, mustMet };
}

/** How much of what the talent can do is wanted. A long list of skills is no fault: the job's own list is the measure. */
function skillsUsed(talent: TalentFeatures, job: JobFeatures): number | null {
  if (talent.weighed.length === 0 || job.wantedCount === 0) return null;
  let used = 0;
  for (const skill of talent.weighed) if (job.wanted.has(skill)) used += 1;
  return Math.min(1, used / Math.min(talent.weighed.length, job.wantedCount));
}

/** How well the titles stand for the job, and the job for the titles. */
interface TitleFits {
  readonly forJob: number;
  readonly forTalent: number;
}

/** A candidate without titles in the CV may still have done the work, but that is the exception. */
const NO_TITLES: TitleFits = { forJob: 0.2, forTalent: 0.2 };

export function titleFits(
  { titles }: Pick<TalentFeatures, 'titles'>,
  job: JobFeatures,
  near: readonly number[] = nearTitles(titles, job),
): TitleFits | null {
  if (job.title.words.length === 0) return null;
  if (titles.length === 0) return NO_TITLES;
  let [forJob, forTalent] = [0, 0];
  for (let at = 0; at < titles.length; at += 1) {
    const title = titles[at];
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
function nearTitles(titles: TalentFeatures['titles'], job: JobFeatures): readonly number[] {
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

export function speechCredit({ requirement, words }: SpeechItem, talent: TalentFeatures): number {
  if (requirement.kind === 'certificate') {
    if (words.length === 0) return talent.certificateWords.size > 0 ? 1 : 0;
    const held = wordsCredit(words, talent.certificateWords);
    return held >= 0.5 ? Math.min(1, held + 0.25) : Math.min(0.5, wordsCredit(words, talent.wordSet));
  }
  const level = talent.languages.get(requirement.code);
  if (level === undefined) return talent.facts.writtenIn === requirement.code ? 0.8 : 0;
  if (level === 0 || requirement.level === null) return level === 0 && (requirement.level ?? 0) > 4 ? 0.8 : 1;
  return Math.max(0, 1 - 0.3 * Math.max(0, Math.min(requirement.level, 6) - level));
}

function speechFit(talent: TalentFeatures, job: JobFeatures): Fulfilled {
  let [sum, weight, mustCount, mustMet] = [0, 0, 0, 0];
  for (const item of job.speech) {
    const own = item.isMust ? 1 : 0.5;
    const credit = speechCredit(item, talent);
    sum += own * credit;
    weight += own;
    if (!item.isMust) continue;
    mustCount += 1;
    if (credit >= MET.speech) mustMet += 1;
  }
  return { part: weight === 0 ? null : sum / weight, mustCount, mustMet };
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

/** Three quarters by words, one by the vectors of the embed alias; by words alone where one of the vectors is missing. */
function closeness(talent: TalentFeatures, job: JobFeatures): number | null {
  const byWords = closenessOfWords(talent, job);
  const cos = cosine(talent.vector, job.vector);
  if (cos === null) return byWords;
  const byVectors = Math.min(1, Math.max(0, (cos - FAR_COSINE) / (NEAR_COSINE - FAR_COSINE)));
  return byWords === null ? byVectors : WORDS_SHARE * byWords + (1 - WORDS_SHARE) * byVectors;
}

function closenessOfWords(talent: TalentFeatures, job: JobFeatures): number | null {
  const [ofTalent, ofJob] = [talent.words.total, job.words.total];
  if (ofTalent === 0 || ofJob === 0) return null;
  const long = USUAL_WEIGHT ** (1 - BY_LENGTH) * ofTalent ** BY_LENGTH;
  const common = commonWeight(job.words, talent.words) / Math.sqrt(ofJob * Math.max(SHORTEST, long));
  return Math.min(1, common * WORDS_IN_COMMON);
}
