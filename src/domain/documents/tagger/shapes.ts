import type { Token } from '../text/tokens.ts';
import { hashOf } from './feature-hash.ts';

const CAPITALISED = /^\p{Lu}\p{Ll}+$/u;
const CAPITALS = /^\p{Lu}+$/u;
const SMALL = /^\p{Ll}+$/u;

/** Where the shapes of words begin; below are numbers, marks and the whole places (dates, links, addresses). */
const WORDS = 512;

/** How a token looks: which letters are large, whether it has digits, which mark it is. */
export function shapeOf({ text, kind }: Token): number {
  if (kind === 'number') return text.length === 4 ? 11 : 1;
  if (kind === 'mark') return 20 + (hashOf(text) % 97);
  if (kind !== 'word') return 120 + kind.length;
  if (CAPITALISED.test(text)) return WORDS;
  if (CAPITALS.test(text)) return text.length === 1 ? WORDS + 1 : text.length <= 4 ? WORDS + 2 : WORDS + 7;
  if (SMALL.test(text)) return WORDS + 3;
  if (/\p{N}/u.test(text)) return WORDS + 4;
  return /^\p{Lu}/u.test(text) ? WORDS + 5 : WORDS + 6;
}

/** The shape in four bits: 0 to 7 for words, 9 for all else. */
export function shapeClass(shape: number): number {
  return shape >= WORDS ? shape - WORDS : 9;
}

export function isHighShape(shape: number): boolean {
  return shape >= WORDS && shape !== WORDS + 3 && shape !== WORDS + 4 && shape !== WORDS + 6;
}
