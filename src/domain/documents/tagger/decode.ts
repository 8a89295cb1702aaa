import type { LaidOutText } from '../text/lay-out.ts';
import { bestLabels, type Steps } from './best-labels.ts';
import { createFeatureReader, type FeatureReach, MOST_FEATURES } from './features.ts';
import { isFirst, kindOf, labelCount, type MentionKind, OUTSIDE } from './labels.ts';

/** A linear model: a row of weights for each feature, and a weight for each step from one label to the next. */
export interface TaggerWeights<Kind extends string = MentionKind> {
  readonly kinds: readonly Kind[];
  readonly reach: FeatureReach;
  /** The row of a feature, or -1: as many weights as there are labels from there on in `weights`. */
  rowOf(feature: number): number;
  readonly weights: Int8Array;
  /** What one step of a weight is worth: whole bytes are summed up, and only the sums become scores. */
  readonly scale: number;
  readonly steps: Steps;
}

export interface Mention<Kind extends string = MentionKind> {
  readonly kind: Kind;
  /** Tokens from, up to and not including to. */
  readonly from: number;
  readonly to: number;
  readonly start: number;
  readonly end: number;
  readonly segment: number;
  /** How far the chosen label is ahead of "nothing": 0 to 1. */
  readonly confidence: number;
}

export interface Tagged<Kind extends string = MentionKind> {
  readonly mentions: Mention<Kind>[];
  /** Whether any of these tokens might be of a kind: what a rule sees as well is then taken. */
  isLikely(kind: Kind, from: number, to: number): boolean;
}

/** More than any CV or posting has; what stands behind is not looked at. */
const MOST_TOKENS = 60_000;
/** Longer lines are read in pieces, so that the work stays even. */
const LONGEST_ROW = 400;
/**
 * How much a kind is favoured over "nothing", chosen on the tuning part: labellers leave out more companies than skills.
 * What is seen with LIKELY in its place is taken only with a reason more.
 */
const FAVOURS: Readonly<Record<string, number>> = { name: 0.3, company: 0.7, degree: 0.4, skill: 0.2 };
const USUAL = 0.6;
const LIKELY = 2.5;

export function tagMentions<Kind extends string>(
  laidOut: LaidOutText,
  weights: TaggerWeights<Kind>,
): Tagged<Kind> {
  const { tokens, tokenStarts, segments } = laidOut;
  const { kinds, steps } = weights;
  const count = labelCount(kinds);
  const reader = createFeatureReader(laidOut, weights.reach);
  const features = new Int32Array(MOST_FEATURES);
  const scores = new Float32Array(LONGEST_ROW * count);
  const sums = new Int32Array(count);
  const likely = new Int8Array(tokens.length);
  const sure = favoursOf(kinds, (kind) => FAVOURS[kind] ?? USUAL);
  const eager = favoursOf(kinds, () => LIKELY);
  const mentions: Mention<Kind>[] = [];
  for (let segment = 0; segment < segments.length; segment++) {
    const end = tokenStarts[segment + 1] ?? 0;
    if (end > MOST_TOKENS) break;
    for (let from = tokenStarts[segment] ?? 0; from < end; from += LONGEST_ROW) {
      const length = Math.min(LONGEST_ROW, end - from);
      for (let at = 0; at < length; at++) {
        const found = reader.read(from + at, features);
        scoreToken(features, found, weights, sums, scores, at * count);
      }
      const seen = bestLabels(scores, length, steps, eager);
      likely.set(seen, from);
      // What is not seen eagerly is not seen at all.
      if (seen.some((label) => label !== OUTSIDE))
        collect(bestLabels(scores, length, steps, sure), from, segment);
    }
  }
  return {
    mentions,
    isLikely: (kind, from, to) => {
      for (let at = from; at < to; at++) if (kindOf(kinds, likely[at] ?? 0) === kind) return true;
      return false;
    },
  };

  function collect(labels: Int8Array, from: number, segment: number): void {
    for (let at = 0; at < labels.length; at++) {
      const label = labels[at] ?? 0;
      const kind = kindOf(kinds, label);
      if (kind === null) continue;
      let to = at + 1;
      while (to < labels.length && labels[to] !== 0 && !isFirst(labels[to] ?? 0)) to++;
      const [start, end] = [tokens[from + at]?.start ?? 0, tokens[from + to - 1]?.end ?? 0];
      const lead = (scores[at * count + label] ?? 0) - (scores[at * count] ?? 0);
      const confidence = Math.min(0.99, 1 / (1 + Math.exp(-lead - USUAL)));
      mentions.push({ kind, from: from + at, to: from + to, start, end, segment, confidence });
      at = to - 1;
    }
  }
}

function favoursOf(kinds: readonly string[], favour: (kind: string) => number): Float32Array {
  return Float32Array.from({ length: labelCount(kinds) }, (_, label) => {
    const kind = kindOf(kinds, label);
    return kind === null ? 0 : favour(kind);
  });
}

/** Sums of whole numbers, because the rows of all features then fit into the processor's cache. */
function scoreToken(
  features: Int32Array,
  found: number,
  { rowOf, weights, scale }: TaggerWeights<string>,
  sums: Int32Array,
  into: Float32Array,
  row: number,
): void {
  const count = sums.length;
  sums.fill(0);
  for (let index = 0; index < found; index++) {
    const at = rowOf(features[index] as number);
    if (at < 0) continue;
    for (let label = 0; label < count; label++)
      sums[label] = (sums[label] as number) + (weights[at + label] as number);
  }
  for (let label = 0; label < count; label++) into[row + label] = (sums[label] as number) * scale;
}
