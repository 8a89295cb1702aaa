import { describe, expect, test } from 'bun:test';
import { profileOf } from './recorded-documents.ts';

const jobsOf = (text: string) =>
  profileOf(text).work.map(({ position, name, startDate, endDate }) => [position, name, startDate, endDate]);

describe('G-7 projects of a job are no jobs', () => {
  const PROJECTS = `Project: Claims Settlement Portal
Client: Northgate Insurance, UK
Duration: Jan 2019 – Present
Role: Module Lead
- Designed the payment module

Project: Agent Mobile App
Client: Northgate Insurance, UK
Duration: Jul 2016 – Dec 2018
Role: Developer
- Built the offline store`;

  test('they lie within its time and name a project or a client', () => {
    const jobs = jobsOf(`ANAND RAMACHANDRAN
anand.rama@mail.example | Chennai

PROFESSIONAL EXPERIENCE

Senior Software Engineer, Vistara Infotech Pvt Ltd, Chennai
June 2016 – Present

${PROJECTS}

Software Engineer, Kaveri Systems Ltd, Bengaluru
July 2012 – May 2016
- Wrote batch jobs`);
    expect(jobs).toEqual([
      ['Senior Software Engineer', 'Vistara Infotech Pvt Ltd', '2016-06', null],
      ['Software Engineer', 'Kaveri Systems Ltd', '2012-07', '2016-05'],
    ]);
  });

  test('without a job above them they are the work', () => {
    const { work, total_months_experience } = profileOf(`ANAND RAMACHANDRAN
anand.rama@mail.example | Chennai

PROFESSIONAL EXPERIENCE

${PROJECTS}`);
    expect(work.map(({ position }) => position)).toEqual(['Module Lead', 'Developer']);
    expect(total_months_experience).toBe(96);
  });
});

describe('G-7 what is no work', () => {
  test('compulsory service is no job and no experience, under a heading or in a line', () => {
    const { work, total_months_experience } = profileOf(`Cem Aydın
geboren am 3. Februar 1988 in Hagen
cem.aydin@post.example

Berufserfahrung
02/2016 – 01/2024: Elektroniker bei Stahlwerk Ruhrtal GmbH, Hagen

Wehrdienst
07/2009 – 03/2010: Panzerbataillon 203, Augustdorf`);
    expect(work.map(({ name }) => name)).toEqual(['Stahlwerk Ruhrtal GmbH']);
    expect(total_months_experience).toBe(96);
    const czech = profileOf(`Josef Kučera
Datum narození: 30. 4. 1972

Zaměstnání
09/1994 – 04/2008: zedník, Vítkovické stavby a.s., Ostrava

Základní vojenská služba: 10/1991 – 09/1992`);
    expect(czech.work).toHaveLength(1);
    expect(czech.total_months_experience).toBe(164);
    const amongJobs = profileOf(`Jörg Heyden
joerg.heyden@post.example

Berufserfahrung
02/2016 – 01/2024: Elektroniker bei Stahlwerk Ruhrtal GmbH, Hagen
07/2009 – 03/2010: Grundwehrdienst, Augustdorf`);
    expect(amongJobs.work).toHaveLength(1);
    expect(amongJobs.total_months_experience).toBe(96);
  });

  test('a soldier by trade has a job', () => {
    expect(
      jobsOf(`Dana Field
dana@example.com

Experience
Analyst, Blue Harbour Ltd, 2012 - 2020

Military Service
Staff Sergeant, United States Army, 2003 - 2011`),
    ).toContainEqual(['Staff Sergeant', 'United States Army', '2003', '2011']);
  });
});

test('G-7 a faculty and its university are one school, and one employer', () => {
  const { work, education } = profileOf(`Dr. Eleni Papadaki
e.papadaki@univ.example

Academic appointments
2019 – present	Lecturer in European Law, Faculty of Law, University of Cyprus
2015 – 2019	Research Fellow, Institute of Advanced Legal Studies, London

Education
2011 – 2015	PhD in Law, Faculty of Law, University of Cambridge
2009 – 2010	LLM, School of Law, University of Edinburgh`);
  expect(work.map(({ name, startDate }) => [name, startDate])).toEqual([
    ['Faculty of Law, University of Cyprus', '2019'],
    ['Institute of Advanced Legal Studies', '2015'],
  ]);
  expect(education.map(({ institution, startDate }) => [institution, startDate])).toEqual([
    ['Faculty of Law, University of Cambridge', '2011'],
    ['School of Law, University of Edinburgh', '2009'],
  ]);
});

describe('G-7 a home that no list of towns has', () => {
  const cityOf = (line: string) =>
    profileOf(`Josef Novotny\n${line}\njosef@example.com\n\nWork experience\nMason, Stavby Ltd, 2012 - 2020`)
      .basics.location?.city;

  test('is known by its postcode, its country in brackets or its label', () => {
    expect(cityOf('Opavská 118, 708 00 Ostrava-Poruba (Česká republika)')).toBe('Ostrava-Poruba');
    expect(cityOf('Anschrift: Feithstraße 40, 58095 Hagen')).toBe('Hagen');
    expect(cityOf('Bydliště: Ostrava-Poruba')).toBe('Ostrava-Poruba');
  });

  test('is no street behind its number', () => {
    expect(cityOf('12345 Maple Street')).toBeUndefined();
  });
});
