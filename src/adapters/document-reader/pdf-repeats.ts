import { PAGE_NUMBER } from './docx-text.ts';
import { type Fragment, rowsOf } from './pdf-runs.ts';

/**
 * Headers and footers. A row at the top or the bottom of every page, in the same words at the same height, is read once,
 * where it is first, whatever the number of the page in it; rows with nothing but that number are not read at all. Two lines of text that are
 * alike are not at the edge of every page: a title that two pages begin with stays.
 */
export interface PdfPage {
  readonly number: number;
  readonly height: number;
  readonly fragments: readonly Fragment[];
}

/** How many rows at either end of a page may be a header or a footer. */
const MOST_ROWS = 3;
/** The part of the page at either end in which they are. */
const MARGIN = 0.15;
const HEIGHT_TOLERANCE = 3;
/** A cover page may have neither; the others must then be enough to tell. */
const LEAST_WITHOUT_COVER = 3;

/** The fragments of each page that are read. */
export function withoutRepeatedRows(pages: readonly PdfPage[]): readonly (readonly Fragment[])[] {
  if (pages.length < 2) return pages.map(({ fragments }) => fragments);
  const rows = pages.map(marginRows);
  const repeated = new Set(rows.flat().filter((row) => isRepeated(row, rows)));
  const read = new Set<string>();
  return pages.map(({ fragments }, at) => {
    const gone = new Set<Fragment>();
    for (const row of rows[at] ?? []) {
      if (!repeated.has(row)) continue;
      if (row.isNumbered || read.has(row.text)) for (const one of row.fragments) gone.add(one);
      else read.add(row.text);
    }
    return gone.size === 0 ? fragments : fragments.filter((one) => !gone.has(one));
  });
}

interface MarginRow {
  /** With "#" for the number of the page. */
  readonly text: string;
  readonly isNumbered: boolean;
  readonly base: number;
  readonly fragments: readonly Fragment[];
}

function marginRows({ number, height, fragments }: PdfPage): readonly MarginRow[] {
  const edge = MARGIN * height;
  const outer = fragments.filter(({ base }) => base < edge || base > height - edge);
  const rows = rowsOf(outer);
  const ends = [...rows.slice(0, MOST_ROWS), ...rows.slice(Math.max(MOST_ROWS, rows.length - MOST_ROWS))];
  return ends.map((runs) => {
    const base = runs[0]?.base ?? 0;
    const line = runs.map(({ text }) => text.trim()).join(' ');
    const text = line.replace(new RegExp(`(?<!\\d)${number}(?!\\d)`), '#');
    const own = outer.filter((one) => Math.abs(one.base - base) <= HEIGHT_TOLERANCE);
    return { text, isNumbered: PAGE_NUMBER.test(line), base, fragments: own };
  });
}

/** On every page, or on every page but the first. */
function isRepeated(row: MarginRow, pages: readonly (readonly MarginRow[])[]): boolean {
  const having = pages.filter((rows) =>
    rows.some(({ text, base }) => text === row.text && Math.abs(base - row.base) <= HEIGHT_TOLERANCE),
  );
  const isButFirst = having.length >= LEAST_WITHOUT_COVER && !having.includes(pages[0] ?? []);
  return having.length === pages.length || (isButFirst && having.length === pages.length - 1);
}
