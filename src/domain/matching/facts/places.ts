import type { Place } from './facts.ts';

const countries = countriesByName();
/** Names of countries that differ from those of the runtime. */
const FURTHER: Readonly<Record<string, string>> = {
  usa: 'US',
  'u.s.a.': 'US',
  'u.s.': 'US',
  uk: 'GB',
  'great britain': 'GB',
  england: 'GB',
  scotland: 'GB',
  deutschland: 'DE',
  österreich: 'AT',
  schweiz: 'CH',
  españa: 'ES',
  italia: 'IT',
  brasil: 'BR',
  'czech republic': 'CZ',
  holland: 'NL',
  'the netherlands': 'NL',
};
const NO_PLACE = /\b(?:remote|hybrid|on-?site|anywhere|worldwide|home ?office|telecommute)\b/giu;
const LONGEST_TEXT = 300;
const MOST_PLACES = 5;

/**
 * Reads "Berlin, Germany; Munich" as places. The parts between commas are city, region and country, as far as present.
 */
export function placesIn(text: string): readonly Place[] {
  return text
    .slice(0, LONGEST_TEXT)
    .split(/[;|/]|\bor\b/iu)
    .map((part) => part.replace(NO_PLACE, ' ').replace(/[()]/g, ' '))
    .flatMap((part) => {
      const place = placeOf(part.split(','));
      return place === null ? [] : [place];
    })
    .slice(0, MOST_PLACES);
}

export function placeOf(parts: readonly string[]): Place | null {
  const named = parts.map((part) => part.trim()).filter((part) => part !== '');
  const last = named.at(-1);
  if (last === undefined) return null;
  const country = countryOf(last);
  const inner = country === null ? named : named.slice(0, -1);
  const city = plain(inner[0]);
  const region = plain(inner[1]);
  return city === null && region === null && country === null ? null : { city, region, country };
}

/** The code of a country by its English name, its code, or a common abbreviation. */
export function countryOf(text: string): string | null {
  const name = text.trim().toLowerCase();
  return (
    FURTHER[name] ?? countries.get(name) ?? (/^[A-Z]{2}$/.test(text.trim()) ? codeOrNull(text.trim()) : null)
  );
}

/** Two capital letters may be a country or a US state; those that are both are read as the state. */
function codeOrNull(code: string): string | null {
  return STATES.has(code) ? null : [...countries.values()].includes(code) ? code : null;
}

const STATES = new Set(
  `AL AK AZ AR CA CO CT FL GA HI ID IL IA KS KY LA MA MD ME MI MN MO MS MT NC ND NE NH NJ NM NV NY OH OK OR PA RI SC SD TN TX
  UT VA VT WA WI WV WY`.split(/\s+/),
);

export function plain(text: string | null | undefined): string | null {
  const cut = text?.trim().toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '') ?? '';
  return cut === '' ? null : cut.slice(0, 100);
}

/** 1 for the same place, less for farther ones; null if nothing can be compared. */
export function placeCloseness(one: Place, other: Place): number | null {
  if (one.city !== null && one.city === other.city) {
    return one.country !== null && other.country !== null && one.country !== other.country ? 0 : 1;
  }
  const [region, country] = [one.region, one.country];
  if (region !== null && (region === other.region || region === other.city)) return 0.7;
  if (other.region !== null && other.region === one.city) return 0.7;
  if (country !== null && other.country !== null) return country === other.country ? 0.4 : 0;
  return one.city !== null && other.city !== null ? 0.1 : null;
}

function countriesByName(): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const english = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' });
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
  for (const first of letters) {
    for (const second of letters) {
      const name = english.of(first + second);
      if (name !== undefined) names.set(name.toLowerCase(), first + second);
    }
  }
  return names;
}
