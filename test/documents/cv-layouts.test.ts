import { describe, expect, test } from 'bun:test';
import { readDocument } from '../../src/adapters/document-reader/read-document.ts';
import { DOCUMENT_LIMITS } from '../../src/ports/document-reader.ts';
import { makeDocx, makePdf, paragraph, stacked, table } from '../doubles/made-up-documents.ts';
import { asPdf, cvLines } from './one-cv-in-many-files.ts';
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

const recordOf = async (bytes: Uint8Array) => profileOf(await textOf(bytes));
const utf8 = (text: string) => new TextEncoder().encode(text);

async function textOf(bytes: Uint8Array): Promise<string> {
  const reading = await readDocument(bytes, DOCUMENT_LIMITS);
  if (reading.outcome !== 'read') throw new Error(reading.message);
  return reading.text;
}

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
      expect.arrayContaining([
        'Kotlin',
        'Java',
        'Spring Boot',
        'PostgreSQL',
        'Kafka',
        'Docker',
        'Kubernetes',
        'Git',
        'REST',
      ]),
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

test('G-7 a CV of ten pages keeps every job', () => {
  const job = (year: number) =>
    `Software Developer\nLighthouse Number ${year} Ltd, Leeds\nJanuary ${year} - December ${year}\n${'- Wrote services in Java and kept the tests green for the team.\n'.repeat(12)}\n`;
  const years = Array.from({ length: 24 }, (_, at) => 2023 - at);
  const { work, total_months_experience } = profileOf(
    `Jane Miller\njane.miller@example.com\n\nWORK EXPERIENCE\n\n${years.map(job).join('')}`,
  );
  expect(work.map(({ startDate }) => startDate)).toEqual(years.map((year) => `${year}-01`));
  expect(total_months_experience).toBe(24 * 12);
});

describe('G-7 a CV as a table is the same record in every kind of file', () => {
  const HEAD = ['Curriculum Vitae', 'Priya Raman', 'priya.raman@example.com', '+91 98450 12345'];
  const JOBS = [
    ['Period', 'Company', 'Position'],
    ['Apr 2020 - till date', 'Indus Data Systems Pvt Ltd', 'Data Analyst'],
    ['Jul 2017 - Mar 2020', 'Coral Retail India Ltd', 'Junior Analyst'],
  ];
  const SKILLS = ['Technical Skills', 'Python, SQL, Tableau, Power BI'];
  const rows = [...HEAD, '', 'Employment History', ...JOBS.map((cells) => cells.join('\t')), '', ...SKILLS];
  const expected = () => recordOf(utf8(rows.join('\n')));
  const cells = (cell: string) =>
    JOBS.map((row) => `<tr>${row.map((one) => `<${cell}>${one}</${cell}>`).join('')}</tr>`);

  test('G-7 as text it has both jobs', async () => {
    expect((await expected()).work.map(({ name, position }) => [name, position])).toEqual([
      ['Indus Data Systems Pvt Ltd', 'Data Analyst'],
      ['Coral Retail India Ltd', 'Junior Analyst'],
    ]);
  });

  test('G-7 as HTML', async () => {
    const lines = (texts: readonly string[]) => texts.map((text) => `<div>${text}</div>`).join('');
    const page = `<html><body>${lines(HEAD)}<h2>Employment History</h2><table>${cells('td').join('')}</table>`;
    expect(await recordOf(utf8(`${page}<h2>${SKILLS[0]}</h2><p>${SKILLS[1]}</p></body></html>`))).toEqual(
      await expected(),
    );
  });

  test('G-7 as DOCX', async () => {
    const lines = (texts: readonly string[]) => texts.map((text) => paragraph(text)).join('');
    const body = `${lines([...HEAD, '', 'Employment History'])}${table(JOBS)}${lines(['', ...SKILLS])}`;
    expect(await recordOf(makeDocx(body))).toEqual(await expected());
  });

  test('G-7 as PDF', async () => {
    const page = [
      ...stacked([...HEAD], { x: 56, y: 780 }),
      { x: 56, y: 696, text: 'Employment History', bold: true },
      ...JOBS.flatMap((row, at) => row.map((text, cell) => ({ x: 56 + cell * 180, y: 682 - at * 14, text }))),
      { x: 56, y: 612, text: SKILLS[0] ?? '', bold: true },
      { x: 56, y: 598, text: SKILLS[1] ?? '' },
    ];
    expect(await recordOf(makePdf([page]))).toEqual(await expected());
  });
});

test('G-7 a CV in two languages keeps the jobs of both', () => {
  const { work, languages } = profileOf(`Jonas Keller
jonas.keller@example.com
+49 30 1234567

BERUFSERFAHRUNG

Projektleiter
Havel Anlagenbau GmbH, Berlin
05/2019 - heute
- Leitung von Projekten mit bis zu zwölf Personen und einem Budget von zwei Millionen Euro

WORK EXPERIENCE ABROAD

Project Engineer
Thames Process Ltd, London
09/2014 - 04/2019
- Planned and commissioned pumps and valves for water works

AUSBILDUNG
Diplom Maschinenbau, Technische Universität Berlin, 2014

SPRACHEN
Deutsch (Muttersprache), Englisch (fließend)`);
  expect(work.map(({ name, position, startDate }) => [name, position, startDate])).toEqual([
    ['Havel Anlagenbau GmbH', 'Projektleiter', '2019-05'],
    ['Thames Process Ltd', 'Project Engineer', '2014-09'],
  ]);
  expect(languages).toHaveLength(2);
});

test('G-7 a PDF of ten pages keeps every job, also where a page is turned in the middle of one', async () => {
  const years = Array.from({ length: 24 }, (_, at) => 2023 - at);
  const job = (year: number) =>
    `Software Developer
Lighthouse Number ${year} Ltd, Leeds
January ${year} - December ${year}
${'- Wrote services in Java and kept the tests green for the team.\n'.repeat(16)}`;
  const lines = cvLines(`# WORK EXPERIENCE\n\n${years.map(job).join('\n')}`);
  const text = await textOf(
    asPdf({ top: cvLines('! Jane Miller\njane.miller@example.com'), columns: [lines] }),
  );
  const { work, total_months_experience } = profileOf(text);
  expect(work.map(({ startDate }) => startDate)).toEqual(years.map((year) => `${year}-01`));
  expect(total_months_experience).toBe(24 * 12);
});

test('A-12 a short CV has its language', () => {
  const english = `Sam Whitlock
Site Reliability Engineer, Bristol, United Kingdom
sam@example.com

Experience
Site Reliability Engineer, Medibook, 2019 - present
- Clusters by Terraform, Argo CD
Skills: AWS, Terraform, Kubernetes, Helm, Linux`;
  const german = `Dirk Hellweg
dirk.hellweg@example.com, 0521 5550123

Beruflicher Werdegang
2015 - heute Industriemechaniker, Ravensberger Kunststoffe GmbH, Bielefeld
Wartung, Reparatur, Hydraulik
Ausbildung: Industriemechaniker, 2011
Kenntnisse: Schweißen, Staplerschein`;
  expect(engine.parseCv(english, TODAY).document.language).toBe('en');
  expect(engine.parseCv(german, TODAY).document.language).toBe('de');
});
