import type { LaidOutText } from '../text/layout.ts';
import { createFeatureReader, type FeatureReach, MOST_FEATURES } from './features.ts';

/** The kinds of mention that a token of a CV can belong to. */
export const CV_KINDS = ['name', 'title', 'company', 'school', 'degree', 'place', 'skill'] as const;
/** The kinds of mention that a token of a posting can belong to: an ability, or knowledge. */
export const POSTING_KINDS = ['ability', 'knowledge'] as const;

export type MentionKind = (typeof CV_KINDS)[number];
export type PostingKind = (typeof POSTING_KINDS)[number];

/** 0 is outside; each kind then has a label for its first token and one for the following tokens. */
const OUTSIDE = 0;

export function labelCount(kinds: readonly string[]): number {
  return 1 + 2 * kinds.length;
}

export function firstLabel<Kind extends string>(kinds: readonly Kind[], kind: Kind): number {
  return 1 + 2 * kinds.indexOf(kind);
}

function isFirst(label: number): boolean {
  return label % 2 === 1;
}

function labelKind<Kind extends string>(kinds: readonly Kind[], label: number): Kind | null {
  return label === OUTSIDE ? null : (kinds[(label - 1) >> 1] ?? null);
}

/** A linear model: a row of weights for each feature, and a weight for each transition between labels. */
export interface TaggerWeights<Kind extends string = MentionKind> {
  readonly kinds: readonly Kind[];
  readonly reach: FeatureReach;
  /** The offset of a feature's row in `weights`, or -1; a row has one weight per label. */
  rowOf(feature: number): number;
  readonly weights: Int8Array;
  /** The value of one unit of a weight: bytes are summed as integers, and only the sums are converted to scores. */
  readonly scale: number;
  readonly steps: Steps;
}

export interface Mention<Kind extends string = MentionKind> {
  readonly kind: Kind;
  /** Tokens `from` to `to`, exclusive. */
  readonly from: number;
  readonly to: number;
  readonly start: number;
  readonly end: number;
  readonly segment: number;
  /** How far the chosen label leads over "outside", 0 to 1. */
  readonly confidence: number;
  /** Set if a label next to it names its kind. */
  readonly isLabelled?: true;
}

export interface Tagged<Kind extends string = MentionKind> {
  readonly mentions: Mention<Kind>[];
  /** Whether any of these tokens may be of a kind: a rule's finding is then accepted. */
  isLikely(kind: Kind, from: number, to: number): boolean;
}

/**
 * A network's log-probabilities for the same tokens: a row for each token and a column for each label. Tokens after its
 * last row are scored by the linear model only.
 */
export type NetworkScores = Float32Array;

/** More than any CV or posting has; later tokens are ignored. */
const MOST_TOKENS = 60_000;
/** Longer lines are read in pieces, so that the work per piece is limited. */
const LONGEST_ROW = 400;
/**
 * How much a kind is favoured over "outside", chosen on the tuning part: labellers omit more companies than skills.
 * Mentions found only with LIKELY instead are accepted only with additional evidence.
 */
const FAVOURS: Readonly<Record<string, number>> = { name: 0.3, company: 0.7, degree: 0.4, skill: -0.4 };
const USUAL = 0.6;
const LIKELY = 2.5;
/** The weights of both models if there is a network, chosen on CVs of other sources that may be inspected. */
const LINEAR_SHARE = 0.6;
const NETWORK_SHARE = 1.3;

export function tagMentions<Kind extends string>(
  laidOut: LaidOutText,
  weights: TaggerWeights<Kind>,
  network: NetworkScores | null = null,
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
        if (network !== null) addScores(network, (from + at) * count, scores, at * count, count);
      }
      const seen = bestLabels(scores, length, steps, eager);
      likely.set(seen, from);
      // Without any label at the higher favour there is none at the lower one.
      if (seen.some((label) => label !== OUTSIDE))
        collect(bestLabels(scores, length, steps, sure), from, segment);
    }
  }
  return {
    mentions,
    isLikely: (kind, from, to) => {
      for (let at = from; at < to; at++) if (labelKind(kinds, likely[at] ?? 0) === kind) return true;
      return false;
    },
  };

  function collect(labels: Int8Array, from: number, segment: number): void {
    for (let at = 0; at < labels.length; at++) {
      const label = labels[at] ?? 0;
      const kind = labelKind(kinds, label);
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
    const kind = labelKind(kinds, label);
    return kind === null ? 0 : favour(kind);
  });
}

/** Sums integers, because the rows of all features then fit into the processor's cache. */
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

/** Both are log-probabilities, so their weighted sum combines them. */
function addScores(
  network: NetworkScores,
  from: number,
  into: Float32Array,
  row: number,
  count: number,
): void {
  if (from + count > network.length) return;
  for (let label = 0; label < count; label++)
    into[row + label] =
      LINEAR_SHARE * (into[row + label] as number) + NETWORK_SHARE * (network[from + label] as number);
}

/** A weight for each transition between labels: a row for each label, and one for the start of a line. */
interface Steps {
  readonly labels: number;
  readonly weights: Float32Array;
}

const NEVER = -1e9;

/**
 * The best sequence of labels by Viterbi; `scores` has one value per label, token after token. `favours` is added to
 * the scores of each label: a larger value finds more mentions of its kind, but also more wrong ones.
 */
export function bestLabels(
  scores: Float32Array,
  length: number,
  { labels: count, weights }: Steps,
  favours: Float32Array,
): Int8Array {
  const best = new Float32Array(length * count);
  const back = new Int8Array(length * count);
  for (let label = 0; label < count; label++) {
    const isAllowed = label === OUTSIDE || isFirst(label);
    const score = (scores[label] ?? 0) + (favours[label] ?? 0) + (weights[count * count + label] ?? 0);
    best[label] = isAllowed ? score : NEVER;
  }
  for (let at = 1; at < length; at++) {
    const [row, above] = [at * count, (at - 1) * count];
    for (let label = 0; label < count; label++) {
      // A label for following tokens can only follow its own kind; the other labels can follow any.
      const isLater = label !== OUTSIDE && !isFirst(label);
      const most = isLater ? label : count - 1;
      let top = NEVER * 2;
      let from = 0;
      for (let previous = isLater ? label - 1 : 0; previous <= most; previous++) {
        const score = (best[above + previous] as number) + (weights[previous * count + label] as number);
        if (score > top) {
          top = score;
          from = previous;
        }
      }
      best[row + label] = top + (scores[row + label] ?? 0) + (favours[label] ?? 0);
      back[row + label] = from;
    }
  }
  return tracedBack(best, back, length, count);
}

function tracedBack(best: Float32Array, back: Int8Array, length: number, count: number): Int8Array {
  const labels = new Int8Array(length);
  const row = (length - 1) * count;
  let last = 0;
  for (let label = 1; label < count; label++)
    if ((best[row + label] ?? 0) > (best[row + last] ?? 0)) last = label;
  for (let at = length - 1; at >= 0; at--) {
    labels[at] = last;
    last = back[at * count + last] ?? 0;
  }
  return labels;
}
