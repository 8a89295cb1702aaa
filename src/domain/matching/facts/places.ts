import { placeBook, usualRegion } from '../../documents/words/word-lists.ts';
import type { Place } from './facts.ts';

/** Names of countries that differ from those of the runtime. */
const FURTHER: Readonly<Record<string, string>> = {
  usa: 'US',
  'u.s.a.': 'US',
  'u.s.': 'US',
  'united states of america': 'US',
  uk: 'GB',
  'u.k.': 'GB',
  'great britain': 'GB',
  england: 'GB',
  scotland: 'GB',
  wales: 'GB',
  'northern ireland': 'GB',
  'republic of ireland': 'IE',
  holland: 'NL',
  deutschlandweit: 'DE',
  bundesweit: 'DE',
  turkey: 'TR',
  uae: 'AE',
  'hong kong': 'HK',
  macau: 'MO',
  palestine: 'PS',
  'ivory coast': 'CI',
  burma: 'MM',
  macedonia: 'MK',
  'bosnia and herzegovina': 'BA',
  'trinidad and tobago': 'TT',
  'russian federation': 'RU',
  'viet nam': 'VN',
};
/** Codes that are withdrawn or reserved; the runtime gives them the name of the country that has another code now. */
const WITHDRAWN = 'AN BU CS DD DY FX HV NH RH SU TP UK VD YD YU ZR';
/** Codes that the runtime names and that are no country's. */
const NO_COUNTRY = 'EU EZ QO UN XA XB ZZ';
const NOT_A_CODE: ReadonlySet<string> = new Set(`${WITHDRAWN} ${NO_COUNTRY}`.split(' '));

const EU = 'AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK';
const EEA = `${EU} IS LI NO`;
const EUROPE = `${EEA} AD AL BA BY CH GB GG GI IM JE MC MD ME MK RS RU SM TR UA VA XK`;

/**
 * Several countries by one name: a job in one of these is for people in any of them. Their codes are those of the UN, or
 * reserved for such use: processes of the version before look up their names.
 */
const AREAS: Readonly<
  Record<string, { readonly name: string; readonly written: string; readonly countries: string }>
> = {
  EU: {
    name: 'the European Union',
    written: 'eu|e.u.|european union|ue|union européenne|unión europea|unione europea|europäische union',
    countries: EU,
  },
  XE: { name: 'the European Economic Area', written: 'eea|ewr|european economic area', countries: EEA },
  '150': { name: 'Europe', written: 'europe|europa', countries: EUROPE },
  XD: { name: 'Germany, Austria or Switzerland', written: 'dach|d-a-ch', countries: 'DE AT CH LI' },
  XL: { name: 'Benelux', written: 'benelux', countries: 'BE NL LU' },
  XN: {
    name: 'the Nordic countries',
    written: 'nordics|nordic countries|nordic|scandinavia|skandinavien',
    countries: 'DK FI IS NO SE',
  },
  XV: { name: 'the Baltic states', written: 'baltics|baltic states', countries: 'EE LT LV' },
  XI: { name: 'Spain or Portugal', written: 'iberia', countries: 'ES PT' },
  '003': { name: 'North America', written: 'north america', countries: 'CA MX US' },
};
const areaNames = new Map(
  Object.entries(AREAS).flatMap(([code, { written }]) => written.split('|').map((name) => [name, code])),
);
/** They leave open where a job is. */
const WIDE =
  /^(?:emea|apac|latam|latin america|mena|(?:the )?americas|nationwide|asia|africa|global(?:ly)?|international)$/iu;

/** The languages in which a country may be named beside English, and the countries that have such names in postings. */
const LANGUAGES = ['de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'ro'];
const NAMED_IN_THESE = `${EUROPE} BR CA CN IN JP MA MX US`.split(' ');
const countries = countriesByName();

const NO_PLACE =
  /(?<!\p{L})(?:(?:fully |100 ?% )?remote(?:ly)?|hybride?|h[ií]brido|ibrido|on-?site|vor ort|in[- ]office|anywhere|worldwide|home[- ]?office|telecommute|télétravail|teletrabajo)(?!\p{L})/giu;
/** "within the EU", "based in Germany": what is before a place. */
const BEFORE_PLACE =
  /^(?:(?:based|located|living|work|working) )?(?:from|within|inside|across|throughout|in|innerhalb(?: der)?|dans|all over)\s+(?=\S)/iu;
/** "EU only", "DACH region". */
const BEHIND_PLACE = /(?:[\s-]+(?:only|based|wide|region|time ?zones?))+$/iu;
/** In "Portland, OR" the word is a state. */
const BETWEEN_PLACES =
  /[;|/]|(?<!\p{L})(?:[Oo]r|(?<!,\s*)OR|[Oo]der|ODER|[Oo]u|OU|[Ll]ub|LUB|[Ss]au|SAU)(?!\p{L})/u;
/** "58095 Hagen", "5038 ER Tilburg", "31-062 Kraków"; "OR 97201". */
const POSTCODE =
  /^(?:[A-Z]{1,2}-)?\d[\d -]{2,6}\d(?:\s?[A-Z]{2}(?=\s+\p{L}))?(?:\s+(?=\p{L})|$)|(?<=\p{L})\s+\d{5}(?:-\d{4})?$/u;
const ENDS = /^[\s,:·–—-]+|[\s,:·–—-]+$/gu;
const LONGEST_TEXT = 300;
const MOST_PLACES = 5;

/**
 * Reads "Berlin, Germany; Munich" as places. The parts between commas are city, region and country, as far as present.
 */
export function placesIn(text: string): readonly Place[] {
  return text
    .slice(0, LONGEST_TEXT)
    .split(BETWEEN_PLACES)
    .map((part) => part.replace(NO_PLACE, ' ').replace(/[()]/g, ' ').replace(ENDS, ''))
    .flatMap((part) => countriesIn(part) ?? placeOf(part.split(',')) ?? [])
    .slice(0, MOST_PLACES);
}

/** "UK & Ireland": several countries or areas; null if one of the names is of none. */
function countriesIn(text: string): readonly Place[] | null {
  if (wholeCountry(text) !== null) return null;
  const names = text.split(/\s+(?:and|und|et|y|e|en|i)\s+|\s*[&+]\s*/iu);
  if (names.length < 2) return null;
  const found = names.flatMap((name) => wholeCountry(name) ?? []);
  return found.length < names.length ? null : found.map((country) => ({ city: null, region: null, country }));
}

function placeOf(parts: readonly string[]): Place | null {
  const named = parts.map(withoutWords).filter((part) => part !== '');
  const last = named.at(-1);
  if (last === undefined || (named.length === 1 && WIDE.test(last))) return null;
  const country = isStateOf(named[0], last) ? null : wholeCountry(last);
  const inner = country === null ? named : named.slice(0, -1);
  const [first, second] = inner;
  if (first !== undefined && second === undefined && isRegion(first, country))
    return placeFrom({ region: first, country });
  return placeFrom({ city: first, region: second, country });
}

/**
 * "Indianapolis, IN" and "Atlanta, Georgia" are in the United States; "Bengaluru, IN", "Tbilisi, Georgia" and "Wilmington"
 * without a state are not known to be.
 */
function isStateOf(city: string | undefined, name: string): boolean {
  if (city === undefined || city === name || usualRegion(name, 'US') === null) return false;
  const known = placeBook.of(city);
  return known?.kind === 'city' && known.countryCode === 'US';
}

function isRegion(name: string, country: string | null): boolean {
  const known = placeBook.of(name);
  return known?.kind === 'region' && (country === null || known.countryCode === country);
}

interface NamedPlace {
  readonly city?: string | null | undefined;
  readonly region?: string | null | undefined;
  /** Its code or the name of an area. */
  readonly country: string | null;
}

/** Regions by their usual names; null if nothing is named. */
export function placeFrom({ city, region, country }: NamedPlace): Place | null {
  const known =
    region == null ? null : usualRegion(region.trim(), country !== null && isArea(country) ? null : country);
  const place = { city: plain(city), region: plain(known ?? region), country };
  return place.city === null && place.region === null && country === null ? null : place;
}

/** The code of a country or of an area of countries. */
export function wholeCountry(text: string): string | null {
  const name = withoutWords(text).replace(/^the\s+/iu, '');
  return areaNames.get(name.toLowerCase()) ?? countryOf(name);
}

function withoutWords(text: string): string {
  return text
    .trim()
    .replace(BEFORE_PLACE, '')
    .replace(BEHIND_PLACE, '')
    .replace(POSTCODE, '')
    .replace(ENDS, '');
}

/** The code of a country by its name, its code, or a common abbreviation. */
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

const isArea = (code: string) => Object.hasOwn(AREAS, code);

/** Whether a country is the other one, or in it if that is an area. */
export function isWithin(country: string, other: string): boolean {
  return (
    country === other || (isArea(other) && AREAS[other]?.countries.split(' ').includes(country) === true)
  );
}

const countryNames = new Intl.DisplayNames(['en'], { type: 'region' });
const WITH_ARTICLE: ReadonlySet<string> = new Set(['AE', 'GB', 'NL', 'PH', 'US']);

/** As in "lives in the Netherlands". */
export function countryName(code: string): string {
  const area = isArea(code) ? AREAS[code]?.name : undefined;
  if (area !== undefined) return area;
  const name = countryNames.of(code) ?? code;
  return WITH_ARTICLE.has(code) ? `the ${name}` : name;
}

/**
 * 1 for someone in the place of the job, which may be a whole region, country or area, less for others; null if nothing
 * can be compared.
 */
export function placeCloseness(job: Place, other: Place): number | null {
  const { city, region, country } = job;
  if (country !== null && other.country !== null && !isWithin(other.country, country)) return 0;
  if (city !== null && city === other.city) return 1;
  if (region !== null && (region === other.region || region === other.city)) return city === null ? 1 : 0.7;
  if (other.region !== null && other.region === city) return 0.7;
  if (country !== null && other.country !== null) return city === null && region === null ? 1 : 0.4;
  return city !== null && other.city !== null ? 0.1 : null;
}

function countriesByName(): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  const codes = letters.flatMap((first) => letters.map((second) => first + second));
  const add = (language: string, named: readonly string[]) => {
    const own = new Intl.DisplayNames([language], { type: 'region', fallback: 'none' });
    for (const code of named) {
      const name = own.of(code)?.toLowerCase();
      if (name !== undefined && !NOT_A_CODE.has(code) && !names.has(name)) names.set(name, code);
    }
  };
  add('en', codes);
  for (const language of LANGUAGES) add(language, NAMED_IN_THESE);
  return names;
}
