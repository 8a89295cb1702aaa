import { describe, expect, test } from 'bun:test';
import { createEvidenceFinder } from './evidence.ts';
import { checkCv, checkPosting } from './model/check-answer.ts';
import { readModelCv, readModelPosting } from './model/extract-answer.ts';

const TODAY = { year: 2024, month: 6 };
const TEXT = `Jane Miller
jane . miller@example.com, Berlin
Developer at Blue  Harbour
Software Ltd, March 2019 - May 2021
Developer at Northwind, since June 2021
Skills: JavaScript, C++, Go`;

function evidenceOf(text: string, value: string) {
  return createEvidenceFinder(text).find(value);
}

function profileFrom(answer: object) {
  const read = readModelCv(JSON.stringify(answer));
  if (read.outcome !== 'read') throw new Error(read.problems.join());
  return checkCv(TEXT, read.value, TODAY);
}

describe('G-7 evidence: a value stands in the text, or it is not in the record', () => {
  test('white space, capitals, quotes and dashes make no difference', () => {
    expect(evidenceOf(TEXT, 'BLUE HARBOUR SOFTWARE LTD')).toEqual({ start: 59, end: 85 });
    expect(TEXT.slice(59, 85)).toBe('Blue  Harbour\nSoftware Ltd');
    expect(evidenceOf('O’Neill – 2019', "o'neill - 2019")).toEqual({ start: 0, end: 14 });
    expect(evidenceOf('jane @ example . com', 'jane@example.com')).toEqual({ start: 0, end: 20 });
  });

  test('a part of a word is not the word', () => {
    expect(evidenceOf(TEXT, 'Java')).toBeNull();
    expect(evidenceOf(TEXT, 'C')).toBeNull();
    expect(evidenceOf('a good day', 'Go')).toBeNull();
    expect(evidenceOf(TEXT, 'Go')).not.toBeNull();
    expect(evidenceOf(TEXT, '')).toBeNull();
    expect(evidenceOf(TEXT, '  ')).toBeNull();
  });

  test('invented values are dropped and said', () => {
    const { value: profile, warnings } = profileFrom({
      basics: {
        name: 'Jane Miller',
        email: 'jane.miller@example.com',
        phone: '+1 555 000 0000',
        location: { city: 'Berlin', region: 'Bavaria' },
      },
      work: [
        { name: 'Google', position: 'Vice President', startDate: '2001', endDate: '2003' },
        { name: 'Northwind', position: 'Developer', startDate: '2021-06' },
      ],
      skills: ['JavaScript', 'Kubernetes'],
      education: [{ institution: 'Harvard University', studyType: 'PhD' }],
    });
    expect(profile.basics).toMatchObject({
      name: 'Jane Miller',
      email: 'jane.miller@example.com',
      phone: null,
    });
    expect(profile.basics.location).toEqual({ city: 'Berlin', region: null, countryCode: 'DE' });
    expect(profile.work).toHaveLength(1);
    expect(profile.work[0]).toMatchObject({ name: 'Northwind', startDate: '2021-06', endDate: null });
    expect(profile.education).toEqual([]);
    expect(profile.skills).toEqual([{ name: 'JavaScript', canonical: 'JavaScript' }]);
    expect(profile.highest_degree_level).toBeNull();
    expect(warnings).toContain('work[0].name was dropped: the document does not say it');
  });

  test('derived values are derived here, whatever the model says of them', () => {
    const { value: profile } = profileFrom({
      work: [
        {
          name: 'Blue Harbour Software Ltd',
          position: 'Developer',
          startDate: '2019-03',
          endDate: '2021-05',
        },
      ],
      skills: [{ name: 'JavaScript', canonical: 'Rocket Science' }],
      total_months_experience: 999,
      highest_degree_level: 'doctorate',
    });
    expect(profile).toMatchObject({
      total_months_experience: 27,
      highest_degree_level: null,
      current_title: null,
    });
    expect(profile.skills[0]?.canonical).toBe('JavaScript');
  });

  test('evidence points at the value, and its paths at what is left', () => {
    const { value: profile, evidence } = profileFrom({
      work: [{ name: 'Nowhere Corp' }, { name: 'Northwind', position: 'Developer' }],
      skills: ['Cobol', 'Go'],
    });
    expect(profile.work.map(({ name }) => name)).toEqual(['Northwind']);
    const at = (path: string) =>
      evidence.filter((one) => one.path === path).map(({ start, end }) => TEXT.slice(start, end));
    expect(at('work[0].name')).toEqual(['Northwind']);
    expect(at('skills[0].name')).toEqual(['Go']);
    expect(at('work[1].name')).toEqual([]);
  });

  test('a month that the text does not have becomes its year; an end that is dropped makes no present job', () => {
    const { value: profile } = profileFrom({
      work: [{ name: 'Northwind', startDate: '2019-07', endDate: '2035-01' }],
    });
    expect(profile.work[0]).toMatchObject({ startDate: '2019', endDate: '2019' });
  });
});

test('G-8 a posting’s figures come from the text, not from the model', () => {
  const text = 'Welder wanted in Leeds. At least 2 years of experience in welding. £15 per hour. Full-time.';
  const read = readModelPosting(
    JSON.stringify({
      title: 'Welder',
      hiringOrganization: 'Tesla',
      monthsOfExperience: 120,
      baseSalary: { currency: 'USD', minValue: 500_000, maxValue: 900_000, unitText: 'YEAR' },
      employmentType: 'INTERN',
      isRemote: true,
      must_have: ['At least 2 years of experience in welding', 'A licence to fly'],
      jobLocation: [{ city: 'Leeds' }, { city: 'Paris' }],
    }),
  );
  if (read.outcome !== 'read') throw new Error('unreadable');
  const { value: posting, warnings } = checkPosting(text, read.value);
  expect(posting).toMatchObject({
    title: 'Welder',
    hiringOrganization: null,
    experienceRequirements: { monthsOfExperience: 24 },
    baseSalary: { currency: 'GBP', minValue: 15, maxValue: 15, unitText: 'HOUR' },
    employmentType: 'FULL_TIME',
    jobLocationType: null,
    must_have: ['At least 2 years of experience in welding'],
    jobLocation: [{ city: 'Leeds', region: null, country: null }],
  });
  expect(warnings.length).toBeGreaterThan(0);
});
