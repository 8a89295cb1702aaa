import { describe, expect, test } from 'bun:test';
import { createEmbeddedEngine } from '../embedded-engine.ts';
import { originalPlace, plainCharacters } from './plain-characters.ts';

const engine = createEmbeddedEngine();
const TODAY = { year: 2024, month: 6 };

const PLAIN = [
  'Griffin Marchand',
  'griffin.marchand@example.org | Boston, MA',
  '',
  'Professional Experience',
  '',
  'Office Manager, Steffens Architects Ltd',
  'March 2020 - Present',
  '',
  'Administrative Officer, Bay State Refrigeration Inc.',
  'July 2016 - February 2020',
  '',
  'Education',
  'BSc Management, Suffolk University, 2012 - 2016',
].join('\n');

/** The same words as text from a PDF or a word processor has them. */
const SPECIAL = PLAIN.replaceAll('ffi', '\ufb03')
  .replaceAll('ff', '\ufb00')
  .replaceAll('\n', '\r\n')
  .replace('Professional', 'Pro\u00adfes\u00adsional')
  .replace('Architects', 'Archi\u00adtects')
  .replace(/(?<=[a-z]) (?=\d{4})|(?<=\d) (?=-)/g, '\u00a0');

describe('characters of a text that was sent as such', () => {
  test('G-7 blanks that do not break, ligatures, soft hyphens and Windows line ends change nothing in the record', () => {
    const { profile } = engine.parseCv(SPECIAL, TODAY);
    expect(profile).toEqual(engine.parseCv(PLAIN, TODAY).profile);
    expect(profile).toMatchObject({ basics: { name: 'Griffin Marchand' }, total_months_experience: 96 });
    expect(profile?.work).toMatchObject([
      { position: 'Office Manager', startDate: '2020-03' },
      { position: 'Administrative Officer', startDate: '2016-07' },
    ]);
  });

  test('G-7 evidence has the offsets of the text that was sent', () => {
    const { profile, evidence } = engine.parseCv(SPECIAL, TODAY);
    const seen = (path: string) => {
      const one = evidence.find((note) => note.path === path);
      return SPECIAL.slice(one?.start, one?.end);
    };
    expect(seen('basics.name')).toBe('Gri\ufb03n Marchand');
    expect(seen('work[0].name').replace('\u00ad', '')).toBe('Ste\ufb00ens Architects Ltd');
    expect(seen('basics.email')).toBe('gri\ufb03n.marchand@example.org');
    expect(profile?.basics.email).toBe('griffin.marchand@example.org');
  });

  test('a letter and its accent are one, and a text without such characters is left alone', () => {
    const plain = plainCharacters('Rene\u0301 o\ufb03ce');
    expect(plain.text).toBe('Ren\u00e9 office');
    expect(originalPlace(plain, { start: 0, end: 4 })).toEqual({ start: 0, end: 5 });
    expect(originalPlace(plain, { start: 5, end: 11 })).toEqual({ start: 6, end: 10 });
    expect(plainCharacters('Ren\u00e9')).toEqual({ text: 'Ren\u00e9', offsets: null });
  });
});
