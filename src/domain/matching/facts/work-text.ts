import { isObject } from '../../../ports/json-object.ts';
import { PROTECTED, withoutAges } from './protected-words.ts';
import { isCommonWord, isWorkWord } from './words.ts';

/** A word in lower case, and where in the text it begins. */
export interface PlacedWord {
  readonly word: string;
  readonly start: number;
}

/**
 * What a CV says about work, line by line, without what it says about the person: for comparing words and for vectors. Four
 * rules, each of which alone would leave something:
 *
 *   places      what the reader found to be name, contact, home, employer or school is cut out, the name wherever it comes again
 *   lines       the first short line (a name), and lines that are labelled as personal or look like an address are left out
 *   words       words that tell sex, age, family, origin, faith or body are left out (protected-words.ts)
 *   capitals    a word that is always written with a capital counts only if it is a word of work (word-rarity.json) or has the ending of
 *               a German noun for one: names of people, streets, places, firms and schools are none, in whatever culture
 */
export function workWords(text: string, evidence: unknown): readonly (readonly PlacedWord[])[] {
  return saidWords(keptLines(text, evidence));
}

/** The lines about work as they are written, each where it begins in the text. */
export function workText(text: string, evidence: unknown): string {
  let kept = '';
  for (const line of keptLines(text, evidence)) kept = kept.padEnd(line.start, '\n') + withoutAges(line.text);
  return kept;
}

function keptLines(text: string, evidence: unknown): readonly Line[] {
  // A mark stays, so that its label is not taken for that of the next line, and all else stays in its place.
  return aboutWork(linesOf(withoutPlaces(text.slice(0, LONGEST_TEXT), evidence).replace(CONTACT, hidden)));
}

/** The words of a posting that would count if they stood in a CV: what is copied into one is found by them. */
export function postingWords(text: string): readonly string[] {
  return saidWords(linesOf(text.slice(0, LONGEST_TEXT)))
    .flat()
    .map(({ word }) => word);
}

function saidWords(lines: readonly Line[]): readonly (readonly PlacedWord[])[] {
  const own = lines.map(({ text, start }) => ({ text: withoutAges(text), start }));
  const small = new Set(
    own.flatMap(({ text }) => [...text.matchAll(WORD)].flatMap(([word]) => smallWord(word))),
  );
  return own.flatMap(({ text, start }) => {
    const words = [...text.matchAll(WORD)].filter(([word]) => isSaid(word, small));
    return words.length === 0
      ? []
      : [words.map(({ 0: word, index }) => ({ word: word.toLowerCase(), start: start + index }))];
  });
}

interface Line {
  readonly text: string;
  readonly start: number;
}

const LINE_END = /\r?\n|[ \u00a0]{3,}|\t|[|•▪●◦■]/gu;

function linesOf(text: string): readonly Line[] {
  const lines: Line[] = [];
  let from = 0;
  for (const { index, 0: end } of [...text.matchAll(LINE_END), { index: text.length, 0: '' }]) {
    const line = text.slice(from, index);
    const start = from + line.length - line.trimStart().length;
    if (line.trim() !== '') lines.push({ text: line.trim(), start });
    from = index + end.length;
  }
  return lines;
}

function hidden(text: string): string {
  return '#'.repeat(text.length);
}

const LONGEST_TEXT = 40_000;
const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}+#.'’]*/gu;
/** What begins with `\S+` is tried where a run of characters begins, not at each of them: a CV may have one of 40,000. */
const CONTACT =
  /(?<!\S)(?:\S+@\S+|\S+\.(?:jpe?g|png|gif|webp|pdf|docx?)\b)|\b(?:https?:\/\/|www\.)\S+|\b[\w-]{1,63}\.(?:com|org|net|io|de|fr|in)(?:\/\S*)?/giu;
/** A first line of so few words is a name, or a title that the CV has again elsewhere. */
const WORDS_OF_A_NAME = 6;

/** By `path`, as the reader gives them. The label of a CV is a title. */
const PERSONAL_PATH =
  /^(?:basics\.(?!label|summary)|work\[\d+\]\.(?:name|location|url)|education\[\d+\]\.institution|references)/;
const MOST_PLACES = 2_000;

function withoutPlaces(text: string, evidence: unknown): string {
  let cut = text;
  const names: string[] = [];
  for (const one of Array.isArray(evidence) ? evidence.slice(0, MOST_PLACES) : []) {
    if (!isObject(one)) continue;
    const { path, start, end } = one;
    if (typeof path !== 'string' || typeof start !== 'number' || typeof end !== 'number') continue;
    if (!PERSONAL_PATH.test(path) || !(start >= 0 && start < end && end <= text.length)) continue;
    if (path === 'basics.name') names.push(text.slice(start, end));
    cut = cut.slice(0, start) + ' '.repeat(end - start) + cut.slice(end);
  }
  // One name, in capitals or not; a single word of it may be a word of work as well.
  for (const name of names.filter((one) => /\s/.test(one.trim()))) {
    const pattern = name.trim().split(/\s+/).map(RegExp.escape).join('\\s+');
    cut = cut.replace(new RegExp(pattern, 'giu'), hidden);
  }
  return cut;
}

/** What people write before a fact about themselves, in the languages that documents are read in. */
const LABELS =
  `(?:full |first |last |sur|family |given )?name|vorname|nachname|nom|pr[ée]nom|nombre|apellidos?|nome|cognome|naam|
  (?:date|place) of birth|birth ?(?:date|day|place)?|d\\.? ?o\\.? ?b\\.?|born(?: on| in)?|geburts(?:datum|tag|ort)|geboren|n[ée]e?(?: le)?|
  (?:date|lieu) de naissance|(?:fecha|lugar) de nacimiento|(?:data|luogo) di nascita|data de nascimento|geboorte(?:datum|plaats)|
  age|alter|[âa]ge|edad|et[àa]|idade|leeftijd|(?:gender|sex)|geschlecht|sexe|sexo|sesso|geslacht|
  marital status|civil status|family status|familienstand|[ée]tat civil|situation (?:de famille|familiale)|estado civil|stato civile|
  burgerlijke staat|spouse|husband|wife|children|kinder|enfants|hijos|figli|filhos|kinderen|
  nationality|citizenship|staatsangeh[öo]rigkeit|nationalit(?:ät|é)|nacionalidade?|cittadinanza|nationaliteit|
  religion|konfession|caste|race|ethnicity|ethnic origin|passport(?: (?:no|number))?|visa(?: status)?|
  (?:home |postal |permanent |present |current |mailing |residential )?address|anschrift|adresse|direcci[óo]n|indirizzo|endere[çc]o|
  adres|wohnort|domicile|residence|street|phone|telephone|tel|mobile|handy|e-?mail|father(?:'s|’s)? name|mother(?:'s|’s)? name|
  photo(?:graph)?|picture|foto|lichtbild|height|weight|blood group|languages? known|pronouns?|hobbies`.replace(
    /\s*\n\s*/g,
    '',
  );
const LABELLED = new RegExp(`^(?:${LABELS})\\s*(?:[:=–—-]|$)`, 'iu');
const LABEL_ALONE = new RegExp(`^(?:${LABELS})\\s*[:=–—-]?$`, 'iu');
/** Whatever is said of a photo: that it is enclosed, or what its file is called. */
const PHOTO = /^(?:photo(?:graph)?|picture|foto|lichtbild|bild)\b|\.(?:jpe?g|png|gif|webp)$/iu;
const LONGEST_PHOTO = 60;
const STREET =
  /\b(?:street|st\.|road|rd\.?|avenue|ave\.?|lane|boulevard|blvd\.?|drive|p\.? ?o\.? box|apt\.?|apartment|nagar|rue|via|calle|avenida|rua|plaza|piazza|laan|ulica|ul\.)(?=\s|,|$)|(?:stra(?:ß|ss)e|str\.|weg|gasse|straat|gatan|vägen|gade|vej)(?=\s|,|$)/iu;

const DOCUMENT_HEADING =
  /^(?:curriculum vitae|c\.?v\.?|r[ée]sum[ée]|lebenslauf|bio-?data|personal (?:details|data|information)|persönliche daten)\W*$/iu;

function aboutWork(lines: readonly Line[]): readonly Line[] {
  const kept: Line[] = [];
  const first = lines.findIndex(({ text }) => !DOCUMENT_HEADING.test(text));
  let isValue = false;
  for (const [at, line] of lines.entries()) {
    const wasLabel = isValue;
    isValue = LABEL_ALONE.test(line.text);
    const isName = at <= first && line.text.split(/\s+/).length <= WORDS_OF_A_NAME;
    if (!(wasLabel || isName || isPersonalLine(line.text))) kept.push(line);
  }
  return kept;
}

const LONGEST_HOME = 120;

/** A line about the person: labelled so, an address, or about a photo. The reader may take one for something else. */
export function isPersonalLine(line: string): boolean {
  const isHome = line.length <= LONGEST_HOME && STREET.test(line) && /\d/.test(line);
  return isHome || LABELLED.test(line) || (line.length <= LONGEST_PHOTO && PHOTO.test(line));
}

/** Written in small letters somewhere, so that it is a word and no name. Scripts without capitals have none to go by. */
function smallWord(word: string): readonly string[] {
  return word === word.toLowerCase() ? [word] : [];
}

/** German nouns, which are always written with a capital, by endings of things and work that names do not have. */
const GERMAN_NOUN =
  /^\p{Lu}\p{Ll}{2,}(?:ung|ungen|[hk]eit|[hk]eiten|schaft|schaften|tion|tionen|tät|täten|technik|anlagen?|arbeiten?|dienste?|abschluss|abschlüssen?|steuer|maschinen?|geräten?|werkzeugen?|fahrzeugen?|kunden|aufträgen?|angeboten?|berichten?|verkehr|transporten?|pflege|montage|reparaturen?|material(?:ien)?|produkten?|schnitten?|verkauf|einkauf|vertrieb|systemen?|zügen?|schein|karte|konten|gewinnung|sicherung)$/u;

function isSaid(word: string, small: ReadonlySet<string>): boolean {
  const lower = word.toLowerCase();
  if (PROTECTED.has(lower.replace(/\.+$/, '')) || /^[\d.]+$/.test(word)) return false;
  return small.has(lower) || isCommonWord(lower) || isWorkWord(lower) || GERMAN_NOUN.test(word);
}
