import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { measureAnswers } from './measure-answers.ts';

test('G-7 G-8 the check against the text drops what models make up, and loses nothing that the text says', () => {
  const { answers, dropped, fields } = measureAnswers(join(import.meta.dir, '..'));
  const all = fields.find(({ field }) => field === 'all');
  expect(answers).toBe(16);
  expect(dropped).toBeGreaterThan(60);
  expect(all?.claimed.precision).toBeLessThan(0.75);
  expect(all?.checked.precision).toBeGreaterThan(0.95);
  for (const { field, claimed, checked } of fields) {
    expect(checked.precision, field).toBeGreaterThanOrEqual(claimed.precision);
    expect(checked.recall, field).toBeGreaterThanOrEqual(claimed.recall);
  }
});
