import { knownSkillsIn } from '../../documents/text/gazetteer.ts';
import { segmentsOf, tokensOf } from '../../documents/text/tokens.ts';
import { canonicalSkill } from '../../documents/words/word-lists.ts';
import type { DegreeLevel, LanguageLevel, SkillMention, SkillVocabulary } from './facts.ts';
import words from './near-skills.json' with { type: 'json' };

const LONGEST_TEXT = 100_000;
/** A line of at most this many words is a list of names rather than a sentence: "Go", "R, SQL". */
const WORDS_OF_A_LIST = 4;

/** Uses the skill names of the document reader, so that CVs and postings name the same skills. */
export function createSkillVocabulary(): SkillVocabulary {
  function mentionsIn(text: string): readonly SkillMention[] {
    const segments = segmentsOf(text.slice(0, LONGEST_TEXT));
    const tokens = tokensOf(segments, []);
    const sections = segments.map((segment) =>
      segment.text.split(/\s+/).length <= WORDS_OF_A_LIST ? ('skills' as const) : ('other' as const),
    );
    const seen = knownSkillsIn({ tokens, sections, segments });
    return seen.map(({ value, start }) => ({ name: value.canonical.toLowerCase(), start }));
  }

  return {
    canonical: (name) => (canonicalSkill(name) ?? name.trim()).toLowerCase(),
    findIn: (text) => [...new Set(mentionsIn(text).map(({ name }) => name))],
    mentionsIn,
  };
}

/** The skill's usual spelling. */
export function shownSkill(name: string): string {
  return canonicalSkill(name) ?? name;
}

/** The credit of a skill in place of another: React implies JavaScript, and MySQL is similar to PostgreSQL. */
const IMPLIED = 0.9;
const ALIKE = 0.5;

const nearSkills = nearTable();

/** Skills that partly substitute for this one, best first. The skill itself is not included. */
export function nearTo(skill: string): readonly NearSkill[] {
  return nearSkills.get(skill) ?? [];
}

export interface NearSkill {
  readonly name: string;
  readonly credit: number;
}

/** Soft skills, which never count against a talent: their absence from a CV means nothing. */
const SOFT = new Set(
  `communication|written communication|verbal communication|interpersonal skills|teamwork|problem solving|critical thinking|
  analytical skills|creativity|innovation|adaptability|time management|organizational skills|multitasking|attention to detail|
  self-motivation|work ethic|reliability|initiative|independence|fast learner|results orientation|customer focus|listening|
  empathy|patience|emotional intelligence|working under pressure|motivating others|cultural awareness|integrity|enthusiasm|
  positive attitude|resilience|assertiveness|planning|strategic thinking|persuasion|networking skills|
  cross-functional collaboration|resourcefulness|discretion|sincerity|leadership|decision making|reporting|research|internet|
  computer literacy|maintenance|monitoring|administration|editing|driving|assembly|packaging|cleaning|debate`
    .split('|')
    .map((name) => name.trim()),
);

export function isSoft(skill: string): boolean {
  return SOFT.has(skill);
}

function nearTable(): ReadonlyMap<string, readonly NearSkill[]> {
  const credits = new Map<string, Map<string, number>>();
  const note = (required: string, has: string, credit: number) => {
    if (required === has) return;
    const row = credits.get(required) ?? new Map<string, number>();
    row.set(has, Math.max(credit, row.get(has) ?? 0));
    credits.set(required, row);
  };
  for (const [has, implied] of Object.entries(words.implies)) {
    for (const required of listed(implied)) note(required, has, IMPLIED);
  }
  for (const group of words.alike) {
    const members = listed(group);
    for (const required of members) for (const has of members) note(required, has, ALIKE);
  }
  const sorted = ([name, row]: [string, Map<string, number>]) =>
    [
      name,
      [...row].map(([has, credit]) => ({ name: has, credit })).sort((a, b) => b.credit - a.credit),
    ] as const;
  return new Map([...credits].map(sorted));
}

function listed(text: string): readonly string[] {
  return text.split(',').map((name) => name.trim());
}

/** Highest first: if a line names two, the higher one applies. */
const DEGREE_PATTERNS: readonly (readonly [DegreeLevel, RegExp])[] = [
  [5, /\b(?:ph\.?\s?d|doctorate|doctoral|d\.?phil|dr\.?[- ](?:ing|rer)|doktor|doctorat|doctorado)\b/iu],
  [
    4,
    /\b(?:master(?:['’]?s)?(?=\s*(?:'s|’s|degree|of|in|level|or|and|,|\.|\)|$))|m\.?\s?sc|m\.?\s?a\.(?=\W|$)|m\.?b\.?a|m\.?eng|m\.?tech|m\.?ed|ll\.?m|diplom(?:[- ]ing\w*)?|maestría|máster|maîtrise|magister|masterat|postgraduate|graduate degree)(?!\p{L})/iu,
  ],
  [
    3,
    /\b(?:bachelor(?:['’]?s)?|b\.?\s?sc|b\.?\s?a\.(?=\W|$)|b\.?\s?s\.(?=\W|$)|b\.?eng|b\.?tech|b\.?com|b\.?ed|ll\.?b|undergraduate degree|licenciatura|university degree|college degree|abgeschlossenes studium|hochschulabschluss|licence(?= (?:en|de|professionnelle) )|grado en|titulación universitaria|licencjat|wykształcenie wyższe|licen[țţ]ă|studii superioare|(?<!(?:master(?:['’]?s)?|ph\.?\s?d\.?|doctoral|doctorate|m\.?\s?sc\.?|m\.?b\.?a\.?|graduate|associate(?:['’]?s)?)\s+)degree in)(?!\p{L})/iu,
  ],
  [
    2,
    /\b(?:associate(?:['’]?s)? degree|vocational|apprenticeship|ausbildung|diploma|hnd|btec|trade school|berufsausbildung|certificate iv|gesellenbrief|meister(?:brief|prüfung|schule)|[a-zäöüß-]*kauf(?:mann|frau)|facharbeiter(?:in)?|formación profesional|técnico en|technikum|szkoła zawodowa|școala profesională)(?!\p{L})/iu,
  ],
  [
    1,
    /\b(?:high school|secondary school|ged|abitur|a[- ]levels?|gcse|school diploma|baccalauréat|bachillerato|matura|liceum|bacalaureat)(?!\p{L})/iu,
  ],
];

const DEGREE_NAMES: Readonly<Record<DegreeLevel, string>> = {
  1: 'a school-leaving certificate',
  2: 'a vocational qualification',
  3: 'a bachelor’s degree',
  4: 'a master’s degree',
  5: 'a doctorate',
};

export function degreeIn(text: string): DegreeLevel | null {
  return DEGREE_PATTERNS.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
}

/** The lowest degree named: "Bachelor's or Master's" asks for a bachelor's. */
export function lowestDegreeIn(text: string): DegreeLevel | null {
  const named = DEGREE_PATTERNS.filter(([, pattern]) => pattern.test(text)).map(([level]) => level);
  return named.length === 0 ? null : (Math.min(...named) as DegreeLevel);
}

export function degreeName(level: DegreeLevel): string {
  return DEGREE_NAMES[level];
}

/** Two-letter codes of the languages that are common in CVs and postings. */
const LANGUAGE_CODES =
  `af am ar az be bg bn bs ca cs cy da de el en es et eu fa fi fr ga gl gu he hi hr hu hy id is it ja ka kk km kn ko ku lt lv
  mk ml mn mr ms mt my ne nl no pa pl ps pt ro ru sk sl so sq sr sv sw ta te th tl tr uk ur uz vi zh zu`.split(
    /\s+/,
  );

/** Names that the runtime lacks, and common alternatives. */
const FURTHER_LANGUAGES: Readonly<Record<string, string>> = {
  mandarin: 'zh',
  cantonese: 'zh',
  farsi: 'fa',
  flemish: 'nl',
  castilian: 'es',
  tagalog: 'tl',
  filipino: 'tl',
  norsk: 'no',
  bokmål: 'no',
};

const FLUENCY_PATTERNS: readonly (readonly [RegExp, LanguageLevel])[] = [
  [
    /\b(?:native|mother tongue|muttersprach\w*|langue maternelle|bilingual|first language|nativ[oaă]|matern[aă]|ojczyst\p{L}*)(?!\p{L})/iu,
    7,
  ],
  [/\bc2\b|\b(?:proficien\w*|mastery|near[- ]native|verhandlungssicher[a-z]*)\b/iu, 6],
  [
    /\bc1\b|\b(?:fluent\w*|fließend[a-z]*|courant|advanced|full professional|business fluent|excellent|avanzado|biegł\p{L}*|zaawansowan\p{L}*|avansat\p{L}*)(?!\p{L})/iu,
    5,
  ],
  [
    /\bb2\b|\b(?:upper[- ]intermediate|professional working|business|good|very good|gute?[mnrs]?|dobr[aey])(?!\p{L})/iu,
    4,
  ],
  [
    /\bb1\b|\b(?:intermediate|conversational|limited working|working knowledge|mittel|moyen|intermedio|średni\p{L}*|mediu)(?!\p{L})/iu,
    3,
  ],
  [/\ba2\b|\b(?:elementary|pre[- ]intermediate)\b/iu, 2],
  [/\ba1\b|\b(?:basic\w*|beginner|grundkenntnisse|notions|básico|podstawow\p{L}*|începător)(?!\p{L})/iu, 1],
];

/** Documents in these languages use their own names for other languages: "Englisch", "anglais". */
const DOCUMENT_LANGUAGES = ['de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'ro'];

const languagesByName = namesOfLanguages();

/** The code of a language by one of its names: "German", "Deutsch", "de". */
export function languageCode(name: string): string | null {
  const plain = name.trim().toLowerCase();
  return languagesByName.get(plain) ?? (LANGUAGE_CODES.includes(plain) ? plain : null);
}

export function languageName(code: string): string {
  return new Intl.DisplayNames(['en'], { type: 'language' }).of(code) ?? code;
}

export function levelIn(text: string): LanguageLevel | null {
  return FLUENCY_PATTERNS.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}

/** "Deutschkenntnisse", "deutschsprachig". */
const OF_LANGUAGE = /(?:sprach)?kenntnissen?$|sprachig(?:e[mnrs]?)?$/u;

/** Every language that a text names as a whole word. */
export function languagesIn(text: string): readonly string[] {
  const found = new Set<string>();
  for (const [word] of text.toLowerCase().matchAll(/\p{L}+/gu)) {
    const code = languagesByName.get(word.replace(OF_LANGUAGE, ''));
    if (code !== undefined) found.add(code);
  }
  return [...found];
}

function namesOfLanguages(): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const english = new Intl.DisplayNames(['en'], { type: 'language' });
  const namers = DOCUMENT_LANGUAGES.map((code) => new Intl.DisplayNames([code], { type: 'language' }));
  for (const code of LANGUAGE_CODES) {
    const own = new Intl.DisplayNames([code], { type: 'language' }).of(code);
    const others = namers.map((names) => names.of(code));
    for (const name of [english.of(code), own, ...others]) {
      const plain = name?.toLowerCase();
      if (plain !== undefined && plain.length > 2 && !names.has(plain)) names.set(plain, code);
    }
  }
  for (const [name, code] of Object.entries(FURTHER_LANGUAGES)) names.set(name, code);
  return names;
}
