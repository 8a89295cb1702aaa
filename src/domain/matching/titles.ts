import { GENERAL, IGNORED, PHRASES, RANKS, SAME } from './title-words.ts';
import { stem } from './words-of.ts';

export interface TitleShape {
  /** The words of the work, without those of rank; each once. */
  readonly words: readonly string[];
  readonly rank: number;
}

/** "(m/f/d)" and "(all genders)" are no part of the work; "(Python)" is. */
export function shapeOfTitle(title: string): TitleShape {
  const text = title
    .slice(0, 200)
    .toLowerCase()
    .replace(/\((?:[mwfdxhi](?:[/|*-][mwfdxhi])+|[^)]*\bgenders?)\)/g, ' ')
    // Who does both is at home in either.
    .replace(/\bfull[ -]?stack\b/g, 'frontend backend')
    .replace(PHRASES, (phrase) => phrase.replaceAll(' ', '-'));
  let rank = 3;
  const words = new Set<string>();
  const all = [...text.matchAll(/[\p{L}\p{N}+#./-]+/gu)].map(([word]) =>
    word.replace(/^[./-]+|[./-]+$/g, ''),
  );
  for (const [at, plain] of all.entries()) {
    const ranked = RANKS[plain];
    // "Principal Engineer" is a rank, "Assistant Principal" is what somebody does.
    const isRank = ranked !== undefined && !(plain === 'principal' && at === all.length - 1);
    if (isRank) rank = ranked === 2 ? rank : ranked;
    else if (plain.length > 1 && !IGNORED.has(plain)) words.add(SAME[plain] ?? stem(plain));
  }
  return { words: [...words], rank };
}

const GENERAL_WEIGHT = 0.3;

function weightOf(word: string): number {
  return GENERAL.has(word) ? GENERAL_WEIGHT : 1;
}

/** 0 to 1: how much of both titles is the same, by weight. */
export function titleCloseness(one: TitleShape, other: TitleShape): number {
  let [both, all] = [0, 0];
  for (const word of one.words) {
    const weight = weightOf(word);
    all += weight;
    if (other.words.includes(word)) both += weight;
  }
  for (const word of other.words) if (!one.words.includes(word)) all += weightOf(word);
  if (all === 0) return 0;
  const share = both / all;
  // Half of the words in common is far more than half of the work in common.
  return Math.min(1, share ** 0.6);
}
