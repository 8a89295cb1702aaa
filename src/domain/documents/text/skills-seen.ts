import { type KnownSkill, skillBook } from '../words/skill-names.ts';
import type { SectionKind } from './headings.ts';
import type { SeenPhrase } from './phrases.ts';
import type { Segment } from './segments.ts';
import type { Token } from './tokens.ts';

export interface SkillSeen extends SeenPhrase<KnownSkill> {
  readonly start: number;
  readonly end: number;
}

interface Surroundings {
  readonly tokens: readonly Token[];
  readonly sections: readonly SectionKind[];
  readonly segments: readonly Segment[];
}

const SEPARATORS = new Set([
  ',',
  ';',
  '/',
  '(',
  ')',
  ':',
  '&',
  '·',
  '|',
  '+',
  'and',
  'or',
  'und',
  'et',
  'y',
  'e',
  'en',
  '.',
]);

/** Skills by their known names. A name that is also an everyday word counts only where it looks like the skill. */
export function knownSkillsIn({ tokens, sections, segments }: Surroundings): SkillSeen[] {
  const shouted = new Set(
    segments.flatMap(({ text }, at) => (text.length > 12 && text === text.toUpperCase() ? [at] : [])),
  );
  const isUnderSkills = (token: Token | undefined) =>
    token !== undefined && sections[token.segment] === 'skills';
  const isListed = (from: number, to: number) => {
    const [before, first, after] = [tokens[from - 1], tokens[from], tokens[to]];
    if (first === undefined) return false;
    const closedLeft =
      before === undefined || before.segment !== first.segment || SEPARATORS.has(before.lower);
    const closedRight = after === undefined || after.segment !== first.segment || SEPARATORS.has(after.lower);
    if (!closedLeft || !closedRight) return false;
    const isAlone = before?.segment !== first.segment && after?.segment !== first.segment;
    // A lone cell under "Skills" or a row of names: both are lists. A lone line elsewhere may be a name or a heading.
    return isUnderSkills(first) || !isAlone;
  };
  const accepts = ({ from, to, value }: SeenPhrase<KnownSkill>): boolean => {
    const first = tokens[from];
    if (first === undefined) return false;
    // A company's or school's name is no skill of whoever worked there.
    if (value.trust === 'plain')
      return !(to - from === 1 && first.text.length <= 2 && first.text === first.lower);
    const startsHigh = /^[^\p{Ll}]/u.test(first.text);
    const beginsSentence = tokens[from - 1]?.segment !== first.segment;
    const isShouted = shouted.has(first.segment);
    if (value.trust === 'capital') return (startsHigh && !beginsSentence && !isShouted) || isListed(from, to);
    return startsHigh && isListed(from, to) && (isUnderSkills(first) || hasNeighbour(tokens, from, to));
  };
  return skillBook.find(tokens, accepts).flatMap((seen) => {
    const start = tokens[seen.from]?.start;
    const end = tokens[seen.to - 1]?.end;
    return start === undefined || end === undefined ? [] : [{ ...seen, start, end }];
  });
}

/** Whether one of the names beside it in its row is a skill whose name can be trusted. */
function hasNeighbour(tokens: readonly Token[], from: number, to: number): boolean {
  const segment = tokens[from]?.segment;
  for (const at of [from - 2, from - 3, to + 1, to + 2]) {
    const token = tokens[at];
    if (token === undefined || token.segment !== segment) continue;
    const trust = skillBook.of(token.text)?.trust;
    if (trust === 'plain' || (trust === 'capital' && token.text !== token.lower)) return true;
  }
  return false;
}
