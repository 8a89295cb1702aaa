/** A seeded source of choices: the same seed gives the same choices on every machine. */
export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** A whole number from least to most, both included. */
  int(least: number, most: number): number;
  /** True in `share` of all cases. */
  chance(share: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
  /** One of the keys, as often as its weight says. */
  weighted<Key extends string>(weights: Readonly<Record<Key, number>>): Key;
  shuffled<Item>(items: readonly Item[]): Item[];
  /** That many different items, or all of them. */
  some<Item>(items: readonly Item[], count: number): Item[];
}

/** Mulberry32: small, fast, and even enough for choosing words. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  const pick = <Item>(items: readonly Item[]): Item => {
    const item = items[Math.floor(next() * items.length)];
    if (item === undefined) throw new Error('A list to pick from is empty.');
    return item;
  };
  const shuffled = <Item>(items: readonly Item[]): Item[] => {
    const order = [...items];
    for (let at = order.length - 1; at > 0; at--) {
      const other = int(0, at);
      [order[at], order[other]] = [order[other] as Item, order[at] as Item];
    }
    return order;
  };
  return {
    next,
    int,
    chance: (share) => next() < share,
    pick,
    weighted: (weights) => {
      const entries = Object.entries(weights) as [keyof typeof weights, number][];
      let rest = next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [key, weight] of entries) {
        rest -= weight;
        if (rest < 0) return key;
      }
      return entries[0]?.[0] as keyof typeof weights;
    },
    shuffled,
    some: (items, count) => shuffled(items).slice(0, count),
  };
}
