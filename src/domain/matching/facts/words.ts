import { hashOf } from '../../documents/text/tokens.ts';
import stopWords from '../../documents/words/stop-words.json' with { type: 'json' };
import { isNameWord } from '../../documents/words/word-lists.ts';
import furtherWords from './common-words.json' with { type: 'json' };
import { englishOfBeginning, englishOfWord, withoutAccents } from './glossary.ts';
import { PROTECTED } from './protected-words.ts';
import levels from './word-rarity.json' with { type: 'json' };

/** Words that occur in every posting and CV and are not specific to the work. */
const COMMON = new Set(
  `a about above across after all also am an and any are as at be because been being both but by can could did do does
  during each else etc for from had has have how if in into is it its just like may more most must my near new no nor not
  now of off on once only onto or other our out over own per same should since so some such than that the their them then
  there these they this those through to too under until up upon us very via was we were what when where which while who
  whom whose why will with within without would you your yours
  ability able apply applicant applicants based benefit benefits candidate candidates career company companies
  day days environment equal excellent experience experienced expertise fast first full good great help high including
  individual job join knowledge level looking make month months need needs offer opportunity part people plus position
  preferred required requirement requirements responsibilities responsibility responsible role salary skill skills strong
  successful support team teams time understanding use used using various well work worked working world year years`.split(
    /\s+/,
  ),
);

/** Articles, prepositions and similar words of all languages, which the list of rarities does not contain. */
const FUNCTION_WORDS = new Set(
  [...Object.values(stopWords), ...Object.values(furtherWords)].flatMap((list) => list.split(/\s+/)),
);
for (const word of FUNCTION_WORDS) COMMON.add(word);

const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}+#.]*/gu;
const LONGEST_TEXT = 40_000;
const LONGEST_WORD = 40;
/** Unknown words are cut to this length, which also removes endings that `stem` does not know. */
const LONGEST_UNKNOWN = 8;

/** The form in which a word is compared; null if it is not specific to the work, or is protected. */
export function termOf(written: string): string | null {
  const word = written.toLowerCase().replace(/\.+$/, '');
  if (word.length < 2 || word.length > LONGEST_WORD || /^[\d.]+$/.test(word)) return null;
  if (COMMON.has(word) || PROTECTED.has(word)) return null;
  const stemmed = stem(word);
  if (rarities.has(stemmed)) return stemmed;
  return /[+#.\d]/.test(word) ? word : withoutAccents(stemmed).slice(0, LONGEST_UNKNOWN);
}

/** The same with the English name of a word, for comparing documents in different languages. */
export function englishTermOf(written: string): string | null {
  const own = termOf(written);
  const english = own === null ? null : englishOf(written.toLowerCase().replace(/\.+$/, ''));
  return english === null ? own : termOf(english);
}

/** The English form of each of these terms of texts that has another; '' if it is not specific to the work. */
export function englishTermsIn(
  texts: readonly string[],
  terms: readonly string[],
): Readonly<Record<string, string>> {
  const english = new Map<string, string>();
  const requested = new Set(terms);
  for (const text of texts) {
    for (const [match] of text.slice(0, LONGEST_TEXT).matchAll(WORD)) {
      const [own, other] = [termOf(match), englishTermOf(match)];
      if (own !== null && own !== other && requested.has(own)) english.set(own, other ?? '');
    }
  }
  return Object.fromEntries(english);
}

/** The English name of a lower-case word of another language; null for an English or unknown one. */
export function englishOf(word: string): string | null {
  const plain = withoutAccents(word);
  return englishOfWord(plain) ?? (rarities.has(stem(word)) ? null : englishOfBeginning(plain));
}

/** A text with the words that the glossary knows in English, for encoders that know no other language. */
export function inEnglish(text: string): string {
  return text.replace(/\p{L}[\p{L}\p{M}]*/gu, (word) => englishOf(word.toLowerCase()) ?? word);
}

/** Registrations and certificates known by a single word or abbreviation, in the form that `termOf` returns. */
const QUALIFICATIONS = new Set(
  `qts pgce nqt nmc gmc gphc psi mpsi mpharm hcpc ils bls als acls pals dbs sra cilex pqe arb riba rics ihk hwk acca aca cima cpa cfa
  cia aat cipd mcips cips pmp prince2 itil cissp cism cisa ceh cka ckad adr cpc flt rtitb npors cscs sssts smsts nebosh iosh haccp
  tefl celta tesol vca knx vde dguv aevo rqf nvq btec meisterb gesellen approbat fahrerka staplers`.split(
    /\s+/,
  ),
);

export function isQualification(term: string): boolean {
  return QUALIFICATIONS.has(term);
}

/**
 * Whether a word is in the list of rarities, which was counted from descriptions of occupations, or is a qualification.
 */
export function isWorkWord(written: string): boolean {
  const word = written.toLowerCase().replace(/\.+$/, '');
  const stemmed = stem(word);
  if (rarities.has(stemmed) || QUALIFICATIONS.has(stemmed.slice(0, LONGEST_UNKNOWN))) return true;
  return word.length >= LEAST_OF_GLOSSARY && !isNameWord(word) && englishOf(word) !== null;
}

/** Shorter beginnings are also those of names. */
const LEAST_OF_GLOSSARY = 6;

/** Words of every text. They carry no information, but keep sentences readable. */
export function isCommonWord(written: string): boolean {
  return COMMON.has(written.toLowerCase());
}

/** Function words of Romanian, Dutch and other languages that are words of work in English. */
const ENGLISH_WORK = new Set(['care', 'van', 'sale', 'die']);

/** "de", "für", "pentru": without meaning in titles of any language. */
export function isFunctionWord(word: string): boolean {
  return FUNCTION_WORDS.has(word) && !ENGLISH_WORK.has(word);
}

/** Feminine German titles: "Verkäuferin", "Ingenieurin". */
const OF_WOMEN = /(?<=er|or|eur|ist|ent|ant|oge)in(?:nen)?$/u;

/**
 * The form in which a word of a title is compared: stemmed, and without accents and feminine endings if it is unknown.
 */
export function titleTerm(word: string): string {
  const stemmed = stem(word);
  if (rarities.has(stemmed) || /[+#.\d]/.test(word)) return stemmed;
  return withoutAccents(stem(word.replace(OF_WOMEN, ''))).slice(0, LONGEST_UNKNOWN);
}

/** The distinct stems of a text, for counting the list of rarities, which `termOf` uses. */
export function stemsIn(text: string): ReadonlySet<string> {
  const words = [...text.toLowerCase().matchAll(WORD)].map(([match]) => match.replace(/\.+$/, ''));
  const content = words.filter(
    (word) => word.length > 1 && word.length <= LONGEST_WORD && !/^[\d.]+$/.test(word),
  );
  return new Set(content.filter((word) => !COMMON.has(word) && !PROTECTED.has(word)).map(stem));
}

interface CountedWords {
  readonly terms: readonly string[];
  /** How often each term occurs. */
  readonly counts: readonly number[];
}

/**
 * The words of texts with their counts, added to those counted before; beyond `limit`, those most specific to the work.
 */
export function countedWords(
  texts: readonly string[],
  limit: number,
  before: ReadonlyMap<string, number> = new Map(),
): CountedWords {
  const counts = new Map(before);
  for (const text of texts) {
    for (const [match] of text.slice(0, LONGEST_TEXT).matchAll(WORD)) {
      const term = termOf(match);
      if (term !== null) counts.set(term, (counts.get(term) ?? 0) + 1);
    }
  }
  const rows = [...counts];
  const worth = ([term, count]: readonly [string, number]) => (wordRarity(term) * count) / (count + 1);
  const kept = rows.length <= limit ? rows : rows.toSorted((a, b) => worth(b) - worth(a)).slice(0, limit);
  return { terms: kept.map(([term]) => term), counts: kept.map(([, count]) => count) };
}

/**
 * The terms of texts, in lower case and stemmed, each once, in order of first occurrence. Words about protected
 * characteristics are omitted (protected-words.ts), and at most `limit` are returned.
 */
export function wordsOf(texts: readonly string[], limit: number, formOf = termOf): readonly string[] {
  const found = new Set<string>();
  for (const text of texts) {
    for (const [match] of text.slice(0, LONGEST_TEXT).matchAll(WORD)) {
      const term = formOf(match);
      if (term !== null) found.add(term);
      if (found.size >= limit) return [...found];
    }
  }
  return [...found];
}

/** Removes endings so that forms of a word are equal: tests, testing, tested. Only for comparison, never shown. */
export function stem(word: string): string {
  if (/[+#.\d]/.test(word)) return word;
  // Repeated: "engineering" becomes "engineer", and then the same stem as "engines".
  let stemmed = word;
  for (let next = withoutEnding(word); next !== stemmed; next = withoutEnding(stemmed)) stemmed = next;
  return stemmed;
}

function withoutEnding(word: string): string {
  if (word.length < 5) return word;
  for (const [ending, replacement] of ENDINGS) {
    if (word.endsWith(ending) && word.length - ending.length >= (ending.length < 3 ? 4 : 3)) {
      if (ending === 's' && word.endsWith('ss')) return word;
      return undouble(word.slice(0, word.length - ending.length) + replacement);
    }
  }
  return word;
}

/** Longest first. */
const ENDINGS: readonly (readonly [string, string])[] = [
  ['isations', 'iz'],
  ['izations', 'iz'],
  ['isation', 'iz'],
  ['ization', 'iz'],
  ['ations', 'at'],
  ['ising', 'iz'],
  ['izing', 'iz'],
  ['ation', 'at'],
  ['ative', 'at'],
  ['ments', ''],
  ['ating', 'at'],
  ['ators', 'at'],
  ['ator', 'at'],
  ['ytical', 'yz'],
  ['ytics', 'yz'],
  ['ysing', 'yz'],
  ['yzing', 'yz'],
  ['ysts', 'yz'],
  ['ysis', 'yz'],
  ['ytic', 'yz'],
  ['yst', 'yz'],
  ['yse', 'yz'],
  ['yze', 'yz'],
  ['ment', ''],
  ['ions', ''],
  ['ings', ''],
  ['ated', 'at'],
  ['ised', 'iz'],
  ['ized', 'iz'],
  ['ise', 'iz'],
  ['ize', 'iz'],
  ['ate', 'at'],
  ['ies', 'y'],
  ['ing', ''],
  ['ion', ''],
  ['ers', ''],
  ['ors', ''],
  ['ed', ''],
  ['er', ''],
  ['or', ''],
  ['es', ''],
  ['ly', ''],
  ['s', ''],
  ['e', ''],
];

function undouble(word: string): string {
  const last = word.at(-1) ?? '';
  const isDoubled = word.length > 3 && last === word.at(-2) && !'lsz'.includes(last);
  return isDoubled ? word.slice(0, -1) : word;
}

/**
 * Words as numbers in ascending order with their weights, so that two lists are compared in one pass. 32 bits: among
 * 300 words, two collide in one of 100,000 cases.
 */
export interface WeighedWords {
  readonly hashes: Uint32Array;
  readonly weights: Float32Array;
  /** The sum of the weights. */
  readonly total: number;
}

/** Parameters of BM25. A long CV shares more words with any posting, so common words count by their share of the CV. */
const K1 = 2;
const B = 0.85;
const USUAL_LENGTH = 120;
/** A word that a posting repeats counts more, with diminishing returns: 20 occurrences count as 10.5. */
const REPEATED = 20;

/** The words of a CV, weighted by how often they occur and by the length of the text. */
export function weighedCvWords({ terms, counts = [] }: SomeWords): WeighedWords {
  const length = terms.reduce((sum, _, at) => sum + (counts[at] ?? 1), 0);
  const norm = K1 * (1 - B + (B * length) / USUAL_LENGTH);
  return weighed(terms, (_, at) => {
    const count = counts[at] ?? 1;
    return (count * (K1 + 1)) / (count + norm);
  });
}

/** The words of a posting, weighted by how specific they are to the work and how often they occur. */
export function weighedPostingWords({ terms, counts = [] }: SomeWords): WeighedWords {
  return weighed(terms, (term, at) => {
    const count = counts[at] ?? 1;
    return (wordRarity(term) * count * (REPEATED + 1)) / (count + REPEATED);
  });
}

/** Facts of an earlier version have no counts until they are read again. */
interface SomeWords {
  readonly terms: readonly string[];
  readonly counts?: readonly number[];
}

function weighed(terms: readonly string[], weightOf: (term: string, at: number) => number): WeighedWords {
  const rows = terms.map((term, at) => ({ hash: hashOf(term), weight: weightOf(term, at) }));
  rows.sort((one, other) => one.hash - other.hash);
  return {
    hashes: Uint32Array.from(rows, ({ hash }) => hash),
    weights: Float32Array.from(rows, ({ weight }) => weight),
    total: rows.reduce((sum, { weight }) => sum + weight, 0),
  };
}

/** The combined weight of the words that two lists have in common: the BM25 sum, with fixed rarities. */
export function commonWeight(one: WeighedWords, other: WeighedWords): number {
  const [left, right] = [one.hashes, other.hashes];
  let [sum, at, beside] = [0, 0, 0];
  while (at < left.length && beside < right.length) {
    const difference = (left[at] as number) - (right[beside] as number);
    if (difference === 0) sum += (one.weights[at] as number) * (other.weights[beside] as number);
    if (difference <= 0) at += 1;
    if (difference >= 0) beside += 1;
  }
  return sum;
}

/**
 * How specific a word is to the work: 0 if every CV and posting has it, 1 if hardly any has. It is derived from the
 * number of documents with the word, among freely usable CVs, postings and descriptions of occupations; `bun
 * quality/word-rarity.ts` counts them again. A word that is not in the list is rarer the longer it is, because short
 * ones are function words of other languages, but never as rare as a rare word of the list: most are everyday words of
 * another language. The list is fixed, so that a score depends only on its talent and job.
 */
const STEPS = 9;
const RAREST_UNKNOWN = 0.6;
const rarities = new Map(
  Object.entries(levels).flatMap(([level, words]) =>
    words.split(' ').map((word) => [word, (Number(level) / STEPS) ** 1.5] as const),
  ),
);

function wordRarity(term: string): number {
  return rarities.get(term) ?? RAREST_UNKNOWN * Math.min(1, term.length / LONGEST_UNKNOWN);
}
