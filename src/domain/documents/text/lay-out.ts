import { type DateSpan, findDates } from './dates.ts';
import { findEmails } from './emails.ts';
import type { Found } from './found.ts';
import { type Heading, headingOf, type SectionKind } from './headings.ts';
import { findLinks, type Link } from './links.ts';
import { findPhones } from './phones.ts';
import { knownPlacesIn, type PlaceSeen } from './places.ts';
import { sectionsOf } from './sections.ts';
import { type Segment, segmentsOf } from './segments.ts';
import { knownSkillsIn, type SkillSeen } from './skills-seen.ts';
import { type Token, tokensOf, type WholePlace } from './tokens.ts';

/** A text with all that can be told without understanding it; every later step reads this and not the text. */
export interface LaidOutText {
  readonly text: string;
  readonly segments: readonly Segment[];
  readonly headings: readonly (Heading | null)[];
  /** The kind of section that each segment lies in. */
  readonly sections: readonly SectionKind[];
  readonly tokens: readonly Token[];
  /** Where each segment's tokens begin; one more than there are segments. */
  readonly tokenStarts: readonly number[];
  readonly emails: readonly Found<string>[];
  readonly phones: readonly Found<string>[];
  readonly links: readonly Found<Link>[];
  readonly dates: readonly DateSpan[];
  readonly skills: readonly SkillSeen[];
  readonly places: readonly PlaceSeen[];
}

/** What the document reader lets through; whoever asks with more gets the beginning. */
export const MOST_CHARACTERS = 500_000;

export function layOut(whole: string): LaidOutText {
  const text = whole.length > MOST_CHARACTERS ? whole.slice(0, MOST_CHARACTERS) : whole;
  const emails = findEmails(text);
  const links = findLinks(text).filter(
    (link) => !emails.some((one) => one.start < link.end && link.start < one.end),
  );
  const dates = findDates(text);
  const taken = [...emails, ...links, ...dates].sort((one, other) => one.start - other.start);
  const phones = findPhones(text, taken);
  const segments = segmentsOf(text);
  const tokens = tokensOf(segments, wholePlaces(emails, links, phones, dates));
  const tokenStarts = startsOf(segments, tokens);
  const headings = segments.map(headingOf);
  const sections = sectionsOf({ segments, headings, tokens, tokenStarts, dates });
  const skills = knownSkillsIn({ tokens, sections, segments });
  const places = knownPlacesIn(tokens);
  return {
    text,
    segments,
    headings,
    sections,
    tokens,
    tokenStarts,
    emails,
    phones,
    links,
    dates,
    skills,
    places,
  };
}

function wholePlaces(
  emails: readonly Found<string>[],
  links: readonly Found<Link>[],
  phones: readonly Found<string>[],
  dates: readonly DateSpan[],
): WholePlace[] {
  const all: WholePlace[] = [
    ...emails.map(({ start, end }) => ({ start, end, kind: 'email' as const })),
    ...links.map(({ start, end }) => ({ start, end, kind: 'link' as const })),
    ...phones.map(({ start, end }) => ({ start, end, kind: 'phone' as const })),
    ...dates.map(({ start, end }) => ({ start, end, kind: 'date' as const })),
  ].sort((one, other) => one.start - other.start);
  const apart: WholePlace[] = [];
  for (const one of all) {
    if (one.start >= (apart.at(-1)?.end ?? 0)) apart.push(one);
  }
  return apart;
}

function startsOf(segments: readonly Segment[], tokens: readonly Token[]): number[] {
  const starts: number[] = [];
  let at = 0;
  for (let segment = 0; segment < segments.length; segment++) {
    starts.push(at);
    while (at < tokens.length && tokens[at]?.segment === segment) at++;
  }
  starts.push(tokens.length);
  return starts;
}
