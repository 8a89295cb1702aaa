import { describe, expect, test } from 'bun:test';
import { createDocumentEngine } from '../../src/domain/documents/embedded-engine.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { engine, postingOf, profileOf, TODAY, unproven } from './recorded-documents.ts';

/** CVs of one to five lines, as people type them into a form. */
const CVS: readonly string[] = [
  'Ada Byron\nada@example.org\n\nExperience\nEngineer, Analytical Engines Ltd, 2020 - 2023',
  'Engineer, Acme Ltd, 2020 - 2023',
  'Tom Reed, plumber, Leeds',
  'I am a plumber with ten years of experience. I worked for Smith & Sons in Leeds from 2012 to 2022.',
  'Jane Doe\njane@example.com\nSkills: Python, Django, SQL',
  'Jane Doe\nSoftware Engineer at Google\nStanford University, BSc Computer Science',
  'Maria Lopez, nurse, +44 7700 900123. St Thomas Hospital since 2015.',
  'Anna Berg. Data analyst. 5 years at Nordkorn GmbH, SQL and Tableau. MSc Statistics, Uppsala.',
  'Peter Lang\nDisponent\nFruchthof KG, Hamburg, seit 2018',
  'Sabine Koch, Buchhalterin, 12 Jahre Erfahrung, DATEV, SAP',
  'Luc Garnier\nVoilier chez Atlantique Voiles, depuis 2016',
  'Elena Prieto. Recepcionista. Hotel Giralda, 2015 - actualidad. Inglés C1.',
  'Sam Hill\nBA History, University of Leeds, 2019',
  'John Smith\nDriver, DHL, 2018 - 2020\nDriver, UPS, 2020 - present',
  'john smith\nsoftware developer\njohn@smith.dev\npython, react, aws\n2019-2022 acme inc',
  'Lea Meyer, student of computer science at TU Berlin, knows Java and C++',
  'Carpenter. Ten years of roofing and stairs. Own van and tools.',
  'Head chef, The Old Mill, Bath, 2016-2021. Sous chef, Riverside Inn, 2012-2016.',
  'Name: Ali Khan\nEmail: ali@khan.pk\nPosition: Accountant\nCompany: Lucky Textiles\nYears: 2017-2021',
  'Paolo Riva, tornitore, Officine Riva dal 2012',
  'Joost de Wit\nMonteur bij Van Dijk BV, 2015 - heden',
  'Priya Nair, CFO. Previously Finance Director at Tata Steel (2014-2019) and Controller at Unilever (2009-2014).',
  'Kim Lee. React, TypeScript, Node.js. Berlin.',
  'Experienced warehouse operative with forklift licence, 6 years at Amazon, looking for a permanent role in Coventry.',
  'Nadia Haddad\nPhysiotherapist, City Clinic Ghent, 2017 to present',
  'Worked as a forklift driver at Tesco distribution centre 2018-2022. Forklift licence B1.',
  'Oliver Stone - Graphic designer - Photoshop, InDesign, Illustrator - oliver@stone.io',
  'Karl Huber, Maurer, 20 Jahre Erfahrung im Hochbau',
  'Backend developer (Go, PostgreSQL), 4 years at Klarna, Stockholm',
  'Sofia Rossi\nCameriera presso Hotel Bellavista dal 2019\nItaliano, inglese',
  'Email: bob@builder.com Phone: 07700 900111 Bricklayer with CSCS card',
  'Hi my name is Tomasz, I have 3 years experience as a welder in Gdansk.',
  '2015-2019 BSc Physics, University of Oslo\n2019-2024 Data engineer, Equinor',
  'Chloe Martin, assistante de direction, bilingue anglais, 8 ans chez Renault',
  'Yusuf Demir\nDelivery driver\nIzmir',
  'Registered nurse, NMC pin 12A3456E, A&E at Royal London since 2016, ALS certified.',
];

const POSTINGS: readonly string[] = [
  'Python developer needed. Must know Django and REST. 3 years experience.',
  'Python developer needed\nMust know Django and REST\n3 years experience',
  'Waiter wanted, weekends, Bath.',
  'Java developer, Berlin. Spring, Hibernate, SQL. 50-60k.',
  'Registered nurse, night shifts, Leeds General. NMC registration required.',
  'Looking for a plumber with own van. Start immediately.',
  'We need a bookkeeper two days a week. Xero experience essential.',
  'Hiring: Senior React engineer. Remote. TypeScript and GraphQL required, AWS a plus.',
  'Elektriker gesucht. Führerschein erforderlich. Vollzeit.',
  'Wir suchen eine Pflegekraft (m/w/d) in Teilzeit. Examen erforderlich.',
  "Cherche cuisinier, temps plein, Lyon. 2 ans d'expérience.",
  'Se busca camarero con experiencia. Inglés imprescindible.',
  'Cercasi parrucchiera con esperienza, Milano.',
  'Gezocht: vrachtwagenchauffeur met rijbewijs CE.',
  'Procura-se eletricista. Carta de condução. Porto.',
  'DevOps engineer. Kubernetes, Terraform, AWS. 5+ years. Remote EU.',
  'Class 2 driver required. CPC and tacho card. £14 per hour.',
  'Maths teacher\nSt Mary School, York\nQTS required',
  'Senior Accountant',
  'Role: QA tester\nMust have: Selenium, Java\nNice to have: Docker',
  'Sales manager for our Madrid office. Fluent Spanish. Experience in B2B SaaS.',
  'Cleaner, 10 hours per week, must be reliable and have references.',
  'Marketing intern (paid), 3 months, Vienna. Good English and Photoshop skills.',
  'Seeking data scientist. PhD preferred. Python, statistics, SQL must.',
  'Barista needed for busy cafe in Bristol. Weekend availability. Latte art a plus.',
  'Full stack engineer. Vue, Laravel, MySQL. 2+ years. Lisbon or remote.',
  'Koch (m/w/d) für Kantine in Köln, Montag bis Freitag, Ausbildung als Koch.',
  'Receptionist\nPart time, mornings\nGood phone manner and Excel',
  'We are hiring a welder! MIG and TIG, 3 years minimum, Sheffield.',
  'Recherche secrétaire médicale, CDI, Toulouse. Maîtrise de Word exigée.',
  'Vaga: analista de dados. SQL e Power BI. São Paulo.',
  'Tutor for maths, two evenings a week, 20 euros an hour.',
  'Nanny wanted for two children, driving licence required, start in September',
  'iOS developer – Swift, 4 years, good English. Contract, 6 months.',
  'Necesitamos un fontanero con experiencia y carnet de conducir.',
  'Project manager, construction, Dubai. PMP required. Arabic is a plus.',
];

/** Short texts that clearly are something else. */
const OTHERS: readonly string[] = [
  '',
  '  \n ',
  '...',
  'Lunch is at noon.',
  'The meeting is moved to Friday. Bring cake.',
  'Invoice 2024-118\nConsulting, 3 days, 2,400.00 EUR\nVAT 19 % 456.00\nTotal 2,856.00 EUR',
  'INVOICE\nBill to: Acme Ltd\nDescription: Web design\nAmount: $1,200\nDue: 30 June 2024',
  'Pancakes\n2 eggs, 200 g flour, 300 ml milk. Mix, rest for 30 minutes, fry in butter.',
  'Carrot soup\nIngredients: 500 g carrots, 1 onion, ginger, stock.\nPeel and chop the carrots. Simmer for 20 minutes and blend.',
  'The council approved the new bridge on Monday. Mayor Anna Holt said work would start in 2025.',
  'Rain in the morning, sunny later, 18 degrees. Wind from the west.',
  'Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor.',
  'Hello, can you call me back please? Thanks',
  'milk, bread, butter, 6 eggs, coffee',
  'Great hotel, friendly staff, the manager helped us with the luggage. Would come again in 2025.',
  'def main():\n    print("hello")\n\nif __name__ == "__main__":\n    main()',
  'Roses are red, violets are blue, sugar is sweet and so are you.',
  'TESCO Leeds\n14/03/2024 12:31\nMilk 1.20\nBread 0.95\nTOTAL 2.15\nVisa **** 1234',
  'Train ticket London - York, 12 May 2024, seat 14A, adult, £45.00',
  'Two room flat in Leeds, 64 square metres, garden, 900 a month from May.',
  'Once upon a time there was a king who had three daughters.',
  'Press the button for three seconds. The light turns green. Connect the cable.',
  'Marie Curie was a physicist. She studied in Paris and won two Nobel prizes.',
  'You must be 18 to use this service. We may change these terms at any time.',
  'asdf qwer zxcv',
  '12345 67890',
  'https://example.com/page',
  'Agenda: 1. Budget 2025 2. New manager for the shop 3. Any other business',
  'For sale: red bicycle, three gears, good condition, 80 euros. Call Tom on 07700 900222.',
  'Order confirmation\nThank you for your order 4711. 2 x T-shirt, 39.90 EUR. Delivery on Friday.',
  'Tomato salad: slice the tomatoes, add oil, salt and basil. Serve cold.',
  'Patient: John Miller, born 1980. Diagnosis: fracture of the left wrist. Treatment: cast for six weeks.',
  'The Beatles were a band from Liverpool. Their first album came out in 1963.',
  'Wohnung zu vermieten, 3 Zimmer, Balkon, 850 Euro warm, ab Juni.',
  'Meeting notes: discussed budget. Anna to send figures. Next call on Tuesday.',
  "SELECT name, salary FROM employees WHERE role = 'manager' ORDER BY salary;",
  'Dear customer, your parcel is waiting at the post office.',
  'Flight LH 123 from Berlin to Oslo on 4 May 2025, gate B12, boarding 10:20.',
  'How to bake bread: mix flour and water, knead for ten minutes, wait, bake.',
  'Happy birthday Jane! See you on Saturday. Love, Tom',
  'Nutrition facts per 100 g: energy 1500 kJ, fat 12 g, sugar 30 g, salt 0.4 g',
  'Rechnung\nKunde: Müller GmbH\nBeratung 8 Stunden 800,00 EUR\nGesamt 952,00 EUR',
  'The quick brown fox jumps over the lazy dog.',
  '42',
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

  test.each([
    ['Bob Carr\nBricklayer, Carr & Sons, 2018 - 2022', 'Bricklayer'],
    ['Ann Pike\nUpholsterer at Sofa Works, 2018 - 2022', 'Upholsterer'],
    ['Peter Lang\nDisponent, Fruchthof KG, 2018 - 2022', 'Disponent'],
    ['Hélène Roux\nCouvreur, Toitures Roux, 2018 - 2022', 'Couvreur'],
    ['Elena Prieto\nRecepcionista, Hotel Giralda, 2018 - 2022', 'Recepcionista'],
    ['Paolo Riva\nTornitore, Officine Riva, 2018 - 2022', 'Tornitore'],
    ['Rui Costa\nPedreiro, Obras Costa, 2018 - 2022', 'Pedreiro'],
    ['Joost de Wit\nMetselaar, Van Dijk BV, 2018 - 2022', 'Metselaar'],
  ])('%j: trades of seven languages are positions', (text, position) => {
    expect(profileOf(text).work).toMatchObject([{ position, startDate: '2018', endDate: '2022' }]);
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
    for (const text of [CVS[0], CVS[2], CVS[3]]) expect(engine.parsePosting(text ?? '').posting).toBeNull();
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
    [
      'Python developer needed\nMust know Django\n3 years experience',
      ['Must know Django', '3 years experience'],
      [],
    ],
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
