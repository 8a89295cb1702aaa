/** Pieces of text as a page has them, and what stands together on one line. */

/** A run of text from `left` to `right`; `base` counts downwards from the top of the page. */
export interface Fragment {
  readonly text: string;
  readonly left: number;
  readonly right: number;
  readonly base: number;
  readonly size: number;
  readonly font: string;
  /** Its place in the file. Most programs write text in the order in which it is to be read. */
  readonly order: number;
}

/** As pdf.js gives it: where the text begins and how large it is stands in a matrix of six numbers. */
export interface PdfItem {
  readonly str: string;
  readonly width: number;
  readonly transform: readonly number[];
  readonly fontName: string;
}

export interface PageBox {
  readonly width: number;
  readonly height: number;
  /** From the file's coordinates to the page as one looks at it, turned pages included. */
  readonly transform: readonly number[];
}

/** Nobody reads letters of two points: what is so small is there for programs. */
const SMALLEST_SIZE = 2.5;

export interface PageFragments {
  readonly fragments: readonly Fragment[];
  /** Text that no reader of the page would see. */
  readonly unseen: number;
}

/**
 * Text that stands upright comes first. Text turned by a quarter, as on the margins of some layouts, is turned back
 * and goes below all else.
 */
export function fragmentsOf(items: readonly PdfItem[], page: PageBox): PageFragments {
  const fragments: Fragment[] = [];
  const seen = new Set<string>();
  let unseen = 0;
  items.forEach((item, order) => {
    if (item.str.trim() === '') return;
    const [a, b, c, d, x, y] = multiply(page.transform, item.transform);
    const size = Math.hypot(c, d);
    const isUpright = Math.abs(b) <= Math.abs(a);
    if (size < SMALLEST_SIZE || x < -size || y < -size || x > page.width + size || y > page.height + size) {
      unseen += 1;
      return;
    }
    const [left, base] = isUpright ? [x, y] : turnedBack(x, y, b < 0, page);
    // Some programs make bold letters by writing them twice, a hair apart.
    const place = `${Math.round(left)} ${Math.round(base)} ${item.str}`;
    if (seen.has(place)) return;
    seen.add(place);
    fragments.push({
      text: item.str,
      left,
      right: left + item.width,
      base,
      size,
      font: item.fontName,
      order,
    });
  });
  return { fragments, unseen };
}

/** Text that runs upwards has its next line to the right of it, text that runs downwards to the left. */
function turnedBack(x: number, y: number, isUpwards: boolean, page: PageBox): [left: number, base: number] {
  const below = page.height + 50;
  return isUpwards ? [page.height - y, below + x] : [y, below + page.width - x];
}

type Matrix = [number, number, number, number, number, number];

function multiply(outer: readonly number[], inner: readonly number[]): Matrix {
  const [a = 1, b = 0, c = 0, d = 1, e = 0, f = 0] = outer;
  const [g = 1, h = 0, i = 0, j = 1, k = 0, l = 0] = inner;
  return [a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f];
}

/** A gap of a letter's size and more is no blank between words but the way to the next column or cell. */
const APART_SIZES = 1;
const BLANK_SIZES = 0.13;

/** Rows from top to bottom, each of runs from left to right: words that belong together are one run. */
export function rowsOf(fragments: readonly Fragment[]): Fragment[][] {
  const byBase = [...fragments].sort((one, other) => one.base - other.base || one.left - other.left);
  const rows: Fragment[][] = [];
  for (const fragment of byBase) {
    const row = rows.at(-1);
    const first = row?.[0];
    if (row !== undefined && first !== undefined && isSameRow(first, fragment)) row.push(fragment);
    else rows.push([fragment]);
  }
  return rows.map(joinRuns);
}

function isSameRow(one: Fragment, other: Fragment): boolean {
  return Math.abs(one.base - other.base) <= 0.4 * Math.max(one.size, other.size);
}

function joinRuns(row: readonly Fragment[]): Fragment[] {
  const runs: Fragment[] = [];
  for (const next of [...row].sort((one, other) => one.left - other.left)) {
    const last = runs.at(-1);
    const size = last === undefined ? 0 : Math.max(last.size, next.size);
    const gap = last === undefined ? 0 : next.left - last.right;
    if (last === undefined || gap > APART_SIZES * size) {
      runs.push(next);
      continue;
    }
    const blank =
      gap > BLANK_SIZES * size && !last.text.endsWith(' ') && !next.text.startsWith(' ') ? ' ' : '';
    runs[runs.length - 1] = {
      ...last,
      text: last.text + blank + next.text,
      right: Math.max(last.right, next.right),
      order: Math.min(last.order, next.order),
    };
  }
  return runs;
}
