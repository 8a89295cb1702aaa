/** A random source that a failed test can repeat: the same seed gives the same numbers (mulberry32). */
export interface SeededRandom {
  /** From 0 up to, not including, `bound`. */
  below(bound: number): number;
  pick<T>(choices: readonly T[]): T;
  /** Characters out of `alphabet`. */
  text(length: number, alphabet?: string): string;
}

const LETTERS_AND_DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

export function createSeededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const below = (bound: number) => Math.floor(next() * bound);
  return {
    below,
    pick: (choices) => choices[below(choices.length)] as (typeof choices)[number],
    text: (length, alphabet = LETTERS_AND_DIGITS) =>
      Array.from({ length }, () => alphabet[below(alphabet.length)]).join(''),
  };
}
