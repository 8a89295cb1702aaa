import { describe, expect, test } from 'bun:test';
import { readDocument } from '../../src/adapters/document-reader/read-document.ts';
import { DOCUMENT_LIMITS } from '../../src/ports/document-reader.ts';
import { asDocx, asHtml, asPdf, asText, cvLines, type WrittenCv } from './one-cv-in-many-files.ts';
import { profileOf } from './recorded-documents.ts';

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

describe('G-7 the same CV in two columns is the same record as column after column', () => {
  test('G-7 the record has what the CV says', async () => {
    const expected = await recordOf(asText(ENGINEER));
    expect(expected.basics).toMatchObject({ name: 'Daniel Okoro', email: 'daniel.okoro@example.org' });
    expect(expected.work.map(({ name }) => name)).toEqual(['Larkfield Turbines plc', 'Severn Pumps Ltd']);
    expect(expected.skills.length).toBeGreaterThanOrEqual(4);
  });

  for (const [kind, make] of [
    ['PDF', asPdf],
    ['DOCX', asDocx],
    ['HTML', asHtml],
  ] as const) {
    test(`G-7 in two columns, as ${kind}`, async () => {
      expect(await recordOf(make(ENGINEER))).toEqual(await recordOf(asText(ENGINEER)));
    });
  }
});

test('G-7 a PDF of ten pages keeps every job, also where a page is turned in the middle of one', async () => {
  const years = Array.from({ length: 24 }, (_, at) => 2023 - at);
  const job = (year: number) =>
    `Software Developer
Lighthouse Number ${year} Ltd, Leeds
January ${year} - December ${year}
${'- Wrote services in Java and kept the tests green for the team.\n'.repeat(16)}`;
  const lines = cvLines(`# WORK EXPERIENCE\n\n${years.map(job).join('\n')}`);
  const { work, total_months_experience } = await recordOf(
    asPdf({ top: cvLines('! Jane Miller\njane.miller@example.com'), columns: [lines] }),
  );
  expect(work.map(({ startDate }) => startDate)).toEqual(years.map((year) => `${year}-01`));
  expect(total_months_experience).toBe(24 * 12);
});
