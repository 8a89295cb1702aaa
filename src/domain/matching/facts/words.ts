import { hashOf } from '../../documents/text/tokens.ts';
import { PROTECTED } from './protected-words.ts';
import levels from './word-rarity.json' with { type: 'json' };

/** Words that every posting and CV has, and that tell nothing about the work. */
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

const WORD = /[\p{L}\p{N}][\p{L}\p{N}+#.]*/gu;
const LONGEST_TEXT = 40_000;
const LONGEST_WORD = 40;

/**
 * The words of texts, in lower case and without their endings, each once, in the order in which they first came. Words
 * about protected characteristics are left out (protected-words.ts), and at most `limit` come back.
 */
export function wordsOf(texts: readonly string[], limit: number): readonly string[] {
  const found = new Set<string>();
  for (const text of texts) {
    for (const [match] of text.slice(0, LONGEST_TEXT).toLowerCase().matchAll(WORD)) {
      const word = match.replace(/\.+$/, '');
      if (word.length < 2 || word.length > LONGEST_WORD || /^\d+$/.test(word)) continue;
      if (COMMON.has(word) || PROTECTED.has(word)) continue;
      found.add(stem(word));
      if (found.size >= limit) return [...found];
    }
  }
  return [...found];
}

/** Takes off the endings that make two words of one: tests, testing, tested. Only for comparing, never shown. */
export function stem(word: string): string {
  if (/[+#.\d]/.test(word)) return word;
  // Twice: "engineering" is "engineer" and then what "engines" is too.
  return withoutEnding(withoutEnding(word));
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

/** The longest first. */
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
 * Words as numbers in ascending order, each with what it weighs, so that two lists are compared in one walk. 32 bits: of
 * 200 words, two meet once in 200,000 pairs of lists.
 */
export interface WeighedWords {
  readonly hashes: Uint32Array;
  readonly weights: Float32Array;
  /** Of all of them together. */
  readonly total: number;
}

export function weighedWords(words: readonly string[]): WeighedWords {
  const rows = words.map((word) => ({ hash: hashOf(word), weight: wordRarity(word) }));
  rows.sort((one, other) => one.hash - other.hash);
  return {
    hashes: Uint32Array.from(rows, ({ hash }) => hash),
    weights: Float32Array.from(rows, ({ weight }) => weight),
    total: rows.reduce((sum, { weight }) => sum + weight, 0),
  };
}

/** What the words that two lists have in common weigh together. */
export function commonWeight(one: WeighedWords, other: WeighedWords): number {
  const [left, right] = [one.hashes, other.hashes];
  let [sum, at, beside] = [0, 0, 0];
  while (at < left.length && beside < right.length) {
    const difference = (left[at] as number) - (right[beside] as number);
    if (difference === 0) sum += one.weights[at] as number;
    if (difference <= 0) at += 1;
    if (difference >= 0) beside += 1;
  }
  return sum;
}

/**
 * What a word tells about the work: 0 for one that every CV and posting has, 1 for one that hardly any has. By how many
 * documents have it, of CVs and postings that are free to use; `bun quality/word-rarity.ts FOLDER` counts them anew. A
 * word that is not in the list is rare. The list is fixed, so that a score depends on its talent and its job alone.
 */
const STEPS = 9;
const rarities = new Map(
  Object.entries(levels).flatMap(([level, words]) =>
    words.split(' ').map((word) => [word, (Number(level) / STEPS) ** 1.5] as const),
  ),
);

function wordRarity(stemmed: string): number {
  return rarities.get(stemmed) ?? 1;
}
