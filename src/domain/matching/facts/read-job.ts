import { isAboutEmployer } from '../../documents/posting/employer-sentences.ts';
import { guessLanguage } from '../../documents/text/classify.ts';
import { segmentsOf, tokensOf } from '../../documents/text/tokens.ts';
import type { JobFacts, Place, Requirement, SkillVocabulary, TextsToEmbed } from './facts.ts';
import { wordNumber } from './outline.ts';
import { placeFrom, placesIn, wholeCountry } from './places.ts';
import { withoutProtected } from './protected-words.ts';
import { isSoft, languagesIn, levelIn, lowestDegreeIn } from './qualifications.ts';
import { line, list, months, object, textsToEmbed } from './read-talent.ts';
import { countedWords, englishTermsIn, termOf, wordsOf } from './words.ts';
import { postingWords } from './work-text.ts';

/** A job as stored in the database. `posting` is the result of reading its text, and may be null. */
export interface StoredJob {
  readonly title: string;
  readonly description: string;
  readonly location: string | null;
  readonly remote: boolean;
  readonly mustHave: readonly string[];
  /** Whether a person listed the must-haves; otherwise they were read from the posting. */
  readonly isMustGiven?: boolean;
  readonly niceToHave: readonly string[];
  readonly minMonthsExperience: number | null;
  readonly posting: unknown;
}

const MOST = { requirements: 60, mentioned: 30, places: 5, lines: 60, terms: 300, words: 2_000 } as const;
const LONGEST_LINE = 300;
const BULLET = /^[\s\-–—*•·▪●]+/u;
/** The length of a description that is about the work; companies describe themselves at the end. */
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
  const listedSkills = new Set(
    [...must, ...nice].flatMap((one) => (one.kind === 'skills' ? one.skills : [])),
  );
  const mentioned = [...new Set([...named, ...vocabulary.findIn(`${job.title}\n${description}`)])];
  const experience = object(posting.experienceRequirements);
  const duties = list(posting.responsibilities, MOST.lines).flatMap((one) => line(one) ?? []);
  const texts = [job.title, ...job.mustHave, ...job.niceToHave, ...duties, description].map(withoutProtected);
  // The title matters most, so it is counted twice. Listed items may also occur in the description.
  const counted = countedWords([withoutProtected(job.title), ...texts], MOST.terms);
  const language = guessLanguage(tokensOf(segmentsOf(description), []));
  return {
    title: job.title,
    must,
    isMustGiven: job.isMustGiven ?? true,
    nice: [...nice, ...degrees.filter(({ kind }) => kind === 'degree')],
    mentioned: mentioned.filter((name) => !listedSkills.has(name) && !isSoft(name)).slice(0, MOST.mentioned),
    minMonths:
      months(job.minMonthsExperience) ?? months(experience.monthsOfExperience) ?? yearsIn(nice, isListed),
    places: placesOf(job.location, posting.jobLocation),
    remote: job.remote || posting.jobLocationType === 'TELECOMMUTE',
    ...counted,
    english: englishTermsIn(texts, counted.terms),
    writtenIn: language === 'und' ? null : language,
    words: postingWords([job.title, description, ...job.mustHave, ...job.niceToHave, ...duties].join('\n'))
      .flatMap((word) => termOf(word) ?? [])
      .slice(0, MOST.words)
      .map(wordNumber),
  };
}

/** In the same order as for a talent, so that corresponding parts are compared. */
export function jobTexts(facts: JobFacts, { description, posting }: StoredJob): TextsToEmbed {
  const skills = [...facts.must, ...facts.nice].flatMap((one) => (one.kind === 'skills' ? one.skills : []));
  const words = facts.must.flatMap((one) => (one.kind === 'words' ? [one.text] : []));
  const named = [...new Set([...skills, ...facts.mentioned])].slice(0, 40);
  const duties = list(object(posting).responsibilities, MOST.lines).flatMap((one) => line(one) ?? []);
  const lines = description.slice(0, READ_DESCRIPTION).split(/\s*\n\s*/);
  return textsToEmbed([[facts.title], named], [words.slice(0, 6), duties, lines]);
}

/**
 * If no requirements are listed, the lines and sentences of the description that name a skill, degree, language,
 * certificate or experience are used, unless they are about the employer. None of them counts as a must-have, because a
 * description also says what the job is about.
 */
function described(description: string, vocabulary: SkillVocabulary): readonly Requirement[] {
  const lines = description
    .slice(0, READ_DESCRIPTION)
    .split(/\r?\n|(?<=[.;!?])\s+(?=\p{Lu})|;\s/u)
    .map((one) => one.replace(BULLET, ''));
  const short = lines.filter((one) => one.length <= LONGEST_LINE && !isAboutEmployer(one));
  return requirements(short, vocabulary).filter(({ kind }) => kind !== 'words');
}

function requirements(lines: readonly string[], vocabulary: SkillVocabulary): readonly Requirement[] {
  return lines
    .slice(0, MOST.requirements)
    .flatMap((one) => readRequirement(one, vocabulary))
    .slice(0, MOST.requirements);
}

/** Only from a description: years in a listed nice-to-have are not required. */
function yearsIn(nice: readonly Requirement[], isListed: boolean): number | null {
  return isListed ? null : (nice.find((one) => one.kind === 'experience')?.months ?? null);
}

function placesOf(location: string | null, jobLocation: unknown): readonly Place[] {
  if (location !== null) return placesIn(location);
  return list(jobLocation, MOST.places).flatMap((one) => {
    const { city, region, country } = object(one);
    const place = { city: line(city), region: line(region), country: wholeCountry(line(country) ?? '') };
    return placeFrom(place) ?? [];
  });
}

const LONGEST_REQUIREMENT = 300;
const MOST_SKILLS = 12;
const MOST_WORDS = 15;
const NUMBER_WORDS =
  `one two three four five six seven eight nine ten|ein zwei drei vier fünf sechs sieben acht neun zehn`
    .split('|')
    .map((words) => words.split(' '));
const NUMBER = `\\d{1,2}|${NUMBER_WORDS.flat().join('|')}`;
const YEARS = new RegExp(
  `(?<!\\p{L})(${NUMBER})e?s?(?:\\s*(?:-|–|to|bis)\\s*\\d{1,2})?\\s*\\+?\\s*(?:or more\\s*)?(?:years?|yrs?|jahre?n?|ans?|años?|lata?|roku?|ani|anni)(?!\\p{L})`,
  'iu',
);
const MONTHS = /(\d{1,3})\s*\+?\s*(?:months?|monate|mois|meses)/iu;
/** A human language, not a programming language: the text is about speaking it, or is very short. */
const SPEAKS =
  /\b(?:language|languages|speak\w*|spoken|written|fluen\w*|native|proficien\w*|[abc][12]|level|verbal|bilingual|\p{L}*kenntnissen?|sprach\w*|verhandlungssicher\p{L}*|fließend\p{L}*|langues?|niveau|idiomas?|nivel|dominio|język\p{L}*|znajomość|limb[aă]|cunoștințe)(?!\p{L})/iu;
const CERTIFIED =
  /\b(?:certifi\w+|licen[cs]e[sd]?|registered|registration|chartered|permis|permiso de conducir|carnet|uprawnienia|prawo jazdy|certyfikat\w*|atestat|accredit\w+|qualified teacher status)\b|(?:meister|gesellen)brief|führerschein|fahrerlaubnis|\p{L}{3}-?schein(?!\p{L})|approbation|zertifi\p{L}+|(?<!\p{L})geprüfte[rnms]?(?!\p{L})|fahrerkarte|gesundheitszeugnis/iu;
/** Certificates at the level of vocational training that a degree does not replace. */
const TRADE_CERTIFICATE = /(?:meister|gesellen)brief/iu;
const OR_EXPERIENCE = /\b(?:or )?(?:equivalent|comparable|similar) (?:\w+ )?(?:experience|qualification)/iu;
/** One of several is enough: "Tableau or Power BI", "Jest/Mocha"; but not "A/B testing". */
const ANY = /\b(?:or|oder|ou|lub|sau|any of|one of|such as|e\.g\.|like|similar)\b|\p{L}{2}\/\p{L}{2}/iu;
/** Both sides are required: "Python, with Django or FastAPI" is Python and one of the other two. */
const AND = /\b(?:with|and|plus|including|und|mit|et|avec)\b|[;:]/iu;

/**
 * The requirements in one line of a posting. A line may contain several ("Bachelor's degree and 3 years of Java"); each
 * becomes a requirement with the text of the line. A line without a known requirement is kept as words.
 */
function readRequirement(line: string, vocabulary: SkillVocabulary): readonly Requirement[] {
  const text = line.trim().replace(/\s+/g, ' ').slice(0, LONGEST_REQUIREMENT);
  if (text === '') return [];
  const found: Requirement[] = [...readSkills(text, vocabulary)];
  found.push(...readDegree(text), ...readExperience(text), ...readLanguages(text), ...readCertificate(text));
  if (found.length > 0) return found;
  const terms = wordsOf([text], MOST_WORDS);
  return terms.length === 0 ? [] : [{ kind: 'words', text, terms }];
}

function readSkills(text: string, vocabulary: SkillVocabulary): readonly Requirement[] {
  const chunks = ANY.test(text) ? text.split(AND) : [text];
  const seen = new Set<string>();
  return chunks.flatMap((chunk): Requirement[] => {
    const skills = vocabulary.findIn(chunk).filter((skill) => !isSoft(skill) && !seen.has(skill));
    for (const skill of skills) seen.add(skill);
    if (skills.length === 0) return [];
    const isAny = skills.length > 1 && ANY.test(chunk);
    return [{ kind: 'skills', text, skills: skills.slice(0, MOST_SKILLS), isAny }];
  });
}

function readDegree(text: string): readonly Requirement[] {
  const level = TRADE_CERTIFICATE.test(text) ? null : lowestDegreeIn(text);
  return level === null ? [] : [{ kind: 'degree', text, level, orExperience: OR_EXPERIENCE.test(text) }];
}

function readExperience(text: string): readonly Requirement[] {
  const months = monthsIn(text);
  return months === null ? [] : [{ kind: 'experience', text, months }];
}

function monthsIn(text: string): number | null {
  const years = YEARS.exec(text)?.[1]?.toLowerCase();
  if (years !== undefined) return 12 * (wordNumberOf(years) ?? Number(years));
  const months = MONTHS.exec(text)?.[1];
  return months === undefined ? null : Number(months);
}

function wordNumberOf(word: string): number | null {
  const at = NUMBER_WORDS.map((words) => words.indexOf(word)).find((found) => found >= 0);
  return at === undefined ? null : at + 1;
}

function readLanguages(text: string): readonly Requirement[] {
  const codes = languagesIn(text);
  const isShort = text.split(' ').length <= 3;
  if (codes.length === 0 || !(isShort || SPEAKS.test(text))) return [];
  const level = levelIn(text);
  return codes.map((code) => ({ kind: 'language', text, code, level }) as const);
}

function readCertificate(text: string): readonly Requirement[] {
  const isDegree = lowestDegreeIn(text) !== null && !TRADE_CERTIFICATE.test(text);
  if (!CERTIFIED.test(text) || isDegree) return [];
  return [{ kind: 'certificate', text, name: text }];
}
