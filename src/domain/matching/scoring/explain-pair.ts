import { countryName, isWithin } from '../facts/places.ts';
import { degreeName, languageName, shownSkill } from '../facts/qualifications.ts';
import { PARTS, type PartName, type Weights } from '../weights.ts';
import { speechCredit } from './certificates.ts';
import {
  comparedPair,
  type JobFeatures,
  type SkillItem,
  saysEnough,
  type TalentFeatures,
} from './features.ts';
import {
  appliedWeights,
  itemCredit,
  MET,
  nearTitles,
  type PairScore,
  rounded,
  titleFits,
} from './score-pair.ts';

export interface MatchPart {
  readonly name: PartName;
  /** 0 to 100. */
  readonly score: number;
  /** The part's share of the score, 0 to 1. */
  readonly weight: number;
  readonly found: readonly string[];
  readonly missing: readonly string[];
}

/** A score explained in sentences for recruiters, suitable to be shown to the candidate. */
export interface Explanation {
  readonly parts: readonly MatchPart[];
  readonly reasons: readonly string[];
  readonly missing: readonly string[];
}

interface FoundAndMissing {
  readonly found: readonly string[];
  readonly missing: readonly string[];
}

const MOST_LINES = 12;
const NOTHING: FoundAndMissing = { found: [], missing: [] };

export function explainPair(
  whole: TalentFeatures,
  posting: JobFeatures,
  scored: PairScore,
  weights: Weights,
): Explanation {
  const { talent, job } = comparedPair(whole, posting);
  const copied = talent.isPartCopied ? [COPIED] : [];
  if (!saysEnough(talent)) return { parts: [], reasons: [], missing: [NOT_ENOUGH, ...copied] };
  const shares = appliedWeights(scored.parts, weights, job);
  const skills = explainSkills(talent, job);
  const words: Readonly<Record<PartName, FoundAndMissing>> = {
    skills,
    titles: explainTitles(talent, job),
    experience: explainExperience(talent, job, scored.parts[2] ?? null),
    education: explainEducation(talent, job, scored.parts[3] ?? null),
    'languages and certificates': explainSpeech(talent, job),
    'place and mode': explainPlace(talent, job, scored.parts[5] ?? null),
    closeness: explainCloseness(scored.parts[6] ?? null),
  };
  const parts = PARTS.flatMap((name, at): MatchPart[] => {
    const value = scored.parts[at] ?? null;
    if (value === null) return [];
    const { found, missing } = words[name];
    const bounded = { found: found.slice(0, MOST_LINES), missing: missing.slice(0, MOST_LINES) };
    return [
      {
        name,
        score: rounded(value * 100),
        weight: Math.round((shares[at] ?? 0) * 1_000) / 1_000,
        ...bounded,
      },
    ];
  });
  const gate = scored.mustCount === 0 ? [] : [gateWords(job, scored)];
  const others = parts.filter(({ name }) => name !== 'skills');
  return {
    parts,
    reasons: [...gate, ...skills.reasons, ...others.flatMap(({ found }) => found)].slice(0, MOST_LINES),
    missing: [...copied, ...skills.missing, ...others.flatMap(({ missing }) => missing)].slice(0, MOST_LINES),
  };
}

const NOT_ENOUGH = 'The CV does not say enough to judge.';
const COPIED = 'A part of the CV repeats the words of this posting. That part does not count.';

/** Required years and degrees count too, but may not be in the list of must-haves, so the sentence names them. */
function gateWords(job: JobFeatures, { mustCount, mustMet, parts }: PairScore): string {
  const besides = [
    ...(job.isMonthsMust && (job.months ?? 0) > 0 ? ['experience'] : []),
    ...(job.isDegreeMust && (parts[3] ?? null) !== null ? ['education'] : []),
  ];
  if (besides.length === 0) return `Meets ${mustMet} of ${mustCount} must-haves.`;
  return `Meets ${mustMet} of ${mustCount} requirements, including ${besides.join(' and ')}.`;
}

function explainTitles(talent: TalentFeatures, job: JobFeatures): FoundAndMissing {
  const near = nearTitles(talent, job);
  const fit = titleFits(talent, job, near)?.forJob ?? null;
  if (fit === null) return NOTHING;
  const { roles } = talent.facts;
  if (talent.titles.length === 0) return { found: [], missing: ['The CV names no position.'] };
  const most = Math.max(...near);
  const best = roles[near.indexOf(most)]?.title ?? '';
  const wanted = job.facts.title;
  if (most < 0.5 && fit >= 0.5)
    return { found: [`Describes the work of ${wanted} under another title.`], missing: [] };
  if (fit >= 0.85) return { found: [`Has worked as ${best}, which is this kind of job.`], missing: [] };
  if (fit >= 0.5) return { found: [`Has worked as ${best}, which is close to ${wanted}.`], missing: [] };
  if (most >= 0.85) return { found: [], missing: [`Has worked as ${best}, several levels below ${wanted}.`] };
  return { found: [], missing: [`No title close to ${wanted}; the latest is ${roles[0]?.title}.`] };
}

/** From this value of the part on, the years of experience are in this kind of work. */
const IN_THIS_WORK = 0.7;

function explainExperience(
  { months: has }: TalentFeatures,
  { months: required }: JobFeatures,
  fit: number | null,
): FoundAndMissing {
  if (required === null || required === 0) return NOTHING;
  if (has === null)
    return { found: [], missing: [`The CV gives no dates; ${span(required)} of experience are required.`] };
  // The surplus is not shown: it would reveal an age, and it does not affect the score.
  if (has >= required && fit !== null && fit < IN_THIS_WORK)
    return {
      found: [],
      missing: [`Has the ${span(required)} of experience required, but mostly in other work.`],
    };
  if (has >= required)
    return { found: [`At least ${span(required)} of experience, as required.`], missing: [] };
  return { found: [], missing: [`${span(has)} of experience; ${span(required)} required.`] };
}

/** "4 years 2 months"; only months below one year. */
function span(months: number): string {
  const years = Math.floor(months / 12);
  const rest = months % 12;
  const words = [
    ...(years > 0 ? [`${years} ${years === 1 ? 'year' : 'years'}`] : []),
    ...(rest > 0 || years === 0 ? [`${rest} ${rest === 1 ? 'month' : 'months'}`] : []),
  ];
  return words.join(' ');
}

function explainEducation(
  talent: TalentFeatures,
  { degree }: JobFeatures,
  fit: number | null,
): FoundAndMissing {
  if (degree === null) return NOTHING;
  const has = talent.facts.degree;
  const required = degreeName(degree.level);
  if (has === degree.level) return { found: [`Has ${required}, as required.`], missing: [] };
  const line = has === null ? null : `Has ${degreeName(has)}; ${required} is required.`;
  if (line !== null && (has ?? 0) > degree.level) return { found: [line], missing: [] };
  if (degree.orExperience && (fit ?? 0) >= MET.degree)
    return { found: [`Experience in place of ${required}, as the job allows.`], missing: [] };
  return { found: [], missing: [line ?? `Requires ${required}; the CV names no degree.`] };
}

function explainSpeech(talent: TalentFeatures, { speech }: JobFeatures): FoundAndMissing {
  const found: string[] = [];
  const missing: string[] = [];
  for (const item of speech) {
    const { requirement } = item;
    const text = requirement.text.replace(/[\s.,;:]+$/u, '');
    const isMet = speechCredit(item, talent) >= MET.speech;
    if (requirement.kind === 'certificate') (isMet ? found : missing).push(`Certificate: ${text}`);
    else if (isMet) found.push(`Speaks ${languageName(requirement.code)}, as required.`);
    else if (talent.languages.has(requirement.code))
      missing.push(`${languageName(requirement.code)} at a higher level: ${text}`);
    else missing.push(`${languageName(requirement.code)}: ${text}`);
  }
  return { found, missing };
}

function explainPlace(talent: TalentFeatures, job: JobFeatures, fit: number | null): FoundAndMissing {
  if (fit === null) return NOTHING;
  if (job.facts.remote) return { found: ['The job can be done from anywhere.'], missing: [] };
  const where = job.facts.places
    .map(
      ({ city, region, country }) => named(city ?? region) || (country === null ? '' : countryName(country)),
    )
    .join(' or ');
  if (fit >= 1) return { found: [`Lives in ${where}.`], missing: [] };
  if (fit >= 0.7) return { found: [`Lives in the region of ${where}.`], missing: [] };
  const home = talent.facts.place?.country ?? null;
  const countries = job.facts.places.flatMap(({ country }) => country ?? []);
  const isAbroad = home !== null && countries.length > 0 && !countries.some((one) => isWithin(home, one));
  return {
    found: [],
    missing: [`Lives ${isAbroad ? 'in another country' : 'elsewhere'}; the job is in ${where}.`],
  };
}

function named(place: string | null): string {
  return place?.replace(/(^|[\s-])\p{L}/gu, (start) => start.toUpperCase()) ?? '';
}

function explainCloseness(fit: number | null): FoundAndMissing {
  if (fit === null) return NOTHING;
  if (fit >= 0.6) return { found: ['Past work is very similar to this job.'], missing: [] };
  return fit >= 0.25 ? NOTHING : { found: [], missing: ['Past work is very different from this job.'] };
}

interface ExplainedSkills {
  readonly found: readonly string[];
  readonly missing: readonly string[];
  readonly reasons: readonly string[];
}

const MOST_NAMED = 8;

/** Classifies each skill as present, near (with the similar skill) or missing, must-haves first. */
function explainSkills(talent: TalentFeatures, job: JobFeatures): ExplainedSkills {
  const lists: Lists = { exact: [], named: [], near: [], missing: [] };
  const worded: string[] = [];
  for (const item of job.skillItems) {
    if (item.skills.length === 0) {
      if (itemCredit(item, talent) >= MET.skills) worded.push(item.text);
    } else {
      explainItem(item, talent, lists);
    }
  }
  const unique = (lines: readonly string[]) => [...new Set(lines)];
  const [has, named, similar] = [unique(lists.exact), unique(lists.named), unique(lists.near)];
  const reasons = [
    ...(has.length > 0 ? [`Has ${listed(has)}.`] : []),
    ...(named.length > 0 ? [`Mentioned, without a job or project that shows it: ${listed(named)}.`] : []),
    ...(similar.length > 0 ? [`Similar to what is required: ${listed(similar)}.`] : []),
  ];
  const mentioned = named.map((name) => `${name} (mentioned only)`);
  return {
    found: [...has, ...mentioned, ...similar, ...unique(worded)],
    missing: unique(lists.missing),
    reasons,
  };
}

interface Lists {
  readonly exact: string[];
  /** Present, but nothing in the CV shows them. */
  readonly named: string[];
  readonly near: string[];
  readonly missing: string[];
}

function explainItem(item: SkillItem, talent: TalentFeatures, { exact, named, near, missing }: Lists): void {
  const lacking: string[] = [];
  const isEnough = item.isAny && item.skills.some(({ name }) => talent.skills.has(name));
  for (const { name, near: others } of item.skills) {
    const instead = others.find((one) => talent.skills.has(one.name));
    if (talent.skills.has(name)) (talent.named.has(name) ? named : exact).push(shownSkill(name));
    else if (isEnough) continue;
    else if (instead !== undefined) near.push(`${shownSkill(name)} (has ${shownSkill(instead.name)})`);
    else lacking.push(shownSkill(name));
  }
  // A skill that a posting only mentions is never missing, and one of several alternatives is enough.
  const isMentioned = item.text === item.skills[0]?.name && !item.isMust && item.weight < 0.5;
  if (isMentioned || isEnough || (item.isAny && lacking.length < item.skills.length)) return;
  const ending = item.isMust && itemCredit(item, talent) < MET.skills ? ' (must have)' : '';
  if (item.isAny) missing.push(`${lacking.join(' or ')}${ending}`);
  else for (const name of lacking) missing.push(`${name}${ending}`);
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMED).join(', ');
  return names.length > MOST_NAMED ? `${shown} and ${names.length - MOST_NAMED} more` : shown;
}
