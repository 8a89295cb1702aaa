import {
  bullet,
  makeDocx,
  makePdf,
  type PlacedText,
  paragraph,
  wrapped,
} from '../doubles/made-up-documents.ts';

/** One CV, and files of every kind that are made of it: what differs between them is the kind alone. */

/** A plain line; a point of a list; a heading; the space between two entries. */
type CvLine =
  | { readonly as: 'line' | 'point' | 'heading' | 'name'; readonly text: string }
  | { readonly as: 'gap' };

export interface WrittenCv {
  /** Text above both columns, where there are two. */
  readonly top: readonly CvLine[];
  /** One column, or two that stand side by side. */
  readonly columns: readonly (readonly CvLine[])[];
}

/** "# " a heading, "! " the name, "- " a point, nothing a gap. */
export function cvLines(text: string): readonly CvLine[] {
  return text.split('\n').map((line): CvLine => {
    if (line === '') return { as: 'gap' };
    if (line.startsWith('# ')) return { as: 'heading', text: line.slice(2) };
    if (line.startsWith('! ')) return { as: 'name', text: line.slice(2) };
    return line.startsWith('- ') ? { as: 'point', text: line.slice(2) } : { as: 'line', text: line };
  });
}

const utf8 = (text: string) => new TextEncoder().encode(text);
const gap: CvLine = { as: 'gap' };
const inOrder = ({ top, columns }: WrittenCv): readonly CvLine[] => [
  ...top,
  ...columns.flatMap((lines) => [gap, ...lines]),
];

function plain(line: CvLine): string {
  if (line.as === 'gap') return '';
  return line.as === 'point' ? `- ${line.text}` : line.text;
}

export function asText(cv: WrittenCv): Uint8Array {
  return utf8(inOrder(cv).map(plain).join('\n'));
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function htmlOf(lines: readonly CvLine[]): string {
  return lines
    .map((line) => {
      if (line.as === 'gap') return '';
      const text = escaped(line.text);
      if (line.as === 'point') return `<ul><li>${text}</li></ul>`;
      return line.as === 'line' ? `<div>${text}</div>` : `<h2>${text}</h2>`;
    })
    .join('\n')
    .replaceAll('</ul>\n<ul>', '');
}

export function asHtml({ top, columns }: WrittenCv): Uint8Array {
  const cells = columns.map((lines) => `<td>${htmlOf(lines)}</td>`).join('');
  const body = `<table><tr>${cells}</tr></table>`;
  return utf8(`<!doctype html><html><head><title>CV</title></head><body>${htmlOf(top)}${body}</body></html>`);
}

function docxOf(lines: readonly CvLine[]): string {
  return lines
    .map((line) => {
      if (line.as === 'gap') return paragraph('');
      return line.as === 'point' ? bullet(escaped(line.text)) : paragraph(escaped(line.text));
    })
    .join('');
}

export function asDocx({ top, columns }: WrittenCv): Uint8Array {
  const cells = columns.map((lines) => `<w:tc>${docxOf(lines)}</w:tc>`).join('');
  return makeDocx(`${docxOf(top)}<w:tbl><w:tr>${cells}</w:tr></w:tbl>`);
}

const LEADING = 14;
const BOTTOM = 60;

/** Lines that do not fit are wrapped, pages that are full are turned; the file goes from column to column. */
export function asPdf({ top, columns }: WrittenCv): Uint8Array {
  const head = setLines(top, { x: 56, y: 780, width: 480 });
  const below = head.y - LEADING;
  const sides =
    columns.length === 1
      ? [{ x: 56, width: 480 }]
      : [
          { x: 56, width: 170 },
          { x: 260, width: 290 },
        ];
  const pages: PlacedText[][] = [[...(head.pages[0] ?? [])]];
  columns.forEach((lines, at) => {
    const side = sides[at] ?? { x: 56, width: 480 };
    setLines(lines, { ...side, y: below }).pages.forEach((texts, page) => {
      pages[page] = [...(pages[page] ?? []), ...texts];
    });
  });
  return makePdf(pages);
}

function setLines(
  lines: readonly CvLine[],
  at: { readonly x: number; readonly y: number; readonly width: number },
): { readonly pages: readonly (readonly PlacedText[])[]; readonly y: number } {
  const pages: PlacedText[][] = [[]];
  let { y } = at;
  for (const line of lines) {
    if (y < BOTTOM) {
      pages.push([]);
      y = 780;
    }
    if (line.as === 'gap') {
      y -= LEADING;
      continue;
    }
    const size = line.as === 'name' ? 18 : 10;
    const text = line.as === 'point' ? `\u0095 ${line.text}` : line.text;
    const set = wrapped(text, { x: at.x, y, width: at.width, size, leading: LEADING });
    const bold = line.as === 'heading' || line.as === 'name';
    pages.at(-1)?.push(...set.map((one) => ({ ...one, bold })));
    y -= set.length * LEADING;
  }
  return { pages, y };
}
