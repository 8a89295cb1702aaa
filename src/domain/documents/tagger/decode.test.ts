import { expect, test } from 'bun:test';
import { bestLabels } from './decode.ts';

/** One kind: 0 is nothing, 1 a first token, 2 a later one. */
const LABELS = 3;
const steps = { labels: LABELS, weights: new Float32Array((LABELS + 1) * LABELS) };
const none = new Float32Array(LABELS);

test('G-7 a later token never stands without a first one, whatever its score', () => {
  const scores = Float32Array.from([1, 0, 9, 1, 0, 9]);
  expect([...bestLabels(scores, 2, steps, none)]).toEqual([1, 2]);
  expect([...bestLabels(Float32Array.from([5, 0, 6]), 1, steps, none)]).toEqual([0]);
});

test('G-7 a kind that is favoured is seen earlier', () => {
  const scores = Float32Array.from([1, 0, 0]);
  expect([...bestLabels(scores, 1, steps, none)]).toEqual([0]);
  expect([...bestLabels(scores, 1, steps, Float32Array.from([0, 2, 2]))]).toEqual([1]);
});

test('G-7 a step that was learnt decides where the scores do not', () => {
  const weights = new Float32Array((LABELS + 1) * LABELS);
  // From a first token on to a later one.
  weights[1 * LABELS + 2] = 3;
  const scores = Float32Array.from([0, 1, 0, 1, 0, 0]);
  expect([...bestLabels(scores, 2, { labels: LABELS, weights }, none)]).toEqual([1, 2]);
});
