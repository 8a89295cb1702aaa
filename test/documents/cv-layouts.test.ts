import { describe, expect, test } from 'bun:test';
import { cvText, engine, profileOf, TODAY } from './recorded-documents.ts';

const jobs = (name: string) =>
  profileOf(cvText(name)).work.map(({ name: company, position, startDate, endDate }) => [
    company,
    position,
    startDate,
    endDate,
  ]);
const studies = (name: string) =>
  profileOf(cvText(name)).education.map(({ institution, studyType, area, endDate }) => [
    institution,
    studyType,
    area,
    endDate,
  ]);

describe('G-7 a CV becomes a record, whatever its layout', () => {
  test('one column with headings', () => {
    const { basics, skills, languages, certificates, ...profile } = profileOf(cvText('one-column'));
    expect(basics).toMatchObject({
      name: 'Marta Kowalczyk',
      label: 'Senior Backend Developer',
      email: 'marta.kowalczyk@example.com',
      phone: '+48 600 123 456',
      location: { city: 'Kraków', region: null, countryCode: 'PL' },
      profiles: [
        { network: 'LinkedIn', username: 'marta-kowalczyk', url: 'linkedin.com/in/marta-kowalczyk' },
      ],
    });
    expect(basics.summary).toStartWith('Backend developer with nine years');
    expect(jobs('one-column')).toEqual([
      ['Northwind Payments Sp. z o.o.', 'Senior Backend Developer', '2019-03', null],
      ['Blue Harbour Software Ltd.', 'Software Developer', '2015-06', '2019-02'],
    ]);
    expect(profile.work.map(({ highlights }) => highlights.length)).toEqual([3, 2]);
    expect(studies('one-column')).toEqual([
      ['AGH University of Science and Technology', 'Master of Science', 'Computer Science', '2015'],
    ]);
    expect(skills.map(({ canonical }) => canonical)).toEqual(
      expect.arrayContaining(['Kotlin', 'Java', 'Spring Boot', 'PostgreSQL', 'Git', 'REST']),
    );
    expect(languages).toEqual([
      { language: 'Polish', fluency: 'native' },
      { language: 'English', fluency: 'fluent' },
      { language: 'German', fluency: 'basic' },
    ]);
    expect(certificates).toEqual([
      { name: 'AWS Certified Developer', date: '2021', issuer: 'Amazon Web Services' },
    ]);
    expect(profile).toMatchObject({
      total_months_experience: 109,
      current_title: 'Senior Backend Developer',
      current_company: 'Northwind Payments Sp. z o.o.',
      highest_degree_level: 'master',
    });
  });

  test('two columns side by side are read one after the other', () => {
    const { basics, skills, languages } = profileOf(cvText('two-columns'));
    expect(basics).toMatchObject({ name: 'DANIEL OKAFOR', email: 'daniel.okafor@example.org' });
    expect(basics.location).toEqual({ city: 'Bristol', region: null, countryCode: 'GB' });
    expect(jobs('two-columns')).toEqual([
      ['Larkfield Turbines plc', 'Mechanical Design Engineer', '2018-01', null],
      ['Severn Pumps Ltd', 'Graduate Engineer', '2015-09', '2017-12'],
    ]);
    expect(studies('two-columns')).toEqual([
      ['University of Bristol', 'BEng', 'Mechanical Engineering', '2015'],
    ]);
    expect(skills.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['SolidWorks', 'AutoCAD', 'ANSYS', 'MATLAB']),
    );
    expect(languages.map(({ language }) => language)).toEqual(['English', 'Igbo']);
  });

  test('a table; an e-mail address with stray blanks', () => {
    const { basics } = profileOf(cvText('table'));
    expect(basics).toMatchObject({
      name: 'Priya Raghunathan',
      email: 'priya.raghunathan@example.com',
      phone: '+91 98450 12345',
      location: { city: 'Bengaluru', region: 'Karnataka', countryCode: 'IN' },
    });
    expect(jobs('table')).toEqual([
      ['Indus Data Systems Pvt Ltd', 'Data Analyst', '2020-04', null],
      ['Coral Retail India Ltd', 'Junior Analyst', '2017-07', '2020-03'],
    ]);
    expect(studies('table')).toEqual([
      ['Symbiosis Institute of Business Management', 'MBA', null, '2017'],
      ['Anna University', 'B.Tech', null, '2014'],
    ]);
  });

  test('no headings at all', () => {
    const { basics, languages, highest_degree_level } = profileOf(cvText('no-headings'));
    expect(basics).toMatchObject({ name: 'Luca Ferraris', phone: '0039 347 123 4567' });
    expect(jobs('no-headings').slice(0, 2)).toEqual([
      ['Trattoria del Ponte', 'Head Chef', '2021', null],
      ['Hotel Bellavista', 'Sous Chef', '2016', '2021'],
    ]);
    expect(languages.map(({ language }) => language)).toEqual(['Italian', 'French', 'English']);
    expect(highest_degree_level).toBe('associate');
  });

  test('German, with the dates first', () => {
    expect(engine.parseCv(cvText('german'), TODAY).document).toMatchObject({ kind: 'cv', language: 'de' });
    expect(jobs('german')).toEqual([
      ['Isar Anlagenbau GmbH', 'Projektleiterin', '2019-05', null],
      ['Franken Maschinen AG', 'Ingenieurin', '2014-10', '2019-04'],
    ]);
    expect(studies('german')).toEqual([
      ['Technische Universität München', 'Diplom', 'Maschinenbau', '2014'],
      ['Gymnasium Landshut', 'Abitur', null, '2009'],
    ]);
  });

  test('a career change: the employer first, a school among the employers', () => {
    expect(jobs('career-change')).toEqual([
      ['Rosewood Learning, Inc.', 'Junior Web Developer', '2022-08', null],
      ['Lincoln Middle School', 'Mathematics Teacher', '2008-09', '2020-06'],
    ]);
    expect(profileOf(cvText('career-change')).highest_degree_level).toBe('bachelor');
  });

  test('gaps are not counted and overlaps are counted once', () => {
    // 2016-01 to 2020-12 with an overlap of six months, and two years from 2010-03.
    expect(profileOf(cvText('gaps-and-overlaps')).total_months_experience).toBe(60 + 24);
  });

  test('a job that has ended is not the current one', () => {
    expect(profileOf(cvText('gaps-and-overlaps'))).toMatchObject({
      current_title: null,
      current_company: null,
    });
    expect(profileOf(cvText('career-change'))).toMatchObject({
      current_title: 'Junior Web Developer',
      current_company: 'Rosewood Learning, Inc.',
    });
  });
});

describe('G-7 the same CV in other white space is the same record', () => {
  const text = cvText('one-column');
  const variants: Readonly<Record<string, string>> = {
    'Windows line ends': text.replaceAll('\n', '\r\n'),
    'indented lines': text.replaceAll('\n', '\n    '),
    'other bullets': text.replaceAll('\n- ', '\n• '),
    'line breaks collapsed to double blanks': text.replaceAll('\n\n', '\n').replaceAll('\n', '  '),
  };
  for (const [name, variant] of Object.entries(variants)) {
    test(name, () => {
      const [one, other] = [profileOf(text), profileOf(variant)];
      expect(other.basics.name).toBe(one.basics.name);
      expect(other.basics.email).toBe(one.basics.email);
      const keys = (profile: typeof one) =>
        profile.work.map((job) => [job.name, job.position, job.startDate, job.endDate]);
      expect(keys(other)).toEqual(keys(one));
      expect(other.education).toEqual(one.education);
      expect(new Set(other.skills.map(({ canonical }) => canonical))).toEqual(
        new Set(one.skills.map(({ canonical }) => canonical)),
      );
      expect(other.total_months_experience).toBe(one.total_months_experience);
    });
  }
});
