import { expect, test } from 'bun:test';
import { fragmentsOf, rowsOf } from './pdf-runs.ts';

/** What pdf.js reads from a page that a browser printed: pieces from left to right, each at its place with its width. */
type Piece = readonly [left: number, width: number, text: string];

function lineOf(...lines: readonly (readonly Piece[])[]): string[] {
  const items = lines.flatMap((pieces, at) =>
    pieces.map(([left, width, str]) => ({
      ...{ str, width, fontName: 'f1', transform: [10.5, 0, 0, 10.5, left, 700 - 30 * at] },
    })),
  );
  const { fragments } = fragmentsOf(items, { width: 595, height: 842, transform: [1, 0, 0, -1, 0, 842] });
  return rowsOf(fragments).map((row) => row.map(({ text }) => text).join('\t'));
}

test('G-7 a page in Hebrew is read from right to left, with Latin words and spans of time as they are written', () => {
  const dates: Piece[] = [
    [343, 27, '2024'],
    [370, 4, ' '],
    [374, 5, '–'],
    [379, 4, ' '],
    [382, 27, '2019'],
    [409, 4, ' '],
    [412, 94, ', חברת אלפא בע"מ,'],
    [506, 72, 'מהנדסת תוכנה'],
  ];
  const mixed: Piece[] = [
    [263, 28, 'גדולים'],
    [291, 4, ' '],
    [295, 27, 'בנקים'],
    [322, 4, ' '],
    [325, 21, 'עבור'],
    [346, 4, ' '],
    [350, 30, 'Google'],
    [380, 4, ' '],
    [384, 35, 'Cloud'],
    [419, 13, 'וב-'],
    [432, 4, ' '],
    [435, 36, 'Python'],
    [471, 77, 'פיתוח שירותים ב-'],
  ];
  const cells: Piece[] = [
    [60, 40, 'חיפה'],
    [492, 86, 'נועה כהן'],
  ];
  expect(lineOf(dates, mixed, cells)).toEqual([
    'מהנדסת תוכנה, חברת אלפא בע"מ, 2019 – 2024',
    'פיתוח שירותים ב-Python וב-Google Cloud עבור בנקים גדולים',
    'נועה כהן\tחיפה',
  ]);
});

test('G-7 numbers on a page in Hebrew are read from their beginning, as a browser prints them or as another program does', () => {
  const name: Piece = [500, 65, 'נועה כהן'];
  const read = (number: string) =>
    lineOf(
      [
        [439, 101, number],
        [544, 21, 'טלפון'],
      ],
      [name],
    )[0];
  expect(read('4567 123 050')).toBe('טלפון 050 123 4567');
  const parted: Piece[] = [
    [439, 86, '4567 123 50 971'],
    [525, 15, '+ :'],
    [540, 25, 'טלפון'],
  ];
  expect(lineOf(parted, [name])[0]).toBe('טלפון: +971 50 123 4567');
  expect(read('971-50-1234567+')).toContain('+971-50-1234567');
  expect(read('.2021')).toContain('2021.');
  for (const kept of ['050 123 4567', '2019 2020 2021', '05/2019']) expect(read(kept)).toContain(kept);
});
