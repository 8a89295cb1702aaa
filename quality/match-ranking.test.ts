import { expect, test } from 'bun:test';
import type { Comparison } from '../src/domain/matching/scoring/score-pair.ts';
import type { JudgedQuery } from './match-folder.ts';
import { linesOf } from './match-ranking.ts';

const PAIR: Comparison = {
  ...{ skills: null, used: null, titles: null, experience: null, education: null, speech: null, place: null },
  ...{ byVectors: null, isEnough: true, mustCount: 0, mustMet: 0, mustShare: null, isMustGiven: true },
  ...{ byWords: 0, skillSureness: 1 },
};

/** One right document of two; `matching` and `bm25` say whether it comes first. */
function query(name: string, matching: boolean, bm25: boolean): JudgedQuery {
  return {
    name,
    documents: [
      { grade: 3, pair: { ...PAIR, byWords: matching ? 0.9 : 0.1 }, bm25: bm25 ? 2 : 0 },
      { grade: 0, pair: { ...PAIR, byWords: 0.5 }, bm25: 1 },
    ],
  };
}

function matchingRow(queries: readonly JudgedQuery[]): readonly string[] {
  const lines = linesOf({ name: 'set', jobs: 8, cvs: 2, refused: 0, isByCv: false, queries });
  const row = lines.find((line) => line.startsWith('matching  ')) ?? '';
  return row.trim().split(/\s+/).slice(1);
}

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

test('a ratio to BM25 has an interval, and the share of drawings in which the aim is met', () => {
  // The same queries are drawn for both rankings: where both are alike, the ratio is certain.
  const alike = matchingRow(names.map((name, at) => query(name, at < 4, at < 4)));
  expect(alike.slice(-3)).toEqual(['1.000', '1.000–1.000', '0.000']);
  const better = matchingRow(names.map((name) => query(name, true, false)));
  expect(better.slice(-3)).toEqual(['2.000', '2.000–2.000', '1.000']);
  // Better in one query of eight: that query may be drawn twice, or not at all.
  const once = matchingRow(names.map((name, at) => query(name, true, at > 0)));
  const [ratio, interval, share] = once.slice(-3);
  expect([ratio, interval?.split('–')[0]]).toEqual(['1.067', '1.000']);
  expect(Number(interval?.split('–')[1])).toBeGreaterThan(1.15);
  expect(Number(share)).toBeGreaterThan(0.05);
  expect(Number(share)).toBeLessThan(0.5);
});
