import type { LaidOutText } from '../text/layout.ts';
import { hashOf, type Token } from '../text/tokens.ts';
import {
  companyHeads,
  companySuffixes,
  degreesIn,
  firstNames,
  isSchoolWord,
  knownCompanies,
  knownSchools,
  lastNames,
  titleHeads,
  titleModifiers,
} from '../words/word-lists.ts';

/** The word-list flags of a token, one bit each. */
export const FLAG = {
  titleHead: 1,
  titleModifier: 2,
  companySuffix: 4,
  companyHead: 8,
  knownCompany: 16,
  schoolHead: 32,
  knownSchool: 64,
  degree: 128,
  firstName: 256,
  lastName: 512,
  place: 1024,
  skill: 2048,
  skillInside: 4096,
  date: 8192,
  contact: 16384,
  inEmail: 32768,
} as const;

export const FLAG_COUNT = 16;

export function flagsOf(laidOut: LaidOutText): Int32Array {
  const { tokens } = laidOut;
  const flags = new Int32Array(tokens.length);
  const nameParts = emailParts(laidOut);
  tokens.forEach((token, at) => {
    flags[at] =
      ownFlags(token) |
      (nameParts.some((part) => part.includes(token.lower)) && token.lower.length > 2 && token.kind === 'word'
        ? FLAG.inEmail
        : 0);
  });
  const mark = (from: number, to: number, flag: number) => {
    for (let at = from; at < to; at++) flags[at] = (flags[at] ?? 0) | flag;
  };
  for (const { from, to } of laidOut.skills) {
    mark(from, from + 1, FLAG.skill);
    mark(from + 1, to, FLAG.skillInside);
  }
  for (const { from, to } of laidOut.places) mark(from, to, FLAG.place);
  for (const { from, to } of knownCompanies.find(tokens, ({ from }) => isCapital(tokens[from])))
    mark(from, to, FLAG.knownCompany);
  for (const { from, to } of knownSchools.find(tokens, ({ from }) => isCapital(tokens[from])))
    mark(from, to, FLAG.knownSchool);
  for (const { from, to } of degreesIn(tokens)) mark(from, to, FLAG.degree);
  return flags;
}

function isCapital(token: Token | undefined): boolean {
  return token !== undefined && /^\p{Lu}/u.test(token.text);
}

function ownFlags(token: Token): number {
  if (token.kind === 'date') return FLAG.date;
  if (token.kind !== 'word') return token.kind === 'mark' || token.kind === 'number' ? 0 : FLAG.contact;
  const { lower } = token;
  let flags = 0;
  if (titleHeads.has(lower)) flags |= FLAG.titleHead;
  if (titleModifiers.has(lower)) flags |= FLAG.titleModifier;
  if (companySuffixes.has(lower)) flags |= FLAG.companySuffix;
  if (companyHeads.has(lower)) flags |= FLAG.companyHead;
  if (isSchoolWord(lower)) flags |= FLAG.schoolHead;
  if (firstNames.has(lower)) flags |= FLAG.firstName;
  if (lastNames.has(lower)) flags |= FLAG.lastName;
  return flags;
}

function emailParts({ emails }: LaidOutText): string[] {
  return emails.slice(0, 2).map(({ value }) => value.split('@')[0]?.toLowerCase() ?? '');
}

const CAPITALISED = /^\p{Lu}\p{Ll}+$/u;
const CAPITALS = /^\p{Lu}+$/u;
const SMALL = /^\p{Ll}+$/u;

/** The first shape of words; lower values are numbers, marks and ranges that are one token (dates, links, addresses). */
const WORD_SHAPES = 512;

/** The form of a token: which letters are capitals, whether it has digits, which mark it is. */
export function shapeOf({ text, kind }: Token): number {
  if (kind === 'number') return text.length === 4 ? 11 : 1;
  if (kind === 'mark') return 20 + (hashOf(text) % 97);
  if (kind !== 'word') return 120 + kind.length;
  if (CAPITALISED.test(text)) return WORD_SHAPES;
  if (CAPITALS.test(text))
    return text.length === 1 ? WORD_SHAPES + 1 : text.length <= 4 ? WORD_SHAPES + 2 : WORD_SHAPES + 7;
  if (SMALL.test(text)) return WORD_SHAPES + 3;
  if (/\p{N}/u.test(text)) return WORD_SHAPES + 4;
  return /^\p{Lu}/u.test(text) ? WORD_SHAPES + 5 : WORD_SHAPES + 6;
}

/** The shape in four bits: 0 to 7 for words, 9 for everything else. */
export function shapeClass(shape: number): number {
  return shape >= WORD_SHAPES ? shape - WORD_SHAPES : 9;
}

export function isHighShape(shape: number): boolean {
  return (
    shape >= WORD_SHAPES &&
    shape !== WORD_SHAPES + 3 &&
    shape !== WORD_SHAPES + 4 &&
    shape !== WORD_SHAPES + 6
  );
}

/** One feature in 31 bits: the template and its value. */
export function mixed(template: number, value: number): number {
  let hash = Math.imul(template + 0x9e3779b9, 0x85ebca6b) ^ value;
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
  return (hash ^ (hash >>> 15)) >>> 1;
}

/** The last `count` characters: words with the same ending are often of the same kind. */
export function endingOf(text: string, count: number): number {
  return hashOf(text, Math.max(0, text.length - count));
}

export function beginningOf(text: string, count: number): number {
  return hashOf(text, 0, Math.min(text.length, count));
}
