import { type Traced, traced } from '../evidence.ts';
import type { LaidOutText } from '../text/layout.ts';
import type { Segment } from '../text/tokens.ts';
import { isAboutEmployer } from './employer-sentences.ts';
import { introducesList, type PostingSection, postingHeading } from './headings.ts';

interface PostingItem extends Traced {
  readonly section: PostingSection;
  /** Whether it is a clause of the sentence with the title, where a skill may be part of the title. */
  readonly isBesideTitle?: boolean;
}

interface Piece {
  readonly section: PostingSection;
  readonly start: number;
  end: number;
  readonly isBulleted: boolean;
}

const LONGEST_ITEM = 400;

/** The items of a posting with their sections: bullets with their wrapped lines, and the sentences of prose. */
export function itemsOf({ segments, text }: LaidOutText): PostingItem[] {
  const pieces: Piece[] = [];
  let section: PostingSection = 'top';
  let isBelowHeading = false;
  segments.forEach((segment, at) => {
    const next = segments[at + 1];
    const heading = postingHeading(segment, next);
    const start = segment.start + (heading?.length ?? 0);
    if (heading !== null && !heading.isInline) {
      section = heading.section;
      isBelowHeading = true;
    }
    if (start >= segment.end || (heading === null && introducesList(segment.text))) return;
    if (heading?.section === 'terms' && segment.isBulleted) {
      // Among benefits, a line of terms is a benefit; elsewhere it is not a requirement, and does not end the list.
      pieces.push({
        section: section === 'benefits' ? section : 'terms',
        start,
        end: segment.end,
        isBulleted: true,
      });
      return;
    }
    if (heading?.isInline === true) {
      pieces.push({ section: heading.section, start, end: segment.end, isBulleted: segment.isBulleted });
      // A label with a list below it continues; one with its list on the same line ends, as does the list above.
      section = next?.isBulleted === true && heading.section !== 'terms' ? heading.section : 'other';
      return;
    }
    if (heading === null && segment.text.length <= LONGEST_BOILERPLATE && BOILERPLATE.test(segment.text))
      section = 'apply';
    const last = pieces.at(-1);
    const goesOn = last?.section === section && !isBelowHeading && continues(text, last, segment);
    isBelowHeading = false;
    if (goesOn && last !== undefined && segment.end - last.start <= LONGEST_ITEM * 3) {
      last.end = segment.end;
      return;
    }
    const endsList = last?.isBulleted === true && last.section === section && !segment.isBulleted;
    if (endsList && section !== 'top') section = 'other';
    pieces.push({ section, start, end: segment.end, isBulleted: segment.isBulleted });
  });
  return pieces.flatMap((piece) => (piece.isBulleted ? [item(text, piece)] : sentencesOf(text, piece)));
}

/** Application instructions and standard statements of employers, which end the requirements. */
const BOILERPLATE =
  /(?<!\p{L})(?:apply now|easy apply|apply (?:via|at|by|through|today|here)|send (?:us )?your (?:cv|resume|application)|interested in (?:hearing|learning) more|equal[- ]opportunit\p{L}+|regardless of race|without regard to|affirmative action|reasonable accommodations?|background check policy|privacy policy|bewerben sie sich|wir freuen uns auf|schwerbehindert\p{L}*|envoyez (?:votre|nous)|candidature à|envía(?:nos)? tu|invia(?:ci)? (?:il|la)|stuur je cv|solliciteer)(?!\p{L})/iu;

/** A longer line is a paragraph that contains such a sentence. */
const LONGEST_BOILERPLATE = 110;

/** A line that starts with an amount of money is about terms. */
const SUM =
  /^(?:[£$€]\s?\d|(?:CHF|EUR|USD|GBP|PLN|SEK)\s?\d|\d[\d.,' {2}]*(?:\s?[-–]\s?\d[\d.,' {2}]*)?k?\s?(?:€|£|EUR|PLN|SEK|CHF|USD|GBP))/iu;

/** Shorter lines are not wrapped: the next line is the next item of the list. */
const SHORTEST_WRAPPED = 40;
const UNFINISHED = /(?:[,;–&]|\s(?:and|or|of|in|with|for|the|a|an|to|und|oder|mit|et|ou|de|y|o|con|e|en))$/iu;

/** A line without a bullet continues the one above, unless an empty line is between them. */
function continues(text: string, last: Piece, segment: Segment): boolean {
  if (segment.isBulleted || segment.beginsBlock || YEARS.test(segment.text)) return false;
  if (segment.beginsLine && SUM.test(segment.text)) return false;
  if (!segment.beginsLine) return true;
  const above = text.slice(text.lastIndexOf('\n', last.end - 1) + 1, last.end).trim();
  if (UNFINISHED.test(above)) return true;
  if (above.length < SHORTEST_WRAPPED && !last.isBulleted) return false;
  if (/^[\p{Ll}\d(&,]/u.test(segment.text)) return true;
  return last.isBulleted && above.length >= SHORTEST_WRAPPED && !/[.!?]$/.test(above);
}

function item(text: string, { start, end, section }: Piece): PostingItem {
  return { ...traced(text, start, Math.min(end, start + LONGEST_ITEM), 0.8), section };
}

const SENTENCE_GAP =
  /(?<=(?:[\p{Ll}\d)€%]{2}|\p{Lu}{2}|[+#€]|\bp\.\s?a)[.!?;])(?<!(?<!\p{L})(?:min|max|approx|ca|incl|inkl|nr|no|tel|vs|bzw|ca)\.)\s+(?=[\p{Lu}\d£$€¿¡])|(?<=\p{Ll}{3}[.!?;])(?=\p{Lu}\p{Ll}{2})/gu;

function sentencesOf(text: string, { start, end, section }: Piece): PostingItem[] {
  const items: PostingItem[] = [];
  let from = start;
  const whole = text.slice(start, end);
  for (const match of whole.matchAll(SENTENCE_GAP)) {
    items.push({ ...traced(text, from, start + match.index, 0.6), section });
    from = start + match.index + match[0].length;
  }
  items.push({ ...traced(text, from, Math.min(end, from + LONGEST_ITEM), 0.6), section });
  return items.filter(
    ({ value }) => value.length > 2 && value.length <= LONGEST_ITEM && !BOILERPLATE.test(value),
  );
}

/** Words that apply to what follows: "ideally AWS", "bonus points for Kafka". */
const NICE_BEFORE =
  'ideally|preferably|bonus points|bonus (?:if|for)|bonus(?=:)|nice to have|extra credit|not required but|plus points for|we would love|idealerweise|gerne auch|vorzugsweise|idéalement|de préférence|idealmente|se valorará|se valora|preferibilmente|de preferência|bij voorkeur|idealiter';
/** Words that apply to what precedes them: "AWS is a plus". */
const NICE_BEHIND =
  'an? (?:big |huge |strong |definite |real |distinct )?(?:plus|bonus|advantage|asset)(?! (?:of|scheme|plan|payment|structure|based|paid|up|after|every|each)(?!\\p{L}))|preferred|desirable|desired|highly regarded|advantageous|appreciated|(?:is|are|also|very|always) welcome|would be (?:great|good|nice|helpful|ideal|useful|a plus|an advantage|beneficial|lovely)|beneficial|good to have|nice to have|helpful|ideal(?=\\W*$)|von vorteil|vorteilhaft|wünschenswert|gern gesehen|(?:ist|sind|wäre|wären) (?:ein plus|toll|schön|super|gut)|seraient? un plus|un atout|appréciée?s?|souhaitée?s?|bienvenue?s?|deseable|valorable|se valorará|un plus|preferibil\\p{L}*|gradit[oaie]|costituisce titolo preferenziale|desejável|diferencial|valorizado|is een pré|een pré|een pluspunt|mooi meegenomen|mile widzian\\p{L}+|atutem';
const NICE = new RegExp(`(?<!\\p{L})(?:${NICE_BEFORE}|${NICE_BEHIND})(?!\\p{L})`, 'iu');
const BEGINS_NICE = new RegExp(`^\\W*(?:and |but |or )?(?:${NICE_BEFORE})(?!\\p{L})`, 'iu');
/** Words that clearly mark a requirement. */
const MUST_WORDS =
  'must(?: have| be| know)?|a must|required|requires?|mandatory|essential|necessary|needed|zwingend|erforderlich|voraussetzung|notwendig|exigée?s?|indispensables?|requise?s?|obligatoire|imprescindibles?|necesari[oa]s?|obligatori[oa]s?|richiest[oaie]|obrigatóri[oa]s?|vereist|noodzakelijk|wymagan[aey]|konieczn[aey]|niezbędn[aey]';
const CLEARLY_MUST = new RegExp(`(?<!\\p{L})(?:${MUST_WORDS})(?!\\p{L})`, 'iu');
const NOT_NEEDED =
  /(?<!\p{L})(?:no|not|kein\p{L}*|nicht|pas|sin|senza|sem|geen) (?:\p{L}+ ){0,3}(?:needed|necessary|required|erforderlich|notwendig|nötig|exigée?|requise?|necesari[oa]|richiest[oa]|necessári[oa]|vereist|nodig)(?!\p{L})/iu;
const MUST = new RegExp(
  `(?<!\\p{L})(?:${MUST_WORDS}|minimum|at least|you (?:(?:will )?(?:have|need)|bring|possess|know|hold|speak)|you['’]ll need|will have|proven|strong (?:knowledge|experience|background|understanding)|solid (?:knowledge|experience)|proficien(?:t|cy) (?:in|with)|experience (?:in|with|as)|knowledge of|degree in|mindestens|erfahrung (?:in|mit)|kenntnisse|minimaal)(?!\\p{L})`,
  'iu',
);

/** "3 years", "5+ Jahre": a requirement anywhere in a posting of a few lines. */
const YEARS =
  /^(?:at least |min(?:imum)?\.? (?:of )?)?\d{1,2}\s?\+?(?:\s?[-–]\s?\d{1,2})?\s?(?:years?|yrs|jahre|ans|años|anni|anos|jaar)\b/i;
/** In a few lines, what is said about a person is a requirement, unless it is marked as nice to have. */
const PLAIN_MUST =
  /(?<!\p{L})(?:with (?:own|a |an |valid|good|strong|excellent|some|experience)|own (?:car|van|tools|vehicle)|licen[cs]e|certificate|certified|-?qualified|registration|registered with|fluent|skills|mit (?:erfahrung|führerschein)|führerschein|ausbildung|fließend|avec (?:expérience|permis)|permis|diplôme|courant|con (?:experiencia|carn[eé]t?|patente|esperienza)|carn[eé]t?|título|patente|diploma|com experiência|carta de condução|met (?:ervaring|rijbewijs)|rijbewijs|must|needed|necessary|notwendig|nécessaire)(?!\p{L})/iu;

/** Statements about all applicants: a must-have in any section. */
const SAYS_MUST =
  /^(?:(?:all |successful |interested )?(?:applicants|candidates) |you |the (?:successful|ideal) (?:candidate|applicant) )?must (?:(?:also|currently|already) )?(?:have|be(?! (?:received|submitted|sent|made)(?!\p{L}))|hold|possess|pass|live|speak|own|know)(?!\p{L})/iu;

interface SortedItems {
  readonly must: readonly PostingItem[];
  readonly nice: readonly PostingItem[];
  readonly tasks: readonly PostingItem[];
  readonly benefits: readonly PostingItem[];
}

/**
 * The section decides what an item is. Its wording can turn a must-have into a nice-to-have, but not the reverse. An
 * item that contains both ("Italian (required), German (nice to have)", "cloud, ideally AWS") is split.
 */
export function sortItems(text: string, items: readonly PostingItem[]): SortedItems {
  const hasSections = items.some(({ section }) => section === 'must');
  const sorted = {
    must: [] as PostingItem[],
    nice: [] as PostingItem[],
    tasks: [] as PostingItem[],
    benefits: [] as PostingItem[],
  };
  for (const one of items.flatMap((whole) => partsOf(text, whole))) {
    const { section, value } = one;
    if (section === 'apply' || section === 'terms') continue;
    if (section === 'benefits') sorted.benefits.push(one);
    else if (section === 'tasks') sorted.tasks.push(one);
    else if (section === 'nice') sorted.nice.push(one);
    else if (section === 'must' || section === 'education')
      (NICE.test(value) ? sorted.nice : sorted.must).push(one);
    else if (NICE.test(value) && value.length < 200) sorted.nice.push(one);
    else if ((!hasSections && asksFor(value)) || SAYS_MUST.test(value)) sorted.must.push(one);
  }
  return sorted;
}

function asksFor(value: string): boolean {
  return MUST.test(value) && value.length < 300 && !NOT_NEEDED.test(value) && !isAboutEmployer(value);
}

/** Splits an item of several clauses if some are required and others nice to have. */
function partsOf(text: string, whole: PostingItem): PostingItem[] {
  if (!/[,;(]/.test(whole.value) || !NICE.test(whole.value)) return [whole];
  const clauses = clausesOf(text, whole);
  const at = clauses.findIndex(({ value }) => NICE.test(value));
  const before = clauses.slice(0, at);
  const [first, last] = [clauses[0], clauses.at(-1)];
  if (at < 1 || first === undefined || last === undefined) {
    const isMixed = at === 0 && clauses.slice(1).some(({ value }) => CLEARLY_MUST.test(value));
    return isMixed ? clauses : [whole];
  }
  const begins = BEGINS_NICE.test(clauses[at]?.value ?? '');
  if (!begins && !before.some(({ value }) => CLEARLY_MUST.test(value))) return [whole];
  const middle = clauses[at - 1]?.end ?? first.end;
  const start = clauses[at]?.start ?? last.start;
  const { confidence, section } = whole;
  return [
    { ...traced(text, first.start, middle, confidence), section },
    { ...traced(text, start, last.end, confidence), section },
  ];
}

/**
 * A posting of a few lines has no headings: requests and lines that name a skill are must-haves. The sentence with the
 * title also contains the place, the pay and the terms, so each of its clauses is judged separately.
 */
export function sortPlainItems(
  { skills, text }: LaidOutText,
  items: readonly PostingItem[],
  title: Traced | null,
): SortedItems {
  const hasTitle = (one: PostingItem) => title !== null && one.start <= title.start && title.end <= one.end;
  const hasSkill = (one: PostingItem) =>
    skills.some(({ start, end }) => one.start <= start && end <= one.end);
  const asked = items.filter(
    ({ section }) => section === 'must' || section === 'nice' || section === 'education',
  );
  const parts = items.flatMap((one) => {
    if (asked.includes(one)) return [one];
    if (hasTitle(one) && title !== null) return behindTitle(text, one, title);
    return [one];
  });
  const sorted = sortItems(text, parts);
  const done = new Set<PostingItem>([...sorted.must, ...sorted.nice, ...sorted.tasks, ...sorted.benefits]);
  const open = parts.flatMap((one) => partsOf(text, one));
  const isLeft = (one: PostingItem) =>
    !isAmong(done, one) &&
    one.section !== 'apply' &&
    one.section !== 'terms' &&
    !NOT_NEEDED.test(one.value) &&
    !isAboutEmployer(one.value) &&
    (PLAIN_MUST.test(one.value) ||
      YEARS.test(one.value) ||
      (hasSkill(one) && !one.isBesideTitle && !HIRING.test(one.value)));
  const must = [...sorted.must, ...open.filter(isLeft)]
    .filter((one) => !NOT_NEEDED.test(one.value))
    .sort((one, other) => one.start - other.start);
  return { ...sorted, must };
}

function isAmong(done: ReadonlySet<PostingItem>, one: PostingItem): boolean {
  for (const other of done) if (other.start < one.end && one.start < other.end) return true;
  return false;
}

/** A sentence that only says that people are hired contains no requirement, even if its words are skills. */
const HIRING =
  /(?<!\p{L})(?:hiring|recruiting|looking for|join (?:us|our)|we need|apply|suchen|sucht|gesucht|recrutons|recherchons|buscamos|cerchiamo|procuramos|zoeken)(?!\p{L})/iu;
const WITH = /^\s*(?=(?:with|mit|avec|con|com|met)\s)/iu;
const WANTED_BEHIND =
  /^\s*(?:(?:is |are )?(?:urgently )?(?:needed|wanted|required|sought)|gesucht|recherchée?s?|gezocht)(?!\p{L})(?:\s+(?=with\s|mit\s))?/iu;

/** The clauses after the title, without "wanted" and without a continuation of the title itself. */
function behindTitle(text: string, one: PostingItem, title: Traced): PostingItem[] {
  const { section, confidence } = one;
  let from = title.end;
  from += WANTED_BEHIND.exec(text.slice(from, one.end))?.[0].length ?? 0;
  const rest = text.slice(from, one.end);
  const companion = WITH.exec(rest);
  if (companion !== null) from += companion[0].length;
  if (from >= one.end) return [];
  const isDashed = (text.slice(from, one.end).match(/\s[–—/|-]\s/g) ?? []).length > 1;
  const gap = isDashed ? DASHED_CLAUSE : CLAUSE_OF_TITLE;
  const clauses = clausesOf(text, { ...traced(text, from, one.end, confidence), section }, gap);
  return clauses
    .filter(({ value }) => /[\p{L}\d]{2}/u.test(value))
    .map((clause) => ({ ...clause, isBesideTitle: true }));
}

const CLAUSE = /[,;]\s+|$/g;
/** Dashes and slashes between blanks separate the clauses of a keyword line; in a list of them, commas do not. */
const CLAUSE_OF_TITLE = /[,;.!]\s+|\s[–—/|-]\s|$/g;
const DASHED_CLAUSE = /\s[–—/|-]\s|$/g;

function clausesOf(text: string, whole: PostingItem, gap: RegExp = CLAUSE): PostingItem[] {
  const { start, end, section, confidence } = whole;
  const clauses: PostingItem[] = [];
  let from = start;
  for (const match of text.slice(start, end).matchAll(gap)) {
    const to = start + match.index;
    const isInBrackets = /\([^)]*$/.test(text.slice(from, to));
    if (isInBrackets && to < end) continue;
    if (to > from) clauses.push({ ...traced(text, from, to, confidence), section });
    from = to + match[0].length;
  }
  return clauses;
}
