import { isObject } from '../../../ports/json-object.ts';
import { PROTECTED, withoutAges } from './protected-words.ts';
import { isCommonWord, isWorkWord } from './words.ts';

/** A word in lower case, with its start position in the text. */
export interface PlacedWord {
  readonly word: string;
  readonly start: number;
}

/**
 * The words of a CV about work, line by line, without those about the person, for comparing words and for vectors. Four
 * rules are combined, because each alone would miss something:
 *
 *   places      removes the name, contact details, home, employers and schools found by the reader; the name everywhere
 *   lines       skips the first short line (a name), and lines that are labelled as personal or look like an address
 *   words       skips words that reveal sex, age, family, origin, faith or body (protected-words.ts)
 *   capitals    a word that is always capitalized counts only if it is a word of work (word-rarity.json) or has the
 *               ending of a German noun for one: names of people, streets, places, companies and schools are neither,
 *               in any culture
 */
export function workWords(text: string, evidence: unknown): readonly (readonly PlacedWord[])[] {
  return wordsOfLines(keptLines(text, evidence));
}

/** The lines about work as written, each at its position in the text. */
export function workText(text: string, evidence: unknown): string {
  let kept = '';
  for (const line of keptLines(text, evidence)) kept = kept.padEnd(line.start, '\n') + withoutAges(line.text);
  return kept;
}

function keptLines(text: string, evidence: unknown): readonly Line[] {
  // Placeholders keep the positions, and keep a label from being applied to the next line.
  return aboutWork(linesOf(withoutPlaces(text.slice(0, LONGEST_TEXT), evidence).replace(CONTACT, hidden)));
}

/** The words of a posting that would count in a CV, used to find passages copied into one. */
export function postingWords(text: string): readonly string[] {
  return wordsOfLines(linesOf(text.slice(0, LONGEST_TEXT)))
    .flat()
    .map(({ word }) => word);
}

function wordsOfLines(lines: readonly Line[]): readonly (readonly PlacedWord[])[] {
  const own = lines.map(({ text, start }) => ({ text: withoutAges(text), start }));
  const small = new Set(
    own.flatMap(({ text }) => [...text.matchAll(WORD)].flatMap(([word]) => smallWord(word))),
  );
  return own.flatMap(({ text, start }) => {
    const words = [...text.matchAll(WORD)].filter(([word]) => isMeaningful(word, small));
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
/** Alternatives that start with `\S+` match only at the start of a run of characters: a CV may have a run of 40,000. */
const CONTACT =
  /(?<!\S)(?:\S+@\S+|\S+\.(?:jpe?g|png|gif|webp|pdf|docx?)\b)|\b(?:https?:\/\/|www\.)\S+|\b[\w-]{1,63}\.(?:com|org|net|io|de|fr|in)(?:\/\S*)?/giu;
/** A first line of at most this many words is a name, or a title that the CV repeats elsewhere. */
const WORDS_OF_A_NAME = 6;

/** Personal values by their `path` from the reader. The label of a CV is a title, so it is not personal. */
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
  // Hides further occurrences of the full name in any case; a single word of it may also be a word of work.
  for (const name of names.filter((one) => /\s/.test(one.trim()))) {
    const pattern = name.trim().split(/\s+/).map(RegExp.escape).join('\\s+');
    cut = cut.replace(new RegExp(pattern, 'giu'), hidden);
  }
  return cut;
}

/** Labels that people write before a fact about themselves, in the supported document languages. */
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
/** Lines about a photo: that it is enclosed, or its file name. */
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

/** A line about the person: labelled as such, an address, or about a photo. The reader may misclassify such lines. */
export function isPersonalLine(line: string): boolean {
  const isHome = line.length <= LONGEST_HOME && STREET.test(line) && /\d/.test(line);
  return isHome || LABELLED.test(line) || (line.length <= LONGEST_PHOTO && PHOTO.test(line));
}

/** A word written in lower case somewhere is not a name. Scripts without capitals always qualify. */
function smallWord(word: string): readonly string[] {
  return word === word.toLowerCase() ? [word] : [];
}

/** German nouns, which are always capitalized, by endings of things and work that names do not have. */
const GERMAN_NOUN =
  /^\p{Lu}\p{Ll}{2,}(?:ung|ungen|[hk]eit|[hk]eiten|schaft|schaften|tion|tionen|tät|täten|technik|anlagen?|arbeiten?|dienste?|abschluss|abschlüssen?|steuer|maschinen?|geräten?|werkzeugen?|fahrzeugen?|kunden|aufträgen?|angeboten?|berichten?|verkehr|transporten?|pflege|montage|reparaturen?|material(?:ien)?|produkten?|schnitten?|verkauf|einkauf|vertrieb|systemen?|zügen?|schein|karte|konten|gewinnung|sicherung)$/u;

function isMeaningful(word: string, small: ReadonlySet<string>): boolean {
  const lower = word.toLowerCase();
  if (PROTECTED.has(lower.replace(/\.+$/, '')) || /^[\d.]+$/.test(word)) return false;
  return small.has(lower) || isCommonWord(lower) || isWorkWord(lower) || GERMAN_NOUN.test(word);
}
