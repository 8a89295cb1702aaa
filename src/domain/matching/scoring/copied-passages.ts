import type { Outline, TalentFacts } from '../facts/facts.ts';
import { wordNumber } from '../facts/outline.ts';
import { wordsOf } from '../facts/words.ts';

/**
 * Finds passages of a CV that repeat the posting. They describe what the job asks for and not what the talent can do,
 * so they are removed before a comparison: their words, and the skills, titles, languages, certificates and degrees
 * that only they name. All signs use meaningful words only; function words are not counted. People who do the work
 * phrase some of it as the posting does, so each sign requires more than that:
 *
 *   threes    a fifth of the posting's sequences of three words is in the CV, whatever is between them: it was pasted
 *   runs      7 words in the order of the posting: a sentence or more of it
 *   windows   22 of 24 consecutive words are words of the posting, in any order
 *   words     80% of the posting's words are in the CV: then 5 of 12 consecutive words are enough
 */
const THREE = 3;
const PASTED_SHARE = 0.2;
const LEAST_PASTED = 8;
const RUN = 7;
const WINDOW = { length: 24, known: 22 } as const;
const SAID_SHARE = 0.8;
const LEAST_SAID = 25;
const MIXED_WINDOW = { length: 12, known: 5 } as const;
const NEAR = 8;
const BESIDE = 3;
const LEAST_AMONG = 7;

/** A posting's words, indexed to find them in a CV. */
export interface PostingPassages {
  /** Hashes of its sequences of three words, ascending and unique. */
  readonly threes: Uint32Array;
  readonly order: Uint16Array;
  /** One bit per word number, set if the posting has the word. */
  readonly words: Uint8Array;
  /** The number of different words. */
  readonly count: number;
}

export interface CvPassages {
  readonly words: Uint16Array;
  /** Ascending and unique. */
  readonly threes: Uint32Array;
}

const WORD_NUMBERS = 65_536;

export function postingPassages(numbers: readonly number[]): PostingPassages {
  const words = new Uint8Array(WORD_NUMBERS / 8);
  for (const number of numbers) words[number >> 3] = (words[number >> 3] as number) | (1 << (number & 7));
  const order = Uint16Array.from(numbers);
  return { threes: sortedThrees(order), order, words, count: new Set(numbers).size };
}

export function cvPassages({ words }: Pick<Outline, 'words'>): CvPassages {
  const numbers = Uint16Array.from(words);
  return { words: numbers, threes: sortedThrees(numbers) };
}

function sortedThrees(words: Uint16Array): Uint32Array {
  return Uint32Array.from(new Set(threesOf(words))).sort();
}

function threesOf(words: Uint16Array): Uint32Array {
  const threes = new Uint32Array(Math.max(0, words.length - THREE + 1));
  for (let at = 0; at < threes.length; at += 1) {
    let hash = 2_166_136_261;
    for (let next = at; next < at + THREE; next += 1)
      hash = Math.imul(hash ^ (words[next] as number), 16_777_619);
    threes[at] = hash >>> 0;
  }
  return threes;
}

/** Marks each word of the CV that is copied; null if none is, as for nearly every pair. */
export function copiedWords(cv: CvPassages, posting: PostingPassages): Uint8Array | null {
  const common = commonCount(cv.threes, posting.threes);
  const isPasted = common >= LEAST_PASTED && common >= PASTED_SHARE * posting.threes.length;
  const ofThrees = common <= RUN - THREE ? null : threesIn(cv.words, posting, isPasted);
  const window = !isPasted && hasNearlyAllWords(cv.words, posting) ? MIXED_WINDOW : WINDOW;
  const ofWindows = windowsIn(cv.words, posting.words, window);
  if (ofThrees === null && ofWindows === null) return null;
  const marks = ofThrees ?? new Uint8Array(cv.words.length);
  ofWindows?.forEach((mark, at) => {
    if (mark === 1) marks[at] = 1;
  });
  return withNear(marks, cv.words, posting);
}

/** In a pasted posting every sequence of three words counts, otherwise only those that form a run. */
function threesIn(words: Uint16Array, posting: PostingPassages, isPasted: boolean): Uint8Array | null {
  const known = new Set(posting.threes);
  const least = isPasted ? 1 : RUN - THREE + 1;
  let marks: Uint8Array | null = null;
  let row = 0;
  for (const [at, three] of threesOf(words).entries()) {
    row = known.has(three) ? row + 1 : 0;
    if (row < least) continue;
    marks ??= new Uint8Array(words.length);
    marks.fill(1, at - least + 1, at + THREE);
  }
  return marks !== null && isPasted ? amongOthers(marks) : marks;
}

/** Removes isolated sequences of three words: people who do the work use some of them in their own sentences. */
function amongOthers(marks: Uint8Array): Uint8Array {
  return marks.map((mark, at) => {
    const beside = marks.subarray(Math.max(0, at - NEAR), at + NEAR + 1);
    return mark === 1 && beside.reduce((sum, one) => sum + one, 0) >= LEAST_AMONG ? 1 : 0;
  });
}

/**
 * Also marks words of the posting that are near a copied passage and precede or follow it in the posting: its headings,
 * and words between its sentences.
 */
function withNear(marks: Uint8Array, words: Uint16Array, posting: PostingPassages): Uint8Array {
  return marks.map((mark, at) => {
    const word = words[at] as number;
    if (mark === 1 || !isKnown(posting.words, word)) return mark;
    const behind = marks.indexOf(1, at);
    const before = marks.lastIndexOf(1, at);
    const isBefore =
      behind >= 0 && behind - at <= NEAR && follows(posting.order, word, words[behind] as number);
    return isBefore ||
      (before >= 0 && at - before <= NEAR && follows(posting.order, words[before] as number, word))
      ? 1
      : 0;
  });
}

function follows(order: Uint16Array, word: number, next: number): boolean {
  for (let at = order.indexOf(word); at >= 0; at = order.indexOf(word, at + 1))
    if (order.subarray(at + 1, at + 1 + BESIDE).includes(next)) return true;
  return false;
}

function isKnown(known: Uint8Array, word: number): boolean {
  return (((known[word >> 3] as number) >> (word & 7)) & 1) === 1;
}

function commonCount(one: Uint32Array, other: Uint32Array): number {
  let [count, at, beside] = [0, 0, 0];
  while (at < one.length && beside < other.length) {
    const difference = (one[at] as number) - (other[beside] as number);
    if (difference === 0) count += 1;
    if (difference <= 0) at += 1;
    if (difference >= 0) beside += 1;
  }
  return count;
}

/** Whether the CV has nearly all words of a posting that has enough words. */
function hasNearlyAllWords(words: Uint16Array, posting: PostingPassages): boolean {
  const least = SAID_SHARE * posting.count;
  if (posting.count < LEAST_SAID || words.length < least) return false;
  const found = new Set<number>();
  for (const word of words) if (isKnown(posting.words, word)) found.add(word);
  return found.size >= least;
}

function windowsIn(
  words: Uint16Array,
  known: Uint8Array,
  window: typeof WINDOW | typeof MIXED_WINDOW,
): Uint8Array | null {
  let marks: Uint8Array | null = null;
  let count = 0;
  for (let at = 0; at < words.length; at += 1) {
    if (isKnown(known, words[at] as number)) count += 1;
    if (at >= window.length && isKnown(known, words[at - window.length] as number)) count -= 1;
    if (count < window.known) continue;
    marks ??= new Uint8Array(words.length);
    for (let one = Math.max(0, at - window.length + 1); one <= at; one += 1)
      if (isKnown(known, words[one] as number)) marks[one] = 1;
  }
  return marks;
}

/** The facts of a talent without the marked words. */
export function withoutWords(facts: TalentFacts, outline: Outline, marks: Uint8Array): TalentFacts {
  const isLeft = (at: readonly number[] | undefined) =>
    at === undefined || at.length === 0 || at.some((word) => marks[word] === 0);
  const left = new Map<number, number>();
  const copied = new Map<number, number>();
  for (const [at, word] of Array.from(outline.words).entries()) {
    const counts = marks[at] === 1 ? copied : left;
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const isCopied = (term: string) => copied.has(wordNumber(term)) && !left.has(wordNumber(term));
  const skills = facts.skills.filter((skill, at) => {
    const places = outline.skills[at] ?? [];
    return places.length > 0 ? isLeft(places) : !wordsOf([skill], 6).some(isCopied);
  });
  const roles = facts.roles.filter((_, at) => isLeft(outline.roles[at]));
  const gone = facts.roles.filter((role) => !roles.includes(role));
  const monthsGone = gone.reduce((sum, { months }) => sum + (months ?? 0), 0);
  const kept = facts.terms.flatMap((term, at) => {
    const before = facts.counts?.[at] ?? 1;
    // A word from a list counts less than once, so more may be copied than was counted.
    const count = Math.max(Math.min(1, before), before - (copied.get(wordNumber(term)) ?? 0));
    return isCopied(term) ? [] : [[term, count] as const];
  });
  return {
    ...facts,
    skills,
    roles,
    totalMonths: facts.totalMonths === null ? null : Math.max(0, facts.totalMonths - monthsGone),
    degree: isLeft(outline.degree) ? facts.degree : null,
    languages: facts.languages.filter((_, at) => isLeft(outline.languages[at])),
    certificates: facts.certificates.filter((_, at) => isLeft(outline.certificates[at])),
    licence: isLeft(outline.licence) ? (facts.licence ?? null) : null,
    place: isLeft(outline.place) ? facts.place : null,
    terms: kept.map(([term]) => term),
    counts: kept.map(([, count]) => count),
    outline: null,
  };
}
