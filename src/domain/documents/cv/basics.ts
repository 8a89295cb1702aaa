import { type EvidenceNotes, type Traced, traced } from '../evidence.ts';
import type { CvProfile } from '../parsed-document.ts';
import type { Mention } from '../tagger/decode.ts';
import type { PlaceSeen } from '../text/gazetteer.ts';
import type { LaidOutText } from '../text/layout.ts';
import type { TextRange } from '../text/tokens.ts';
import { placeBook } from '../words/word-lists.ts';
import { segmentAt } from './entries.ts';
import { findName } from './person-name.ts';

const LONGEST_SUMMARY = 1500;
const MOST_PROFILES = 12;
/** The place of residence is among the first places, or missing. */
const MOST_PLACES = 60;

/** The person's name and contact details, from the top of the text. */
export function readBasics(
  laidOut: LaidOutText,
  mentions: readonly Mention[],
  notes: EvidenceNotes,
): CvProfile['basics'] {
  const name = findName(laidOut, mentions);
  const email = laidOut.emails[0];
  const phone = bestPhone(laidOut);
  const site = laidOut.links.find(({ value, start }) => value.network === null && start < 3000);
  const place = homeOf(laidOut, mentions, name);
  const profiles = laidOut.links.filter(({ value }) => value.network !== null).slice(0, MOST_PROFILES);
  return {
    name: notes.note('basics.name', name),
    label: notes.note('basics.label', labelOf(laidOut, mentions, name)),
    email: notes.note('basics.email', email === undefined ? null : { ...email, confidence: 0.98 }),
    phone: notes.note('basics.phone', phone),
    url: notes.note(
      'basics.url',
      site === undefined ? null : { ...site, value: site.value.url, confidence: 0.8 },
    ),
    summary: notes.note('basics.summary', summaryOf(laidOut)),
    location: place === null ? null : locationOf(laidOut, place, notes),
    profiles: profiles.map(({ value, start, end }, at) => {
      notes.note(`basics.profiles[${at}].url`, { value: value.url, start, end, confidence: 0.95 });
      return { network: value.network, username: value.username, url: value.url };
    }),
  };
}

function bestPhone({ phones, text }: LaidOutText): Traced | null {
  const plain = phones.filter(({ start }) => !/fax[.:\s]*$/i.test(text.slice(Math.max(0, start - 8), start)));
  const best = plain[0] ?? phones[0];
  return best === undefined ? null : { ...best, confidence: 0.95 };
}

/**
 * The first place at the top, before other sections mention the places of schools and jobs. Towns that are not in the
 * list are recognized by their country, postcode or label.
 */
function homeOf(laidOut: LaidOutText, mentions: readonly Mention[], name: Traced | null): PlaceSeen | null {
  const { places, tokens } = laidOut;
  const isHome = homeSegments(laidOut, name);
  const others = mentions.filter(({ kind }) => kind !== 'place' && kind !== 'skill');
  const isOther = ({ start, end }: TextRange) =>
    others.some((one) => one.start < end && start < one.end) ||
    (name !== null && name.start < end && start < name.end);
  const atHome = places
    .slice(0, MOST_PLACES)
    .filter((place) => isHome(tokens[place.from]?.segment ?? 0) && !isOther(place));
  const known = atHome.find(({ city }) => city !== null);
  if (known !== undefined) return withPostcode(laidOut, known);
  const towns = [
    townWithPostcode(laidOut, isHome),
    ...atHome.map((place) => townOf(laidOut, place)),
    townBehindCode(laidOut, isHome),
  ];
  return towns.find((town) => town !== null && !isOther(town)) ?? atHome[0] ?? null;
}

const MOST_HOME_SEGMENTS = 40;
const LONGEST_ADDRESS = 300;

/** The top and the contact details, and also the lines right below the name, which may follow another column. */
function homeSegments(laidOut: LaidOutText, name: Traced | null): (segment: number) => boolean {
  const { sections, segments, headings } = laidOut;
  const below = new Set<number>();
  for (let at = name === null ? segments.length : segmentAt(laidOut, name.start) + 1; ; at++) {
    if (segments[at] === undefined || segments[at]?.beginsBlock || headings[at] != null) break;
    below.add(at);
    if (below.size === 3) break;
  }
  return (segment) =>
    below.has(segment) ||
    (segment < MOST_HOME_SEGMENTS && (sections[segment] === 'top' || sections[segment] === 'contact'));
}

const TOWN =
  "\\p{Lu}[\\p{L}'’-]{1,30}(?: (?:upon|on|under|in|le|de|la|al|el|am|\\p{Lu}[\\p{L}'’-]{1,30})){0,3}";
const BRITISH_POSTCODE = '[A-Z]{1,2}\\d[A-Z\\d]? \\d[A-Z]{2}(?![\\p{L}\\d])';
const TOWN_BEFORE = new RegExp(
  `(?:^|[,;:|·] ?|\\d{4,6} |\\d\\d-\\d{3} |\\d{3} \\d\\d )(${TOWN})(?:(?:,? ${BRITISH_POSTCODE})?, ?| \\()$`,
  'u',
);
const TOWN_AND_POSTCODE = new RegExp(`(?:^|[,;:|·] ?)(${TOWN}),? ${BRITISH_POSTCODE}`, 'u');
/** "58095 Hagen", "20-020 Lublin", "708 00 Ostrava-Poruba", "Bydliště: Ostrava-Poruba". */
const CODE_AND_TOWN = new RegExp(
  `(?:^|[,;:|·] ?)(?:[A-Z]{1,2}-)?(?:\\d{5}|\\d{3} \\d\\d|\\d\\d-\\d{3}) (${TOWN})(?=$| ?[,;(|·])`,
  'u',
);
const TOWN_LABEL =
  /^(?:city|town|residence|place of residence|wohnort|ville|ciudad|città|cidade|residenza|woonplaats|miasto|miejscowość|miejsce zamieszkania|bydliště|bydlisko|lakóhely|localitate|oraș|localidad|bostadsort|bopæl|bosted)\s?:\s?/iu;
const LABELLED_TOWN = new RegExp(`^(${TOWN})(?=$| ?[,;(|·])`, 'u');
/** Such endings are those of a street after its number. */
const STREET =
  / (?:street|st|road|rd|avenue|ave|drive|dr|lane|ln|boulevard|blvd|way|court|ct|place|pl|circle|highway|hwy|parkway|pkwy|trail|terrace|loop)$/i;

/** With or without its second half; a Canadian postcode has a digit after the letter of its second half. */
const POSTCODE_BEHIND = new RegExp(
  `^,? (?:${BRITISH_POSTCODE}|[A-Z]{1,2}\\d{1,2}(?![\\p{L}\\d]| \\d[A-Z]\\d))`,
  'u',
);

/** "Birmingham B29 6AB" is in Britain, although there are other Birminghams. */
function withPostcode({ text }: LaidOutText, place: PlaceSeen): PlaceSeen {
  const isBritish =
    place.region === null &&
    place.country === null &&
    POSTCODE_BEHIND.test(text.slice(place.end, place.end + 12));
  return isBritish ? { ...place, countryCode: 'GB' } : place;
}

/** "Bulawayo" in "Bulawayo, Zimbabwe". */
function townOf(laidOut: LaidOutText, place: PlaceSeen): PlaceSeen | null {
  if (place.country === null || place.region !== null) return null;
  const segment = laidOut.segments[laidOut.tokens[place.from]?.segment ?? 0];
  if (segment === undefined) return null;
  const before = laidOut.text.slice(Math.max(segment.start, place.start - LONGEST_ADDRESS), place.start);
  const town = TOWN_BEFORE.exec(before)?.[1];
  if (town === undefined) return null;
  return { ...place, start: place.start - before.length + before.lastIndexOf(town), city: town };
}

function townWithPostcode({ segments }: LaidOutText, isHome: (segment: number) => boolean): PlaceSeen | null {
  for (const [at, { text, start }] of segments.slice(0, MOST_HOME_SEGMENTS).entries()) {
    const match = isHome(at) ? TOWN_AND_POSTCODE.exec(text.slice(0, LONGEST_ADDRESS)) : null;
    const town = match?.[1];
    if (match === null || town === undefined || placeBook.of(town)?.kind === 'region') continue;
    const from = start + match.index + match[0].indexOf(town);
    const end = start + match.index + match[0].length;
    return { from: 0, to: 0, start: from, end, city: town, region: null, country: null, countryCode: 'GB' };
  }
  return null;
}

function townBehindCode({ segments }: LaidOutText, isHome: (segment: number) => boolean): PlaceSeen | null {
  for (const [at, { text, start }] of segments.slice(0, MOST_HOME_SEGMENTS).entries()) {
    if (!isHome(at)) continue;
    const line = text.slice(0, LONGEST_ADDRESS);
    const label = TOWN_LABEL.exec(line)?.[0].length ?? 0;
    const match = (label > 0 ? LABELLED_TOWN.exec(line.slice(label)) : null) ?? CODE_AND_TOWN.exec(line);
    const town = match?.[1];
    if (match === null || town === undefined || STREET.test(town)) continue;
    const from = start + line.indexOf(town, label + match.index * Number(label === 0));
    const end = from + town.length;
    return { from: 0, to: 0, start: from, end, city: town, region: null, country: null, countryCode: null };
  }
  return null;
}

function locationOf(
  { text }: LaidOutText,
  place: PlaceSeen,
  notes: EvidenceNotes,
): NonNullable<CvProfile['basics']['location']> {
  const { start, end, countryCode } = place;
  const part = (path: string, value: string | null) => {
    if (value === null) return null;
    const at = text.slice(start, end).replace(/\s/g, ' ').indexOf(value);
    const from = at === -1 ? start : start + at;
    return notes.note(path, {
      value,
      start: from,
      end: at === -1 ? end : from + value.length,
      confidence: 0.85,
    });
  };
  if (countryCode !== null)
    notes.note('basics.location.countryCode', { value: countryCode, start, end, confidence: 0.8 });
  return {
    city: part('basics.location.city', place.city),
    region: part('basics.location.region', place.region),
    countryCode,
  };
}

const LONGEST_HEADLINE = 12;
const LONGEST_DESIRE = 60;
/** "Seeking a position as a …": the position that the person would like to have. */
const DESIRED =
  /(?<!\p{L})(?:(?:seek|looking for|obtain|secure|become|aspiring|pursue)(?:ing|s)?|(?:position|role|job|work|career|employment|opportunity) as|(?:stelle|position|tätigkeit|anstellung) als|(?:poste|emploi) (?:de|d['’])|(?:puesto|empleo|trabajo) (?:de|como)|(?:posto|posizione|ruolo) (?:di|come)|(?:função|vaga|cargo) de)(?!\p{L})[^.;]*$/iu;

/**
 * The headline: a title on a short line at the top, before the first job; otherwise a title in the summary or near the
 * top.
 */
function labelOf(laidOut: LaidOutText, mentions: readonly Mention[], name: Traced | null): Traced | null {
  const { text, sections, segments, tokens, tokenStarts } = laidOut;
  const label = mentions.find(({ kind, segment, start }) => {
    const isTop = sections[segment] === 'top' || sections[segment] === 'contact';
    if (kind !== 'title' || segment >= 20 || !isTop || start < (name?.end ?? 0)) return false;
    const [from = 0, to = 0] = [tokenStarts[segment], tokenStarts[segment + 1]];
    // A line with a date belongs to a job.
    return to - from <= LONGEST_HEADLINE && !tokens.slice(from, to).some((token) => token.kind === 'date');
  });
  const isEarly = (section: string | undefined, segment: number) =>
    section === 'summary' || (segment < 25 && (section === 'top' || section === 'contact'));
  const isDesired = ({ segment, start }: Mention) =>
    DESIRED.test(text.slice(segments[segment]?.start ?? start, start).slice(-LONGEST_DESIRE));
  const chosen =
    label ??
    mentions.find(
      (one) => one.kind === 'title' && isEarly(sections[one.segment], one.segment) && !isDesired(one),
    );
  return chosen === undefined ? null : traced(text, chosen.start, chosen.end, chosen.confidence);
}

function summaryOf({ segments, sections, headings, text }: LaidOutText): Traced | null {
  const first = sections.indexOf('summary');
  if (first === -1) return null;
  let start: number | null = null;
  let end = 0;
  for (let at = first; at < segments.length && sections[at] === 'summary'; at++) {
    const segment = segments[at];
    const heading = headings[at];
    if (segment === undefined || (at > first && heading != null)) break;
    const from = segment.start + (heading?.length ?? 0);
    if (from >= segment.end) continue;
    start ??= from;
    if (segment.end - start > LONGEST_SUMMARY) break;
    end = segment.end;
  }
  if (start === null || end - start < 20) return null;
  const lead = /^[\s:.–-]*/.exec(text.slice(start, end))?.[0].length ?? 0;
  return traced(text, start + lead, end, 0.8);
}
