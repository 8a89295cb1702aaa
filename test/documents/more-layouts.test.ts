import { describe, expect, test } from 'bun:test';
import { readDocument } from '../../src/adapters/document-reader/read-document.ts';
import { DOCUMENT_LIMITS } from '../../src/ports/document-reader.ts';
import { makeDocx, makePdf, paragraph, stacked, table } from '../doubles/made-up-documents.ts';
import { asPdf, cvLines } from './one-cv-in-many-files.ts';
import { engine, profileOf, TODAY } from './recorded-documents.ts';

async function textOf(bytes: Uint8Array): Promise<string> {
  const reading = await readDocument(bytes, DOCUMENT_LIMITS);
  if (reading.outcome !== 'read') throw new Error(reading.message);
  return reading.text;
}

const recordOf = async (bytes: Uint8Array) => profileOf(await textOf(bytes));
const utf8 = (text: string) => new TextEncoder().encode(text);

describe('G-7 a CV as a table is the same record in every kind of file', () => {
  const HEAD = ['Curriculum Vitae', 'Priya Raman', 'priya.raman@example.com', '+91 98450 12345'];
  const JOBS = [
    ['Period', 'Company', 'Position'],
    ['Apr 2020 - till date', 'Indus Data Systems Pvt Ltd', 'Data Analyst'],
    ['Jul 2017 - Mar 2020', 'Coral Retail India Ltd', 'Junior Analyst'],
  ];
  const SKILLS = ['Technical Skills', 'Python, SQL, Tableau, Power BI'];
  const rows = [...HEAD, '', 'Employment History', ...JOBS.map((cells) => cells.join('\t')), '', ...SKILLS];
  const expected = () => recordOf(utf8(rows.join('\n')));
  const cells = (cell: string) =>
    JOBS.map((row) => `<tr>${row.map((one) => `<${cell}>${one}</${cell}>`).join('')}</tr>`);

  test('G-7 as text it has both jobs', async () => {
    expect((await expected()).work.map(({ name, position }) => [name, position])).toEqual([
      ['Indus Data Systems Pvt Ltd', 'Data Analyst'],
      ['Coral Retail India Ltd', 'Junior Analyst'],
    ]);
  });

  test('G-7 as HTML', async () => {
    const lines = (texts: readonly string[]) => texts.map((text) => `<div>${text}</div>`).join('');
    const page = `<html><body>${lines(HEAD)}<h2>Employment History</h2><table>${cells('td').join('')}</table>`;
    expect(await recordOf(utf8(`${page}<h2>${SKILLS[0]}</h2><p>${SKILLS[1]}</p></body></html>`))).toEqual(
      await expected(),
    );
  });

  test('G-7 as DOCX', async () => {
    const lines = (texts: readonly string[]) => texts.map((text) => paragraph(text)).join('');
    const body = `${lines([...HEAD, '', 'Employment History'])}${table(JOBS)}${lines(['', ...SKILLS])}`;
    expect(await recordOf(makeDocx(body))).toEqual(await expected());
  });

  test('G-7 as PDF', async () => {
    const page = [
      ...stacked([...HEAD], { x: 56, y: 780 }),
      { x: 56, y: 696, text: 'Employment History', bold: true },
      ...JOBS.flatMap((row, at) => row.map((text, cell) => ({ x: 56 + cell * 180, y: 682 - at * 14, text }))),
      { x: 56, y: 612, text: SKILLS[0] ?? '', bold: true },
      { x: 56, y: 598, text: SKILLS[1] ?? '' },
    ];
    expect(await recordOf(makePdf([page]))).toEqual(await expected());
  });
});

test('G-7 a CV in two languages keeps the jobs of both', () => {
  const { work, languages } = profileOf(`Jonas Keller
jonas.keller@example.com
+49 30 1234567

BERUFSERFAHRUNG

Projektleiter
Havel Anlagenbau GmbH, Berlin
05/2019 - heute
- Leitung von Projekten mit bis zu zwölf Personen und einem Budget von zwei Millionen Euro

WORK EXPERIENCE ABROAD

Project Engineer
Thames Process Ltd, London
09/2014 - 04/2019
- Planned and commissioned pumps and valves for water works

AUSBILDUNG
Diplom Maschinenbau, Technische Universität Berlin, 2014

SPRACHEN
Deutsch (Muttersprache), Englisch (fließend)`);
  expect(work.map(({ name, position, startDate }) => [name, position, startDate])).toEqual([
    ['Havel Anlagenbau GmbH', 'Projektleiter', '2019-05'],
    ['Thames Process Ltd', 'Project Engineer', '2014-09'],
  ]);
  expect(languages).toHaveLength(2);
});

test('G-7 a PDF of ten pages keeps every job, also where a page is turned in the middle of one', async () => {
  const years = Array.from({ length: 24 }, (_, at) => 2023 - at);
  const job = (year: number) =>
    `Software Developer
Lighthouse Number ${year} Ltd, Leeds
January ${year} - December ${year}
${'- Wrote services in Java and kept the tests green for the team.\n'.repeat(16)}`;
  const lines = cvLines(`# WORK EXPERIENCE\n\n${years.map(job).join('\n')}`);
  const text = await textOf(
    asPdf({ top: cvLines('! Jane Miller\njane.miller@example.com'), columns: [lines] }),
  );
  const { work, total_months_experience } = profileOf(text);
  expect(work.map(({ startDate }) => startDate)).toEqual(years.map((year) => `${year}-01`));
  expect(total_months_experience).toBe(24 * 12);
});

test('A-12 a short CV has its language', () => {
  const english = `Sam Whitlock
Site Reliability Engineer, Bristol, United Kingdom
sam@example.com

Experience
Site Reliability Engineer, Medibook, 2019 - present
- Clusters by Terraform, Argo CD
Skills: AWS, Terraform, Kubernetes, Helm, Linux`;
  const german = `Dirk Hellweg
dirk.hellweg@example.com, 0521 5550123

Beruflicher Werdegang
2015 - heute Industriemechaniker, Ravensberger Kunststoffe GmbH, Bielefeld
Wartung, Reparatur, Hydraulik
Ausbildung: Industriemechaniker, 2011
Kenntnisse: Schweißen, Staplerschein`;
  expect(engine.parseCv(english, TODAY).document.language).toBe('en');
  expect(engine.parseCv(german, TODAY).document.language).toBe('de');
});
