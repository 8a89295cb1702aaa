import { describe, expect, test } from 'bun:test';
import { parsedCvSchema } from '../../src/domain/documents/parsed-document.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { cvText, engine, profileOf, TODAY, unproven } from './recorded-documents.ts';

const at = (year: number, month: number) => year * 12 + month;
const NOW = at(TODAY.year, TODAY.month);

const LAYOUTS: Readonly<Record<string, readonly [text: string, months: number, name?: string]>> = {
  'labelled lines': [
    `CURRICULUM VITAE

Name: Priya Raman
Email: priya.raman@example.com
Mobile: 98765 43210

WORK EXPERIENCE

Company: Blue Harbour Systems Pvt Ltd
Designation: Senior Software Engineer
From: 03/2018
To: Present
Responsibilities: Designed services.

Company: Acme Retail
Designation: Software Engineer
Duration: June 2014 to February 2018
Responsibilities: Wrote tests.

EDUCATION
Degree: B.E. Computer Science
University: Anna University
Year: 2014`,
    NOW - at(2014, 6) + 1,
    'Priya Raman',
  ],
  'labels in a left column': [
    `Name:            Elena García
E-mail:          elena.garcia@example.es
Teléfono:        612 345 678

EXPERIENCIA LABORAL

Fechas:          03/2016 - actualidad
Empresa:         Construcciones Peña S.L.
Puesto:          Jefa de obra
Funciones:       Dirección de obras y control de costes

Fechas:          01/2012 - 02/2016
Empresa:         Ingeniería Núñez S.A.
Puesto:          Ingeniera de proyectos
Funciones:       Cálculo de estructuras

FORMACIÓN

Fechas:          2006 - 2011
Título:          Ingeniería de Caminos
Centro:          Universidad Politécnica de Madrid`,
    NOW - at(2012, 1) + 1,
    'Elena García',
  ],
  'durations and no dates': [
    `John Carter
john.carter@example.com
555-123-4567

EXPERIENCE

Warehouse Supervisor
Northwind Logistics
Duration: 2 yrs 3 mos
Led a team of eight.

Forklift Operator
Harbor Freight Depot
Duration: 1 year 6 months
Loaded trucks.

EDUCATION
High School Diploma, Lincoln High School`,
    45,
    'John Carter',
  ],
  'a table with tabs': [
    `Name\tAhmed Khan
Email\tahmed.khan@example.com
Phone\t+92 300 1234567

Employment History
Company\tPosition\tFrom\tTo
Gulf Traders\tAccountant\tMar 2016\tPresent
City Bank\tJunior Accountant\tJan 2013\tFeb 2016

Education
Degree\tInstitute\tYear
B.Com\tPunjab University\t2012`,
    NOW - at(2013, 1) + 1,
    'Ahmed Khan',
  ],
  'labelled bullets, and unpaid work': [
    `Work

• Company: Pied Piper
• Position: Chief Executive
• StartDate: 2013-12-01
• EndDate: 2014-12-01
• Summary: built compression.

Volunteer

• Organization: CoderDojo
• Position: Teacher
• StartDate: 2012-01-01
• EndDate: 2013-01-01

Education
• Institution: University of Oklahoma
• StudyType: Bachelor
• StartDate: 2008-06-01
• EndDate: 2011-01-01
Skills
JavaScript, HTML`,
    13,
  ],
  'the export of a network': [
    `Contact
www.linkedin.com/in/sara-lopez
sara.lopez@example.com

Sara Lopez
Product Manager at Nimbus
Barcelona, Spain

Experience

Nimbus
Product Manager
January 2020 - Present (4 years 6 months)
Barcelona

Cirrus Labs
3 years 2 months
Senior Product Owner
May 2018 - December 2019 (1 year 8 months)
Product Owner
November 2016 - April 2018 (1 year 6 months)

Education
Universitat de Barcelona
Bachelor's degree, Economics · (2010 - 2014)`,
    NOW - at(2016, 11) + 1,
    'Sara Lopez',
  ],
  'spans over two lines': [
    `Amy Wong
amy@example.com

EXPERIENCE
Nurse
Mercy Hospital
Jan 2018 -
Mar 2021
Care Assistant
Sunrise Home
Feb 2015 -
Dec 2017

EDUCATION
BSc Nursing, State University, 2014`,
    at(2021, 3) - at(2015, 2) + 1,
    'Amy Wong',
  ],
};

describe('G-7 months of work, whatever the layout', () => {
  for (const [layout, [text, months, name]] of Object.entries(LAYOUTS)) {
    test(layout, () => {
      const profile = profileOf(text);
      expect(Math.abs((profile.total_months_experience ?? 0) - months)).toBeLessThanOrEqual(1);
      if (name !== undefined) expect(profile.basics.name).toBe(name);
    });
  }

  test('labels name employers and positions', () => {
    const jobs = profileOf(LAYOUTS['labels in a left column']?.[0] ?? '').work;
    expect(jobs.map(({ name, position }) => [name, position])).toEqual([
      ['Construcciones Peña S.L.', 'Jefa de obra'],
      ['Ingeniería Núñez S.A.', 'Ingeniera de proyectos'],
    ]);
  });

  test('a span among the jobs counts though nothing else of the job could be read', () => {
    const text =
      'Ann Lee\nann.lee@example.com\n\nWORK EXPERIENCE\n\nxq\n\nzz -\n\nJanuary 2018 to December 2019\n\nEDUCATION\n\nBSc Physics, University of Leeds, 2010 to 2013';
    expect(profileOf(text).total_months_experience).toBe(24);
  });
});

test('G-7 the name, where the first line is another', () => {
  const tail =
    '\n\nEXPERIENCE\nNurse, Mercy Hospital, 2015 - 2020\n\nEDUCATION\nBSc Nursing, State University, 2014';
  const cases: readonly (readonly [string, string])[] = [
    ['Curriculum Vitae of Jane Miller\njane@example.com', 'Jane Miller'],
    ['Confidential\nPage 1\n\nMARTIN KELLER\nm.keller@example.com', 'MARTIN KELLER'],
    ['J A N E   M I L L E R\njane@example.com', 'JANE MILLER'],
    ['Miller, Jane\njane@example.com', 'Miller, Jane'],
    ['DAVID MILLER, III\ndavid@example.com', 'DAVID MILLER, III'],
    ['David Miller Sr. Nurse\ndavid@example.com', 'David Miller'],
    [
      'KHUONG TRAN LE Senior Developer Male Single 12 Hill Street 0909500430 khuong@example.com',
      'KHUONG TRAN LE',
    ],
    ['RESUME Name Thu Anh Vu Gender Male Phone 0983040320 Email thu@example.com', 'Thu Anh Vu'],
  ];
  for (const [top, wanted] of cases)
    expect([top, profileOf(`${top}${tail}`).basics.name]).toEqual([top, wanted]);
  const bottom = `Nurse\n${'Cares for patients in every ward of the hospital.\n'.repeat(20)}${tail}\n\nContact\nOlga Brandt\nolga.brandt@example.com`;
  expect(profileOf(bottom).basics.name).toBe('Olga Brandt');
});

const CONTACTS = [
  'jane . doe @ gmail . com',
  'E-mail:jane@x.comPhone:+1 555 123 4567',
  'jane@exam-\nple.com',
  'jane [at] example [dot] com',
  'a.first@gmail.comb.second@yahoo.com',
  'Tel: +49 171\n1234567',
  "Sept'19 – Oct ‘21",
  '2015/16',
  'seit 03/2018',
  'J A N E   D O E',
  'Employer: Blue Harbour',
];

test('G-7 no value is invented: each one stands where its evidence points, in every text', () => {
  const recorded = [
    'one-column',
    'two-columns',
    'table',
    'no-headings',
    'german',
    'career-change',
    'gaps-and-overlaps',
  ];
  const texts = [...recorded.map(cvText), ...Object.values(LAYOUTS).map(([text]) => text)];
  for (const text of texts) check(text);
  for (let seed = 1; seed <= 60; seed++) {
    const random = createSeededRandom(seed);
    const lines = [...random.pick(texts).split('\n'), ...random.pick(texts).split('\n')];
    lines.splice(random.below(6), 0, random.pick(CONTACTS), random.pick(CONTACTS));
    const mixed = random.below(3) === 0 ? lines.sort(() => random.below(3) - 1) : lines;
    check(mixed.join(random.pick(['\n', '\n', '  ', ' '])).slice(random.below(40)), seed);
  }

  function check(text: string, seed = 0): void {
    const parsed = engine.parseCv(text, TODAY);
    expect(parsedCvSchema.safeParse(parsed).error, `seed ${seed}`).toBeUndefined();
    expect(unproven(text, parsed.profile, parsed), `seed ${seed}`).toEqual([]);
  }
});

test('G-7 a text that has lost its lines has its sections, names and spans all the same', () => {
  const text =
    'SUJAY KARMALKAR Pune Maharashtra Willing to relocate Anywhere Work Experience Software Test Engineer Tata Consultancy Services Pune Maharashtra June 2019 to August 2022 Having expertise in testing of bank software and writing cases for every part of it Junior Tester Blue Harbour Pvt Ltd Mumbai January 2017 to May 2019 Wrote tests and reports for three teams and worked with the Board of Education on a portal Education Bachelors in Mathematics Solapur University July 2013 to March 2016 Skills Jira SQL Regression testing';
  const { basics, total_months_experience: months } = profileOf(text);
  expect(basics.name).toBe('SUJAY KARMALKAR');
  expect(months).toBe(at(2022, 8) - at(2017, 1) + 1);
});

const exported = (headline: string, position: string) => `Rohan Iyer
${headline}
Bengaluru, Karnataka

WORK EXPERIENCE

${position}

Acme Retail Ltd

January 2016 to Present

EDUCATION

BE in Computer Science
Anna University
2010`;

describe('text that is not a position', () => {
  test('an activity or a product in the place of one: the job has its employer and dates', () => {
    for (const line of ['Software development', 'SAP WM -']) {
      const { work } = profileOf(exported('', line));
      expect(work).toHaveLength(1);
      expect(work[0]).toMatchObject({ position: null, name: 'Acme Retail Ltd', startDate: '2016-01' });
    }
  });
  test('a certificate', () => {
    expect(profileOf(exported('Azure Certified Cloud Engineer', 'System Engineer')).basics.label).toBeNull();
    expect(profileOf(exported('', 'Oracle Certified Database Administrator')).work[0]?.position).toBeNull();
    expect(profileOf(exported('', 'Certified Nursing Assistant')).work[0]?.position).toBe(
      'Certified Nursing Assistant',
    );
  });
});
