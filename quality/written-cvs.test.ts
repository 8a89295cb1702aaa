import { expect, test } from 'bun:test';
import { readWrittenCvs, withoutMarks } from './written-cvs.ts';

test('marks become spans of the text without them', () => {
  const { text, spans } = withoutMarks('one', '{N:Ada Okoro}\n{T:Nurse} at {C:Bloom}, 2019\n');
  expect(text).toBe('Ada Okoro\nNurse at Bloom, 2019\n');
  expect(spans.map(({ type, start, end }) => [type, text.slice(start, end)])).toEqual([
    ['name', 'Ada Okoro'],
    ['title', 'Nurse'],
    ['company', 'Bloom'],
  ]);
});

test.each(['{X:Bloom}', '{C:Bloom', 'Bloom}', '{C:}', '{C:Blo\nom}', '{C:{T:Nurse}}'])(
  'a broken mark is refused, with where it stands: %j',
  (marked) => {
    expect(() => withoutMarks('trades.txt:3', `Worked at ${marked}`)).toThrow(
      /^trades\.txt:3 has a mark that is not closed or of no known kind: Worked at /,
    );
  },
);

test('all written CVs can be read, have jobs, and no mark has a blank at its end', () => {
  const cvs = readWrittenCvs();
  expect(cvs).toHaveLength(719);
  expect(new Set(cvs.map(({ text }) => text)).size).toBe(cvs.length);
  const kinds = new Map<string, number>();
  for (const { text, spans } of cvs) {
    for (const { type, start, end } of spans) {
      expect(text.slice(start, end)).toBe(text.slice(start, end).trim());
      kinds.set(type, (kinds.get(type) ?? 0) + 1);
    }
  }
  expect([...kinds.keys()].toSorted()).toEqual([
    'company',
    'degree',
    'name',
    'place',
    'school',
    'skill',
    'title',
  ]);
  for (const { spans } of cvs) expect(spans.some(({ type }) => type === 'title')).toBe(true);
});
