import type { DocumentKindGuess } from '../document-facts.ts';
import { postingHeading } from '../posting/posting-headings.ts';
import { titleHeads } from '../words/single-words.ts';
import type { SectionKind } from './headings.ts';
import { CV_SIGNS, POSTING_SIGNS, pointsOf, SAYS_WORK, SPOKEN_TO, TERMS_OF_WORK } from './kind-signs.ts';
import type { LaidOutText } from './lay-out.ts';
import { hasAnotherForm } from './other-forms.ts';

export interface KindGuess {
  readonly kind: DocumentKindGuess;
  /** 0 to 1. */
  readonly confidence: number;
}

const LEAST_CV = 3.4;
/** "We are hiring, full-time" stands in newspapers too: two signs are not enough, three are. */
const LEAST_POSTING = 4;
/** Who lists three spans of time tells of a life; a posting must be ahead by so much then. */
const LEAD_OVER_SPANS = 1;
/** Whoever sends a letter and a CV in one file has sent a CV: its sections tell. */
const SECTIONS_OVER_FORM = 2;

/**
 * CV, posting or neither, by what each kind says and how it is laid out. Points alone do not make either: a CV also has a
 * person to reach or a section of its own, a posting speaks of work, and neither has the form of a letter or an invoice.
 */
export function classifyDocument(laidOut: LaidOutText): KindGuess {
  const words = laidOut.tokens.filter(({ kind }) => kind === 'word').length;
  if (words < 12) return { kind: 'other', confidence: 0.9 };
  const headings = new Set(laidOut.headings.flatMap((heading) => (heading === null ? [] : [heading.kind])));
  const postingSections = postingSectionsOf(laidOut);
  if (hasAnotherForm(laidOut)) {
    const ofCv = CV_SECTIONS.filter((kind) => headings.has(kind)).length;
    if (Math.max(ofCv, postingSections) < SECTIONS_OVER_FORM) return { kind: 'other', confidence: 0.8 };
  }
  const ranges = laidOut.dates.filter(({ isRange }) => isRange).length;
  const cv = cvPoints(laidOut, headings, ranges);
  const posting = postingPoints(laidOut, postingSections);
  const isAhead = posting > cv + (ranges >= 3 ? LEAD_OVER_SPANS : 0);
  const short = isAhead ? LEAST_POSTING - posting : LEAST_CV - cv;
  if (short > 0) return { kind: 'other', confidence: rounded(0.5 + short / 8) };
  const lead = Math.abs(cv - posting);
  return { kind: isAhead ? 'job_posting' : 'cv', confidence: rounded(0.5 + Math.min(0.49, lead / 12)) };
}

const CV_SECTIONS = ['work', 'education', 'skills', 'languages', 'projects'] as const;
/** The signs that name a CV or a part of one; what a person did is told in newspapers too. */
const NAMING_SIGNS = CV_SIGNS.slice(0, 3);
/** A CV says at its top how to reach the person; at the end of a short text stands who wrote it, or the press office. */
const TOP_CHARACTERS = 1500;
const LEAST_TOP_CHARACTERS = 150;
const TOP_SHARE = 0.6;
const SAMPLE_CHARACTERS = 30_000;

function cvPoints(laidOut: LaidOutText, headings: ReadonlySet<SectionKind>, ranges: number): number {
  const { text, emails, phones } = laidOut;
  const sample = text.slice(0, SAMPLE_CHARACTERS);
  const sections = CV_SECTIONS.filter((kind) => headings.has(kind)).length;
  const top = Math.min(TOP_CHARACTERS, Math.max(LEAST_TOP_CHARACTERS, text.length * TOP_SHARE));
  const hasEmail = emails.some(({ start }) => start < top);
  const hasPhone = phones.some(({ start }) => start < top);
  if (!hasEmail && !hasPhone && sections === 0 && pointsOf(sample, NAMING_SIGNS) === 0) return 0;
  let points = pointsOf(sample, CV_SIGNS) + Math.min(3, ranges) + 1.2 * sections;
  if (hasEmail) points += 1.5;
  if (hasPhone) points += 1.5;
  if (tellsOfJob(laidOut)) points += 1.5;
  if (ranges > 0 && opensWithPerson(laidOut) && pointsOf(sample, SPOKEN_TO) === 0) points += 1.5;
  if (headings.has('work') && headings.has('education')) points += 1.5;
  return points;
}

function postingPoints(laidOut: LaidOutText, sections: number): number {
  const sample = laidOut.text.slice(0, SAMPLE_CHARACTERS);
  const [first = '', second = ''] = laidOut.segments.slice(0, 2).map(({ text }) => text);
  const isTitled = namesPosition(first.split(/[.,;]\s/)[0] ?? '');
  if (!isTitled && !namesPosition(second) && !SAYS_WORK.test(sample)) return 0;
  const title = isTitled ? 1.2 : 0;
  return pointsOf(sample, [...POSTING_SIGNS, TERMS_OF_WORK]) + title + 1.2 * sections;
}

const LONGEST_TITLE = 60;
/** German and Dutch write titles in one word: Lagerleiter, Bäckereifachverkäufer. */
const longHeads = [...titleHeads].filter((head) => head.length >= 6);

function namesPosition(line: string): boolean {
  if (line.length > LONGEST_TITLE) return false;
  return hasTitleHead(line) || wordsOf(line).some((word) => longHeads.some((head) => word.endsWith(head)));
}

function hasTitleHead(text: string): boolean {
  return wordsOf(text).some((word) => titleHeads.has(word));
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}-]+/gu) ?? [];
}

const NEAR_NAME = 300;
const NAME =
  /^\p{Lu}[\p{L}.'’-]*(?: (?:v[ao]n|de[rnl]?|d[aiou]s?|la|le|el|bin|al|\p{Lu}[\p{L}.'’-]*)){1,4}$/u;

/** A name alone on the first line and how to reach them right below: so CVs without any heading begin. */
function opensWithPerson({ segments, headings, emails, phones }: LaidOutText): boolean {
  const [first] = segments;
  if (first === undefined || headings[0] !== null) return false;
  if (!NAME.test(first.text) || hasTitleHead(first.text)) return false;
  return [...emails, ...phones].some(({ start }) => start < first.end + NEAR_NAME);
}

const MOST_SPANS = 20;
const NEAR = 80;

/** A span of time beside the word of a position: what even the shortest CV has. */
function tellsOfJob({ dates, text }: LaidOutText): boolean {
  return dates
    .filter(({ isRange }) => isRange)
    .slice(0, MOST_SPANS)
    .some(({ start, end }) => hasTitleHead(text.slice(Math.max(0, start - NEAR), end + NEAR)));
}

/** Headings that only postings have; "Skills" and "Experience" both have. */
function postingSectionsOf({ segments }: LaidOutText): number {
  const sections = new Set<string>();
  segments.slice(0, 400).forEach((segment, at) => {
    const heading = postingHeading(segment, segments[at + 1]);
    if (heading !== null) sections.add(heading.section);
  });
  return ['tasks', 'nice', 'benefits'].filter((section) => sections.has(section)).length;
}

function rounded(value: number): number {
  return Math.round(Math.min(0.99, value) * 100) / 100;
}
