import headings from '../words/headings.json' with { type: 'json' };
import {
  degreeBook,
  isPositionWord,
  isSchoolWord,
  looksLikeDegree,
  withoutAccents,
} from '../words/word-lists.ts';
import type { DateSpan } from './dates.ts';
import { lowerOf, type Segment, type Token } from './tokens.ts';

export type SectionKind =
  | 'top'
  | 'contact'
  | 'summary'
  | 'work'
  | 'education'
  | 'skills'
  | 'languages'
  | 'certificates'
  | 'projects'
  | 'other';

export interface Heading {
  readonly kind: SectionKind;
  /** The length of the heading within the segment; the rest is content. */
  readonly length: number;
}

/** Contact details take a few lines; text after them without a heading continues the previous section. */
const LONGEST_CONTACT = 8;
/** The maximum number of tokens in a line that can head an entry. */
const LONGEST_LINE = 14;

/** The first line below an education heading that may belong to another section. */
const FIRST_LINES = 3;

/** Above all headings the tagger decides itself, and projects have roles and times like jobs. */
const KEPT: ReadonlySet<SectionKind> = new Set(['top', 'projects']);

interface Outline {
  readonly segments: readonly Segment[];
  readonly headings: readonly (Heading | null)[];
  readonly tokens: readonly Token[];
  readonly tokenStarts: readonly number[];
  readonly dates: readonly DateSpan[];
}

/** The section of each segment: that of the last heading, corrected if the lines indicate otherwise. */
export function sectionsOf(outline: Outline): SectionKind[] {
  const { segments, headings } = outline;
  const looksLikeJob = jobLines(outline);
  let section: SectionKind = 'top';
  let before: SectionKind = 'top';
  let since = 0;
  let linesBelow = FIRST_LINES;
  return segments.map((segment, at) => {
    const heading = headings[at] ?? null;
    // Entries right below an education heading are education, whatever they train for: "Apprenticeship as an
    // electrician".
    if (heading !== null)
      linesBelow = heading.kind === 'education' && heading.length === segment.text.length ? 0 : FIRST_LINES;
    else if (segment.beginsLine) linesBelow++;
    const isRightBelow = heading === null && linesBelow < FIRST_LINES;
    if (heading !== null) {
      if (heading.kind === 'contact' && section !== 'contact') before = section;
      section = heading.kind;
      since = 0;
    } else if (section === 'contact' && ++since > LONGEST_CONTACT) section = before;
    // An unknown heading hides its section: a line that looks like a job starts the work section.
    if (heading === null && looksLikeJob[at] === 1 && !KEPT.has(section) && !isRightBelow) section = 'work';
    return section;
  });
}

/** Short lines with a time span and a word for a position, on or next to them, and no word for a school. */
function jobLines({ segments, tokens, tokenStarts, dates }: Outline): Uint8Array {
  const positions = new Uint8Array(segments.length);
  const schools = new Uint8Array(segments.length);
  const lengths = segments.map((_, at) => (tokenStarts[at + 1] ?? 0) - (tokenStarts[at] ?? 0));
  for (const token of tokens) {
    const { lower, segment } = token;
    if (token.kind !== 'word' || (lengths[segment] ?? 0) > LONGEST_LINE || !/^\p{Lu}/u.test(token.text))
      continue;
    if (isPositionWord(lower)) positions[segment] = 1;
    else if (isSchoolWord(lower) || isDegree(token)) schools[segment] = 1;
    if (TRAINING.test(lower)) schools[segment] = 1;
  }
  const found = new Uint8Array(segments.length);
  const spans = dates.filter(({ isRange }) => isRange);
  let next = 0;
  segments.forEach(({ start, end }, at) => {
    while (next < spans.length && (spans[next]?.start ?? 0) < start) next++;
    if ((spans[next]?.start ?? Infinity) >= end || (lengths[at] ?? 0) > LONGEST_LINE) return;
    const near = [at, at - 1, at + 1].filter((one) => (lengths[one] ?? 99) <= LONGEST_LINE);
    if (near.some((one) => schools[one] === 1) || !near.some((one) => positions[one] === 1)) return;
    for (const one of near) found[one] = 1;
  });
  return found;
}

/** "Ausbildung zum Industriemechaniker", with the firm on the next line, is no job below a heading of education. */
const TRAINING =
  /^(?:ausbildung|berufsausbildung|lehre|umschulung|apprenticeship|apprentissage|apprendistato|leertijd)$/;

/** "B.A." and "Bachelor", but not "Be" at the start of a line. */
function isDegree({ text }: Token): boolean {
  return looksLikeDegree(text) && degreeBook.of(text) !== undefined;
}

const HEADING_KINDS = new Map<string, SectionKind>();
/** By spelling without accents: "EXPERIENTA PROFESIONALA", "Formacion academica". */
const WITHOUT_ACCENTS = new Map<string, SectionKind>();
for (const [kind, lines] of Object.entries(headings)) {
  for (const name of lines.flatMap((line) => line.split('; '))) {
    HEADING_KINDS.set(spelled(name), kind as SectionKind);
    WITHOUT_ACCENTS.set(withoutAccents(spelled(name)), kind as SectionKind);
  }
}
/** A shorter word without its accents is often a word of another language, and these are English. */
const LEAST_WITHOUT_ACCENTS = 6;
for (const english of ['presentation', 'curriculum']) WITHOUT_ACCENTS.delete(english);

/**
 * Lower case. Merges the two Turkish "i", which capitals do not distinguish, and Romanian letters with cedillas and
 * commas.
 */
export function spelled(heading: string): string {
  return lowerOf(heading)
    .replaceAll('ı', 'i')
    .replaceAll('ş', 'ș')
    .replaceAll('ţ', 'ț')
    .replace(/[’`]/g, "'");
}

const INLINE_HEADING = /^([\p{L}][\p{L} &/'’-]{2,40}?)\s*(?::|[-–—](?=\s))\s*/u;
const CAPITALS_HEADING = /^([\p{Lu}][\p{Lu} &/-]{3,40})(?=\s[^\p{Lu}]|\s\p{Lu}\p{Ll}|$)/u;
const LONGEST_HEADING = 60;

/**
 * A segment that is a heading, or begins with one (`Skills: Java, SQL`, `EDUCATION Stanford University`). `before` and
 * `after` are the segments next to it.
 */
export function headingOf(segment: Segment, before?: Segment, after?: Segment): Heading | null {
  const { text } = segment;
  if (isRestOfLine(segment, before, after)) return null;
  if (text.length <= LONGEST_HEADING) {
    const kind = headingKind(text) ?? kindOfWholeLine(segment);
    if (kind !== null && (looksLikeHeading(text) || isSmallHeading(segment)))
      return { kind, length: text.length };
  }
  const inline = INLINE_HEADING.exec(text.slice(0, LONGEST_HEADING));
  if (inline !== null) {
    const kind = headingKind(`${inline[1] ?? ''}:`);
    if (kind !== null && looksLikeHeading(inline[1] ?? '')) return { kind, length: inline[0].length };
  }
  const capitals = CAPITALS_HEADING.exec(text.slice(0, LONGEST_HEADING));
  if (capitals !== null) {
    const kind = headingKind(capitals[1] ?? '');
    if (kind !== null) return { kind, length: (capitals[1] ?? '').length };
  }
  return null;
}

/** The last words of a line that is continued below. */
const CONTINUED = /(?:^|[\s(])(?:of|and|&|in|on|for|the|to|with|a|an|at|by|from)$|,$/i;
/** Words that end the names of degrees, departments and positions. */
const ENDS_NAME = /^(?:technology|software)$/i;
const IN_SENTENCE = /^(?:technology|software|training|research|service|project|leadership)$/i;

/** "Bachelor of" above "Technology": one capitalized word that continues the line above, or is continued below. */
function isRestOfLine(segment: Segment, before: Segment | undefined, after: Segment | undefined): boolean {
  const { text, beginsBlock, beginsLine, isBulleted } = segment;
  if (beginsBlock || !beginsLine || isBulleted || !/^\p{Lu}\p{Ll}+$/u.test(text) || before === undefined)
    return false;
  const goesOn =
    IN_SENTENCE.test(text) && after?.beginsBlock === false && after.beginsLine && /^\p{Ll}/u.test(after.text);
  return CONTINUED.test(before.text) || goesOn || (ENDS_NAME.test(text) && !before.isBulleted);
}

/** Whether a text is only a heading. */
export function namesSection(text: string): boolean {
  return text.length <= LONGEST_HEADING && looksLikeHeading(text) && headingKind(text) !== null;
}

/** A word within a sentence starts with a lower-case letter; a heading does not. */
function looksLikeHeading(text: string): boolean {
  return /^[^\p{L}]*\p{Lu}/u.test(text);
}

/** "education" in lower case, below an empty line and alone on its line. */
function isSmallHeading({ text, beginsBlock, isBulleted }: Segment): boolean {
  return beginsBlock && !isBulleted && HEADING_KINDS.has(spelled(text.replace(/ ?:$/, '')));
}

function headingKind(raw: string): SectionKind | null {
  const clean = spelled(raw)
    .replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '')
    .replace(/\s+/g, ' ');
  const known = HEADING_KINDS.get(clean);
  if (known !== undefined) return known;
  // Spaced capitals: "E D U C A T I O N".
  if (/^(?:\p{L} ){3,}\p{L}$/u.test(clean)) return HEADING_KINDS.get(clean.replaceAll(' ', '')) ?? null;
  const [first, second] = clean.split(/ (?:and|&|und|et|y|e|en|i|a|és|și|och|og|ve) |\//);
  if (first !== undefined && second !== undefined && HEADING_KINDS.has(second) && HEADING_KINDS.has(first))
    return HEADING_KINDS.get(first) ?? null;
  return kindByLastWord(raw.trim(), clean);
}

/**
 * The first words of headings that are not in the list, in languages that put the noun first: "Experiență managerială",
 * "Compétences relationnelles", "Activități de voluntariat". Without accents.
 */
const FIRST_WORDS: readonly (readonly [RegExp, SectionKind])[] = [
  [
    /^(?:activit\p{L}+|munca|actions?|acoes|acciones|attivita|travail|trabalho|trabajo|lavoro|experient\p{L}+|experienc\p{L}+|esperienz\p{L}+) (?:de |di |en |in )?(?:volunt\p{L}+|benevol\p{L}+|volontar\p{L}+)$/u,
    'other',
  ],
  [
    /^(?:experienta|experiente|experiences|experiencias|esperienze|experiencias) (?!de |di |en |in |dans |cu |com |con |la |sur |em |na |no )/,
    'work',
  ],
  [
    /^(?:competente|aptitudini|abilitati|cunostinte|competences|competencias|competenze|habilidades|conhecimentos|conocimientos|conoscenze|capacita|aptitudes) /,
    'skills',
  ],
  [/^(?:studii|etudes|estudios|estudos|studi) /, 'education'],
  [/^(?:cursuri|cursos|corsi|formations complementaires) /, 'certificates'],
];
const MOST_FIRST_WORDS = 4;

/** Of a line alone, by its spelling without accents or its first word: elsewhere these are too often words of a sentence. */
function kindOfWholeLine({ text, beginsBlock, isBulleted }: Segment): SectionKind | null {
  const isShouted = text === text.toUpperCase();
  if (isBulleted || !(beginsBlock || isShouted) || /[\d,.;@()]/.test(text)) return null;
  const plain = withoutAccents(spelled(text.replace(/ ?:$/, '')));
  const known = plain.length >= LEAST_WITHOUT_ACCENTS ? WITHOUT_ACCENTS.get(plain) : undefined;
  if (known !== undefined) return known;
  if (plain.split(' ').length > MOST_FIRST_WORDS) return null;
  return FIRST_WORDS.find(([pattern]) => pattern.test(plain))?.[1] ?? null;
}

/** The last words of headings that are not in the list: "Student Teaching Experience", "FINANCIAL MANAGEMENT ROLES:". */
const LAST_WORDS: readonly (readonly [RegExp, SectionKind])[] = [
  [
    /^(?:experiences?|employment|internships?|placements?|appointments|assignments|positions|jobs|clerkships?|practicums?|residencies)$/,
    'work',
  ],
  [/^(?:education|degrees?|academics|studies|schooling|coursework|courses)$/, 'education'],
  [
    /^(?:skills|competenc(?:ies|es)|expertise|proficienc(?:y|ies)|technologies|strengths|abilities|toolset|skillset)$/,
    'skills',
  ],
  [/^(?:certifications?|certificates|licen[cs]es|licensures?|credentials|trainings?)$/, 'certificates'],
  [/^projects$/, 'projects'],
  [
    /^(?:publications|presentations|awards|honou?rs|interests|hobbies|references|referees|memberships|affiliations|activities|achievements|accomplishments|volunteering|involvement|patents|conferences|grants)$/,
    'other',
  ],
];
const MOST_WORDS = 5;
/** "Customer experience" and "mobile technologies" are skills; "5 years' experience" is a claim. */
const NO_HEADING =
  /^(?:customer|user|client|guest|candidate|employee|years?|hands[- ]on|proven|extensive|strong|excellent|good|solid|total|no|my|with|special|elementary|physical|higher|early|teacher|web|mobile|emerging|department|school|college|university|institute|doctor|master|bachelor|masters|bachelors)\b/;

function kindByLastWord(raw: string, clean: string): SectionKind | null {
  const words = clean.split(' ');
  const last = words.at(-1) ?? '';
  if (words.length < 2 || words.length > MOST_WORDS || /[\d,.;@]/.test(raw) || NO_HEADING.test(clean))
    return null;
  const isShouted = raw === raw.toUpperCase();
  const isTitled = raw.split(/\s+/).every((word) => /^(?:\p{Lu}|[(&/-]|and$|of$|in$|the$|for$)/u.test(word));
  if (!isShouted && !raw.endsWith(':') && !(isTitled && /^(?:experiences?|employment)$/.test(last)))
    return null;
  if (!isShouted && !isTitled) return null;
  return LAST_WORDS.find(([pattern]) => pattern.test(last))?.[1] ?? null;
}
