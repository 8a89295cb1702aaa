import levels from './word-rarity.json' with { type: 'json' };

/**
 * What a word tells about the work: 0 for one that every CV and posting has, 1 for one that hardly any has. By how many
 * documents have it, of CVs and postings that are free to use; `bun quality/word-rarity.ts FOLDER` counts them anew. A
 * word that is not in the list is rare. The list is fixed, so that a score depends on its talent and its job alone.
 */
const STEPS = 9;
const rarities = new Map(
  Object.entries(levels).flatMap(([level, words]) =>
    words.split(' ').map((word) => [word, (Number(level) / STEPS) ** 1.5] as const),
  ),
);

export function wordRarity(stemmed: string): number {
  return rarities.get(stemmed) ?? 1;
}
