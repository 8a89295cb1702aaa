import { DEGREE_LEVELS, type DegreeLevel } from '../parsed-document.ts';
import { createPhraseBook, type PhraseBook, type SeenPhrase, type Token } from '../text/tokens.ts';
import companies from './companies.json' with { type: 'json' };
import degrees from './degrees.json' with { type: 'json' };
import names from './names.json' with { type: 'json' };
import personNames from './person-names.json' with { type: 'json' };
import places from './places.json' with { type: 'json' };
import schools from './schools.json' with { type: 'json' };
import skills from './skills.json' with { type: 'json' };
import titles from './titles.json' with { type: 'json' };
import trades from './trades.json' with { type: 'json' };

const setOf = (lines: readonly string[]): ReadonlySet<string> =>
  new Set(lines.flatMap((line) => line.split(' ')));

export const titleHeads = setOf(titles.heads);
const tradeHeads = setOf(Object.values(trades).flat());

/**
 * Whether a lower-case word names a position: `manager`, `bricklayer`, `fontanero`. The trades of `trades.json` are
 * used only by rules: the tagger's weights know only `titleHeads`, and some trades are surnames.
 */
export function isPositionWord(lower: string): boolean {
  return titleHeads.has(lower) || tradeHeads.has(lower);
}

const otherHeads = setOf(titles.others);
const HEAD_ENDING = /(?:ist|ician|ologist|(?:wo)?man|person|keeper|smith|seller|hand|master)$/;

/**
 * Whether one of these lower-case words names a position, including those that the taggers do not know. "Oracle
 * Certified Professional" is a certificate, "Certified Public Accountant" is a profession.
 */
export function namesPosition(words: readonly string[]): boolean {
  if (words.indexOf('certified') > 0) return false;
  return words.some((word) => isPositionWord(word) || otherHeads.has(word) || HEAD_ENDING.test(word));
}

/**
 * Words for positions that German, Dutch and the Nordic languages use in compounds: Lagerleiter, Bäckereifachverkäufer,
 * Bandmonteur.
 */
export const joinedHeads: readonly string[] = [
  ...new Set([
    ...titleHeads,
    ...setOf([...trades.de, ...trades.nl, ...trades.sv, ...trades.da, ...trades.no]),
  ]),
].filter((head) => head.length >= 6);

export const titleModifiers = setOf(titles.modifiers);
export const firstNames = setOf(names.first);
export const lastNames = setOf(names.last);
const otherNames = setOf(Object.values(personNames).flat());

/**
 * Whether a word is a given name or a surname anywhere in the world. `person-names.json` is used to decide which words
 * are the person's name. The taggers' weights know only `firstNames` and `lastNames`.
 */
export function isNameWord(word: string): boolean {
  const plain = withoutAccents(word.toLowerCase());
  return isKnownName(plain) || (plain.includes('-') && plain.split('-').some(isKnownName));
}

export function isFirstName(word: string): boolean {
  return firstNames.has(withoutAccents(word.toLowerCase()));
}

export function isLastName(word: string): boolean {
  return lastNames.has(withoutAccents(word.toLowerCase()));
}

function isKnownName(plain: string): boolean {
  return firstNames.has(plain) || lastNames.has(plain) || otherNames.has(plain);
}

/** A lower-case text in letters without accents. */
export function withoutAccents(lower: string): string {
  return lower
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replaceAll('đ', 'd')
    .replaceAll('ł', 'l')
    .replaceAll('ø', 'o')
    .replaceAll('ı', 'i')
    .replaceAll('’', "'");
}

export const companySuffixes = setOf(companies.suffixes);
export const companyHeads = setOf(companies.heads);
export const schoolHeads = setOf(schools.heads);

/** Whether a lower-case word names a type of school: `college`, `hochschule`, `universiteit`. */
export function isSchoolWord(lower: string): boolean {
  return (
    schoolHeads.has(lower) || SCHOOL_ENDING.test(lower) || (lower.includes('universit') && !CARE.test(lower))
  );
}

/** "Albertsgymnasiet", "Hanzehogeschool", "Handelsschule". */
const SCHOOL_ENDING = /\p{L}(?:gymnasium|gymnasiet|hochschule|schule|hogeschool|högskolan?|iskola)$/u;
/** "Universitätsklinikum" and "universitetssjukhus" are hospitals. */
const CARE = /klini|spital|sjukhus|hospital|sykehus/;

export const knownCompanies: PhraseBook<true> = createPhraseBook(
  companies.known.flatMap((line) => line.split('|')).map((name) => [name, true] as const),
);

export const knownSchools: PhraseBook<true> = createPhraseBook(
  schools.known.flatMap((line) => line.split('|')).map((name) => [name, true] as const),
);

export const degreeBook: PhraseBook<DegreeLevel> = createPhraseBook(
  DEGREE_LEVELS.flatMap((level) => degrees[level].split('|').map((name) => [name, level] as const)),
);

/** The degrees named by tokens, from left to right. */
export function degreesIn(tokens: readonly Token[]): SeenPhrase<DegreeLevel>[] {
  return degreeBook.find(tokens, ({ from, to }) => {
    const first = tokens[from];
    return to - from > 1 || (first !== undefined && looksLikeDegree(first.text));
  });
}

/** Degrees of two or three letters are also words: they need two capitals or a dot, except "Phd". */
export function looksLikeDegree(word: string): boolean {
  return word.length > 3 || /^\p{Lu}.?\p{Lu}/u.test(word) || word.includes('.') || /^phd$/i.test(word);
}

export interface KnownSkill {
  /** The common name of all its spellings. */
  readonly canonical: string;
  /** The family that it belongs to; skills of the same family are similar. */
  readonly family: string;
  /**
   * How far its spelling can be trusted: `plain` anywhere; `capital` only with a capital letter, or among other skills
   * (Excel, Swift); `listed` only among other skills or under a heading for them (C, R, Word).
   */
  readonly trust: 'plain' | 'capital' | 'listed';
}

/** `Canonical=spelling|spelling`; `!` after a spelling means `capital`, `!!` means `listed`. */
function* skillEntries(): Generator<readonly [string, KnownSkill]> {
  for (const [family, lines] of Object.entries(skills)) {
    for (const entry of lines.flatMap((line) => line.split('; '))) {
      const [name = '', others = ''] = entry.split('=');
      const canonical = name.replace(/!+$/, '');
      for (const spelling of [name, ...others.split('|')]) {
        if (spelling === '') continue;
        const trust = spelling.endsWith('!!') ? 'listed' : spelling.endsWith('!') ? 'capital' : 'plain';
        yield [spelling.replace(/!+$/, ''), { canonical, family, trust }];
      }
    }
  }
}

export const skillBook: PhraseBook<KnownSkill> = createPhraseBook(skillEntries());

/** `React` for `ReactJS`; null if the list does not contain the name. */
export function canonicalSkill(name: string): string | null {
  return skillBook.of(name)?.canonical ?? null;
}

export type KnownPlace =
  | { readonly kind: 'country'; readonly countryCode: string }
  | { readonly kind: 'region'; readonly countryCode: string; readonly isCode: boolean }
  | { readonly kind: 'city'; readonly countryCode: string };

/** Regions whose bare name is more often a city or a person are listed as `New York State`. */
const REGION_SUFFIX = / (?:State|Province|[A-Z]{2,3}|UK)$/;

function* placeEntries(): Generator<readonly [string, KnownPlace]> {
  for (const [countryCode, names] of Object.entries(places.cities)) {
    for (const name of names.split('|'))
      yield [name.replace(REGION_SUFFIX, ''), { kind: 'city', countryCode }];
  }
  for (const line of places.countries) {
    for (const entry of line.split('|')) {
      const countryCode = entry.slice(0, 2);
      for (const name of entry.slice(3).split('/')) yield [name, { kind: 'country', countryCode }];
    }
  }
  for (const [countryCode, names] of Object.entries(places.regions)) {
    for (const entry of names.split('|')) {
      const [code = '', ...rest] = entry.split(' ');
      for (const name of rest.join(' ').split('/')) {
        yield [name.replace(/ (?:State|Province)$/, ''), { kind: 'region', countryCode, isCode: false }];
      }
      if (code !== '-') yield [code, { kind: 'region', countryCode, isCode: true }];
    }
  }
}

/** Towns whose names are words or people: they count only if followed by their region or country. */
const AMBIGUOUS_TOWNS: ReadonlySet<string> = new Set(
  'mobile reading orange split nice bath essen halle hull faro natal best zug brest tours metz angers kent devon jackson lincoln madison henderson lancaster preston warren aurora elizabeth victoria salem hamilton columbia concord troy auburn regina kota anand salvador santiago mendoza jordan'.split(
    ' ',
  ),
);

export function needsCompany(city: string): boolean {
  return AMBIGUOUS_TOWNS.has(city.toLowerCase());
}

export const placeBook: PhraseBook<KnownPlace> = createPhraseBook(placeEntries());

/** The usual names of regions by country, by all their names and codes in lower case. */
const regions: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map(
  Object.entries(places.regions).map(([countryCode, names]) => {
    const entries = names.split('|').flatMap((entry) => {
      const [code = '', ...rest] = entry.split(' ');
      const own = rest
        .join(' ')
        .replaceAll(/ (?:State|Province)(?=\/|$)/g, '')
        .split('/');
      const known = code === '-' ? own : [code, ...own];
      return known.map((name) => [name.toLowerCase(), own[0] ?? name] as const);
    });
    return [countryCode, new Map(entries)] as const;
  }),
);
/** The country of a code that is written without one: "Austin, TX". */
const COUNTRY_OF_CODES = 'US';

/** "Bavaria" for "Bayern", "Texas" for "TX"; null for one that the list does not contain. */
export function usualRegion(name: string, countryCode: string | null): string | null {
  const key = name.toLowerCase();
  if (countryCode !== null) return regions.get(countryCode)?.get(key) ?? null;
  if (/^\p{Lu}{2,3}$/u.test(name)) return regions.get(COUNTRY_OF_CODES)?.get(key) ?? null;
  for (const names of regions.values()) if (names.has(key)) return names.get(key) ?? null;
  return null;
}
