import { cosine, type StoredVector } from './facts.ts';

/** Cosines of a model: of an unrelated CV and posting, and of a CV and posting that say the same. */
interface Span {
  readonly far: number;
  readonly near: number;
}

/**
 * By a part of the model's name. Cosine ranges differ by model; without scaling, they could not be combined with words.
 */
const SPANS: readonly (readonly [RegExp, Span])[] = [
  [/bge/iu, { far: 0.5, near: 0.9 }],
  [/e5|gte/iu, { far: 0.7, near: 0.95 }],
];
const USUAL: Span = { far: 0.35, near: 0.9 };

/** 0 to 1; null if one is missing or they cannot be compared. */
export function closenessOfVectors(one: StoredVector | null, other: StoredVector | null): number | null {
  const cos = cosine(one, other);
  if (cos === null || one === null) return null;
  const { far, near } = spanOf(one.model);
  return Math.min(1, Math.max(0, (cos - far) / (near - far)));
}

const known = new Map<string, Span>();
const MOST_KNOWN = 100;

/** Cached per model, so that it is not looked up for every pair. */
function spanOf(model: string): Span {
  const before = known.get(model);
  if (before !== undefined) return before;
  const span = SPANS.find(([name]) => name.test(model))?.[1] ?? USUAL;
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(model, span);
  return span;
}
