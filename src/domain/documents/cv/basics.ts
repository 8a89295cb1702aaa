import { type EvidenceNotes, type Traced, traced } from '../evidence.ts';
import type { CvProfile } from '../parsed-document.ts';
import type { Mention } from '../tagger/decode.ts';
import type { PlaceSeen } from '../text/gazetteer.ts';
import type { LaidOutText } from '../text/layout.ts';
import { findName } from './person-name.ts';

const LONGEST_SUMMARY = 1500;
const MOST_PROFILES = 12;
/** A home is among the first places or not there at all. */
const MOST_PLACES = 60;

/** Who it is and how to reach them: from the top of the text. */
export function readBasics(
  laidOut: LaidOutText,
  mentions: readonly Mention[],
  notes: EvidenceNotes,
): CvProfile['basics'] {
  const name = findName(laidOut, mentions);
  const email = laidOut.emails[0];
  const phone = bestPhone(laidOut);
  const site = laidOut.links.find(({ value, start }) => value.network === null && start < 3000);
  const place = homeOf(laidOut, mentions);
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

/** The first place at the top, before any other section speaks of the places of schools and jobs. */
function homeOf({ places, sections, tokens }: LaidOutText, mentions: readonly Mention[]): PlaceSeen | null {
  const isHome = (segment: number) => sections[segment] === 'top' || sections[segment] === 'contact';
  const atHome = places.slice(0, MOST_PLACES).filter((place) => {
    const segment = tokens[place.from]?.segment ?? 0;
    const isOther = mentions.some(
      (one) => one.from < place.to && place.from < one.to && one.kind !== 'place' && one.kind !== 'skill',
    );
    return isHome(segment) && segment < 40 && !isOther;
  });
  return atHome.find(({ city }) => city !== null) ?? atHome[0] ?? null;
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

/** The headline: a title on a short line at the top, before the first job; without one, what the summary calls them. */
function labelOf(laidOut: LaidOutText, mentions: readonly Mention[], name: Traced | null): Traced | null {
  const { text, sections, tokens, tokenStarts } = laidOut;
  const label = mentions.find(({ kind, segment, start }) => {
    const isTop = sections[segment] === 'top' || sections[segment] === 'contact';
    if (kind !== 'title' || segment >= 20 || !isTop || start < (name?.end ?? 0)) return false;
    const [from = 0, to = 0] = [tokenStarts[segment], tokenStarts[segment + 1]];
    // A line with a date is a job's, not a headline.
    return to - from <= LONGEST_HEADLINE && !tokens.slice(from, to).some((token) => token.kind === 'date');
  });
  const isEarly = (section: string | undefined, segment: number) =>
    section === 'summary' || (segment < 25 && (section === 'top' || section === 'contact'));
  const chosen =
    label ?? mentions.find(({ kind, segment }) => kind === 'title' && isEarly(sections[segment], segment));
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
