import { isFirst, OUTSIDE } from './labels.ts';

/** A weight for each step from one label to the next: a row for each label, and one for the beginning of a line. */
export interface Steps {
  readonly labels: number;
  readonly weights: Float32Array;
}

const NEVER = -1e9;

/**
 * The best row of labels by Viterbi; `scores` holds one for each label, token after token. `favours` is added to the
 * scores of each label: the larger a kind's is, the more of it is seen and the more of that is wrong.
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
      // A later token follows only its own kind; any label follows any for the others.
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
