/** Sentences, lines and words of a text, and which of its words carry meaning. Each takes one pass over the text. */

const SENTENCE = /[^.!?。！？\n]*(?:[.!?](?!\s)[^.!?。！？\n]*)*[.!?。！？]*/gu;
const LIST_MARK = /^\s*(?:[-*•·–]|\d{1,3}[.)])\s+/u;
const WORD = /[\p{L}\p{N}][\p{L}\p{N}'’_-]*/gu;

/** Words that do not indicate what a text is about. */
const EMPTY_WORDS = new Set(
  `a about above after again all also am an and any are as at be because been before being below between both
  but by can could did do does doing down during each few for from further get give had has have having he her
  here him his how i if in into is it its just let like make me more most my no nor not now of off on once only
  or other our out over own please same she should so some such tell than that the their them then there these
  they this those through to too under until up us use very want was we were what when where which while who
  why will with would you your`.split(/\s+/u),
);

export function sentencesOf(text: string): string[] {
  return [...text.matchAll(SENTENCE)].map(([sentence]) => sentence.trim()).filter((one) => one !== '');
}

/** Without list markers. */
export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.replace(LIST_MARK, '').trim())
    .filter((line) => line !== '');
}

/** The items of an enumeration in one line, separated by semicolons, or else by commas and a last `and`. */
export function itemsOf(text: string): string[] {
  const separator = text.includes(';') ? ';' : ',';
  return text
    .split(separator)
    .flatMap((item, at, all) => (at === all.length - 1 && at > 0 ? item.split(/ (?:and|or) /u) : [item]))
    .map((item) =>
      item
        .replace(/^ *(?:and|or) /u, '')
        .replace(/[\s.;,]+$/u, '')
        .trim(),
    )
    .filter((item) => item !== '');
}

export function wordsOf(text: string): string[] {
  return text.match(WORD) ?? [];
}

/** Lower case without its ending: `Summaries` and `summary`, or `hiring` and `hires`, become the same. */
export function stemOf(word: string): string {
  const lower = word.toLowerCase();
  if (lower.length <= 3) return lower;
  return lower
    .replace(/['’]s$/u, '')
    .replace(/(?:ies|y)$/u, 'i')
    .replace(/(?:ing|ed|es|s|e)$/u, '');
}

export function meaningfulStems(text: string): string[] {
  return wordsOf(text)
    .filter((word) => !EMPTY_WORDS.has(word.toLowerCase()))
    .map(stemOf);
}

/** `firstName`, `first_name` and `First name` all become the words first and name. */
export function wordsOfName(name: string): string[] {
  return name
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
}

/** At most `length` characters, cut between words, with an ellipsis if there was more. */
export function inShort(text: string, length: number): string {
  const line = text
    .slice(0, length * 2)
    .replace(/\s+/gu, ' ')
    .trim();
  if (line.length <= length && text.length <= length * 2) return line;
  const cut = line.slice(0, length);
  const lastSpace = cut.lastIndexOf(' ');
  return `${cut.slice(0, lastSpace > length / 2 ? lastSpace : length).toWellFormed()}…`;
}

/** For a longer text, only the beginning and the end are read, which limits the work. */
const LOOKED_AT = 200_000;
const SHORTEST_SENTENCE_WORDS = 3;

/**
 * The most representative sentences of the text, in their order. A sentence's weight is the sum of how frequent its
 * words are in the whole text, each counted once, divided by the square root of their number, so that neither the
 * longest nor the shortest wins. The first sentence gets a tenth more, because texts start with their topic.
 */
export function summarise(text: string, sentenceCount: number): string {
  const looked =
    text.length <= LOOKED_AT ? text : `${text.slice(0, LOOKED_AT / 2)}\n${text.slice(-LOOKED_AT / 2)}`;
  const sentences = sentencesOf(looked);
  if (sentences.length <= sentenceCount) return sentences.join(' ');

  const stems = sentences.map((sentence) => [...new Set(meaningfulStems(sentence))]);
  const frequency = new Map<string, number>();
  for (const stem of stems.flat()) frequency.set(stem, (frequency.get(stem) ?? 0) + 1);

  const weighed = stems.map((ofSentence, place) => {
    const sum = ofSentence.reduce((total, stem) => total + (frequency.get(stem) ?? 0), 0);
    const weight = ofSentence.length < SHORTEST_SENTENCE_WORDS ? 0 : sum / Math.sqrt(ofSentence.length);
    return { place, weight: place === 0 ? weight * 1.1 : weight };
  });
  return weighed
    .sort((a, b) => b.weight - a.weight || a.place - b.place)
    .slice(0, sentenceCount)
    .sort((a, b) => a.place - b.place)
    .map(({ place }) => sentences[place] ?? '')
    .join(' ');
}
