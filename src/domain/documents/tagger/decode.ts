import type { LaidOutText } from '../text/lay-out.ts';
import { createFeatureReader, MOST_FEATURES } from './features.ts';
import { isFirst, kindOf, LABEL_COUNT, type MentionKind } from './labels.ts';

/** A linear model: a row of weights for each feature, and a weight for each step from one label to the next. */
export interface TaggerWeights {
  /** The row of a feature, or -1: LABEL_COUNT weights from there on in `weights`. */
  rowOf(feature: number): number;
  readonly weights: { readonly [at: number]: number };
  /** LABEL_COUNT + 1 rows, the last one for the beginning of a segment. */
  readonly steps: { readonly [at: number]: number };
}

export interface Mention {
  readonly kind: MentionKind;
  /** Tokens from, up to and not including to. */
  readonly from: number;
  readonly to: number;
  readonly start: number;
  readonly end: number;
  readonly segment: number;
  /** How far the chosen label is ahead of "nothing": 0 to 1. */
  readonly confidence: number;
}

/** The best row of labels for tokens `from` up to `to`, by Viterbi; `scores` holds LABEL_COUNT of them a token. */
export function bestLabels(scores: Float32Array, length: number, steps: TaggerWeights['steps']): Int8Array {
  const best = new Float32Array(length * LABEL_COUNT);
  const back = new Int8Array(length * LABEL_COUNT);
  for (let label = 0; label < LABEL_COUNT; label++) {
    const isAllowed = label === 0 || isFirst(label);
    best[label] = isAllowed ? (scores[label] ?? 0) + (steps[LABEL_COUNT * LABEL_COUNT + label] ?? 0) : -1e9;
  }
  for (let at = 1; at < length; at++) {
    for (let label = 0; label < LABEL_COUNT; label++) {
      // A later token follows only its own kind; any label follows any for the others.
      const isLater = label !== 0 && !isFirst(label);
      const least = isLater ? label - 1 : 0;
      const most = isLater ? label : LABEL_COUNT - 1;
      let top = -1e9;
      let from = 0;
      for (let previous = least; previous <= most; previous++) {
        const score =
          (best[(at - 1) * LABEL_COUNT + previous] ?? 0) + (steps[previous * LABEL_COUNT + label] ?? 0);
        if (score > top) {
          top = score;
          from = previous;
        }
      }
      best[at * LABEL_COUNT + label] = top + (scores[at * LABEL_COUNT + label] ?? 0);
      back[at * LABEL_COUNT + label] = from;
    }
  }
  const labels = new Int8Array(length);
  let last = 0;
  for (let label = 1; label < LABEL_COUNT; label++) {
    const row = (length - 1) * LABEL_COUNT;
    if ((best[row + label] ?? 0) > (best[row + last] ?? 0)) last = label;
  }
  for (let at = length - 1; at >= 0; at--) {
    labels[at] = last;
    last = back[at * LABEL_COUNT + last] ?? 0;
  }
  return labels;
}

export function scoreTokens(
  features: Int32Array,
  count: number,
  weights: TaggerWeights,
  into: Float32Array,
  row: number,
): void {
  for (let label = 0; label < LABEL_COUNT; label++) into[row + label] = 0;
  for (let index = 0; index < count; index++) {
    const at = weights.rowOf(features[index] ?? 0);
    if (at < 0) continue;
    for (let label = 0; label < LABEL_COUNT; label++) {
      into[row + label] = (into[row + label] ?? 0) + (weights.weights[at + label] ?? 0);
    }
  }
}

/** Longer lines are read in pieces, so that the work stays even. */
const LONGEST_ROW = 400;

export function tagMentions(laidOut: LaidOutText, weights: TaggerWeights): Mention[] {
  const { tokens, tokenStarts, segments } = laidOut;
  const reader = createFeatureReader(laidOut);
  const features = new Int32Array(MOST_FEATURES * 2);
  const scores = new Float32Array(LONGEST_ROW * LABEL_COUNT);
  const mentions: Mention[] = [];
  for (let segment = 0; segment < segments.length; segment++) {
    const end = tokenStarts[segment + 1] ?? 0;
    for (let from = tokenStarts[segment] ?? 0; from < end; from += LONGEST_ROW) {
      const length = Math.min(LONGEST_ROW, end - from);
      for (let at = 0; at < length; at++) {
        const count = reader.read(from + at, features);
        scoreTokens(features, count, weights, scores, at * LABEL_COUNT);
      }
      const labels = bestLabels(scores, length, weights.steps);
      collect(labels, scores, from, segment);
    }
  }
  return mentions;

  function collect(labels: Int8Array, scores: Float32Array, from: number, segment: number): void {
    for (let at = 0; at < labels.length; at++) {
      const kind = kindOf(labels[at] ?? 0);
      if (kind === null) continue;
      let to = at + 1;
      while (to < labels.length && labels[to] !== 0 && !isFirst(labels[to] ?? 0)) to++;
      const [start, end] = [tokens[from + at]?.start ?? 0, tokens[from + to - 1]?.end ?? 0];
      const lead = (scores[at * LABEL_COUNT + (labels[at] ?? 0)] ?? 0) - (scores[at * LABEL_COUNT] ?? 0);
      const confidence = 1 / (1 + Math.exp(-lead / 40));
      mentions.push({ kind, from: from + at, to: from + to, start, end, segment, confidence });
      at = to - 1;
    }
  }
}
