import { expect, test } from 'bun:test';
import { layOut } from '../text/layout.ts';
import { bestLabels, type TaggerWeights, tagMentions } from './decode.ts';

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

test('G-7 what the network says of a word is added to what the linear tagger says', () => {
  // A linear tagger that knows no feature, and steps by which most words are nothing.
  const mostlyNothing = { labels: LABELS, weights: Float32Array.from([2, 0, 0, 2, 0, 0, 2, 0, 0, 2, 0, 0]) };
  const weights: TaggerWeights<'name'> = {
    ...{ kinds: ['name'], reach: 'line', rowOf: () => -1, weights: new Int8Array(), scale: 1 },
    steps: mostlyNothing,
  };
  const laidOut = layOut('wrote Ada Byron');
  expect(tagMentions(laidOut, weights).mentions).toEqual([]);
  const name = Float32Array.from([0, -9, -9, -9, 0, -9, -9, -9, 0]);
  expect(tagMentions(laidOut, weights, name).mentions).toMatchObject([{ kind: 'name', from: 1, to: 3 }]);
  // A text of which only the beginning was scored: the rest has the linear tagger's word alone.
  expect(tagMentions(laidOut, weights, name.subarray(0, 6)).mentions).toMatchObject([{ from: 1, to: 2 }]);
});
