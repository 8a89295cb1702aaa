import { describe, expect, test } from 'bun:test';
import { fieldsOfPosting, type ReadPosting, titleBeforeReading } from './read-posting.ts';

const EMPTY: ReadPosting = {
  title: null,
  description: null,
  jobLocation: [],
  jobLocationType: null,
  employmentType: null,
  must_have: [],
  nice_to_have: [],
  experienceRequirements: null,
};

describe('a posting’s fields', () => {
  test('P-15 what a posting does not say is not among them', () => {
    expect(fieldsOfPosting(EMPTY)).toEqual({});
  });

  test('P-15 what it says is cut to what a job holds', () => {
    const fields = fieldsOfPosting({
      title: `  Lead\n\u0000welder ${'x'.repeat(400)}`,
      description: 'y'.repeat(200_000),
      jobLocation: [{ city: 'Turin', region: null, country: 'Italy' }],
      jobLocationType: 'TELECOMMUTE',
      employmentType: 'FULL_TIME',
      must_have: ['TIG', 'TIG', ' ', 'z'.repeat(900), ...Array.from({ length: 150 }, (_, n) => `skill ${n}`)],
      nice_to_have: [],
      experienceRequirements: { monthsOfExperience: 99_999 },
    });
    expect(fields.title).toMatch(/^Lead welder x+$/);
    expect(fields).toMatchObject({ location: 'Turin, Italy', remote: true, minMonthsExperience: 1_200 });
    expect([fields.title?.length, fields.description?.length]).toEqual([300, 100_000]);
    expect([fields.mustHave?.length, fields.mustHave?.slice(0, 1), fields.mustHave?.[1]?.length]).toEqual([
      100,
      ['TIG'],
      500,
    ]);
    expect(fields.niceToHave).toBeUndefined();
  });

  test('P-15 a posting of several places has them all, as many as fit', () => {
    const jobLocation = ['Turin', 'Milan'].map((city) => ({ city, region: null, country: 'Italy' }));
    expect(fieldsOfPosting({ ...EMPTY, jobLocation })).toEqual({ location: 'Turin, Italy; Milan, Italy' });
    const long = [{ city: 'x'.repeat(290), region: null, country: null }, ...jobLocation];
    expect(fieldsOfPosting({ ...EMPTY, jobLocation: long }).location).toBe('x'.repeat(290));
  });

  test('P-15 before it is read a posting is called by its first line, or by its file', () => {
    expect(titleBeforeReading({ name: 'pasted.txt' }, '\n \nSenior plumber\nYou …')).toBe('Senior plumber');
    expect(titleBeforeReading({ name: 'plumber.pdf' }, null)).toBe('plumber');
    expect(titleBeforeReading({ name: '.pdf' }, null)).toBe('Untitled posting');
  });
});
