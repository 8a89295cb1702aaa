import {
  CV_KINDS,
  firstLabel,
  type MentionKind,
  POSTING_KINDS,
} from '../src/domain/documents/tagger/decode.ts';
import type { LaidOutText } from '../src/domain/documents/text/layout.ts';
import type { LabelledSpan } from './labelled-cvs.ts';
import type { TaggedSentence } from './tagged-sentences.ts';

/** What the labelled CVs call each kind; a kind's own name stands for itself. */
const KIND_OF: Readonly<Record<string, MentionKind>> = {
  Name: 'name',
  Designation: 'title',
  'Companies worked at': 'company',
  'College Name': 'school',
  Degree: 'degree',
  Location: 'place',
  'Tech Tools': 'skill',
  'Job Specific Skills': 'skill',
  'Soft Skills': 'skill',
  ...Object.fromEntries(CV_KINDS.map((kind) => [kind, kind])),
};

/**
 * The labels that each token of a CV may have, as bits. `isComplete`: every mention is marked. Otherwise, where no one
 * marked a kind in the whole CV, a token without a mark may be of that kind all the same. `placeOf` leads from a token to
 * its place in the text that the spans refer to.
 */
export function allowedInCv(
  { tokens }: LaidOutText,
  spans: readonly LabelledSpan[],
  isComplete = false,
  placeOf: (start: number, end: number) => { start: number; end: number } = (start, end) => ({ start, end }),
): Int32Array {
  const labels = new Int8Array(tokens.length);
  const places = tokens.map((token) => placeOf(token.start, token.end));
  const marked = new Set<MentionKind>();
  for (const { type, start, end } of spans) {
    const kind = KIND_OF[type];
    if (kind === undefined) continue;
    marked.add(kind);
    let segment = -1;
    tokens.forEach((token, at) => {
      const place = places[at] ?? token;
      if (place.start < start || place.end > end || token.kind === 'email' || token.kind === 'date') return;
      labels[at] = firstLabel(CV_KINDS, kind) + (token.segment === segment ? 1 : 0);
      segment = token.segment;
    });
  }
  let unmarked = 1;
  for (const kind of CV_KINDS)
    if (!isComplete && !marked.has(kind) && kind !== 'name') unmarked |= 3 << firstLabel(CV_KINDS, kind);
  return Int32Array.from(labels, (label) => (label === 0 ? unmarked : 1 << label));
}

/** The same for a sentence of a posting. Knowledge inside an ability ("develop in Java") gives way: a token has one label. */
export function allowedInSentence(
  { tokens }: LaidOutText,
  { abilities, knowledge }: TaggedSentence,
): Int32Array {
  const labels = new Int8Array(tokens.length);
  for (const [kind, spans] of [
    ['knowledge', knowledge],
    ['ability', abilities],
  ] as const) {
    for (const { start, end } of spans) {
      let segment = -1;
      tokens.forEach((token, at) => {
        if (token.end <= start || token.start >= end) return;
        labels[at] = firstLabel(POSTING_KINDS, kind) + (token.segment === segment ? 1 : 0);
        segment = token.segment;
      });
    }
  }
  return Int32Array.from(labels, (label) => 1 << label);
}
