import { expect, test } from 'bun:test';
import { isTooDeep, MOST_LEVELS } from './json-depth.ts';

const nested = (levels: number, inner = '') =>
  `${'[{"a":'.repeat(levels / 2)}1${inner}${'}]'.repeat(levels / 2)}`;

test('the maximum depth passes, and one more level is too deep', () => {
  expect(isTooDeep(nested(MOST_LEVELS))).toBe(false);
  expect(isTooDeep(`[${nested(MOST_LEVELS)}]`)).toBe(true);
  expect(isTooDeep('['.repeat(MOST_LEVELS + 1))).toBe(true);
});

test('brackets in strings, and in sequence, do not count', () => {
  const brackets = '[{'.repeat(MOST_LEVELS);
  const texts = [brackets, `"${brackets}`, `\\${brackets}`, `\\"${brackets}\\`, `${brackets}\\\\"`];
  expect(isTooDeep(JSON.stringify(texts))).toBe(false);
  expect(isTooDeep(`[${JSON.stringify(texts)},${nested(MOST_LEVELS)}]`)).toBe(true);
  expect(isTooDeep(JSON.stringify(Array.from({ length: 2 * MOST_LEVELS }, () => [{}])))).toBe(false);
});
