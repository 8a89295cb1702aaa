import { describe, expect, test } from 'bun:test';
import { readDocument } from '../../src/adapters/document-reader/read-document.ts';
import { DOCUMENT_LIMITS } from '../../src/ports/document-reader.ts';
import {
  asDocx,
  asHtml,
  asOdt,
  asPdf,
  asPrintedColumns,
  asRtf,
  asText,
  cvLines,
  type WrittenCv,
} from './one-cv-in-many-files.ts';
import { profileOf } from './recorded-documents.ts';

const NURSE: WrittenCv = {
  top: cvLines(`! Helen Marchetti
Registered Nurse
Leeds, United Kingdom | helen.marchetti@example.com | +44 113 496 0123`),
  columns: [
    cvLines(`# PROFILE
Nurse with ten years on surgical and medical wards who likes to teach and writes notes that others can read.

# WORK EXPERIENCE

Senior Staff Nurse
Aire Valley Hospital, Leeds
March 2018 - Present
- Runs a surgical ward of twenty-four beds at night, with medication administration, wound care and handovers to the day team.
- Teaches students in their second year.

Staff Nurse
Calder Community Clinic, Halifax
June 2013 - February 2018
- Vaccinations and IV therapy.
- Home visits to patients after surgery.

# EDUCATION

Bachelor of Science in Nursing
University of Leeds
2010 - 2013

# SKILLS
Patient care, Wound care, IV therapy, Medication administration, Teaching

# LANGUAGES
English (native), Italian (fluent)

# CERTIFICATES
Advanced Life Support - Resuscitation Council, 2021`),
  ],
};

const ENGINEER: WrittenCv = {
  top: cvLines(`! Daniel Okoro
Mechanical Engineer`),
  columns: [
    cvLines(`# CONTACT
daniel.okoro@example.org
+44 20 7946 0958
Bristol, United Kingdom

# SKILLS
SolidWorks
AutoCAD
ANSYS
MATLAB

# LANGUAGES
English
French`),
    cvLines(`# EXPERIENCE

Mechanical Design Engineer
Larkfield Turbines plc
January 2018 - Present
- Design of blades for small turbines.
- Finite element analysis in ANSYS.

Graduate Engineer
Severn Pumps Ltd
September 2015 - December 2017
- Drawings and tests of pumps.

# EDUCATION

BEng Mechanical Engineering
University of Bristol
2012 - 2015`),
  ],
};

async function recordOf(bytes: Uint8Array) {
  const reading = await readDocument(bytes, DOCUMENT_LIMITS);
  if (reading.outcome !== 'read') throw new Error(reading.message);
  return profileOf(reading.text);
}

describe('G-7 the same CV is the same record, whatever file it comes in', () => {
  test('G-7 the record has what the CV says', async () => {
    const expected = await recordOf(asText(NURSE));
    expect(expected.basics).toMatchObject({ name: 'Helen Marchetti', phone: '+44 113 496 0123' });
    expect(expected.work.map(({ name, position, startDate }) => [name, position, startDate])).toEqual([
      ['Aire Valley Hospital', 'Senior Staff Nurse', '2018-03'],
      ['Calder Community Clinic', 'Staff Nurse', '2013-06'],
    ]);
    expect(expected.work.map(({ highlights }) => highlights.length)).toEqual([2, 2]);
  });

  for (const [kind, make] of [
    ['PDF', asPdf],
    ['DOCX', asDocx],
    ['ODT', asOdt],
    ['RTF', asRtf],
    ['HTML', asHtml],
  ] as const) {
    test(`G-7 in one column, as ${kind}`, async () => {
      expect(await recordOf(make(NURSE))).toEqual(await recordOf(asText(NURSE)));
    });
  }
});

describe('G-7 the same CV in two columns is the same record as column after column', () => {
  test('G-7 the record has what the CV says', async () => {
    const expected = await recordOf(asText(ENGINEER));
    expect(expected.basics).toMatchObject({ name: 'Daniel Okoro', email: 'daniel.okoro@example.org' });
    expect(expected.work.map(({ name }) => name)).toEqual(['Larkfield Turbines plc', 'Severn Pumps Ltd']);
    expect(expected.skills.length).toBeGreaterThanOrEqual(4);
  });

  for (const [kind, make] of [
    ['printed text', asPrintedColumns],
    ['PDF', asPdf],
    ['DOCX', asDocx],
    ['ODT', asOdt],
    ['RTF', asRtf],
    ['HTML', asHtml],
  ] as const) {
    test(`G-7 in two columns, as ${kind}`, async () => {
      expect(await recordOf(make(ENGINEER))).toEqual(await recordOf(asText(ENGINEER)));
    });
  }
});
