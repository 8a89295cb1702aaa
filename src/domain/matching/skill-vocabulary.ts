import { segmentsOf } from '../documents/text/segments.ts';
import { knownSkillsIn } from '../documents/text/skills-seen.ts';
import { tokensOf } from '../documents/text/tokens.ts';
import { canonicalSkill } from '../documents/words/skill-names.ts';
import type { SkillVocabulary } from './facts.ts';

const LONGEST_TEXT = 100_000;
/** A line this short is a list of names rather than a sentence: "Go", "R, SQL". */
const WORDS_OF_A_LIST = 4;

/** The names of skills that documents are read by, so that a CV and a posting speak of the same ones. */
export function createSkillVocabulary(): SkillVocabulary {
  return {
    canonical: (name) => (canonicalSkill(name) ?? name.trim()).toLowerCase(),
    findIn(text) {
      const segments = segmentsOf(text.slice(0, LONGEST_TEXT));
      const tokens = tokensOf(segments, []);
      const sections = segments.map((segment) =>
        segment.text.split(/\s+/).length <= WORDS_OF_A_LIST ? ('skills' as const) : ('other' as const),
      );
      const seen = knownSkillsIn({ tokens, sections, segments });
      return [...new Set(seen.map(({ value }) => value.canonical.toLowerCase()))];
    },
  };
}

/** As people write it. */
export function shownSkill(name: string): string {
  return canonicalSkill(name) ?? name;
}
