import { isObject } from '../../../ports/json-object.ts';
import { headingOf, type SectionKind } from '../../documents/text/sections.ts';
import { hashOf, segmentsOf } from '../../documents/text/tokens.ts';
import type { Outline, SkillMention, TalentFacts } from './facts.ts';
import { degreeIn, languageCode } from './qualifications.ts';
import { isCommonWord, termOf } from './words.ts';
import type { PlacedWord } from './work-text.ts';

/** A meaningful word of a CV. */
interface CvTerm {
  readonly term: string;
  readonly start: number;
  readonly isInList: boolean;
}

const MOST_WORDS = 2_000;
const LONGEST_LINE = 500;
/** A sequence of this many words that occurred before is a repetition, and is not counted again. */
const REPEATED_RUN = 4;

/** The words of a text in order, without repetitions. */
export function cvTerms(
  text: string,
  lines: readonly (readonly PlacedWord[])[],
  sections: readonly Section[],
): readonly CvTerm[] {
  const words = lines.flatMap((line) => {
    const isSentence = isSentenceAt(text, line[0]?.start ?? 0);
    return line.flatMap(({ word, start }): CvTerm[] => {
      const term = termOf(word);
      const isInList = !isSentence && kindAt(sections, start) === 'skills';
      return term === null ? [] : [{ term, start, isInList }];
    });
  });
  const repeated = repeatedIn(words.map(({ term }) => term));
  return words.filter((_, at) => repeated[at] === 0).slice(0, MOST_WORDS);
}

const SENTENCE = { words: 8, wordsOfItem: 4, ofCommon: 0.1 } as const;

/**
 * Whether a line is a sentence and not a list of names. Jobs that follow a list of skills without a heading that is
 * known would otherwise be a part of it.
 */
function isSentenceAt(text: string, start: number): boolean {
  const line = /^[^\n]*/.exec(text.slice(start, start + LONGEST_LINE))?.[0] ?? '';
  const words = line.match(/[\p{L}\p{N}]+/gu) ?? [];
  const items = line.split(/[,;|/•:]+/).filter((item) => /\p{L}/u.test(item));
  const common = words.filter(isCommonWord).length;
  return (
    words.length >= SENTENCE.words &&
    words.length >= SENTENCE.wordsOfItem * items.length &&
    common >= SENTENCE.ofCommon * words.length
  );
}

/** The lines of a text as words, without repetitions. */
export function unrepeatedLines(lines: readonly (readonly PlacedWord[])[]): readonly string[] {
  const words = lines.flatMap((line, row) => line.map(({ word }) => ({ word, row, term: termOf(word) })));
  const telling = words.filter(({ term }) => term !== null);
  const repeated = repeatedIn(telling.map(({ term }) => term ?? ''));
  const gone = new Set(telling.filter((_, at) => repeated[at] === 1));
  const kept = Map.groupBy(
    words.filter((one) => !gone.has(one)),
    ({ row }) => row,
  );
  return [...kept.values()].map((line) => line.map(({ word }) => word).join(' '));
}

function repeatedIn(terms: readonly string[]): Uint8Array {
  const repeated = new Uint8Array(terms.length);
  const before = new Set<string>();
  for (let at = 0; at + REPEATED_RUN <= terms.length; at += 1) {
    const run = terms.slice(at, at + REPEATED_RUN).join(' ');
    if (before.has(run)) repeated.fill(1, at, at + REPEATED_RUN);
    before.add(run);
  }
  return repeated;
}

/** The count of a word that occurs only in lists of skills, regardless of how often. */
const IN_LIST = 0.5;

/** How often each word occurs. */
export function termCounts(words: readonly CvTerm[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { term, isInList } of words) if (!isInList) counts.set(term, (counts.get(term) ?? 0) + 1);
  for (const { term } of words) if (!counts.has(term)) counts.set(term, IN_LIST);
  return counts;
}

interface Section {
  readonly start: number;
  readonly kind: SectionKind;
}

const ENTRY_PATH = /^(work|education|projects|certificates)\[\d+\]\./;

/** The start and type of each section, by headings and by the positions of jobs, projects, schools and certificates. */
export function sectionsOf(text: string, evidence: readonly Place[]): readonly Section[] {
  const headings = segmentsOf(text).flatMap((segment): Section[] => {
    const heading = headingOf(segment);
    return heading === null ? [] : [{ start: segment.start, kind: heading.kind }];
  });
  const entries = evidence.flatMap(({ path, start }): Section[] => {
    const kind = ENTRY_PATH.exec(path)?.[1];
    return kind === undefined ? [] : [{ start, kind: kind as SectionKind }];
  });
  return [...headings, ...entries].sort((one, other) => one.start - other.start);
}

function kindAt(sections: readonly Section[], start: number): SectionKind {
  let [low, high] = [0, sections.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sections[middle] as Section).start <= start) low = middle + 1;
    else high = middle;
  }
  return sections[low - 1]?.kind ?? 'top';
}

const SHOWING: ReadonlySet<SectionKind> = new Set(['work', 'projects', 'education', 'certificates']);

/** The skills that a job, project, school or certificate shows. */
export function shownSkills(
  mentions: readonly SkillMention[],
  sections: readonly Section[],
): ReadonlySet<string> {
  return new Set(
    mentions.filter(({ start }) => SHOWING.has(kindAt(sections, start))).map(({ name }) => name),
  );
}

/** The position of a profile value in the text. */
export interface Place {
  readonly path: string;
  readonly start: number;
  readonly text: string;
}

const MOST_PLACES = 2_000;

export function placesOf(text: string, evidence: unknown): readonly Place[] {
  return (Array.isArray(evidence) ? evidence.slice(0, MOST_PLACES) : []).flatMap((one): Place[] => {
    if (!isObject(one)) return [];
    const { path, start, end } = one;
    if (typeof path !== 'string' || typeof start !== 'number' || typeof end !== 'number') return [];
    return start >= 0 && start < end && end <= text.length
      ? [{ path, start, text: text.slice(start, end).trim().toLowerCase() }]
      : [];
  });
}

type Read = Pick<TalentFacts, 'skills' | 'roles' | 'languages' | 'certificates'>;
const TITLE_PATH = /^(?:work\[\d+\]\.position|basics\.label|current_title)$/;
const MOST_MENTIONS = 12;

export function outlineOf(
  words: readonly CvTerm[],
  mentions: readonly SkillMention[],
  places: readonly Place[],
  read: Read,
  licences: readonly { readonly start: number }[] = [],
): Outline {
  const starts = words.map(({ start }) => start);
  const wordsAt = (found: readonly { readonly start: number }[]) =>
    [...new Set(found.map(({ start }) => firstFrom(starts, start)))].slice(0, MOST_MENTIONS);
  const bySkill = Map.groupBy(mentions, ({ name }) => name);
  const under = (path: RegExp) => places.filter((place) => path.test(place.path));
  const [titles, spoken, certificates] = [
    under(TITLE_PATH),
    under(/^languages\[\d+\]\.language$/),
    under(/^certificates\[\d+\]\.name$/),
  ];
  return {
    words: words.map(({ term }) => wordNumber(term)),
    skills: read.skills.map((skill) => wordsAt(bySkill.get(skill) ?? [])),
    roles: read.roles.map(({ title }) => wordsAt(titles.filter(({ text }) => text === title.toLowerCase()))),
    languages: read.languages.map(({ code }) =>
      wordsAt(spoken.filter(({ text }) => languageCode(text) === code)),
    ),
    certificates: read.certificates.map((name) =>
      wordsAt(certificates.filter(({ text }) => text === name.toLowerCase())),
    ),
    degree: wordsAt(under(/^education\[\d+\]\.studyType$/).filter(({ text }) => degreeIn(text) !== null)),
    place: wordsAt(under(/^basics\.location\b/)),
    licence: wordsAt(licences),
  };
}

/** 16 bits: one in 65,536 pairs of different words has the same number. */
export function wordNumber(term: string): number {
  return hashOf(term) & 0xffff;
}

/** The first word that starts at or after `start`, or the last word. */
function firstFrom(starts: readonly number[], start: number): number {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] as number) < start) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, Math.min(low, starts.length - 1));
}
