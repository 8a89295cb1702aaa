import { expect, test } from 'bun:test';
import { CV_KINDS } from '../../src/domain/documents/tagger/decode.ts';
import { LAYOUT_NAMES, syntheticCv } from './cv.ts';
import { monthsOfWork } from './facts.ts';
import { fill, marked, plain, rendered, textOf, wrapped } from './marked-text.ts';
import { syntheticLine } from './postings.ts';
import { LANGUAGE_OF, LANGUAGES } from './words.ts';

const cvs = Array.from({ length: 500 }, (_, seed) => syntheticCv(seed));

test('the same seed gives the same CV, another seed another one', () => {
  expect(syntheticCv(7)).toEqual(syntheticCv(7));
  expect(new Set(cvs.map(({ text }) => text)).size).toBe(cvs.length);
});

test('every layout and every language appears, and all kinds of the tagger', () => {
  expect(new Set(cvs.map(({ layout }) => layout))).toEqual(new Set(LAYOUT_NAMES));
  expect(new Set(cvs.map(({ language }) => language))).toEqual(new Set(Object.keys(LANGUAGES)));
  expect(new Set(cvs.flatMap(({ spans }) => spans.map(({ label }) => label)))).toEqual(new Set(CV_KINDS));
});

test('spans are in order, do not overlap, and begin and end with what they mark', () => {
  for (const { text, spans } of cvs) {
    let until = 0;
    for (const { start, end } of spans) {
      expect(start).toBeGreaterThanOrEqual(until);
      expect(end).toBeGreaterThan(start);
      const value = text.slice(start, end);
      expect(value).toBe(value.trim());
      expect(value).toMatch(/[\p{L}\p{N}]/u);
      until = end;
    }
    expect(until).toBeLessThanOrEqual(text.length);
  }
});

test('no gap of a pattern stays open', () => {
  for (const { text } of cvs) expect(text).not.toMatch(/\{\w+\}|undefined|\[object/);
});

test('every sentence of every language can be filled', () => {
  const names = ['tasks', 'summaries', 'negatives', 'awards', 'publications', 'references', 'declaration'];
  const known = new Set(
    'title company degree skill place years year number percent money digit n date client otherCompany otherTitle otherSchool otherCity otherName field subject thing region Topic phone email name'.split(
      ' ',
    ),
  );
  for (const language of Object.values(LANGUAGE_OF))
    for (const name of names)
      for (const pattern of language.list(name)) {
        expect(pattern).not.toBe('');
        for (const [, gap = ''] of pattern.matchAll(/\{(\w+)\}/g)) expect(known).toContain(gap);
      }
});

test('months of work are counted once where jobs overlap', () => {
  const job = (from: number, to: number) => ({ from, to });
  expect(monthsOfWork([])).toBe(0);
  expect(monthsOfWork([job(100, 111)])).toBe(12);
  expect(monthsOfWork([job(100, 111), job(106, 117), job(130, 130)])).toBe(19);
});

test('marks stay with their words when a line is filled, broken and put together', () => {
  const line = fill('{title} at {company}, {n}', {
    title: marked('title', 'Head Nurse'),
    company: marked('company', 'St. Mary'),
    n: () => '2019',
  });
  expect(textOf(line)).toBe('Head Nurse at St. Mary, 2019');
  const broken = wrapped(line, 8).flatMap((part, at) => (at === 0 ? part : [...plain('\n'), ...part]));
  const { text, spans } = rendered(broken);
  expect(spans.map(({ start, end, label }) => `${label}: ${text.slice(start, end)}`)).toEqual([
    'title: Head',
    'title: Nurse',
    'company: St.',
    'company: Mary',
  ]);
  expect(() => fill('{nothing}', {})).toThrow('No filling for {nothing}');
});

test('lines of postings are the same for the same seed and have abilities, knowledge and neither', () => {
  const lines = Array.from({ length: 300 }, (_, seed) => syntheticLine(seed));
  expect(lines[5]).toEqual(syntheticLine(5));
  expect(new Set(lines.map(({ language }) => language))).toEqual(new Set(Object.keys(LANGUAGES)));
  expect(lines.some(({ abilities }) => abilities.length > 0)).toBe(true);
  expect(lines.some(({ abilities, knowledge }) => abilities.length + knowledge.length === 0)).toBe(true);
  for (const { text, abilities, knowledge } of lines) {
    expect(text).not.toMatch(/\{\w+\}|undefined/);
    for (const { start, end } of [...abilities, ...knowledge]) expect(text.slice(start, end)).toMatch(/\S/);
  }
});
