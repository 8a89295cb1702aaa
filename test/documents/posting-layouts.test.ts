import { describe, expect, test } from 'bun:test';
import { cpuMsOf } from '../doubles/cpu-time.ts';
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
      'We have the following openings at Sandmoor Vets, York:\n1. Veterinary Nurse, full time',
      'Sandmoor Vets',
    ],
    [
      'Principal Engineer\n\nNordhaven Bank | Copenhagen, Denmark | Permanent\n\nRequirements\n- Linux',
      'Nordhaven Bank',
    ],
    ['Staff Engineer\nQuarrystone · Toronto, ON (Remote)\n\nRequirements\n- Linux', 'Quarrystone'],
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
    ['Sachbearbeiter/in Buchhaltung 80–100 %\nIhr Profil:\n• Abacus', 'Sachbearbeiter/in Buchhaltung'],
    [
      'Bei der Müller GmbH in Bielefeld ist eine Stelle als Lagerist (m/w/d) in Vollzeit zu besetzen.',
      'Lagerist',
    ],
    [
      'Vacature Monteur Elektrotechniek\nSalaris: € 2.900 bruto per maand\n\nWat vragen we?\n- Rijbewijs B\n\nWat bieden we?\n- Een bus',
      'Monteur Elektrotechniek',
    ],
    ['WANTED: EXPERIENCED WELDER. FULL TIME.', 'WELDER'],
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
    expect(placesOf('Brandt Elektro GmbH – Werk für Motoren')).toEqual([]);
    expect(placesOf('Salary: 50000 Euro')).toEqual([]);
    expect(placesOf('2025 Vollzeit')).toEqual([]);
    expect(placesOf('Location: Remote')).toEqual([]);
    expect(placesOf('Location: Flexible')).toEqual([]);
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

  test('Polish', () => {
    expect(
      postingOf(`Specjalista ds. logistyki
Kraków, praca zdalna, pełny etat

Wymagania:
- minimum 2 lata doświadczenia w logistyce

Mile widziane:
- znajomość SAP

Oferujemy:
- wynagrodzenie 7 500 – 9 000 zł brutto miesięcznie`),
    ).toMatchObject({
      title: 'Specjalista ds. logistyki',
      work_mode: 'REMOTE',
      employmentType: 'FULL_TIME',
      must_have: ['minimum 2 lata doświadczenia w logistyce'],
      nice_to_have: ['znajomość SAP'],
      experienceRequirements: { monthsOfExperience: 24 },
    });
  });

  test('the time of reading grows with the length, whatever the text repeats', async () => {
    const posting = '\nWe are hiring a nurse, full-time. Requirements:\n- 3 years of experience in care\n';
    const texts = [
      `Full-time job, hiring. ${'A.'.repeat(4000)}_${posting}`,
      `${'A'.repeat(4000)}.`,
      `At ${'A'.repeat(4000)}${posting}`,
      `${'salary '.repeat(4000)}${posting}`,
      `Nurse at ${'\n'.repeat(9000)}_`,
    ];
    const cpuMs = await cpuMsOf(() => texts.forEach((text) => void engine.parsePosting(text)));
    expect(cpuMs).toBeLessThan(3_000);
  });
});
