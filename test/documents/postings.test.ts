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
