import { describe, expect, test } from 'bun:test';
import { engine, postingOf } from './recorded-documents.ts';

describe('G-8 postings of job boards, authorities, agencies and mail', () => {
  test('labels with their values on the line below, and a title below "Full job description"', () => {
    const posting = postingOf(`Pay
$28.50 - $34.00 an hour
Job type
Full-time

Location
Tucson, AZ 85719

Full job description
Registered Nurse - Medical Surgical Unit

Minimum Qualifications
BLS certification
One year of acute care experience

Preferred Qualifications
ACLS certification`);
    expect(posting).toMatchObject({
      title: 'Registered Nurse - Medical Surgical Unit',
      jobLocation: [{ city: 'Tucson' }],
      must_have: ['BLS certification', 'One year of acute care experience'],
      nice_to_have: ['ACLS certification'],
    });
  });

  test.each([
    ['We are Pebblewise, a company of nine. We need our first Product Designer. Full time.', 'Pebblewise'],
    [
      'Développeur web (H/F), temps plein\n\nChez Ateliers Morel, nous cherchons des talents.',
      'Ateliers Morel',
    ],
    [
      'Principal Engineer\n\nNordhaven Bank | Copenhagen, Denmark | Permanent\n\nRequirements\n- Linux',
      'Nordhaven Bank',
    ],
    ['About Marlowe Systems\nWe build pumps.\n\nWelder wanted, full-time, in Leeds', 'Marlowe Systems'],
  ])('the employer of %j is %s', (text, name) => {
    expect(postingOf(text).hiringOrganization?.name).toBe(name);
  });

  test.each([
    ['We need our first Product Designer. Full time, Austin.', 'Product Designer'],
    [
      'Post title: Highways Inspector\nSalary: £27,334\nEssential criteria\n- A licence',
      'Highways Inspector',
    ],
    ['Wir suchen dich! MFA (w/m/d) für Hausarztpraxis in Kassel, Teilzeit.', 'MFA'],
    [
      'Vacature Monteur Elektrotechniek\nSalaris: € 2.900 bruto per maand\n\nWat vragen we?\n- Rijbewijs B\n\nWat bieden we?\n- Een bus',
      'Monteur Elektrotechniek',
    ],
    [
      'Lecturer in Modern History (Fixed term)\nEssential:\n- PhD\nDesirable:\n- Latin',
      'Lecturer in Modern History',
    ],
    [
      'Careers › Engineering › Software Engineer\nSoftware Engineer\nYour profile\n- C++',
      'Software Engineer',
    ],
  ])('the title of %j is %s', (text, title) => {
    expect(postingOf(text).title).toBe(title);
  });

  test('a labelled town that no list has is the place; terms, buildings and the country of a town are none', () => {
    const placesOf = (line: string) =>
      postingOf(`Welder wanted, full time\n${line}\nRequirements\n- TIG`).jobLocation.map(
        ({ city, country }) => city ?? country,
      );
    expect(placesOf('Location: Xanworth')).toEqual(['Xanworth']);
    expect(placesOf('Base: County Hall, Xanworth')).toEqual(['Xanworth']);
    expect(placesOf('Brandt Elektro GmbH, Xanheim')).toEqual(['Xanheim']);
    expect(placesOf('Feithstraße 40, 58095 Hagen')).toEqual(['Hagen']);
    expect(placesOf('Elektroniker (m/w/d) in Bad Xanheim')).toEqual(['Bad Xanheim']);
    expect(placesOf('Brandt Elektro GmbH, Full time')).toEqual([]);
    expect(placesOf('Salary: 50000 Euro')).toEqual([]);
    expect(placesOf('Location: Remote')).toEqual([]);
    expect(placesOf('Manchester, England, United Kingdom')).toEqual(['Manchester']);
    expect(placesOf('We supply 900 stores across Canada.')).toEqual([]);
  });

  test('what every applicant must have is asked for wherever it is said; a bonus that is paid is not welcome', () => {
    const posting = postingOf(`Java Developer, full time
Skills: Java, AWS
Must hold active SC clearance.
Employees are eligible for a bonus of up to 10%.`);
    expect(posting.must_have).toEqual(['Java, AWS', 'Must hold active SC clearance.']);
    expect(posting.nice_to_have).toEqual([]);
  });

  test('cells of a table are items of their own', () => {
    const posting = postingOf(`| Position | Quality Technician |
| Experience | 2 years in food manufacturing |
| Required | HACCP certification |
| Preferred | Associate degree |`);
    expect(posting).toMatchObject({
      title: 'Quality Technician',
      must_have: ['2 years in food manufacturing', 'HACCP certification'],
      nice_to_have: ['Associate degree'],
    });
  });

  test('an e-mail in which an employer looks for people is a posting; one that applies is none', () => {
    const mail = (text: string) => engine.parsePosting(text).document.kind;
    expect(
      mail(`Hi all,

we have an opening for a Payroll Specialist in Rotterdam, permanent contract. We ask for three years of experience in payroll.

Thanks,
Joost`),
    ).toBe('job_posting');
    expect(
      mail(`Hi all,

I saw that you are hiring a Payroll Specialist. I have three years of experience in payroll and would like to apply.

Thanks,
Joost`),
    ).not.toBe('job_posting');
  });
});

const BELOW = `

We offer a permanent position in a friendly team. Send your application by e-mail.

Your responsibilities
- Work with the team every day

Requirements
- Two years of experience
- Good references`;

const titled = (top: string) => {
  const { title, hiringOrganization } = postingOf(`${top}${BELOW}`);
  return [title, hiringOrganization?.name ?? null];
};

describe('G-8 the employer in the line of the title', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    [
      'Warehouse Supervisor - Brightloom Logistics\nNorthampton',
      'Warehouse Supervisor',
      'Brightloom Logistics',
    ],
    [
      'Registered Nurse - Lakeshore Medical Center - Duluth, MN',
      'Registered Nurse',
      'Lakeshore Medical Center',
    ],
    ['Tidewell Analytics: Senior Data Engineer', 'Senior Data Engineer', 'Tidewell Analytics'],
    [
      'Mechanical Design Engineer (Harrier Pumps Ltd), Derby',
      'Mechanical Design Engineer',
      'Harrier Pumps Ltd',
    ],
    [
      'Pflegefachkraft (w/m/d) - Seniorenzentrum Am Park - Teilzeit',
      'Pflegefachkraft',
      'Seniorenzentrum Am Park',
    ],
  ];
  for (const [top, title, company] of cases) {
    test(top.replace('\n', ' / '), () => expect(titled(top)).toEqual([title, company]));
  }

  test('a specialisation behind a dash is a part of the title, and a call before a colon is no employer', () => {
    expect(titled('Software Engineer - Payments\nFernhill Bank')).toEqual([
      'Software Engineer - Payments',
      'Fernhill Bank',
    ]);
    expect(titled('Registered Nurse - Medical Surgical Unit')[0]).toBe(
      'Registered Nurse - Medical Surgical Unit',
    );
    expect(titled('Exciting Opportunity: Night Porter')[1]).toBeNull();
  });
});
