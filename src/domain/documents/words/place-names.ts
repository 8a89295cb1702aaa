import { createPhraseBook, type PhraseBook } from '../text/phrases.ts';
import places from './places.json' with { type: 'json' };

export type KnownPlace =
  | { readonly kind: 'country'; readonly countryCode: string }
  | { readonly kind: 'region'; readonly countryCode: string; readonly isCode: boolean }
  | { readonly kind: 'city'; readonly countryCode: string };

/** Regions whose bare names are cities or people more often are listed as `New York State`. */
const SUFFIX = / (?:State|Province|[A-Z]{2,3}|UK)$/;

function* entriesOf(): Generator<readonly [string, KnownPlace]> {
  for (const [countryCode, names] of Object.entries(places.cities)) {
    for (const name of names.split('|')) yield [name.replace(SUFFIX, ''), { kind: 'city', countryCode }];
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

/** Towns whose names are words or people: they count only with their region or country behind them. */
const AMBIGUOUS: ReadonlySet<string> = new Set(
  'mobile reading orange split nice bath essen halle hull faro natal best zug brest tours metz angers kent devon jackson lincoln madison henderson lancaster preston warren aurora elizabeth victoria salem hamilton columbia concord troy auburn regina kota anand salvador santiago mendoza jordan'.split(
    ' ',
  ),
);

export function needsCompany(city: string): boolean {
  return AMBIGUOUS.has(city.toLowerCase());
}

export const placeBook: PhraseBook<KnownPlace> = createPhraseBook(entriesOf());
