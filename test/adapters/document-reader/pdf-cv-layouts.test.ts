import { describe, expect, test } from 'bun:test';
import { pdfText } from '../../../src/adapters/document-reader/pdf-text.ts';
import { DOCUMENT_LIMITS } from '../../../src/ports/document-reader.ts';
import { makePdf, type PlacedText, stacked, widthOf } from '../../doubles/made-up-documents.ts';

async function textOf(page: readonly PlacedText[]): Promise<string> {
  const read = await pdfText(makePdf([page]), DOCUMENT_LIMITS);
  return read.outcome === 'text' ? read.text : read.outcome;
}

/** Cells of a row at the given places, one row under the other. */
function rows(cells: readonly (readonly string[])[], xs: readonly number[], y = 700): PlacedText[] {
  return cells.flatMap((row, at) => row.map((text, cell) => ({ x: xs[cell] ?? 0, y: y - 14 * at, text })));
}

describe('G-7 dates beside entries of a PDF', () => {
  const works = ['Programmer', 'Engine Works', 'Wrote the programs.'];
  const entry = (dates: readonly string[], y: number, size = 10) => [
    ...stacked(dates, { x: 60, y: y + 10 - size, size }),
    ...stacked(works, { x: 160, y }),
  ];

  test('G-7 a span of time that is broken in its narrow column is one span', async () => {
    const spans = [
      ['04/2019 -', 'today'],
      ['08/2014 -', '03/2019'],
      ['May 2011', '- July 2014'],
      ['mars - mai', '2010'],
    ];
    const text = await textOf(spans.flatMap((dates, at) => entry(dates, 700 - 60 * at)));
    for (const dates of spans) expect(text).toContain(`${dates.join(' ')}\tProgrammer\nEngine Works\n`);
  });

  test('G-7 dates in smaller letters, with their upper edges where those of the entries are', async () => {
    const spans = ['2019 - 2021', '2016 - 2019', '2012 - 2016'];
    const text = await textOf(
      spans.flatMap((span, at) => [
        { x: 60, y: 701.6 - 60 * at, text: span, size: 8.4 },
        ...stacked(works, { x: 160, y: 700 - 60 * at }),
      ]),
    );
    for (const span of spans) expect(text).toContain(`${span}\tProgrammer\nEngine Works\n`);
  });

  test('G-7 a table of labels and dates keeps its rows beside the headings in its first column', async () => {
    const values = (label: string) => ['Name', 'Ort', 'Telefon', 'Geboren'].includes(label);
    const cells = [
      'Angaben',
      'Name',
      'Ort',
      'Telefon',
      'Geboren',
      'Beruf',
      '08/2018 - heute',
      '02/2013 - 07/2018',
    ];
    const page = [...cells, 'Kenntnisse', 'Sprachen'].flatMap((text, at) => {
      const y = 760 - 44 * at;
      if (/^(?:Angaben|Beruf|Kenntnisse)$/.test(text)) return [{ x: 60, y, text, size: 14 }];
      const beside = values(text) || text === 'Sprachen' ? [`${text} von Ada`] : works;
      return [{ x: 60, y, text }, ...stacked(beside, { x: 180, y })];
    });
    const lines = (await textOf(page)).split('\n');
    for (const line of ['Angaben', 'Name\tName von Ada', 'Beruf', '02/2013 - 07/2018\tProgrammer'])
      expect(lines).toContain(line);
    const side = ['Ada Byron', 'CONTACT', '1 Card Lane', 'London', '+44 1', 'ada@lovelace.example'];
    const beside = [
      ...side.map((text, at) => ({ x: 60, y: 700 - 14 * at - (at < 2 ? 0 : 5), text, bold: at < 2 })),
      ...stacked(['Wrote programs', 'for engines', ...Array(9).fill('and built them')], { x: 220, y: 700 }),
    ].sort((one, other) => other.y - one.y);
    expect(await textOf(beside)).toContain('1 Card Lane\nLondon');
  });

  test('G-7 a list of years is no broken span', async () => {
    const years = ['2019 First prize', '2020', '2021'];
    expect(await textOf(stacked(years, { x: 60, y: 700 }))).toBe(years.join('\n'));
  });
});

describe('G-7 tables of a PDF', () => {
  test('G-7 a table of several columns is read by rows, with other text below its first column', async () => {
    const table = [
      ['Course', 'Institution', 'Year', 'Result'],
      ['B.E', 'Anna University', '2012', '78%'],
      ['HSC', 'City School', '2008', '85%'],
    ];
    const below = ['PERSONAL DETAILS', 'Nationality: Indian', 'Languages: Tamil', 'Place: Chennai'];
    const text = await textOf([...rows(table, [60, 200, 340, 420]), ...stacked(below, { x: 60, y: 650 })]);
    for (const row of table) expect(text).toContain(row.join('\t'));
  });

  test('G-7 a long cell that nearly reaches the next one is not joined with it', async () => {
    // Letters whose width is the one that is counted with.
    const long = 'unbounded abandoned bound';
    const second = 60 + widthOf(long) + 7;
    const table = [
      ['Organization', 'Designation'],
      ['Infolane', 'Technical Lead'],
      [long, 'Senior Engineer'],
    ];
    expect(await textOf(rows(table, [60, second]))).toBe(table.map((row) => row.join('\t')).join('\n'));
  });

  test('G-7 ratings stay with the skills beside them', async () => {
    const ratings = [
      ['Go', '80%'],
      ['SQL', '95%'],
      ['Rust', '60%'],
    ];
    const page = [
      ...stacked(
        ratings.map(([skill = '']) => skill),
        { x: 60, y: 700 },
      ),
      ...stacked(
        ratings.map(([, share = '']) => share),
        { x: 200, y: 700 },
      ),
    ];
    expect(await textOf(page)).toBe(ratings.map((row) => row.join('\t')).join('\n'));
  });
});

describe('G-7 forms of a PDF', () => {
  const form = (cells: readonly (readonly [readonly string[], readonly string[]])[]) => {
    let y = 780;
    return cells.flatMap(([label, value]) => {
      const lines = [
        ...label.map((text, at) => ({ x: 60, y: y - 12 * at, text })),
        ...value.map((text, at) => ({ x: 180, y: y - 12 * at, text })),
      ];
      y -= 12 * Math.max(label.length, value.length) + 5;
      return lines.sort((one, other) => other.y - one.y);
    });
  };

  test('G-7 labels and headings that are broken in their column are whole', async () => {
    const text = await textOf(
      form([
        [['Education and', 'training'], []],
        [['Dates'], ['2005 - 2010']],
        [['Occupation or', 'position held'], ['Analyst']],
        [['Name and address', 'of', 'Employer'], ['Engine Works, London']],
        [
          ['Main activities', 'and duties'],
          ['Plans and builds engines and the', 'cards that they are fed with'],
        ],
        [['Sector'], ['Machines']],
      ]),
    );
    for (const line of [
      'Education and training',
      'Dates\t2005 - 2010',
      'Occupation or position held\tAnalyst',
      'Name and address of Employer\tEngine Works, London',
      'Main activities and duties\tPlans and builds engines and the',
      'cards that they are fed with',
    ])
      expect(text.split('\n')).toContain(line);
  });

  test('G-7 titles with dates beside them, lists and rows of equal distance are no broken labels', async () => {
    const dated = rows(
      [['Analyst', '2019'], ['Engine Works'], ['Author', '2015'], ['Card Works'], ['Clerk', '2011']],
      [60, 420],
    );
    expect(await textOf(dated)).toContain('Analyst\t2019\nEngine Works\nAuthor\t2015\nCard Works');
    const skills = rows(
      [
        ['Excel', 'good'],
        ['word', 'fair'],
        ['access', 'good'],
      ],
      [60, 160],
    );
    expect(await textOf(skills)).toBe('Excel\tgood\nword\tfair\naccess\tgood');
  });
});

test('G-7 entries are set apart by empty lines among many headings, items of a wide list are not', async () => {
  const lines: PlacedText[] = [];
  let y = 780;
  const put = (gap: number, ...texts: readonly string[]) => {
    for (const [at, text] of texts.entries()) {
      y -= at === 0 ? gap : 13;
      lines.push({ x: 60, y, text });
    }
  };
  for (const heading of ['Experience', 'Volunteering', 'Education', 'Awards']) {
    put(30, heading);
    put(22, 'Analyst', 'Engine Works');
    put(21, 'Author', 'Card Works');
  }
  put(30, 'Skills');
  for (const skill of ['Go', 'SQL', 'Rust', 'Zig']) put(24, skill);
  const text = await textOf(lines);
  expect(text).toContain('Analyst\nEngine Works\n\nAuthor\nCard Works\n\n');
  expect(text).toEndWith('Go\nSQL\nRust\nZig');
});

describe('G-7 headings of a PDF', () => {
  test('G-7 words whose letters are set apart keep the blanks between them, short words too', async () => {
    const line = [
      { x: 60, y: 700, text: 'W O R K' },
      { x: 113, y: 700, text: 'E X P E R I E N C E' },
      { x: 216, y: 700, text: 'A N D' },
      { x: 256, y: 700, text: 'U X' },
    ];
    expect(await textOf(line)).toBe('WORK EXPERIENCE AND UX');
  });

  test('G-7 a name in the largest letters, first name above last name, is on one line', async () => {
    const body = stacked(['Engineer', 'London', 'ada@lovelace.example'], { x: 60, y: 700 });
    const name = (...lines: readonly string[]) =>
      lines.map((text, at) => ({ x: 60, y: 780 - 30 * at, text, size: 26 }));
    expect(await textOf([...name('Ada', 'van Lovelace'), ...body])).toStartWith('Ada van Lovelace\n');
    expect(await textOf([...name('Resume', 'Ada Lovelace'), ...body])).toStartWith('Resume\nAda Lovelace\n');
  });

  test('G-7 a line that changes its font is joined with the rest of it on the next line', async () => {
    const begin = 'Portland State University, Portland,';
    const page = [
      { x: 60, y: 700, text: begin },
      { x: 60 + 165, y: 700, text: 'Bachelor of', bold: true },
      { x: 60, y: 687, text: 'Social Work', bold: true },
      { x: 60, y: 674, text: '2010 to 2014' },
    ];
    expect(await textOf(page)).toBe(`${begin} Bachelor of Social Work\n2010 to 2014`);
  });
});
