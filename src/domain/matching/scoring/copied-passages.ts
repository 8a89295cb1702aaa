import type { Outline, TalentFacts } from '../facts/facts.ts';
import { wordNumber } from '../facts/outline.ts';
import { wordsOf } from '../facts/words.ts';

/**
 * Passages of a CV that are the posting's own words. They say what the job asks for and not what the talent can do, so a
 * comparison is made without them: without their words, and without the skills, titles, languages, certificates and degrees that only they
 * name. Both signs are about words that tell something; function words are not counted.
 *
 *   runs      so many words in the order of the posting: a sentence or more of it
 *   windows   so many words of which nearly all are words of the posting, in whatever order: a list of them, or a text with some words between
 */
const RUN = 5;
const WINDOW = 16;
const LEAST_KNOWN = 15;
const NEAR = 5;

/** What finds a posting's words in a CV. */
export interface PostingPassages {
  /** Numbers of its runs, ascending. */
  readonly runs: Uint32Array;
  /** A bit for each of its words. */
  readonly words: Uint8Array;
}

export interface SaidPassages {
  readonly words: Uint16Array;
  /** Ascending. */
  readonly runs: Uint32Array;
}

const WORD_NUMBERS = 65_536;

export function postingPassages(numbers: readonly number[]): PostingPassages {
  const words = new Uint8Array(WORD_NUMBERS / 8);
  for (const number of numbers) words[number >> 3] = (words[number >> 3] as number) | (1 << (number & 7));
  return { runs: runsOf(Uint16Array.from(numbers)).sort(), words };
}

export function saidPassages({ words }: Pick<Outline, 'words'>): SaidPassages {
  const numbers = Uint16Array.from(words);
  return { words: numbers, runs: runsOf(numbers).sort() };
}

function runsOf(words: Uint16Array): Uint32Array {
  const runs = new Uint32Array(Math.max(0, words.length - RUN + 1));
  for (let at = 0; at < runs.length; at += 1) {
    let hash = 2_166_136_261;
    for (let next = at; next < at + RUN; next += 1)
      hash = Math.imul(hash ^ (words[next] as number), 16_777_619);
    runs[at] = hash >>> 0;
  }
  return runs;
}

/** A mark for each word of the CV that is copied; null where none is, as for nearly every pair. */
export function copiedWords(said: SaidPassages, posting: PostingPassages): Uint8Array | null {
  const isRun = haveCommon(said.runs, posting.runs);
  const marks = windowsIn(said.words, posting.words);
  if (!isRun && marks === null) return null;
  const found = marks ?? new Uint8Array(said.words.length);
  if (isRun) {
    const runs = new Set(posting.runs);
    runsOf(said.words).forEach((run, at) => {
      if (runs.has(run)) found.fill(1, at, at + RUN);
    });
  }
  return withNear(found, said.words, posting.words);
}

/** With the words of the posting that are near a copied passage: its headings, and what stands between its sentences. */
function withNear(marks: Uint8Array, words: Uint16Array, known: Uint8Array): Uint8Array {
  return marks.map((mark, at) => {
    if (mark === 1 || !isKnown(known, words[at] as number)) return mark;
    return marks.subarray(Math.max(0, at - NEAR), at + NEAR + 1).includes(1) ? 1 : 0;
  });
}

function isKnown(known: Uint8Array, word: number): boolean {
  return (((known[word >> 3] as number) >> (word & 7)) & 1) === 1;
}

function haveCommon(one: Uint32Array, other: Uint32Array): boolean {
  let [at, beside] = [0, 0];
  while (at < one.length && beside < other.length) {
    const difference = (one[at] as number) - (other[beside] as number);
    if (difference === 0) return true;
    if (difference < 0) at += 1;
    else beside += 1;
  }
  return false;
}

function windowsIn(words: Uint16Array, known: Uint8Array): Uint8Array | null {
  let marks: Uint8Array | null = null;
  let count = 0;
  for (let at = 0; at < words.length; at += 1) {
    if (isKnown(known, words[at] as number)) count += 1;
    if (at >= WINDOW && isKnown(known, words[at - WINDOW] as number)) count -= 1;
    if (count < LEAST_KNOWN) continue;
    marks ??= new Uint8Array(words.length);
    for (let one = Math.max(0, at - WINDOW + 1); one <= at; one += 1)
      if (isKnown(known, words[one] as number)) marks[one] = 1;
  }
  return marks;
}

/** The facts of a talent as if the marked words were not there. */
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
    // A word of a list counts less than once, so that more of it may be copied than was counted.
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
    place: isLeft(outline.place) ? facts.place : null,
    terms: kept.map(([term]) => term),
    counts: kept.map(([, count]) => count),
    outline: null,
  };
}
