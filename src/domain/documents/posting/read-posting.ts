import { mentionsIn } from '../cv/mentions.ts';
import { languageName } from '../cv/skills-and-languages.ts';
import { createEvidenceNotes, type EvidenceNotes, type Traced, traced } from '../evidence.ts';
import { type Evidence, MOST, type Posting } from '../parsed-document.ts';
import {
  type Mention,
  type NetworkScores,
  type PostingKind,
  type TaggerWeights,
  tagMentions,
} from '../tagger/decode.ts';
import type { EngineWeights } from '../tagger/weights.ts';
import type { LaidOutText } from '../text/layout.ts';
import { type Found, isTaken, type TextRange } from '../text/tokens.ts';
import { canonicalSkill, degreesIn } from '../words/word-lists.ts';
import {
  findEmploymentType,
  findExperience,
  findRemote,
  findSeniority,
  findWorkMode,
} from './employment-terms.ts';
import { findOrganisation, findPostingDates } from './headline.ts';
import { findLocations } from './locations.ts';
import { findSalary } from './pay.ts';
import { itemsOf, sortItems, sortPlainItems } from './requirements.ts';
import { findTitle } from './title.ts';

/** A posting with more items marks its requirements by headings and words. */
const MOST_PLAIN_ITEMS = 8;

interface PostingOptions {
  readonly whole: string;
  readonly language: string;
  readonly isPlain?: boolean;
  /** The network's scores for the text's tokens. */
  readonly scores?: NetworkScores | null;
}

export function readPosting(
  laidOut: LaidOutText,
  weights: EngineWeights,
  { whole, language, isPlain = false, scores = null }: PostingOptions,
): { posting: Posting; evidence: Evidence[] } {
  const notes = createEvidenceNotes();
  const { text } = laidOut;
  const { mentions } = mentionsIn(laidOut, weights.cv);
  // The tagger for postings learned from English sentences; other languages use only the word list.
  const phrases = language === 'en' ? findPhrases(laidOut, weights.posting, scores) : [];
  const title = findTitle(laidOut);
  const items = itemsOf(laidOut);
  const sorted = sortItems(text, items);
  const isShort = isPlain || (sorted.must.length === 0 && items.length <= MOST_PLAIN_ITEMS);
  const { must, nice, tasks, benefits } = isShort ? sortPlainItems(laidOut, items, title) : sorted;
  const organisation = notes.note(
    'hiringOrganization.name',
    findOrganisation(laidOut, mentions, title, isPlain),
  );
  const salary = findSalary(text);
  const type = findEmploymentType(text);
  const remote = findRemote(text);
  const months = findExperience(text);
  const { posted, until } = findPostingDates(laidOut);
  const found = <Value>(path: string, one: Found<Value> | null): Value | null => {
    if (one === null) return null;
    notes.note(path, { value: '', start: one.start, end: one.end, confidence: 0.85 });
    return one.value;
  };
  const monthsOfExperience = found('experienceRequirements.monthsOfExperience', months);
  const posting: Posting = {
    title: notes.note('title', title),
    description: notes.note('description', descriptionOf(whole)),
    hiringOrganization: organisation === null ? null : { name: organisation },
    jobLocation: locationsOf(laidOut, title, notes),
    jobLocationType: found('jobLocationType', remote),
    work_mode: found('work_mode', findWorkMode(text)),
    seniority: found('seniority', findSeniority(text, title)),
    employmentType: found('employmentType', type),
    baseSalary: found('baseSalary', salary),
    must_have: listOf('must_have', must, notes),
    nice_to_have: listOf('nice_to_have', nice, notes),
    skills: skillsOf(laidOut, phrases, mentions, organisation, notes),
    responsibilities: listOf('responsibilities', tasks, notes),
    experienceRequirements: monthsOfExperience === null ? null : { monthsOfExperience },
    educationRequirements: listOf('educationRequirements', degreesOf(laidOut), notes),
    jobBenefits: listOf('jobBenefits', benefits, notes),
    datePosted: notes.note('datePosted', posted),
    validThrough: notes.note('validThrough', until),
  };
  return { posting, evidence: notes.all };
}

/** The whole text with its lines, for people who read the posting. */
function descriptionOf(text: string): Traced {
  const value = text.slice(0, MOST.descriptionCharacters).trim();
  const start = text.indexOf(value);
  return { value, start, end: start + value.length, confidence: 1 };
}

function listOf(path: string, items: readonly Traced[], notes: EvidenceNotes): string[] {
  return items.slice(0, MOST.other).map((item, at) => notes.note(`${path}[${at}]`, item) ?? item.value);
}

function locationsOf(
  laidOut: LaidOutText,
  title: Traced | null,
  notes: EvidenceNotes,
): Posting['jobLocation'] {
  return findLocations(laidOut, title).map(({ start, end, ...location }, at) => {
    notes.note(`jobLocation[${at}]`, { value: '', start, end, confidence: 0.8 });
    return location;
  });
}

/** More words than this are a duty, which belongs to the requirements and cannot be matched as a skill. */
const MOST_WORDS = 4;

/** Known names anywhere, and short phrases found by the tagger, except the posting's own company and places. */
function skillsOf(
  { skills, text }: LaidOutText,
  phrases: readonly PostingPhrase[],
  mentions: readonly Mention[],
  organisation: string | null,
  notes: EvidenceNotes,
): Posting['skills'] {
  const ownNames = placesOfName(text, organisation);
  const others = mentions
    .filter(({ kind }) => kind === 'company' || kind === 'place')
    .sort((one, other) => one.start - other.start);
  const known = skills
    .filter(({ start, end }) => !isCall(text, start, end))
    .map(({ start, end, value }) => ({ ...traced(text, start, end, 0.85), ...value }));
  const seen = phrases.filter(
    ({ kind, value, start, end }) =>
      kind === 'knowledge' && value.split(' ').length <= MOST_WORDS && !isTaken(known, start, end),
  );
  const kept = new Map<string, Traced & { canonical: string | null }>();
  for (const one of [...known, ...seen].sort((left, right) => left.start - right.start)) {
    const { start, end, canonical } = one;
    if (isTaken(ownNames, start, end) || isTaken(others, start, end) || languageName(one.value) !== null)
      continue;
    const key = (canonical ?? one.value).toLowerCase();
    if (!kept.has(key)) kept.set(key, one);
  }
  return [...kept.values()].slice(0, MOST.skills).map(({ canonical, ...one }, at) => ({
    name: notes.note(`skills[${at}].name`, one) ?? one.value,
    canonical,
  }));
}

/** "Hiring: React engineer" and "we are hiring" look for a person; "hiring" alone is a recruiter's skill. */
function isCall(text: string, start: number, end: number): boolean {
  if (!/^(?:hiring|recruiting)$/i.test(text.slice(start, end))) return false;
  return (
    /^\s*:/.test(text.slice(end, end + 2)) ||
    /(?:\bare|['’]re|\bnow|^)\s*$/i.test(text.slice(Math.max(0, start - 6), start))
  );
}

function placesOfName(text: string, name: string | null): TextRange[] {
  const places: TextRange[] = [];
  if (name === null) return places;
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + name.length)) {
    places.push({ start: at, end: at + name.length });
  }
  return places;
}

/** The lines that ask for a degree, each from the degree to the end of its phrase. */
function degreesOf({ tokens, text }: LaidOutText): Traced[] {
  const found: Traced[] = [];
  let reached = -1;
  for (const { from, to, value } of degreesIn(tokens)) {
    const first = tokens[from];
    if (first === undefined || from < reached || isEverydayWord(tokens, from, to)) continue;
    let end = to;
    while (
      end < tokens.length &&
      end - to < 12 &&
      tokens[end]?.segment === first.segment &&
      !/^[.;,()–]$/.test(tokens[end]?.text ?? '')
    )
      end++;
    const last = tokens[end - 1];
    if (last === undefined) continue;
    reached = end;
    found.push(traced(text, first.start, last.end, value === 'secondary' ? 0.5 : 0.75));
  }
  return found.slice(0, 8);
}

/** "Master data", "associate director", "intermediate level": the word without the context of a degree. */
function isEverydayWord(tokens: LaidOutText['tokens'], from: number, to: number): boolean {
  if (to - from > 1) return false;
  const word = tokens[from]?.lower ?? '';
  if (
    !/^(?:master|associate|intermediate|graduation|licence|diploma|hons|med|be|ma|ms|ba|bs|as|md|grado|lehre|eso|matric|bed|postgraduate)$/.test(
      word,
    )
  )
    return false;
  const after = tokens[to]?.lower ?? '';
  return !/^(?:in|of|degree|or|and|'s|’s|\/|,)$/.test(after);
}

/** A skill or ability that a posting asks for, in its own words. */
interface PostingPhrase extends Traced {
  readonly kind: PostingKind;
  readonly canonical: string | null;
}

/** A longer phrase is a sentence. */
const LONGEST_PHRASE = 120;

/** The phrases found by the tagger for postings, in text order. */
export function findPhrases(
  laidOut: LaidOutText,
  weights: TaggerWeights<PostingKind>,
  scores: NetworkScores | null = null,
): PostingPhrase[] {
  return tagMentions(laidOut, weights, scores)
    .mentions.filter(({ start, end }) => end - start <= LONGEST_PHRASE)
    .map(({ kind, start, end, confidence }) => {
      const phrase = traced(laidOut.text, start, end, confidence);
      return { ...phrase, kind, canonical: canonicalSkill(phrase.value) };
    });
}
