import { describe, expect, test } from 'bun:test';
import { profileOf } from './recorded-documents.ts';

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
