import { describe, expect, test } from 'bun:test';
import { cvText, engine, postingOf, postingText, TODAY, unproven } from './recorded-documents.ts';

describe('G-8 a posting becomes its requirements', () => {
  test('English, in sections', () => {
    const posting = postingOf(postingText('english'));
    expect(posting).toMatchObject({
      title: 'Senior Backend Engineer',
      hiringOrganization: { name: 'Acme Robotics' },
      jobLocation: [{ city: 'Berlin', region: null, country: 'Germany' }],
      jobLocationType: 'TELECOMMUTE',
      employmentType: 'FULL_TIME',
      baseSalary: { currency: 'EUR', minValue: 70_000, maxValue: 90_000, unitText: 'YEAR' },
      must_have: [
        'At least 5 years of experience in backend development',
        "Bachelor's degree in Computer Science or similar",
        'Strong knowledge of PostgreSQL',
      ],
      nice_to_have: ['Experience with Kubernetes is a plus', 'Rust or Go', 'German'],
      responsibilities: [
        'Design and build APIs in Node.js and TypeScript',
        'Own services from design to operation',
      ],
      experienceRequirements: { monthsOfExperience: 60 },
      educationRequirements: ["Bachelor's degree in Computer Science or similar"],
      jobBenefits: ['Salary: €70,000 - €90,000 per year', '30 days of vacation', 'Remote work possible'],
      datePosted: '2024-03-05',
      validThrough: '2024-04-30',
    });
    expect(posting.skills.map(({ canonical }) => canonical)).toEqual(
      expect.arrayContaining(['Node.js', 'TypeScript', 'PostgreSQL', 'Kubernetes', 'Rust', 'Go']),
    );
    expect(posting.description).toBe(postingText('english').trim());
  });

  test('German', () => {
    expect(engine.parsePosting(postingText('german')).document).toMatchObject({
      kind: 'job_posting',
      language: 'de',
    });
    expect(postingOf(postingText('german'))).toMatchObject({
      hiringOrganization: { name: 'Hanseatische Fruchthandel KG' },
      jobLocation: [{ city: 'Hamburg' }],
      jobLocationType: 'TELECOMMUTE',
      employmentType: 'PART_TIME',
      baseSalary: { currency: 'EUR', minValue: 3200, maxValue: 3200, unitText: 'MONTH' },
      nice_to_have: ['Englischkenntnisse von Vorteil'],
      experienceRequirements: { monthsOfExperience: 36 },
      validThrough: '2024-08-15',
    });
  });

  test('prose without headings is split by its wording', () => {
    const posting = postingOf(postingText('prose'));
    expect(posting).toMatchObject({
      title: 'Registered Nurse',
      hiringOrganization: { name: 'Harbor Street Clinic' },
      jobLocation: [{ city: 'Portland', region: 'OR' }],
      employmentType: 'PART_TIME',
      baseSalary: { currency: 'USD', minValue: 42, maxValue: 55, unitText: 'HOUR' },
      experienceRequirements: { monthsOfExperience: 24 },
    });
    expect(posting.must_have).toContain(
      'You must have an active nursing license and at least 2 years of experience in acute care.',
    );
    expect(posting.nice_to_have).toEqual(['Experience with Epic is preferred.']);
  });
});

describe('G-8 the title is the work, without what is said around it', () => {
  test.each([
    ['Northfield Bakery is hiring a Pastry Chef\n\nFull time in Leeds.', 'Pastry Chef'],
    ['🚀 Join us as Lead Android Engineer (m/f/d) – Remote', 'Lead Android Engineer'],
    ['Job Title: Forklift Operator\nLocation: Hull\nJob Type: Temporary', 'Forklift Operator'],
    ['Data Engineer | Acorn Analytics | Manchester (Hybrid)', 'Data Engineer'],
    ['[Remote] Senior Go Engineer', 'Senior Go Engineer'],
    ['URGENTLY REQUIRED: HGV CLASS 1 DRIVERS\nRATE: £17.50 PER HOUR', 'HGV CLASS 1 DRIVERS'],
    ["Offre d'emploi : Technicien de maintenance (H/F)\nCDI, Nantes", 'Technicien de maintenance'],
    ['Staff Engineer, Platform. 180k+ USD, remote.', 'Staff Engineer, Platform'],
    [
      'Python DeveloperLocation: Austin\nWe are looking for you. Apply now.\nRequirements\n- You must have four years of Python',
      'Python Developer',
    ],
  ])('%j is %j', (text, title) => {
    expect(postingOf(text).title).toBe(title);
  });
});

describe('G-8 a heading is no requirement, and says what its list is', () => {
  const posting = (lead: string, bullet = '- ') =>
    postingOf(
      `Product Designer\nWe are hiring in Leeds, full time.\n\nWhat you bring\n${bullet}Figma every day\n\n${lead}\n${bullet}know WCAG\n${bullet}have drawn icons\n\nPay: £40,000 per year`,
    );
  test.each([
    'It would be a plus if you',
    'Nice to have:',
    "Things we don't require, but love",
    '**Bonus points:**',
    'Von Vorteil:',
    'Seraient un plus',
    'Diferenciais:',
  ])('%j', (lead) => {
    expect(posting(lead)).toMatchObject({
      must_have: ['Figma every day'],
      nice_to_have: ['know WCAG', 'have drawn icons'],
    });
  });

  test('lists without bullets, labels with their list beside them, and lines of terms that end a list', () => {
    const text = `Forklift Operator
Location: Hull
Essential:
Valid counterbalance licence
Able to work nights
Desirable:
Reach truck licence
Required: first aid certificate
Pay: £12.75/hr
Closing date: 12 January 2027`;
    expect(postingOf(text)).toMatchObject({
      must_have: ['Valid counterbalance licence', 'Able to work nights', 'first aid certificate'],
      nice_to_have: ['Reach truck licence'],
    });
  });

  test('an item that asks for one thing and welcomes another is cut where it changes', () => {
    const text = `Mechanical Engineer
We are hiring in Turin. Full-time.

Your profile
- Italian (required), German (nice to have)
- Experience with cloud providers, ideally AWS
- Experience in Kubernetes, Docker or similar is a plus`;
    expect(postingOf(text)).toMatchObject({
      must_have: ['Italian (required)', 'Experience with cloud providers'],
      nice_to_have: [
        'German (nice to have)',
        'ideally AWS',
        'Experience in Kubernetes, Docker or similar is a plus',
      ],
    });
  });

  test('how to apply and what every employer says of itself is not asked for', () => {
    const text = `Python Engineer
Requirements
- Five years of Python
- Oracle
Interested in hearing more?
Easy Apply now by clicking the "Apply Now" button.
We are an equal opportunity employer.`;
    expect(postingOf(text)).toMatchObject({
      must_have: ['Five years of Python', 'Oracle'],
      nice_to_have: [],
    });
  });
});

describe('G-8 short advertisements have their terms too', () => {
  test.each([
    [
      'Barista wanted, part time, call 555-0142',
      { title: 'Barista', employmentType: 'PART_TIME', must_have: [], work_mode: null, seniority: null },
    ],
    [
      "We're #hiring a Senior React Developer! 100% remote, $120k-$140k, DM me 🙌",
      {
        title: 'Senior React Developer',
        jobLocationType: 'TELECOMMUTE',
        work_mode: 'REMOTE',
        seniority: 'SENIOR',
        baseSalary: { currency: 'USD', minValue: 120_000, maxValue: 140_000, unitText: 'YEAR' },
      },
    ],
    [
      'Site Manager, Leeds. This role cannot be done remotely. SMSTS certificate required.',
      { work_mode: 'ON_SITE', jobLocationType: null, must_have: ['SMSTS certificate required.'] },
    ],
  ])('%j', (text, expected) => {
    const parsed = engine.parsePosting(text);
    expect(parsed.posting).toMatchObject(expected);
    expect(unproven(text, parsed.posting, parsed)).toEqual([]);
  });

  test('the stage of a company and what is internal make no internship', () => {
    const text =
      'Backend Developer at an early-stage startup in Berlin. You work with internal teams. Full-time.';
    expect(postingOf(text).employmentType).toBe('FULL_TIME');
    for (const intern of ['Werkstudent (m/w/d), Köln', 'Marketing intern wanted, Bath'])
      expect(postingOf(`${intern}, 20 hours per week. Excel required.`).employmentType).toBe('INTERN');
  });

  test('a line of pay right below a list is no part of its last item', () => {
    const text = `Assistant wanted
Requirements
- Excel and good English, spoken and written every day
2 100 € brut par mois`;
    expect(postingOf(text).must_have).toEqual(['Excel and good English, spoken and written every day']);
  });
});

test('G-8 knowledge that a posting asks for is a skill, also where no word list has its name', () => {
  const text = `Claims Analyst
Harbour Mutual is looking for a claims analyst to join our team in Leeds.

Requirements:
- Strong knowledge of marine reinsurance
- Experience with Java and Kubernetes
- You have a degree in mathematics

We offer a competitive salary. Apply now.`;
  const { posting, evidence } = engine.parsePosting(text);
  const names = posting?.skills.map(({ name }) => name) ?? [];
  expect(names).toEqual(expect.arrayContaining(['marine reinsurance', 'Java', 'Kubernetes']));
  const places = evidence.filter(({ path }) => path.startsWith('skills['));
  expect(places.map(({ start, end }) => text.slice(start, end))).toEqual(names);
});

test('G-8 a posting printed in two columns is read column after column, and its values stand where they stood', () => {
  const text = `Warehouse Operative wanted: apply now

What you will do              What we offer
- Pick and pack orders        - 25 days of holiday
- Drive a forklift truck      - Free parking on site
- Keep the stock records      - A pension scheme

Requirements                  How to apply
- Forklift licence            Send your CV to
- Two years of experience     jobs@example.com
- Basic Excel                 before 1 March 2025
`;
  const { posting, evidence } = engine.parsePosting(text);
  expect(posting).toMatchObject({
    description: text.trim(),
    must_have: ['Forklift licence', 'Two years of experience', 'Basic Excel'],
    jobBenefits: ['25 days of holiday', 'Free parking on site', 'A pension scheme'],
  });
  const benefits = evidence.filter(({ path }) => path.startsWith('jobBenefits['));
  expect(benefits.map(({ start, end }) => text.slice(start, end))).toEqual(posting?.jobBenefits ?? []);
});

describe('G-7 G-8 what a document is is said', () => {
  test('a CV is no posting, and a posting no CV', () => {
    expect(engine.describe(cvText('one-column')).kind).toBe('cv');
    expect(engine.parsePosting(cvText('one-column'))).toMatchObject({
      document: { kind: 'cv' },
      posting: null,
      evidence: [],
    });
    expect(engine.parseCv(postingText('english'), TODAY)).toMatchObject({
      document: { kind: 'job_posting' },
      profile: null,
      evidence: [],
    });
  });

  test('the shortest CV: a name, and one job with its dates', () => {
    const text =
      'Ivo Blagoev\nPlovdiv, Bulgaria\nivo@example.com\nFreelance web developer, 2014 - present: themes, page speed, search engines and shops for small firms';
    expect(engine.parseCv(text, TODAY)).toMatchObject({
      document: { kind: 'cv' },
      profile: { basics: { name: 'Ivo Blagoev' }, work: [{ startDate: '2014', endDate: null }] },
    });
  });
});
