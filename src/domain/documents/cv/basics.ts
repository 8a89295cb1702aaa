import { type EvidenceNotes, type Traced, traced } from '../evidence.ts';
import type { CvProfile } from '../parsed-document.ts';
import type { Mention } from '../tagger/decode.ts';
import type { PlaceSeen } from '../text/gazetteer.ts';
import type { LaidOutText } from '../text/layout.ts';
import { headingOf } from '../text/sections.ts';
import type { Token } from '../text/tokens.ts';
import { companySuffixes, firstNames, lastNames, schoolHeads, titleHeads } from '../words/word-lists.ts';

const LONGEST_SUMMARY = 1500;
const MOST_PROFILES = 12;
/** Whoever names no home in the first places names none. */
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

interface Candidate {
  readonly from: number;
  readonly to: number;
  readonly score: number;
}

/** A CV says whose it is at its top; lines further down are other people. */
const TOP_SEGMENTS = 14;
const LABEL = /^(?:full |candidate )?(?:name|nom|nombre|nome|naam)$/i;
const HONORIFIC = /^(?:mr|mrs|ms|miss|dr|prof|herr|frau|m|mme|sr|sra|ing|eng|er)$/i;
const CREDENTIAL =
  /^(?:phd|ph\.d|md|m\.d|mba|cpa|pmp|rn|msc|bsc|esq|pe|cfa|jr|sr|ii|iii|iv|dipl|ing|ma|ba|ms|bs|med|msn|bsn|cissp|csm|acca|ca)$/i;

/** The best of the lines and mentions at the top, by what names look like and by the e-mail address. */
function findName(laidOut: LaidOutText, mentions: readonly Mention[]): Traced | null {
  const { tokens, tokenStarts, segments, text } = laidOut;
  const address =
    laidOut.emails[0]?.value
      .split('@')[0]
      ?.toLowerCase()
      .replace(/[^\p{L}]/gu, '') ?? '';
  const candidates: Candidate[] = [];
  const last = Math.min(segments.length, TOP_SEGMENTS);
  for (let segment = 0; segment < last; segment++) {
    const run = runOf(tokens, tokenStarts[segment] ?? 0, tokenStarts[segment + 1] ?? 0);
    if (run === null) continue;
    const isHeading =
      headingOf({ ...(segments[segment] as (typeof segments)[number]), text: textOf(tokens, run) }) !== null;
    if (isHeading) continue;
    const end = tokenStarts[segment + 1] ?? 0;
    const isWhole = run.to === end ? 1 : 0;
    const isLabelled = LABEL.test(
      textOf(tokens, { from: tokenStarts[segment] ?? 0, to: run.from }).replace(/[\s:.-]+$/, ''),
    );
    const tagged = mentions.some((one) => one.kind === 'name' && one.from < run.to && run.from < one.to);
    const other = mentions.some((one) => one.kind !== 'name' && one.from < run.to && run.from < one.to);
    const score =
      looks(tokens, run, address) +
      (segment === 0 ? 2 : segment < 3 ? 1 : 0) +
      isWhole +
      (tagged ? 3 : 0) -
      (other ? 2 : 0) +
      (isLabelled ? 5 : 0);
    candidates.push({ ...run, score });
  }
  for (const mention of mentions) {
    if (mention.kind !== 'name' || mention.to - mention.from > 6) continue;
    const early = mention.segment < TOP_SEGMENTS ? 2 : 0;
    candidates.push({
      from: mention.from,
      to: mention.to,
      score: looks(tokens, mention, address) + 3.5 + early,
    });
  }
  const best = candidates.reduce<Candidate | null>(
    (top, one) => (top === null || one.score > top.score ? one : top),
    null,
  );
  if (best === null || best.score < 2.5) return null;
  const [start, end] = [tokens[best.from]?.start ?? 0, tokens[best.to - 1]?.end ?? 0];
  return traced(text, start, end, Math.min(0.99, 0.4 + best.score / 16));
}

/** The first run of words at a line's beginning that could be a name; a label and a title of honour are passed. */
function runOf(tokens: readonly Token[], from: number, to: number): { from: number; to: number } | null {
  let start = from;
  const colon = tokens.slice(from, Math.min(to, from + 4)).findIndex((token) => token.text === ':');
  if (colon > 0 && LABEL.test(textOf(tokens, { from, to: from + colon }))) start = from + colon + 1;
  while (
    start < to &&
    (HONORIFIC.test(tokens[start]?.text ?? '') || /^["'.*_-]$/.test(tokens[start]?.text ?? ''))
  )
    start++;
  let end = start;
  while (end < to && end - start < 8) {
    const token = tokens[end];
    if (token === undefined || !/^(?:\p{L}[\p{L}\p{M}.'’-]*|\.)$/u.test(token.text)) break;
    if (CREDENTIAL.test(token.text) && end - start >= 2) break;
    end++;
  }
  while (end > start && tokens[end - 1]?.text === '.') end--;
  const words = tokens.slice(start, end).filter((token) => token.kind === 'word').length;
  return words === 0 || words > 5 ? null : { from: start, to: end };
}

function looks(tokens: readonly Token[], run: { from: number; to: number }, address: string): number {
  const words = tokens.slice(run.from, run.to).filter((token) => token.kind === 'word');
  let score = words.length === 2 || words.length === 3 ? 1.5 : words.length === 1 ? -2 : 0;
  const first = words[0]?.lower ?? '';
  if (firstNames.has(first)) score += 2;
  else if (words.some((word) => firstNames.has(word.lower))) score += 1;
  if (lastNames.has(words.at(-1)?.lower ?? '')) score += 1;
  const inAddress = words.filter(
    (word) => word.lower.length > 2 && address.includes(word.lower.replace(/[^\p{L}]/gu, '')),
  );
  score += Math.min(2, inAddress.length) * 2;
  if (
    words.some(
      (word) =>
        !/^\p{Lu}/u.test(word.text) &&
        !/^(?:de|da|di|van|von|der|den|la|le|bin|al|el|dos|del)$/i.test(word.text),
    )
  )
    score -= 2;
  for (const word of words) {
    if (titleHeads.has(word.lower) || schoolHeads.has(word.lower)) score -= 4;
    if (companySuffixes.has(word.lower) && words.length > 1) score -= 2;
    if (
      /^(?:resume|curriculum|vitae|cv|lebenslauf|street|road|avenue|drive|lane|city|india|usa|email|phone|mobile|address|objective|summary|profile|skills|experience|education|engineering|software|management|marketing|page|contact|confidential)$/i.test(
        word.text,
      )
    )
      score -= 5;
  }
  return score;
}

function textOf(tokens: readonly Token[], { from, to }: { from: number; to: number }): string {
  return tokens
    .slice(from, to)
    .map((token) => token.text)
    .join(' ');
}
