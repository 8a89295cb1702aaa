import { expect, test } from 'bun:test';
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
