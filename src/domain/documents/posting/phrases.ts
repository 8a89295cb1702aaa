import { type Traced, traced } from '../evidence-notes.ts';
import { type TaggerWeights, tagMentions } from '../tagger/decode.ts';
import type { PostingKind } from '../tagger/labels.ts';
import type { LaidOutText } from '../text/lay-out.ts';
import { canonicalSkill } from '../words/skill-names.ts';

/** Something that a posting wants somebody to know or to be able to do, in its own words. */
export interface PostingPhrase extends Traced {
  readonly kind: PostingKind;
  readonly canonical: string | null;
}

/** A phrase that says more than this is a sentence. */
const LONGEST = 120;

/** What the tagger for postings sees, in the order of the text. */
export function findPhrases(laidOut: LaidOutText, weights: TaggerWeights<PostingKind>): PostingPhrase[] {
  return tagMentions(laidOut, weights)
    .mentions.filter(({ start, end }) => end - start <= LONGEST)
    .map(({ kind, start, end, confidence }) => {
      const phrase = traced(laidOut.text, start, end, confidence);
      return { ...phrase, kind, canonical: canonicalSkill(phrase.value) };
    });
}
