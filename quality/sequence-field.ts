import { expectations, openLattice } from './lattice.ts';

/** One line: the features of each token as small numbers, and the labels that each may have, as bits. */
export interface FieldRow {
  readonly features: readonly Int32Array[];
  readonly allowed: Int32Array;
}

interface FieldOptions {
  readonly rounds: number;
  readonly rate: number;
  /** How strongly weights are drawn to nothing. */
  readonly shrink: number;
  /** The share of features that is hidden at random, so that no single word decides. */
  readonly hidden: number;
  readonly random: () => number;
}

export interface Field {
  /** A row of weights for each feature, a weight for each label. */
  readonly weights: Float32Array;
  /** A row for each label, and one for the beginning of a line. */
  readonly steps: Float32Array;
}

const LONGEST = 400;

/**
 * A conditional random field over the labels of a line, learnt by gradient (AdaGrad), averaged over the later rounds.
 * A token whose label is unknown may have several: what is learnt is then that one of them is right.
 */
export function trainField(
  rows: readonly FieldRow[],
  featureCount: number,
  labels: number,
  options: FieldOptions,
): Field {
  const weights = new Float32Array(featureCount * labels);
  const squares = new Float32Array(weights.length).fill(1e-4);
  const steps = new Float32Array((labels + 1) * labels);
  const stepSquares = new Float32Array(steps.length).fill(1e-4);
  const sum = { weights: new Float32Array(weights.length), steps: new Float32Array(steps.length), count: 0 };
  const lattice = openLattice(LONGEST, labels);
  const kept = Array.from({ length: LONGEST }, () => new Int32Array(512));
  const keptCounts = new Int32Array(LONGEST);
  const { random, hidden } = options;
  const scale = 1 / (1 - hidden);
  const order = rows.map((_, at) => at);
  for (let round = 0; round < options.rounds; round++) {
    shuffle(order, random);
    for (const index of order) {
      const row = rows[index];
      if (row === undefined) continue;
      const length = Math.min(LONGEST, row.features.length);
      score(row, length);
      if (!expectations(lattice, length, row.allowed, steps)) continue;
      for (let at = 0; at < length; at++) learn(at);
      for (let at = 0; at < steps.length; at++) {
        const gain = (lattice.stepGains[at] ?? 0) - options.shrink * (steps[at] ?? 0);
        if (lattice.stepGains[at] === 0) continue;
        stepSquares[at] = (stepSquares[at] ?? 0) + gain * gain;
        steps[at] = (steps[at] ?? 0) + (options.rate * gain) / Math.sqrt(stepSquares[at] ?? 1);
      }
    }
    if (round < options.rounds / 2) continue;
    sum.count++;
    for (let at = 0; at < weights.length; at++) sum.weights[at] = (sum.weights[at] ?? 0) + (weights[at] ?? 0);
    for (let at = 0; at < steps.length; at++) sum.steps[at] = (sum.steps[at] ?? 0) + (steps[at] ?? 0);
  }
  return {
    weights: sum.weights.map((value) => value / sum.count),
    steps: sum.steps.map((value) => value / sum.count),
  };

  function score(row: FieldRow, length: number): void {
    for (let at = 0; at < length; at++) {
      const features = row.features[at] ?? new Int32Array(0);
      const shown = kept[at] ?? new Int32Array(0);
      const from = at * labels;
      let count = 0;
      lattice.scores.fill(0, from, from + labels);
      for (const feature of features) {
        if (random() < hidden) continue;
        shown[count++] = feature;
        for (let label = 0; label < labels; label++)
          lattice.scores[from + label] =
            (lattice.scores[from + label] ?? 0) + (weights[feature * labels + label] ?? 0) * scale;
      }
      keptCounts[at] = count;
    }
  }

  function learn(at: number): void {
    const from = at * labels;
    let largest = 0;
    for (let label = 0; label < labels; label++)
      largest = Math.max(largest, Math.abs(lattice.gains[from + label] ?? 0));
    if (largest < 1e-3) return;
    const shown = kept[at] ?? new Int32Array(0);
    for (let index = 0; index < (keptCounts[at] ?? 0); index++) {
      const row = (shown[index] ?? 0) * labels;
      for (let label = 0; label < labels; label++) {
        const gain =
          (lattice.gains[from + label] ?? 0) * scale - options.shrink * (weights[row + label] ?? 0);
        if (gain > -1e-4 && gain < 1e-4) continue;
        const square = (squares[row + label] ?? 0) + gain * gain;
        squares[row + label] = square;
        weights[row + label] = (weights[row + label] ?? 0) + (options.rate * gain) / Math.sqrt(square);
      }
    }
  }
}

function shuffle(order: number[], random: () => number): void {
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [order[at], order[other]] = [order[other] as number, order[at] as number];
  }
}
