import { expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ParsedCv } from '../../src/domain/documents/parsed-document.ts';
import { readCompletelyLabelled } from './complete-labels.ts';
import { readDataturks, skillsIn } from './dataturks.ts';
import { f1Interval, shareInterval } from './intervals.ts';
import { agreementOf } from './label-agreement.ts';
import { isoMonth, labelSpan, lastMonth, monthsOf } from './label-months.ts';
import { readLabelStudio, readPassages } from './marked-spans.ts';
import { measureSource } from './measure-sources.ts';
import { placeLabels } from './place-labels.ts';

test('an interval holds its value, narrows with more documents, and is the same each time', () => {
  const documents = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ right: at % 3, extra: at % 2, missed: (at + 1) % 2 }));
  const [few, many] = [f1Interval(documents(12)), f1Interval(documents(240))];
  expect(few.low).toBeLessThan(few.value);
  expect(few.high).toBeGreaterThan(few.value);
  expect(many.high - many.low).toBeLessThan((few.high - few.low) / 2);
  expect(f1Interval(documents(12))).toEqual(few);
  expect(shareInterval([true, true, true, false]).value).toBe(0.75);
  expect(f1Interval([])).toMatchObject({ value: 0, low: 0, high: 0 });
});

test('spans of labels are counted once each, and only where they cannot be misread', () => {
  const spans = ['Jan 2015 to March 2016', 'February 2016 - Present'].map((label) => labelSpan(label));
  expect(spans).toEqual([
    { from: 2015 * 12 + 1, to: 2016 * 12 + 3 },
    { from: 2016 * 12 + 2, to: null },
  ]);
  expect(
    monthsOf(
      spans.filter((span) => span !== null),
      2016 * 12 + 12,
    ),
  ).toBe(24);
  expect(monthsOf([labelSpan('2015 to 2018') ?? { from: 0, to: 0 }], 2020 * 12)).toBe(36);
  expect(monthsOf([labelSpan('2015 to 2015') ?? { from: 0, to: 0 }], 2020 * 12)).toBe(6);
  expect(isoMonth(lastMonth([{ from: 2016 * 12 + 2, to: null }]))).toBe('2016-12');
  for (const label of ['three years', '03/04 to 05/06', 'Summer 2015', 'Foo 2015 to Bar 2016'])
    expect(labelSpan(label)).toBeNull();
});

test('a block of skills is read item by item', () => {
  expect(
    skillsIn(
      '• Programming language: C, C++ (2 years)\n• Oracle PeopleSoft.\nAble to work under pressure in every team',
    ),
  ).toEqual(['C', 'C++', 'Oracle PeopleSoft']);
});

test('the sets are read by what their labels repeat, not by their offsets', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sources-'));
  try {
    const point = (text: string) => [{ start: 90, end: 99, text }];
    const content =
      'Ada Example\n\nWORK EXPERIENCE\n\nTester\n\nBlue Harbour\n\nMay 2014 to June 2015\n\nEDUCATION\n2012 to 2013';
    const line = {
      content,
      annotation: [
        { label: ['Name'], points: point(' Ada Example\n') },
        { label: ['Companies worked at'], points: point('Blue Harbour') },
        { label: [], points: point('x') },
      ],
    };
    writeFileSync(join(folder, 'cvs.jsonl'), `${JSON.stringify(line)}\n${JSON.stringify(line)}\n`);
    expect(readDataturks(join(folder, 'cvs.jsonl'))).toEqual([
      {
        name: 'dataturks-001',
        text: content,
        values: { name: ['Ada Example'], companies: ['Blue Harbour'], 'e-mail': [] },
        months: 14,
        today: '2015-06',
      },
    ]);
    const mark = (label: string, text: string) => ({ value: { labels: [label], text } });
    const text = 'Tester Blue Harbour May 2014 to June 2015 Masters in Physics Town College';
    const result = [
      mark('designation', 'Tester '),
      mark('company_name', 'Blue Harbour'),
      mark('work_year', 'May 2014 to June 2015'),
      mark('higher_education', 'Masters in Physics'),
      mark('company_name', 'not there'),
    ];
    writeFileSync(
      join(folder, 'one.json'),
      JSON.stringify([{ id: 7, data: { text }, annotations: [{ result: result.slice(0, 4) }] }]),
    );
    expect(readLabelStudio(folder)).toEqual([
      {
        name: 'task-7',
        text,
        values: { titles: ['Tester'], companies: ['Blue Harbour'], degrees: ['Masters in Physics'] },
        months: 14,
        today: '2015-06',
      },
    ]);
    rmSync(join(folder, 'one.json'));
    const long = 'Tested every part of the harbour software and wrote down what went wrong. '.repeat(6);
    writeFileSync(join(folder, '2.json'), JSON.stringify({ annotations: [[long, { entities: [] }]] }));
    writeFileSync(
      join(folder, '1.json'),
      JSON.stringify({
        annotations: [
          [
            'ADA EXAMPLE Tester',
            {
              entities: [
                [0, 11, 'PERSON_NAME'],
                [12, 18, 'JOB_TITLE'],
              ],
            },
          ],
        ],
      }),
    );
    expect(readPassages(folder)).toEqual([
      {
        name: 'passages-1',
        text: `ADA EXAMPLE Tester\n${long}`,
        values: { name: ['ADA EXAMPLE'], titles: ['Tester'] },
      },
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const EMPTY = {
  document: { kind: 'cv', language: 'en', confidence: 1, warnings: [] },
  evidence: [],
} as const;

function parsed(basics: { name?: string; email?: string; phone?: string }, months: number): ParsedCv {
  return {
    ...EMPTY,
    evidence: [],
    document: { ...EMPTY.document, warnings: [] },
    profile: {
      basics: {
        name: null,
        label: null,
        email: null,
        phone: null,
        url: null,
        summary: null,
        location: null,
        profiles: [],
        ...basics,
      },
      work: [],
      education: [],
      skills: [],
      languages: [],
      certificates: [],
      projects: [],
      total_months_experience: months,
      current_title: null,
      current_company: null,
      highest_degree_level: null,
    },
  };
}

test('only what a CV labels counts, e-mail addresses to the letter and telephone numbers to the digit', async () => {
  const cvs = [
    {
      name: 'a',
      text: 'a',
      values: { 'e-mail': ['ada@example.com'], phone: ['+49 (0)30 123 4567'] },
      months: 100,
    },
    { name: 'b', text: 'b', values: { 'e-mail': [] }, months: 10 },
    { name: 'c', text: 'c', values: {} },
  ];
  const records: Record<string, ParsedCv> = {
    a: parsed({ name: 'Ada', email: 'adaexample.com', phone: '030 1234567' }, 109),
    b: parsed({ email: 'ben@example.com' }, 12),
    c: parsed({ email: 'cy@example.com' }, 3),
  };
  const reader = { name: 'recorded', read: (text: string) => records[text] ?? parsed({}, 0) };
  const { fields, errors } = await measureSource({ name: 's', look: [], report: cvs }, 'report', reader);
  const figures = Object.fromEntries(fields.map(({ field, strict }) => [field, strict.value]));
  expect(figures).toEqual({ 'e-mail': 0, phone: 1, months: 0.5 });
  expect(errors.map(({ cv, field }) => `${cv} ${field}`)).toEqual(['a e-mail', 'b e-mail', 'b months']);
});

test('a spoken language of the record counts among the skills where the set has it there, and is not made up elsewhere', async () => {
  const skill = (name: string) => ({ name, canonical: null });
  const record = parsed({}, 0);
  const spoken = {
    ...record,
    profile: record.profile && {
      ...record.profile,
      skills: [skill('SQL')],
      languages: ['French', 'Thai'].map((language) => ({ language, fluency: null })),
    },
  };
  const reader = { name: 'recorded', read: () => spoken };
  const figures = async (skills: string[]) => {
    const report = [{ name: 'a', text: 'a', values: { skills } }];
    const { fields } = await measureSource({ name: 's', look: [], report }, 'report', reader);
    return fields.map(({ precision, recall }) => ({ precision, recall }));
  };
  expect(await figures(['SQL'])).toEqual([{ precision: 1, recall: 1 }]);
  expect(await figures(['SQL', 'french', 'Java'])).toEqual([{ precision: 1, recall: 2 / 3 }]);
});

/** CVs are known by the hash of their names: those of `a` and `b`. */
const [A, B] = ['ca978112ca1bbdca', '3e23e8160039594a'] as const;

test('complete labels are places in the text of the set, and another text is refused', () => {
  const folder = mkdtempSync(join(tmpdir(), 'complete-'));
  const file = join(folder, 'one', 'cvs.jsonl');
  mkdirSync(join(folder, 'one'));
  const cv = { name: 'a', text: 'Ada  Okoro, nurse', values: { titles: ['nothing'] }, months: 7 };
  const text = new Bun.CryptoHasher('sha256').update(cv.text).digest('hex').slice(0, 16);
  const write = (labelled: string) =>
    writeFileSync(
      join(folder, 'one.json'),
      JSON.stringify({ [A]: { text: labelled, name: '0+10', titles: '12+5', skills: '' } }),
    );
  writeFileSync(file, `${JSON.stringify(cv)}\n${JSON.stringify({ ...cv, name: 'b' })}\n`);
  write(text);
  expect(readCompletelyLabelled(file, folder)).toEqual([
    { ...cv, values: { name: ['Ada Okoro'], titles: ['nurse'], skills: [] } },
  ]);
  write('0123456789abcdef');
  expect(() => readCompletelyLabelled(file, folder)).toThrow(
    'a has another text than the one that was labelled',
  );
  expect(() => readCompletelyLabelled(join(folder, 'two', 'cvs.jsonl'), folder)).toThrow(
    'two.json is not there',
  );
  rmSync(folder, { recursive: true });
});

test('labels that are written as values become places, and say all values that the text does not have', () => {
  const folder = mkdtempSync(join(tmpdir(), 'places-'));
  const text = 'Javanese cook, Ada\nOkoro C++ Java (Java 8) a knight or night nurse';
  const label = (labels: object) => writeFileSync(join(folder, 'a.json'), JSON.stringify(labels));
  label({
    name: ['Ada Okoro'],
    skills: ['Java', 'C++', 'Java 8', 'Java'],
    titles: ['night nurse', 'urse'],
    degrees: ['night'],
  });
  const placed = placeLabels(folder, [{ name: 'a', text, values: {} }]);
  expect(placed[A]).toMatchObject({
    name: '15+9',
    skills: '25+3 29+4 35+6',
    titles: '55+11 62+4',
    degrees: '55+5',
  });
  mkdirSync(join(folder, 'set'));
  const file = join(folder, 'set', 'cvs.jsonl');
  writeFileSync(file, JSON.stringify({ name: 'a', text, values: {} }));
  mkdirSync(join(folder, 'places'));
  writeFileSync(join(folder, 'places', 'set.json'), JSON.stringify(placed));
  expect(readCompletelyLabelled(file, join(folder, 'places'))[0]?.values.skills).toEqual([
    'C++',
    'Java',
    'Java 8',
  ]);
  rmSync(join(folder, 'set'), { recursive: true });
  rmSync(join(folder, 'places'), { recursive: true });
  label({ titles: ['cook', 'nurses'], hobbies: [] });
  writeFileSync(join(folder, 'b.json'), '{}');
  expect(() => placeLabels(folder, [{ name: 'a', text, values: {} }])).toThrow(
    'Labels cannot be placed:\na, titles: the text does not have "nurses"\na: hobbies is no field\nb is not in the set',
  );
  rmSync(folder, { recursive: true });
});

test('the agreement of two labellers is that of the CVs and fields that both have', () => {
  const folder = mkdtempSync(join(tmpdir(), 'agreement-'));
  const file = join(folder, 'set', 'cvs.jsonl');
  const text = 'Senior Cook, Blue Harbour, Cook';
  const hash = new Bun.CryptoHasher('sha256').update(text).digest('hex').slice(0, 16);
  for (const part of ['set', 'first', 'second']) mkdirSync(join(folder, part));
  writeFileSync(file, ['a', 'b'].map((name) => JSON.stringify({ name, text, values: {} })).join('\n'));
  expect(agreementOf(file, folder)).toBeNull();
  const write = (part: string, labels: object) =>
    writeFileSync(join(folder, part, 'set.json'), JSON.stringify(labels));
  write('first', { [A]: { text: hash, titles: '0+11 27+4', companies: '13+12' }, [B]: { text: hash } });
  write('second', { [A]: { text: hash, titles: '7+4', companies: '13+12', skills: '0+6' } });
  const agreement = agreementOf(file, folder);
  expect(agreement?.cvs).toBe(1);
  expect(agreement?.fields.map(({ field, labels, strict }) => ({ field, labels, f1: strict.value }))).toEqual(
    [
      { field: 'titles', labels: [2, 1], f1: 2 / 3 },
      { field: 'companies', labels: [1, 1], f1: 1 },
    ],
  );
  rmSync(folder, { recursive: true });
});
