import type { JobFacts, Place, Requirement, SkillVocabulary } from './facts.ts';
import { isSoft } from './near-skills.ts';
import { placeOf, placesIn } from './places.ts';
import { withoutProtected } from './protected-words.ts';
import { readRequirement } from './read-requirement.ts';
import { line, list, months, object } from './read-talent.ts';
import { wordsOf } from './words-of.ts';

/** A job as the database has it. `posting` is what was read out of its text, and may be null. */
export interface StoredJob {
  readonly title: string;
  readonly description: string;
  readonly location: string | null;
  readonly remote: boolean;
  readonly mustHave: readonly string[];
  readonly niceToHave: readonly string[];
  readonly minMonthsExperience: number | null;
  readonly posting: unknown;
}

const MOST = { requirements: 60, mentioned: 30, places: 5, lines: 60, terms: 220 } as const;
const EMBEDDED_TEXT = 900;
const LONGEST_LINE = 300;
const BULLET = /^[\s\-–—*•·▪●]+/u;
/** The part of a description that is about the work; firms write about themselves at the end. */
const READ_DESCRIPTION = 12_000;

export function readJob(job: StoredJob, vocabulary: SkillVocabulary): JobFacts {
  const posting = object(job.posting);
  const must = requirements(job.mustHave, vocabulary);
  const isListed = job.mustHave.length + job.niceToHave.length > 0;
  const nice = isListed ? requirements(job.niceToHave, vocabulary) : described(job.description, vocabulary);
  const degrees = [...must, ...nice].some(({ kind }) => kind === 'degree')
    ? []
    : list(posting.educationRequirements, 5).flatMap((one) => readRequirement(line(one) ?? '', vocabulary));
  const named = list(posting.skills, MOST.mentioned).flatMap((one) => {
    const name = line(object(one).canonical ?? object(one).name ?? one);
    return name === null ? [] : [vocabulary.canonical(name)];
  });
  const description = job.description.slice(0, READ_DESCRIPTION);
  const asked = new Set([...must, ...nice].flatMap((one) => (one.kind === 'skills' ? one.skills : [])));
  const mentioned = [...new Set([...named, ...vocabulary.findIn(`${job.title}\n${description}`)])];
  const experience = object(posting.experienceRequirements);
  const duties = list(posting.responsibilities, MOST.lines).flatMap((one) => line(one) ?? []);
  return {
    title: job.title,
    must,
    nice: [...nice, ...degrees.filter(({ kind }) => kind === 'degree')],
    mentioned: mentioned.filter((name) => !asked.has(name) && !isSoft(name)).slice(0, MOST.mentioned),
    minMonths:
      months(job.minMonthsExperience) ?? months(experience.monthsOfExperience) ?? yearsIn(nice, isListed),
    places: placesOf(job.location, posting.jobLocation),
    remote: job.remote || posting.jobLocationType === 'TELECOMMUTE',
    terms: wordsOf(
      [job.title, ...job.mustHave, ...job.niceToHave, ...duties, description].map(withoutProtected),
      MOST.terms,
    ),
  };
}

/** As for a talent, in the same order, so that like stands beside like. */
export function jobText(facts: JobFacts): string {
  const skills = [...facts.must, ...facts.nice].flatMap((one) => (one.kind === 'skills' ? one.skills : []));
  const words = facts.must.flatMap((one) => (one.kind === 'words' ? [one.text] : []));
  const named = [...new Set([...skills, ...facts.mentioned])].slice(0, 40);
  const parts = [[facts.title], named, words.slice(0, 6)].filter((part) => part.length > 0);
  return withoutProtected(parts.map((part) => part.join(', ')).join('. ')).slice(0, EMBEDDED_TEXT);
}

/**
 * Where nobody has listed what is asked for, the lines and sentences of the description are the list: those that name
 * something that we know. None of them is taken for a must-have, because a description also says what the job is about.
 */
function described(description: string, vocabulary: SkillVocabulary): readonly Requirement[] {
  const lines = description
    .slice(0, READ_DESCRIPTION)
    .split(/\r?\n|(?<=[.;!?])\s+(?=\p{Lu})|;\s/u)
    .map((one) => one.replace(BULLET, ''));
  const short = lines.filter((one) => one.length <= LONGEST_LINE);
  return requirements(short, vocabulary).filter(({ kind }) => kind !== 'words');
}

function requirements(lines: readonly string[], vocabulary: SkillVocabulary): readonly Requirement[] {
  return lines
    .slice(0, MOST.requirements)
    .flatMap((one) => readRequirement(one, vocabulary))
    .slice(0, MOST.requirements);
}

/** Only out of a description: of what is listed as nice to have, years are no condition. */
function yearsIn(nice: readonly Requirement[], isListed: boolean): number | null {
  return isListed ? null : (nice.find((one) => one.kind === 'experience')?.months ?? null);
}

function placesOf(location: string | null, jobLocation: unknown): readonly Place[] {
  if (location !== null) return placesIn(location);
  return list(jobLocation, MOST.places).flatMap((one) => {
    const { city, region, country } = object(one);
    const place = placeOf([city, region, country].flatMap((part) => line(part) ?? []));
    return place === null ? [] : [place];
  });
}
