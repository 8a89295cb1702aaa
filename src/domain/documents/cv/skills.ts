import { type Traced, traced } from '../evidence-notes.ts';
import { MOST } from '../parsed-cv.ts';
import { isTaken } from '../text/found.ts';
import type { LaidOutText } from '../text/lay-out.ts';
import { canonicalSkill } from '../words/skill-names.ts';
import type { SeenMentions } from './mentions.ts';

export interface FoundSkill extends Traced {
  readonly canonical: string | null;
}

/** Words that stand in lists of skills and are none. */
const NO_SKILL =
  /^(?:one|two|three|four|five|six|seven|eight|nine|ten|years?|months?|skills?|tools?|languages?|and|or|etc|other|various|including|experience|knowledge|less than \d+ years?|.)$/i;

/** Skills by name, skills that the tagger saw, and the short items of a list under a heading for skills. */
export function findSkills(laidOut: LaidOutText, { mentions, isLikely }: SeenMentions): FoundSkill[] {
  const { text } = laidOut;
  const others = mentions
    .filter(({ kind }) => kind !== 'skill' && kind !== 'degree')
    .sort((one, other) => one.start - other.start);
  const found: FoundSkill[] = [];
  for (const { start, end, from, to, value } of laidOut.skills) {
    // Names of products and everyday words alike stand in texts about other things: the tagger has a say.
    if (!isLikely('skill', from, to)) continue;
    if (isTaken(others, start, end) || !isClaimed(laidOut, from, value.family)) continue;
    found.push({ ...traced(text, start, end, 0.9), canonical: value.canonical });
  }
  const known = [...found].sort((one, other) => one.start - other.start);
  const ends = new Map(known.map(({ start, end }) => [start, end]));
  for (const { kind, start, end, confidence } of mentions) {
    if (kind !== 'skill' || NO_SKILL.test(text.slice(start, end))) continue;
    // A longer wording that begins with a known name stands for itself beside it.
    const knownEnd = ends.get(start);
    if (
      isTaken(known, start, end) &&
      (knownEnd === undefined || knownEnd >= end || isTaken(known, knownEnd, end))
    )
      continue;
    const value = traced(text, start, end, confidence);
    found.push({ ...value, canonical: canonicalSkill(value.value) });
  }
  return unique(found).slice(0, MOST.skills);
}

/** Families whose names are everyday words: in a sentence they are what was done there, not what somebody can do. */
const EVERYDAY: ReadonlySet<string> = new Set([
  'personal strengths',
  'methods and management',
  'marketing and sales',
  'finance, legal and people',
  'logistics, hospitality and care',
  'science and teaching',
]);

function isClaimed({ tokens, sections }: LaidOutText, from: number, family: string): boolean {
  if (!EVERYDAY.has(family)) return true;
  const section = sections[tokens[from]?.segment ?? 0];
  return section === 'skills' || section === 'languages';
}

/** One of each, the first place it stands. */
function unique(found: readonly FoundSkill[]): FoundSkill[] {
  const kept = new Map<string, FoundSkill>();
  for (const one of [...found].sort((left, right) => left.start - right.start)) {
    const key = (one.canonical ?? one.value).toLowerCase();
    if (!kept.has(key)) kept.set(key, one);
  }
  return [...kept.values()];
}
