import { describe, expect, test } from 'bun:test';
import { createDocumentEngine } from '../../src/domain/documents/embedded-engine.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { engine, postingOf, profileOf, TODAY, unproven } from './recorded-documents.ts';

/** CVs of one to five lines, as people type them into a form. */
const CVS: readonly string[] = [
  'Ada Byron\nada@example.org\n\nExperience\nEngineer, Analytical Engines Ltd, 2020 - 2023',
  'Tom Reed, plumber, Leeds',
  'I am a plumber with ten years of experience. I worked for Smith & Sons in Leeds from 2012 to 2022.',
  'Jane Doe\njane@example.com\nSkills: Python, Django, SQL',
  'Peter Lang\nDisponent\nFruchthof KG, Hamburg, seit 2018',
  'Luc Garnier\nVoilier chez Atlantique Voiles, depuis 2016',
  'Elena Prieto. Recepcionista. Hotel Giralda, 2015 - actualidad. Inglés C1.',
  'john smith\nsoftware developer\njohn@smith.dev\npython, react, aws\n2019-2022 acme inc',
  'Name: Ali Khan\nEmail: ali@khan.pk\nPosition: Accountant\nCompany: Lucky Textiles\nYears: 2017-2021',
  'Paolo Riva, tornitore, Officine Riva dal 2012',
  'Kim Lee. React, TypeScript, Node.js. Berlin.',
  'Email: bob@builder.com Phone: 07700 900111 Bricklayer with CSCS card',
  'Sam Hill\nBA History, University of Leeds, 2019',
  'Yusuf Demir\nDelivery driver\nIzmir',
];

const POSTINGS: readonly string[] = [
  'Python developer needed. Must know Django and REST. 3 years experience.',
  'Waiter wanted, weekends, Bath.',
  'Hiring: Senior React engineer. Remote. TypeScript and GraphQL required, AWS a plus.',
  'Wir suchen eine Pflegekraft (m/w/d) in Teilzeit. Examen erforderlich.',
  'Se busca camarero con experiencia. Inglés imprescindible.',
  'Cercasi parrucchiera con esperienza, Milano.',
  'Gezocht: vrachtwagenchauffeur met rijbewijs CE.',
  'Procura-se eletricista. Carta de condução. Porto.',
  'Maths teacher\nSt Mary School, York\nQTS required',
  'Senior Accountant',
  'Cleaner, 10 hours per week, must be reliable and have references.',
  'Looking for a plumber with own van. Start immediately.',
  'Class 2 driver required. CPC and tacho card. £14 per hour.',
  'Nanny wanted for two children, driving licence required, start in September',
  'Vaga: analista de dados. SQL e Power BI. São Paulo.',
];

/** Short texts that clearly are something else. */
const OTHERS: readonly string[] = [
  '',
  '...',
  'Lunch is at noon.',
  'Invoice 2024-118\nConsulting, 3 days, 2,400.00 EUR\nVAT 19 % 456.00\nTotal 2,856.00 EUR',
  'Pancakes\n2 eggs, 200 g flour, 300 ml milk. Mix, rest for 30 minutes, fry in butter.',
  'The council approved the new bridge on Monday. Mayor Anna Holt said work would start in 2025.',
  'Great hotel, friendly staff, the manager helped us with the luggage. Would come again in 2025.',
  'def main():\n    print("hello")\n\nif __name__ == "__main__":\n    main()',
  'TESCO Leeds\n14/03/2024 12:31\nMilk 1.20\nBread 0.95\nTOTAL 2.15\nVisa **** 1234',
  'Two room flat in Leeds, 64 square metres, garden, 900 a month from May.',
  'Marie Curie was a physicist. She studied in Paris and won two Nobel prizes.',
  '12345 67890',
  'Agenda: 1. Budget 2025 2. New manager for the shop 3. Any other business',
  'Patient: John Miller, born 1980. Diagnosis: fracture of the left wrist. Treatment: cast for six weeks.',
  "SELECT name, salary FROM employees WHERE role = 'manager' ORDER BY salary;",
];

describe('G-7 a short text that is sent as a CV is read as one', () => {
  test.each(CVS)('%j', (text) => {
    const parsed = engine.parseCv(text, TODAY);
    expect(parsed.document.kind).toBe('cv');
    expect(parsed.document.confidence).toBeLessThan(0.5);
    expect(parsed.document.warnings.join()).toContain('few signs of a CV');
    expect(parsed.evidence.length).toBeGreaterThan(0);
    expect(unproven(text, parsed.profile, parsed)).toEqual([]);
  });

  test('the example of the documentation', () => {
    const profile = profileOf(CVS[0] ?? '');
    expect(profile.basics).toMatchObject({ name: 'Ada Byron', email: 'ada@example.org' });
    expect(profile.work).toMatchObject([
      { position: 'Engineer', name: 'Analytical Engines Ltd', startDate: '2020', endDate: '2023' },
    ]);
  });

  test('positions, employers, times, studies and skills of sentences', () => {
    const jobs = (text: string) =>
      profileOf(text).work.map(({ position, name, startDate }) => [position, name, startDate]);
    expect(
      jobs('I am a plumber with ten years of experience. I worked for Smith & Sons from 2012 to 2022.'),
    ).toEqual([['plumber', 'Smith & Sons', '2012']]);
    expect(jobs('Luc Garnier\nVoilier chez Atlantique Voiles, depuis 2016')).toEqual([
      ['Voilier', 'Atlantique Voiles', '2016'],
    ]);
    expect(
      profileOf('2015-2019 BSc Physics, University of Oslo\n2019-2024 Data engineer, Equinor').education,
    ).toMatchObject([{ institution: 'University of Oslo', studyType: 'BSc', area: 'Physics' }]);
  });

  test('positions of other people in what was done are not jobs', () => {
    const text = (done: string) => `Ahmed Farouk
Site Engineer
Toronto, ahmed.f@example.com
Work Experience
Site Engineer, Bayview Builders, 2019 - 2023: concrete buildings; quality checks; ${done}
Civil engineer in training, Cairo Metro, 2016 - 2019`;
    const positions = (done: string) => profileOf(text(done)).work.map(({ position }) => position);
    const own = positions('schedule');
    expect(own).toContain('Site Engineer');
    for (const done of ['meetings with the structural engineer', 'drawings for the structural engineer'])
      expect([done, positions(done)]).toEqual([done, own]);
  });

  test('a posting that is sent as a CV stays a posting, and a CV a CV', () => {
    for (const text of POSTINGS.slice(0, 3)) expect(engine.parseCv(text, TODAY).profile).toBeNull();
    for (const text of CVS.slice(0, 3)) expect(engine.parsePosting(text).posting).toBeNull();
  });
});

describe('G-8 a short text that is sent as a posting is read as one', () => {
  test.each(POSTINGS)('%j', (text) => {
    const parsed = engine.parsePosting(text);
    expect(parsed.document.kind).toBe('job_posting');
    expect(parsed.posting?.title).toBeTruthy();
    expect(unproven(text, parsed.posting, parsed)).toEqual([]);
  });

  test('three sentences give title, must-haves, skills and experience', () => {
    const parsed = engine.parsePosting(POSTINGS[0] ?? '');
    expect(parsed.document.confidence).toBeLessThan(0.5);
    expect(parsed.document.warnings.join()).toContain('few signs of a posting');
    expect(parsed.posting).toMatchObject({
      title: 'Python developer',
      must_have: ['Must know Django and REST.', '3 years experience.'],
      experienceRequirements: { monthsOfExperience: 36 },
    });
    expect(parsed.posting?.skills.map(({ canonical }) => canonical)).toEqual(['Python', 'Django', 'REST']);
  });

  test.each([
    ['Java developer, Berlin. Spring, Hibernate, SQL. 50-60k.', ['Spring, Hibernate, SQL.'], []],
    ['Role: QA tester\nMust have: Selenium, Java\nNice to have: Docker', ['Selenium, Java'], ['Docker']],
    [
      'Hiring: Senior React engineer. Remote. TypeScript and GraphQL required, AWS a plus.',
      ['TypeScript and GraphQL required'],
      ['AWS a plus.'],
    ],
    ['Class 2 driver required. CPC and tacho card needed.', ['CPC and tacho card needed.'], []],
    ['Elektriker gesucht. Führerschein erforderlich. Vollzeit.', ['Führerschein erforderlich.'], []],
    ["Cherche cuisinier, temps plein, Lyon. 2 ans d'expérience.", ["2 ans d'expérience."], []],
  ])('%j: what is asked for and what is welcome', (text, must, nice) => {
    expect(postingOf(text)).toMatchObject({ must_have: must, nice_to_have: nice });
  });
});

describe('G-7 G-8 what clearly is something else is called that', () => {
  test.each(OTHERS)('%j', (text) => {
    const asCv = engine.parseCv(text, TODAY);
    const asPosting = engine.parsePosting(text);
    expect([asCv.document.kind, asPosting.document.kind]).toEqual(['other', 'other']);
    expect(asCv.document.warnings.join()).toContain('was not read as a CV');
  });
});

test('G-7 a model that sees no CV in a short one does not have the last word', () => {
  const checking = createDocumentEngine({
    clock: createManualClock(),
    secrets: { randomBytes: (size: number) => new Uint8Array(size) },
  });
  const basics = { name: 'Ada Byron', email: 'ada@example.org' };
  const answer = JSON.stringify({ document_kind: 'other', basics, work: [], education: [], skills: [] });
  const checked = checking.check('cv', CVS[0] ?? '', answer, 'a');
  expect(checked).toMatchObject({
    outcome: 'checked',
    parsed: { document: { kind: 'cv' }, value: { basics } },
  });
  const other = JSON.stringify({ document_kind: 'other', basics: {}, work: [], education: [], skills: [] });
  expect(checking.check('cv', 'The meeting is moved to Friday.', other, 'a')).toMatchObject({
    parsed: { document: { kind: 'other' }, value: null },
  });
});
