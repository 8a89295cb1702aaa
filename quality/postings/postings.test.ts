import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { createEmbeddedEngine } from '../../src/domain/documents/embedded-engine.ts';
import { unproven } from '../../test/documents/recorded-documents.ts';
import { readLabelledPostings } from './labelled-postings.ts';
import { measurePostings } from './measure-postings.ts';

const engine = createEmbeddedEngine();
const SETS = ['looked-at', 'held-out', 'third'].map((name) =>
  readLabelledPostings(join(import.meta.dir, `${name}.txt`)),
);

test('G-8 whatever is read of a labelled posting is in its text, where its evidence points', () => {
  for (const { name, text } of SETS.flat()) {
    const parsed = engine.parsePosting(text);
    expect(unproven(text, parsed.posting, parsed), name).toEqual([]);
  }
});

test('the labels are values of their texts, and every posting has a title', () => {
  const squeezed = (text: string) => text.replace(/\s+/g, ' ');
  for (const { name, text, wanted } of SETS.flat()) {
    expect(wanted.title, name).toHaveLength(1);
    for (const field of ['title', 'company', 'must', 'nice', 'place'] as const)
      for (const value of wanted[field]) expect(squeezed(text), name).toContain(value);
  }
});

test('a posting that is read as labelled has no error; one that is not shows what was missed and made up', async () => {
  const wanted = {
    company: [],
    must: [],
    nice: [],
    pay: [],
    type: [],
    mode: [],
    place: [],
    months: [],
    level: [],
  };
  const posting = (title: string) => ({
    name: title,
    text: 'Welder wanted, Leeds, £15/h',
    wanted: { ...wanted, title: [title], place: ['Leeds'], pay: ['GBP 15 to 15 HOUR'] },
  });
  const { errors, fields } = await measurePostings([posting('Welder'), posting('Baker')], (text) =>
    engine.parsePosting(text),
  );
  expect(errors).toEqual([{ posting: 'Baker', field: 'title', missed: ['baker'], extra: ['welder'] }]);
  expect(fields.find(({ field }) => field === 'title')).toMatchObject({
    labels: 2,
    precision: 0.5,
    recall: 0.5,
  });
});
