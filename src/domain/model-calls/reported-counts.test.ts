import { expect, test } from 'bun:test';
import type { JsonObject } from '../../ports/json-object.ts';
import { highestCounts } from './reported-counts.ts';

const nested = (levels: number): JsonObject => (levels === 0 ? { n: 1 } : { deeper: nested(levels - 1) });

test('G-28 whatever the chunks of a stream bring as usage, little of it is kept', () => {
  let kept: JsonObject | null = null;
  for (let chunk = 0; chunk < 500; chunk++) {
    const names = Array.from({ length: 40 }, (_, index) => [`count_${chunk}_${index}`, chunk]);
    kept = highestCounts(kept, {
      completion_tokens: chunk,
      ...Object.fromEntries(names),
      ...{ note: 'x'.repeat(10_000), list: names, ['n'.repeat(10_000)]: 1 },
      prompt_tokens_details: { [`part_${chunk}`]: 'x'.repeat(10_000), ...nested(200) },
    });
  }
  expect(kept?.completion_tokens).toBe(499);
  expect(JSON.stringify(kept).length).toBeLessThan(5_000);
  expect(() => JSON.stringify(highestCounts(kept, nested(5_000)))).not.toThrow();
});

test('G-28 a count that is wrong stays wrong until a valid one is reported', () => {
  const wrong = highestCounts(null, { completion_tokens: '12' });
  expect(wrong).toEqual({ completion_tokens: Number.NaN });
  expect(highestCounts(wrong, { completion_tokens: 12 })).toEqual({ completion_tokens: 12 });
});
