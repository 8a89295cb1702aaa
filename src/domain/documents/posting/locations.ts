import type { Posting } from '../parsed-document.ts';
import type { LaidOutText } from '../text/layout.ts';
import type { Segment, TextRange } from '../text/tokens.ts';
import { companySuffixes } from '../words/word-lists.ts';

type Location = Posting['jobLocation'][number];
type KnownPlace = LaidOutText['places'][number];

interface FoundLocation extends TextRange, Location {}

const MOST_PLACES = 10;
const MOST_LOOKED_AT = 200;
/** The segments at the top, and the lines after the title, because a page may have its menu above it. */
const TOP = 8;
const BEHIND_TITLE = 4;

const PLACE_LABEL =
  /(?:location|place of work|standort|arbeitsort|einsatzort|lieu|ubicación|lugar|sede|local|locatie|based in|office in|in)\s*[:–-]?\s*$/i;
/** A label for the place of work, which is on its line or the line below. */
const PLACE_LINE =
  /^(?:(?:job |work )?(?:locations?|place of work|workplace)|base|where|standort|arbeitsort|einsatzort|dienstort|lieu(?: de travail)?|ubicación|localización|lugar(?: de trabajo)?|sede(?: di lavoro)?|luogo(?: di lavoro)?|local(?: de trabalho)?|locatie|standplaats|miejsce pracy|lokalizacja)(?:\s*:\s*|\s+[–-]\s+|\s*$)/iu;

/** "900 stores across Canada": the place of customers. */
const SERVED = /(?<!\p{L})(?:across|throughout|all over|around)(?: the)?\s+$/iu;

/** Places after a label, and those at the top. Further down, a place is that of a customer or founder. */
export function findLocations(laidOut: LaidOutText, title: TextRange | null): FoundLocation[] {
  const { places, tokens, segments, text } = laidOut;
  const looked = places.slice(0, MOST_LOOKED_AT);
  const segmentOf = ({ from }: KnownPlace) => tokens[from]?.segment ?? 0;
  const isLabelled = (place: KnownPlace) => {
    const at = segmentOf(place);
    const [segment, above] = [segments[at], segments[at - 1]?.text ?? ''];
    const before = text.slice(Math.max(segment?.start ?? 0, place.start - 40), place.start);
    return (
      PLACE_LABEL.test(before) ||
      PLACE_LINE.test(segment?.text ?? '') ||
      /^(?:job )?(?:location|standort|arbeitsort|lieu|ubicación|sede|locatie)s?\b/i.test(
        segment?.text ?? '',
      ) ||
      PLACE_LINE.exec(above)?.[0].length === above.length
    );
  };
  const titleAt =
    title === null ? -1 : segments.findIndex(({ start, end }) => start <= title.start && title.start < end);
  const isOnTop = (place: KnownPlace) => {
    const at = segmentOf(place);
    const beginsLine = place.start === segments[at]?.start;
    const isBehindTitle = beginsLine && titleAt >= 0 && at > titleAt && at <= titleAt + BEHIND_TITLE;
    if (!(at < TOP || isBehindTitle) || isAdjective(tokens, place.from, place.to)) return false;
    return !SERVED.test(text.slice(Math.max(0, place.start - 20), place.start));
  };
  const [labelled, top] = [looked.filter(isLabelled), looked.filter(isOnTop)];
  const known = labelled.length > 0 && top.length === 0 ? labelled : [...top, ...labelled];
  const unlisted = unlistedPlaces(laidOut);
  const chosen = [
    ...unlisted,
    ...(unlisted.length + known.length === 0 ? unlabelledPlaces(laidOut) : []),
    ...known.slice(0, MOST_PLACES * 2).filter((place) => !isOwnCountry(looked, place)),
  ];
  const found = new Map<string, FoundLocation>();
  for (const { city, region, country, start, end } of chosen) {
    const key = (city ?? region ?? country ?? '').toLowerCase();
    if (!found.has(key) && found.size < MOST_PLACES) found.set(key, { city, region, country, start, end });
  }
  return [...found.values()];
}

/** "Manchester, England, United Kingdom": the country after a place in it is not a second place. */
function isOwnCountry(places: readonly KnownPlace[], place: KnownPlace): boolean {
  if (place.city !== null || place.region !== null) return false;
  return places.some(
    (other) =>
      other.city !== null &&
      other.countryCode === place.countryCode &&
      place.start > other.end &&
      place.start - other.end <= 3,
  );
}

/** "UK building regulations": the abbreviation of a country before a lower-case word is an adjective. */
function isAdjective(tokens: LaidOutText['tokens'], from: number, to: number): boolean {
  const [first, after] = [tokens[from], tokens[to]];
  if (first === undefined || to - from > 1 || !/^\p{Lu}{2,3}$/u.test(first.text)) return false;
  return after?.segment === first.segment && after.kind === 'word' && /^\p{Ll}/u.test(after.text);
}

const LABELLED_TOP = 60;
const TOWN =
  /^\p{Lu}[\p{L}\p{M}'’.-]*(?:[ -](?:\p{Lu}[\p{L}\p{M}'’.-]*|am|an der|bei|ob der|de|de la|del|d['’]\p{L}+|sur|sous|en|les?|upon|on|under|van|aan de|nad)){0,3}$/u;
const NO_TOWN =
  /(?<!\p{L})(?:remote\p{L}*|hybrid\p{L}*|on-?site|in[- ]person|home|homeoffice|home-?office|flexible|various|several|multiple|national\p{L}*|nationwide|bundesweit|deutschlandweit|anywhere|worldwide|global|tb[acd]|see|our|the|client|customer|hall|house|building|campus|hospital|headquarters|head|hq|centre|center|school|site|park|tower|court|floor|street|road|avenue|straße|rue|team|department|télétravail|teletrabajo|presencial|remoto|híbrido|ibrido|zdalnie|full[ -]?time|part[ -]?time|you|we|ihr|sie)(?!\p{L})|\d/iu;

/** A labelled town that is not in the list ("Location: Tamworth") is accepted. */
function unlistedPlaces({ segments, places }: LaidOutText): FoundLocation[] {
  const hasKnown = ({ start, end }: Segment) =>
    places.some((place) => start <= place.start && place.end <= end);
  for (const [at, segment] of segments.slice(0, LABELLED_TOP).entries()) {
    const label = PLACE_LINE.exec(segment.text)?.[0].length;
    if (label === undefined) continue;
    const line = label < segment.text.length ? segment : segments[at + 1];
    if (line === undefined || hasKnown(line)) return [];
    const town = townIn(line, line === segment ? label : 0);
    return town === null ? [] : [town];
  }
  return [];
}

/** "58095 Hagen", "A-4020 Linz". */
const POSTCODE = /(?:^|[,;|·–—]\s*)(?:\p{Lu}{1,2}-)?(?!(?:19|20)\d\d\s)\d{4,5}\s+$/u;
/** "Elektroniker (m/w/d) in Hagen". */
const AFTER_GENDERS = /\((?:[mwfdxhi][/|*-]){1,2}[mwfdxhi]\)\s+(?:in|à|en|w|te)\s+$/iu;

/** A town at the end of a line at the top, behind a postcode, the legal form of a company, or the title. */
function unlabelledPlaces({ segments }: LaidOutText): FoundLocation[] {
  for (const segment of segments.slice(0, TOP)) {
    const text = segment.text.slice(-LONGEST_TOWN_LINE);
    const start = segment.start + segment.text.length - text.length;
    const town = /[^\s,;(/|·–—][^,;(/|·–—\d]*$/u.exec(text);
    const words = town?.[0].trim() ?? '';
    for (const city of endsOf(words)) {
      const at = text.lastIndexOf(city);
      const before = text.slice(0, at);
      const isBehind = POSTCODE.test(before) || endsWithCompany(before) || AFTER_GENDERS.test(before);
      if (isBehind && city.length > 2 && TOWN.test(city) && !NO_TOWN.test(city))
        return [{ city, region: null, country: null, start: start + at, end: start + at + city.length }];
    }
  }
  return [];
}

/** "(m/w/d) in Bad Iburg" ends with "in Bad Iburg", "Bad Iburg" and "Iburg". */
function endsOf(words: string): readonly string[] {
  const parts = words.split(' ').slice(-MOST_TOWN_WORDS);
  return parts.map((_, at) => parts.slice(at).join(' '));
}

const MOST_TOWN_WORDS = 4;
/** Only the end of a line is looked at. */
const LONGEST_TOWN_LINE = 100;

/** "Brandt Elektro GmbH, " */
function endsWithCompany(before: string): boolean {
  const last = /([\p{L}.&]+)\s*[,|·–—-]\s*$/u.exec(before)?.[1]?.toLowerCase().replace(/\.$/, '');
  return last !== undefined && companySuffixes.has(last);
}

function townIn({ text, start }: Segment, from: number): FoundLocation | null {
  for (const match of text.slice(from).matchAll(/[^,;(/|·–)]+/gu)) {
    const part = match[0].split(/\s(?:-|and|or|und|oder|et|ou|y|e|o|en|i)\s/u)[0] ?? '';
    const city = part.trim();
    if (city.length < 3 || !TOWN.test(city) || NO_TOWN.test(city)) continue;
    const at = start + from + match.index + part.indexOf(city);
    return { city, region: null, country: null, start: at, end: at + city.length };
  }
  return null;
}
