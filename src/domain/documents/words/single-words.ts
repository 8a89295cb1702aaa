import { createPhraseBook, type PhraseBook } from '../text/phrases.ts';
import companies from './companies.json' with { type: 'json' };
import degrees from './degrees.json' with { type: 'json' };
import names from './names.json' with { type: 'json' };
import schools from './schools.json' with { type: 'json' };
import titles from './titles.json' with { type: 'json' };

const setOf = (lines: readonly string[]): ReadonlySet<string> =>
  new Set(lines.flatMap((line) => line.split(' ')));

export const titleHeads = setOf(titles.heads);
export const titleModifiers = setOf(titles.modifiers);
export const firstNames = setOf(names.first);
export const lastNames = setOf(names.last);
export const companySuffixes = setOf(companies.suffixes);
export const companyHeads = setOf(companies.heads);
export const schoolHeads = setOf(schools.heads);

export const knownCompanies: PhraseBook<true> = createPhraseBook(
  companies.known.flatMap((line) => line.split('|')).map((name) => [name, true] as const),
);

export const knownSchools: PhraseBook<true> = createPhraseBook(
  schools.known.flatMap((line) => line.split('|')).map((name) => [name, true] as const),
);

export type DegreeLevel = 'doctorate' | 'master' | 'bachelor' | 'associate' | 'secondary';

/** From the highest to the lowest. */
export const DEGREE_LEVELS: readonly DegreeLevel[] = [
  'doctorate',
  'master',
  'bachelor',
  'associate',
  'secondary',
];

export const degreeBook: PhraseBook<DegreeLevel> = createPhraseBook(
  DEGREE_LEVELS.flatMap((level) => degrees[level].split('|').map((name) => [name, level] as const)),
);
