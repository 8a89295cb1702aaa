import { describe, expect, test } from 'bun:test';
import { editedProfile, fieldText } from '../../console/pages/hiring/talent-edited.ts';
import {
  evidenceOf,
  experienceWords,
  piecesOf,
  profileOf,
} from '../../console/pages/hiring/talent-profile.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';

const place = (path: string, start: number, end: number) => ({ path, start, end, confidence: 1 });

describe('P-15 the text of a CV with the places of its values', () => {
  test('is split where positions begin and end, also where they are nested', () => {
    const places = [place('work[0].name', 0, 10), place('work[0].location', 5, 10)];
    expect(piecesOf('Acme Leeds, 2019', places)).toEqual([
      { text: 'Acme ', paths: ['work[0].name'] },
      { text: 'Leeds', paths: ['work[0].name', 'work[0].location'] },
      { text: ', 2019', paths: [] },
    ]);
  });

  test('is complete for any positions', () => {
    const random = createSeededRandom(7);
    const text = 'Grace Miller, welder in Leeds since 2016 — TIG & MAG';
    for (let round = 0; round < 200; round += 1) {
      const places = Array.from({ length: 8 }, (_, at) =>
        place(`skills[${at}].name`, random.below(70) - 5, random.below(70) - 5),
      );
      const pieces = piecesOf(text, places);
      expect(pieces.map((piece) => piece.text).join('')).toBe(text);
    }
  });

  test('an invalid position is ignored', () => {
    expect(evidenceOf(null)).toEqual([]);
    expect(evidenceOf([null, 'x', { path: 'a' }, place('b', 1, 2)])).toEqual([place('b', 1, 2)]);
    expect(profileOf('nonsense').work).toEqual([]);
    expect(experienceWords(131)).toBe('10 years and 11 months');
    expect(experienceWords(0)).toBe('0 months');
  });
});

test('P-15 an edited profile keeps fields that the form does not show', () => {
  const whole = {
    basics: { name: 'Ada', profiles: [{ network: 'x' }], location: { city: 'Leeds', countryCode: 'GB' } },
    work: [{ position: 'Welder', highlights: ['TIG', 'MIG'], url: 'x' }, { position: 'Cook' }],
    skills: [{ name: 'TIG', canonical: 'tig welding' }],
    current_title: 'Welder',
  };
  const typed: Record<string, string> = {
    'basics.name': 'Ada Byron',
    city: 'York',
    skills: 'TIG\nMAG',
    'work.0.position': 'Senior welder',
    'work.0.highlights': 'TIG\n\n MAG ',
  };
  const text = (name: string) => typed[name] ?? '';
  const sections = {
    work: whole.work.map((entry, key) => ({ key, entry })),
    education: [],
    languages: [],
    certificates: [],
  };
  const edited = editedProfile(whole, sections, { text, password: text, number: () => null, all: () => [] });
  expect(edited).toMatchObject({
    basics: {
      name: 'Ada Byron',
      profiles: [{ network: 'x' }],
      location: { city: 'York', countryCode: 'GB' },
    },
    // The second one was emptied, and so is gone.
    work: [{ position: 'Senior welder', highlights: ['TIG', 'MAG'], url: 'x' }],
    skills: [{ name: 'TIG', canonical: 'tig welding' }, { name: 'MAG' }],
    current_title: 'Welder',
  });
  expect([fieldText(['TIG', 'MAG']), fieldText('Welder'), fieldText(null)]).toEqual([
    'TIG\nMAG',
    'Welder',
    '',
  ]);
});
