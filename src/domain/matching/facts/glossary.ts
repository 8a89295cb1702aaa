import glossary from './glossary.json' with { type: 'json' };

/**
 * English names for words of work in German, French, Spanish, Polish and Romanian, so that a CV and a posting in
 * different languages have words in common, and so have inflected forms of one word. An entry is the beginning of a
 * word without accents; one that ends with a full stop is a whole word. The list is our own writing.
 */
const wholeWords = new Map<string, string>();
const beginnings = new Map<string, string>();
for (const [english, words] of Object.entries(glossary)) {
  for (const word of words.split(' ')) {
    if (word.endsWith('.')) wholeWords.set(word.slice(0, -1), english);
    else beginnings.set(word, english);
  }
}
const LONGEST_BEGINNING = Math.max(...[...beginnings.keys()].map(({ length }) => length));
const SHORTEST_BEGINNING = 4;
/** The last part of a compound: "Fachkrankenschwester". A shorter one may be a coincidence. */
const SHORTEST_LAST_PART = 6;
const SHORTEST_FIRST_PART = 4;
const LONGEST_ENDING = 2;

/** Whole words are tried before English ones, because they are not English: "ventes" is not "vent". */
export function englishOfWord(plain: string): string | null {
  return wholeWords.get(plain) ?? null;
}

export function englishOfBeginning(plain: string): string | null {
  for (let length = Math.min(plain.length, LONGEST_BEGINNING); length >= SHORTEST_BEGINNING; length -= 1) {
    const english = beginnings.get(plain.slice(0, length));
    if (english !== undefined) return english;
  }
  for (let from = SHORTEST_FIRST_PART; plain.length - from >= SHORTEST_LAST_PART; from += 1) {
    const english = lastPart(plain.slice(from));
    if (english !== null) return english;
  }
  return null;
}

function lastPart(plain: string): string | null {
  for (let ending = 0; ending <= LONGEST_ENDING; ending += 1) {
    const part = plain.slice(0, plain.length - ending);
    if (part.length < SHORTEST_LAST_PART) return null;
    const english = wholeWords.get(part) ?? beginnings.get(part);
    if (english !== undefined) return english;
  }
  return null;
}

const OTHER_LETTERS: ReadonlyMap<string, string> = new Map([
  ['ß', 'ss'],
  ['ł', 'l'],
  ['ø', 'o'],
  ['đ', 'd'],
  ['æ', 'ae'],
  ['œ', 'oe'],
]);

/** A lower-case word without accents: CVs are often written without them. */
export function withoutAccents(lower: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: most words are ASCII and need no work
  if (/^[\x00-\x7f]*$/.test(lower)) return lower;
  return lower
    .normalize('NFD')
    .replace(/\p{M}+/gu, '')
    .replace(/[ßłøđæœ]/g, (letter) => OTHER_LETTERS.get(letter) ?? letter);
}
