import { type Traced, traced } from '../evidence.ts';
import type { LaidOutText } from '../text/layout.ts';
import type { Segment } from '../text/tokens.ts';

type PostingSection =
  | 'top'
  | 'about'
  | 'tasks'
  | 'must'
  | 'nice'
  | 'education'
  | 'benefits'
  | 'apply'
  | 'other';

interface PostingItem extends Traced {
  readonly section: PostingSection;
}

interface Piece {
  readonly section: PostingSection;
  readonly start: number;
  end: number;
  readonly isBulleted: boolean;
}

const LONGEST_ITEM = 400;

/** The items of a posting, each in its section: bullets with their wrapped lines, and sentences where it has prose. */
export function itemsOf({ segments, text }: LaidOutText): PostingItem[] {
  const pieces: Piece[] = [];
  let section: PostingSection = 'top';
  segments.forEach((segment, at) => {
    const heading = postingHeading(segment, segments[at + 1]);
    const start = segment.start + (heading?.length ?? 0);
    if (heading !== null) section = heading.section;
    if (start >= segment.end) return;
    const last = pieces.at(-1);
    const endsList =
      heading === null && last?.isBulleted === true && last.section === section && segment.beginsBlock;
    if (endsList && !segment.isBulleted) section = 'other';
    const goesOn = heading === null && last?.section === section && continues(text, last, segment);
    if (goesOn && last !== undefined && segment.end - last.start <= LONGEST_ITEM * 3) last.end = segment.end;
    else pieces.push({ section, start, end: segment.end, isBulleted: segment.isBulleted });
  });
  return pieces.flatMap((piece) => (piece.isBulleted ? [item(text, piece)] : sentencesOf(text, piece)));
}

/** A line without a bullet of its own goes on with the one above, unless an empty line stands between. */
function continues(text: string, last: Piece, segment: Segment): boolean {
  if (segment.isBulleted || segment.beginsBlock || YEARS.test(segment.text)) return false;
  if (last.isBulleted || !segment.beginsLine) return true;
  return /^[\p{Ll}\d(&,]/u.test(segment.text) || /[,;–&]$/.test(text.slice(last.start, last.end));
}

function item(text: string, { start, end, section }: Piece): PostingItem {
  return { ...traced(text, start, Math.min(end, start + LONGEST_ITEM), 0.8), section };
}

function sentencesOf(text: string, { start, end, section }: Piece): PostingItem[] {
  const items: PostingItem[] = [];
  let from = start;
  const whole = text.slice(start, end);
  for (const match of whole.matchAll(/(?<=(?:[\p{Ll}\d)]{2}|\p{Lu}{2}|[+#])[.!?;])\s+(?=[\p{Lu}\d])/gu)) {
    items.push({ ...traced(text, from, start + match.index, 0.6), section });
    from = start + match.index + match[0].length;
  }
  items.push({ ...traced(text, from, Math.min(end, from + LONGEST_ITEM), 0.6), section });
  return items.filter(({ value }) => value.length > 2 && value.length <= LONGEST_ITEM);
}

const NICE =
  /\b(?:nice to have|a plus|is a bonus|bonus|preferred|preferably|ideally|desirable|desired|an advantage|advantageous|would be (?:great|good|nice|helpful)|beneficial|good to have|not required but|von vorteil|wünschenswert|idealerweise|gerne auch|serait un plus|un atout|idéalement|apprécié\w*|deseable|se valorará|valorable|un plus|preferibil\w*|gradit\w*|desejável|diferencial|is een pré|een pluspunt|bij voorkeur)\b/i;
const MUST =
  /\b(?:must(?: have)?|required|requires?|mandatory|essential|minimum|at least|you (?:have|bring|possess|need)|proven|strong (?:knowledge|experience|background|understanding)|solid (?:knowledge|experience)|proficien(?:t|cy) (?:in|with)|experience (?:in|with|as)|knowledge of|degree in|zwingend|erforderlich|voraussetzung|mindestens|erfahrung (?:in|mit)|kenntnisse|exigé|indispensable|requis|imprescindible|necesari\w*|richiest\w*|obrigatóri\w*|vereist|minimaal)\b/i;

/** "3 years", "5+ Jahre": asked for wherever a posting of a few lines says it. */
const YEARS =
  /^(?:at least )?\d{1,2}\s?\+?(?:\s?[-–]\s?\d{1,2})?\s?(?:years?|yrs|jahre|ans|años|anni|anos|jaar)\b/i;
/** What a few lines say of a person is asked for, unless it is called welcome. */
const PLAIN_MUST =
  /\b(?:with (?:own|a |an |valid|good|strong|excellent|some|experience)|own (?:car|van|tools|vehicle)|licen[cs]e|certificate|certified|registration|registered with|fluent|skills|mit (?:erfahrung|führerschein)|führerschein|ausbildung|fließend|avec|permis|diplôme|courant|con experiencia|carn[eé]|título|con esperienza|patente|diploma|com experiência|carta de condução|met ervaring|rijbewijs|must|needed|necessary|notwendig|nécessaire)\b/i;

interface SortedItems {
  readonly must: readonly PostingItem[];
  readonly nice: readonly PostingItem[];
  readonly tasks: readonly PostingItem[];
  readonly benefits: readonly PostingItem[];
}

/** The section says what an item is; its wording can make a must-have a nice-to-have, never the other way round. */
export function sortItems(items: readonly PostingItem[]): SortedItems {
  const hasSections = items.some(({ section }) => section === 'must');
  const sorted = {
    must: [] as PostingItem[],
    nice: [] as PostingItem[],
    tasks: [] as PostingItem[],
    benefits: [] as PostingItem[],
  };
  for (const one of items) {
    const { section, value } = one;
    if (section === 'benefits') sorted.benefits.push(one);
    else if (section === 'tasks') sorted.tasks.push(one);
    else if (section === 'nice') sorted.nice.push(one);
    else if (section === 'must' || section === 'education')
      (NICE.test(value) ? sorted.nice : sorted.must).push(one);
    else if (section !== 'apply' && NICE.test(value) && value.length < 200) sorted.nice.push(one);
    else if (section !== 'apply' && !hasSections && MUST.test(value) && value.length < 300)
      sorted.must.push(one);
  }
  return sorted;
}

/**
 * A posting of a few lines has no headings: what asks for something, and what names a skill, is a must-have. A sentence
 * that says both ("SQL required, AWS a plus") is cut at its commas. The line of the title is none by itself.
 */
export function sortPlainItems(
  { skills, text }: LaidOutText,
  items: readonly PostingItem[],
  title: Traced | null,
): SortedItems {
  const parts = items.flatMap((one) =>
    NICE.test(one.value) && one.value.includes(',') ? clausesOf(text, one) : [one],
  );
  const sorted = sortItems(parts);
  const done = new Set<PostingItem>([...sorted.must, ...sorted.nice, ...sorted.tasks, ...sorted.benefits]);
  const hasTitle = (one: PostingItem) => title !== null && one.start <= title.start && title.end <= one.end;
  const asks = (one: PostingItem) =>
    PLAIN_MUST.test(one.value) ||
    YEARS.test(one.value) ||
    (!hasTitle(one) && skills.some(({ start, end }) => one.start <= start && end <= one.end));
  const isLeft = (one: PostingItem) => !done.has(one) && one.section !== 'apply' && asks(one);
  const must = parts
    .filter((one) => sorted.must.includes(one) || isLeft(one))
    .filter((one) => !isTitleLine(one, title));
  return { ...sorted, must };
}

const WANTED_WORDS =
  /\b(?:needed|wanted|required|sought|hiring|seeking|looking for|we|need|an?|urgently|gesucht|gezocht)\b/gi;

/** "Class 2 driver required." says no more than its title. */
function isTitleLine(one: PostingItem, title: Traced | null): boolean {
  if (title === null || one.start > title.start || title.end > one.end) return false;
  const rest = one.value.replace(title.value, '').replace(WANTED_WORDS, '');
  return !/[\p{L}\d]{2}/u.test(rest);
}

function clausesOf(text: string, { start, end, section, confidence }: PostingItem): PostingItem[] {
  const clauses: PostingItem[] = [];
  let from = start;
  for (const match of text.slice(start, end).matchAll(/[,;]\s+|$/g)) {
    const to = start + match.index;
    if (to > from) clauses.push({ ...traced(text, from, to, confidence), section });
    from = to + match[0].length;
  }
  return clauses;
}

/** Headings of postings in seven languages, by words that decide; the first that fits is taken. */
const HEADINGS: readonly (readonly [RegExp, PostingSection])[] = [
  [
    /\b(?:nice.to.haves?|preferred|bonus(?: points)?|desirable|desired|good to have|advantage(?:ous)?|plus(?:es)?|extra credit|optional|wünschenswert|von vorteil|idealerweise|serait un plus|atouts?|deseable|valorable|preferenziali|titolo preferenziale|diferenciais|desejável|pré)\b/i,
    'nice',
  ],
  [
    /\b(?:benefits?|perks|what we offer|we offer|our offer|what['’]?s in it for you|why (?:join|work)|compensation|wir bieten|das bieten wir|unser angebot|benefits?|nous offrons|ce que nous (?:offrons|proposons)|avantages|ofrecemos|qué ofrecemos|beneficios|offriamo|cosa offriamo|benefícios|oferecemos|wat (?:wij|we) bieden|wij bieden|aanbod)\b/i,
    'benefits',
  ],
  [
    /\b(?:how to apply|apply|application process|contact|bewerbung|so bewerben|postuler|candidature|cómo aplicar|candidarsi|como se candidatar|solliciteren)\b/i,
    'apply',
  ],
  [
    /\b(?:responsibilit(?:y|ies)|duties|tasks|what you(?:['’]ll| will) (?:do|be doing)|your (?:role|mission|tasks|job|impact)|the role|role overview|day.to.day|key accountabilities|essential functions|job functions?|(?:ihre|deine) aufgaben|aufgaben(?:gebiet)?|das erwartet (?:sie|dich)|tätigkeiten|missions?|vos missions|responsabilités|funciones|responsabilidades|tareas|mansioni|responsabilità|attività|atividades|taken|werkzaamheden|functieomschrijving|wat ga je doen)\b/i,
    'tasks',
  ],
  [
    /^(?:education(?:al)?(?: requirements?| and experience)?|education|ausbildung|formation|formación|formazione|opleiding)\b/i,
    'education',
  ],
  [
    /\b(?:requirements?|qualifications?|must.haves?|required|minimum|what you(?:['’]ll)? (?:need|bring)|you (?:bring|have)|who you are|your (?:profile|skills|background|experience|qualifications)|about you|skills?|experience|knowledge|competenc(?:y|ies)|what we(?:['’]re| are)? look(?:ing)? for|we (?:expect|need)|ideal candidate|(?:ihr|dein) profil|anforderungen|das (?:bringen sie|bringst du) mit|qualifikationen|voraussetzungen|profil(?: recherché)?|votre profil|compétences|requisitos|perfil|requisiti|profilo|competenze|jouw profiel|functie-?eisen|profiel|vereisten|wat (?:wij|we) (?:vragen|zoeken))\b/i,
    'must',
  ],
  [
    /\b(?:about (?:us|the company|the team|the role|the job|the position)?|who we are|company|our (?:team|story|mission)|overview|summary|description|introduction|über uns|wir über uns|unternehmen|qui sommes|l['’]entreprise|sobre nosotros|la empresa|chi siamo|azienda|sobre (?:nós|a empresa)|over ons|bedrijf)\b/i,
    'about',
  ],
];

const LONGEST_HEADING = 70;
/** Labels that have their list on the same line, however short it is. */
const ASKED_LABEL =
  /^(?:must.haves?|essential|required(?: skills)?|requirements?|nice.to.haves?|desirable|good to have|preferred|skills|qualifications|anforderungen|voraussetzungen|requisitos|requisiti|profil)$/i;

/** A short line without a full stop, ended by a colon, in capitals, or standing alone with a deciding word. */
export function postingHeading(
  segment: Segment,
  next: Segment | undefined,
): { section: PostingSection; length: number } | null {
  const { text } = segment;
  const inline = /^([^:.;,]{3,50}):\s+(?=\S)/.exec(text);
  if (inline !== null && (text.length > LONGEST_HEADING || ASKED_LABEL.test(inline[1] ?? ''))) {
    const section = sectionOf(inline[1] ?? '');
    return section === null || (inline[1] ?? '').split(' ').length > 5
      ? null
      : { section, length: inline[0].length };
  }
  if (text.length > LONGEST_HEADING || segment.isBulleted || /[.;,]$/.test(text) || next === undefined)
    return null;
  const words = text.split(/\s+/).length;
  if (words > 9) return null;
  const section = sectionOf(text);
  if (section === null) return null;
  const isMarked = /[:?]$/.test(text) || text === text.toUpperCase();
  const isTitled = /^\W*[\p{Lu}]/u.test(text) && words <= 6;
  const opensList = next?.isBulleted === true || next?.beginsBlock === true;
  return isMarked || (isTitled && (opensList || words <= 4)) ? { section, length: text.length } : null;
}

function sectionOf(text: string): PostingSection | null {
  return HEADINGS.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}
