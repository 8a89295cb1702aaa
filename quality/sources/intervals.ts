import { type Figures, figuresOf, type Tally } from '../score.ts';

export interface Interval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

const ROUNDS = 1000;
const SEED = 22;

/**
 * F1 over all documents with its 95 % interval: documents are drawn with replacement, because the values of one document are
 * right or wrong together. The seed is fixed, so that the same figures give the same interval.
 */
export function f1Interval(documents: readonly Tally[]): Interval & { readonly figures: Figures } {
  const figures = figuresOf(sum(documents, documents.length, (at) => at));
  return {
    figures,
    value: figures.f1,
    ...bounds(documents, (draw) => figuresOf(sum(documents, documents.length, draw)).f1),
  };
}

/** The share of documents that are right, with its 95 % interval. */
export function shareInterval(isRight: readonly boolean[]): Interval {
  const share = (draw: (at: number) => number) => {
    let right = 0;
    for (let at = 0; at < isRight.length; at++) if (isRight[draw(at)] === true) right++;
    return isRight.length === 0 ? 0 : right / isRight.length;
  };
  return { value: share((at) => at), ...bounds(isRight, share) };
}

/** The 95 % interval of what is measured over documents that are drawn with replacement. */
export function bounds(documents: readonly unknown[], measure: Measure): { low: number; high: number } {
  if (documents.length === 0) return { low: 0, high: 0 };
  const values = drawnValues(documents, measure).toSorted((one, other) => one - other);
  return { low: values[Math.floor(ROUNDS * 0.025)] ?? 0, high: values[Math.ceil(ROUNDS * 0.975) - 1] ?? 0 };
}

/** The share of the same drawings in which what is measured is at least `aim`. */
export function shareReaching(aim: number, documents: readonly unknown[], measure: Measure): number {
  if (documents.length === 0) return 0;
  return drawnValues(documents, measure).filter((value) => value >= aim).length / ROUNDS;
}

type Measure = (draw: (at: number) => number) => number;

function drawnValues(documents: readonly unknown[], measure: Measure): readonly number[] {
  const random = randomFrom(SEED);
  return Array.from({ length: ROUNDS }, () => measure(() => Math.floor(random() * documents.length)));
}

function sum(documents: readonly Tally[], count: number, draw: (at: number) => number): Tally {
  const all: Tally = { right: 0, extra: 0, missed: 0 };
  for (let at = 0; at < count; at++) {
    const one = documents[draw(at)];
    if (one === undefined) continue;
    all.right += one.right;
    all.extra += one.extra;
    all.missed += one.missed;
  }
  return all;
}

/** mulberry32: small, seeded, good enough to draw documents with. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
