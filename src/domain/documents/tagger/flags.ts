import type { LaidOutText } from '../text/lay-out.ts';
import type { Token } from '../text/tokens.ts';
import {
  companyHeads,
  companySuffixes,
  degreeBook,
  firstNames,
  knownCompanies,
  knownSchools,
  lastNames,
  schoolHeads,
  titleHeads,
  titleModifiers,
} from '../words/single-words.ts';

/** What the word lists say of a token, one bit each. */
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

/** Degrees of two or three letters are words too: they count in capitals only. */
export function looksLikeDegree(token: Token | undefined): boolean {
  if (token === undefined) return false;
  return token.text.length > 3 || /^\p{Lu}[\p{Lu}.]/u.test(token.text) || token.text.includes('.');
}

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
  for (const { from, to } of degreeBook.find(
    tokens,
    ({ from, to }) => to - from > 1 || looksLikeDegree(tokens[from]),
  )) {
    mark(from, to, FLAG.degree);
  }
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
  if (schoolHeads.has(lower) || lower.includes('universit')) flags |= FLAG.schoolHead;
  if (firstNames.has(lower)) flags |= FLAG.firstName;
  if (lastNames.has(lower)) flags |= FLAG.lastName;
  return flags;
}

function emailParts({ emails }: LaidOutText): string[] {
  return emails.slice(0, 2).map(({ value }) => value.split('@')[0]?.toLowerCase() ?? '');
}
