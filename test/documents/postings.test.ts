import { describe, expect, test } from 'bun:test';
import { cvText, engine, postingOf, postingText, TODAY } from './recorded-documents.ts';

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

  test('French', () => {
    expect(postingOf(postingText('french'))).toMatchObject({
      title: 'Développeur web',
      hiringOrganization: { name: 'Atelier Numérique SARL' },
      employmentType: 'FULL_TIME',
      baseSalary: { currency: 'EUR', minValue: 38_000, maxValue: 44_000, unitText: 'YEAR' },
      nice_to_have: ['La connaissance de Docker serait un plus'],
      experienceRequirements: { monthsOfExperience: 24 },
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

test('G-8 what a posting wants somebody to know is a skill, also where no word list has its name', () => {
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

  test('the shortest CV is one: who somebody is, and one job with its time', () => {
    const text =
      'Ivo Blagoev\nPlovdiv, Bulgaria\nivo@example.com\nFreelance web developer, 2014 - present: themes, page speed, search engines and shops for small firms';
    expect(engine.parseCv(text, TODAY)).toMatchObject({
      document: { kind: 'cv' },
      profile: { basics: { name: 'Ivo Blagoev' }, work: [{ startDate: '2014', endDate: null }] },
    });
  });

  test('neither a recipe nor an invoice nor nothing is one of them', () => {
    const recipe =
      'Lentil soup\n\nWash the lentils. Chop two onions and a carrot, fry them in oil, add the lentils and a litre of water and cook for forty minutes. Season with salt, pepper and lemon juice.';
    const invoice =
      'Invoice 2024-118\nBlue Harbour Ltd\nQuantity Description Amount\n3 Paper, white, A4 12.50\nTotal 37.50\nPlease pay within 14 days to the account below. Thank you.';
    for (const text of [recipe, invoice, '', 'hello']) {
      expect(engine.describe(text).kind).toBe('other');
      expect(engine.parseCv(text, TODAY).profile).toBeNull();
    }
  });
});
