import { bestLabels, scoreTokens, type TaggerWeights } from '../src/domain/documents/tagger/decode.ts';
import { LABEL_COUNT } from '../src/domain/documents/tagger/labels.ts';

/** One row of tokens with the features of each and the labels it should get. */
export interface Example {
  readonly features: readonly Int32Array[];
  readonly labels: Int8Array;
}

/** An averaged structured perceptron: small, exact in its updates, and the same every time. */
export function trainPerceptron(
  examples: readonly Example[],
  rounds: number,
  random: () => number,
): Map<number, Float32Array> & { steps?: Float32Array } {
  const rows = new Map<number, number>();
  for (const { features } of examples)
    for (const one of features)
      for (const feature of one) if (!rows.has(feature)) rows.set(feature, rows.size);
  const weights = new Float32Array(rows.size * LABEL_COUNT);
  const sums = new Float64Array(weights.length);
  const steps = new Float32Array((LABEL_COUNT + 1) * LABEL_COUNT);
  const stepSums = new Float64Array(steps.length);
  const model: TaggerWeights = {
    rowOf: (feature) => (rows.get(feature) ?? -1) * LABEL_COUNT,
    weights,
    steps,
  };
  let time = 1;
  const order = examples.map((_, at) => at);
  for (let round = 0; round < rounds; round++) {
    shuffle(order, random);
    let wrong = 0;
    for (const index of order) {
      const example = examples[index];
      if (example === undefined) continue;
      const length = example.labels.length;
      const scores = new Float32Array(length * LABEL_COUNT);
      example.features.forEach((features, at) => {
        scoreTokens(features, features.length, model, scores, at * LABEL_COUNT);
      });
      const guessed = bestLabels(scores, length, steps);
      if (guessed.some((label, at) => label !== example.labels[at])) {
        wrong++;
        update(example, guessed);
      }
      time++;
    }
    console.log(`round ${round + 1}: ${wrong} of ${examples.length} rows wrong`);
  }
  const averaged: Map<number, Float32Array> & { steps?: Float32Array } = new Map();
  for (const [feature, row] of rows) {
    const values = new Float32Array(LABEL_COUNT);
    for (let label = 0; label < LABEL_COUNT; label++) {
      const at = row * LABEL_COUNT + label;
      values[label] = (weights[at] ?? 0) - (sums[at] ?? 0) / time;
    }
    averaged.set(feature, values);
  }
  averaged.steps = steps.map((value, at) => value - (stepSums[at] ?? 0) / time);
  return averaged;

  function update({ features, labels }: Example, guessed: Int8Array): void {
    for (let at = 0; at < labels.length; at++) {
      const [right, guess] = [labels[at] ?? 0, guessed[at] ?? 0];
      const before = at === 0 ? LABEL_COUNT : (labels[at - 1] ?? 0);
      const guessedBefore = at === 0 ? LABEL_COUNT : (guessed[at - 1] ?? 0);
      if (right !== guess || before !== guessedBefore) {
        changeStep(before * LABEL_COUNT + right, 1);
        changeStep(guessedBefore * LABEL_COUNT + guess, -1);
      }
      if (right === guess) continue;
      for (const feature of features[at] ?? []) {
        const row = (rows.get(feature) ?? 0) * LABEL_COUNT;
        change(row + right, 1);
        change(row + guess, -1);
      }
    }
  }
  function change(at: number, by: number): void {
    weights[at] = (weights[at] ?? 0) + by;
    sums[at] = (sums[at] ?? 0) + by * time;
  }
  function changeStep(at: number, by: number): void {
    steps[at] = (steps[at] ?? 0) + by;
    stepSums[at] = (stepSums[at] ?? 0) + by * time;
  }
}

function shuffle(order: number[], random: () => number): void {
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [order[at], order[other]] = [order[other] as number, order[at] as number];
  }
}
