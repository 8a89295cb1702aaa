/** The usual parameters. */
const K1 = 1.2;
const B = 0.75;

/** What BM25 gives each document for a query: words in lower case, as they stand. */
export function bm25Scores(
  query: string,
  documents: ReadonlyMap<string, string>,
): ReadonlyMap<string, number> {
  const counted = countedOf(documents);
  const lengths = counted.map(({ counts }) => [...counts.values()].reduce((sum, count) => sum + count, 0));
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length);
  const words = [...countsOf(query).keys()];
  const rarity = new Map(
    words.map((word) => {
      const having = counted.filter(({ counts }) => counts.has(word)).length;
      return [word, Math.log(1 + (counted.length - having + 0.5) / (having + 0.5))];
    }),
  );
  const scored = counted.map(({ id, counts }, at) => {
    const norm = K1 * (1 - B + (B * (lengths[at] ?? 0)) / average);
    let score = 0;
    for (const word of words) {
      const count = counts.get(word) ?? 0;
      score += ((rarity.get(word) ?? 0) * count * (K1 + 1)) / (count + norm);
    }
    return [id, score] as const;
  });
  return new Map(scored);
}

interface CountedDocument {
  readonly id: string;
  readonly counts: ReadonlyMap<string, number>;
}

const countedBefore = new WeakMap<ReadonlyMap<string, string>, readonly CountedDocument[]>();

/** Once for all queries. */
function countedOf(documents: ReadonlyMap<string, string>): readonly CountedDocument[] {
  const before = countedBefore.get(documents);
  if (before !== undefined) return before;
  const counted = [...documents].map(([id, text]) => ({ id, counts: countsOf(text) }));
  countedBefore.set(documents, counted);
  return counted;
}

function countsOf(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}+#]+/gu)) {
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}
