import type { JobFeatures, TalentFeatures } from './features.ts';
import {
  closeness,
  educationFit,
  experienceFit,
  MET,
  nearTitles,
  placeFit,
  skillsAsked,
  skillsUsed,
  speechFit,
  titleFits,
} from './part-scores.ts';
import { PARTS, type PartName, type Weights } from './weights.ts';

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
export interface PairScore {
  readonly score: number;
  readonly jobToTalent: number;
  readonly talentToJob: number;
  /** By the order of PARTS: 0 to 1, null where the part does not apply. */
  readonly parts: readonly (number | null)[];
  readonly mustCount: number;
  readonly mustMet: number;
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
