import { type Token, wordsOf } from './tokens.ts';

export interface Phrase<Value> {
  readonly words: readonly string[];
  readonly value: Value;
}

/** A phrase of a list, seen in a text: tokens `from` up to, not including, `to`. */
export interface SeenPhrase<Value> {
  readonly from: number;
  readonly to: number;
  readonly value: Value;
}

export interface PhraseBook<Value> {
  /** The longest phrases, from left to right, without overlaps. `accepts` may refuse one by its looks or place. */
  find(tokens: readonly Token[], accepts?: (seen: SeenPhrase<Value>) => boolean): SeenPhrase<Value>[];
  /** The value of exactly this phrase. */
  of(phrase: string): Value | undefined;
}

export function createPhraseBook<Value>(entries: Iterable<readonly [string, Value]>): PhraseBook<Value> {
  const byFirst = new Map<string, Phrase<Value>[]>();
  const whole = new Map<string, Value>();
  for (const [phrase, value] of entries) {
    const words = wordsOf(phrase);
    const first = words[0];
    const key = words.join(' ');
    if (first === undefined || whole.has(key)) continue;
    whole.set(key, value);
    const list = byFirst.get(first);
    if (list === undefined) byFirst.set(first, [{ words, value }]);
    else list.push({ words, value });
  }
  for (const list of byFirst.values()) list.sort((one, other) => other.words.length - one.words.length);

  return {
    of: (phrase) => whole.get(wordsOf(phrase).join(' ')),
    find: (tokens, accepts = () => true) => {
      const found: SeenPhrase<Value>[] = [];
      for (let at = 0; at < tokens.length; at++) {
        const candidates = byFirst.get(tokens[at]?.lower ?? '');
        if (candidates === undefined) continue;
        for (const { words, value } of candidates) {
          if (!standsAt(tokens, at, words)) continue;
          const seen = { from: at, to: at + words.length, value };
          if (!accepts(seen)) continue;
          found.push(seen);
          at += words.length - 1;
          break;
        }
      }
      return found;
    },
  };
}

/** A phrase may run over a wrapped line, but not over a full column: at most one change of segment. */
function standsAt(tokens: readonly Token[], at: number, words: readonly string[]): boolean {
  const first = tokens[at];
  const last = tokens[at + words.length - 1];
  if (first === undefined || last === undefined || last.segment - first.segment > 1) return false;
  for (let word = 1; word < words.length; word++) {
    if (tokens[at + word]?.lower !== words[word]) return false;
  }
  return true;
}
