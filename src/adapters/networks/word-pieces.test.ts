import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { readWordPieces } from './network-files.ts';

interface RecordedText {
  readonly text: string;
  readonly ids: number[];
  /** In UTF-16 units. */
  readonly offsets: (number | undefined)[][];
}

/** What the library that the networks were trained with (`tokenizers` 0.23.3 of PyPI) makes of these texts. */
const recorded = readFileSync('test/recorded/word-pieces/bert-uncased.jsonl', 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as RecordedText);

describe('pieces of a text', () => {
  const pieces = readWordPieces();

  test('match the library that the networks were trained with, with the same positions', () => {
    expect(recorded.length).toBeGreaterThan(50);
    for (const { text, ids, offsets } of recorded) {
      const { starts, ends, ...encoded } = pieces.encode(text);
      const places = starts.map((start, at) => [start, ends[at]]);
      expect({ text, ids: [...encoded.ids], offsets: places }).toEqual({ text, ids, offsets });
    }
  });

  test('of names of special pieces are those of their letters', () => {
    const { ids } = pieces.encode('[SEP][CLS]');
    expect(ids).not.toContain(101);
    expect(ids).not.toContain(102);
  });

  test('lone surrogates are dropped', () => {
    expect(pieces.encode('a\ud800b').ids).toEqual(pieces.encode('ab').ids);
  });
});
