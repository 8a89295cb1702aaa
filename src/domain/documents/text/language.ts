import type { DocumentLanguage } from '../document-facts.ts';
import words from '../words/stop-words.json' with { type: 'json' };
import type { Token } from './tokens.ts';

const SETS = Object.entries(words).map(([code, list]) => ({
  code: code as DocumentLanguage,
  words: new Set(list.split(' ')),
}));

/** The first thousands of words tell the language as well as all of them. */
const MOST_TOKENS = 4000;
const LEAST_HITS = 4;

/** By the small words that each language has most of. A word that several share counts less. */
export function guessLanguage(tokens: readonly Token[]): DocumentLanguage {
  const points = new Map<DocumentLanguage, number>();
  let hits = 0;
  for (const { lower, kind } of tokens.slice(0, MOST_TOKENS)) {
    if (kind !== 'word') continue;
    const having = SETS.filter((one) => one.words.has(lower));
    if (having.length === 0) continue;
    hits++;
    for (const { code } of having) points.set(code, (points.get(code) ?? 0) + 1 / having.length);
  }
  if (hits < LEAST_HITS) return 'und';
  const [best] = [...points].sort((one, other) => other[1] - one[1]);
  return best?.[0] ?? 'und';
}
