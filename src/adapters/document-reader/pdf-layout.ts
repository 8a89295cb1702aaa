import { type Fragment, rowsOf } from './pdf-runs.ts';

/**
 * The reading order of a page. Columns are found by where their lines start: several lines that start at the same
 * position, with only white space to the left of it, beside several lines that end before it. Text that spans both (a
 * heading, a full-width line) cuts the page into bands, and each band is analysed separately. The same is repeated
 * within a column, for nested columns.
 */

/** Lines that belong below each other, and the width that they may fill. */
export interface Block {
  readonly rows: readonly (readonly Fragment[])[];
  readonly left: number;
  readonly right: number;
}

const DEEPEST = 6;
/** Two lines beside two others are a coincidence; three are a column. */
const LEAST_LINES = 3;
/** A page beyond this is a map or a timetable, without columns of text. */
const MOST_RUNS = 10_000;
const MOST_EDGES = 40;
const EDGE_TOLERANCE = 2;

export function blocksOf(fragments: readonly Fragment[], depth = 0): Block[] {
  const rows = rowsOf(fragments);
  const runs = rows.flat();
  const edge = depth < DEEPEST && runs.length <= MOST_RUNS ? bestEdge(runs) : null;
  if (edge === null) return runs.length === 0 ? [] : [blockOf(rows)];
  return bandsAt(runs, edge).flatMap((band) => {
    if (!isColumns(band)) return blocksOf([...band.left, ...band.right, ...band.across], depth + 1);
    const { heading, left, right } = withoutHeading(band);
    return [heading, left, right].flatMap((part) => blocksOf(part, depth + 1));
  });
}

function blockOf(rows: readonly (readonly Fragment[])[]): Block {
  let [left, right] = [Number.POSITIVE_INFINITY, 0];
  for (const run of rows.flat()) {
    left = Math.min(left, run.left);
    right = Math.max(right, run.right);
  }
  return { rows, left, right };
}

interface Band {
  readonly left: Fragment[];
  readonly right: Fragment[];
  readonly across: Fragment[];
}

/** Where the right one of two columns starts, if there are any: the position that puts most lines into columns. */
function bestEdge(runs: readonly Fragment[]): number | null {
  const begins = new Map<number, number>();
  for (const { left } of runs) {
    const place = Math.round(left / EDGE_TOLERANCE);
    begins.set(place, (begins.get(place) ?? 0) + 1);
  }
  const count = (place: number) => (begins.get(place) ?? 0) + (begins.get(place + 1) ?? 0);
  const candidates = [...begins.keys()]
    .filter((place) => count(place) >= LEAST_LINES)
    .sort((one, other) => count(other) - count(one))
    .slice(0, MOST_EDGES)
    .map((place) => (place - 0.5) * EDGE_TOLERANCE);
  let [best, bestLines] = [null as number | null, 0];
  for (const edge of candidates) {
    let lines = 0;
    for (const band of bandsAt(runs, edge))
      if (isColumns(band)) lines += band.left.length + band.right.length;
    if (lines > bestLines) [best, bestLines] = [edge, lines];
  }
  return best;
}

/** Groups the runs from top to bottom into bands: runs on either side of the edge, separated by runs that span it. */
function bandsAt(runs: readonly Fragment[], edge: number): Band[] {
  const bands: Band[] = [];
  for (const run of runs) {
    const side = run.left >= edge ? 'right' : run.right <= edge - 0.5 * run.size ? 'left' : 'across';
    const last = bands.at(-1);
    const isAcross = side === 'across';
    const isAlike = last !== undefined && isAcross === last.across.length > 0;
    const band = isAlike ? last : { left: [], right: [], across: [] };
    if (band !== last) bands.push(band);
    band[side].push(run);
  }
  return bands;
}

function isColumns({ left, right, across }: Band): boolean {
  if (across.length > 0 || left.length < LEAST_LINES || right.length < LEAST_LINES) return false;
  const [top, bottom] = [Math.max(topOf(left), topOf(right)), Math.min(bottomOf(left), bottomOf(right))];
  const shorter = Math.min(bottomOf(left) - topOf(left), bottomOf(right) - topOf(right));
  if (bottom - top < 0.5 * shorter) return false;
  return !isTable(left, right);
}

/** Larger letters above everything else are the heading, at any horizontal position, so that a name is read first. */
function withoutHeading({ left, right }: Band): { heading: Fragment[]; left: Fragment[]; right: Fragment[] } {
  const sizes = [...left, ...right].map(({ size }) => size).sort((one, other) => one - other);
  const least = 1.25 * (sizes[sizes.length >> 1] ?? 0);
  const [higher, lower] = topOf(left) < topOf(right) ? [left, right] : [right, left];
  const isBody = ({ size, base }: Fragment) => size < least || base > topOf(lower) - 0.5 * size;
  const body = higher.findIndex(isBody);
  const heading = higher.slice(0, Math.max(0, body));
  const rest = higher.slice(heading.length);
  return higher === left ? { heading, left: rest, right } : { heading, left, right: rest };
}

const topOf = (runs: readonly Fragment[]) => runs[0]?.base ?? 0;
const bottomOf = (runs: readonly Fragment[]) => runs.at(-1)?.base ?? 0;

const DATES = /\b(?:19|20)\d\d\b|\b\d{1,2}[/.]\d{2,4}\b|\b(?:present|today|now|heute|current|ongoing)\b/i;
/** The level of a skill as dots, stars or a fraction. */
const RATING = /^(?:[\u2022\u25a0-\u25ff\u2605\u2606\u2b24\u2b58\s]{3,20}|\d{1,3} ?%|\d{1,2} ?\/ ?(?:5|10))$/;
const LONGEST_DATE = 40;
const HEADING_SIZES = 1.15;
const HEADINGS_OF_ROWS = 0.5;
/** More than the distance between two runs of one line, at any usual size. */
const STRIP = 8;
/** If the lines on both sides are at least this long, they are prose, which is read column by column. */
const PROSE_LENGTH = 28;

/**
 * Two columns may also be a table: dates beside positions, labels beside values. Dates are recognized by their text and
 * by sharing lines with the other side. For labels, nearly all lines must be shared, and the order in the file must
 * alternate between the sides. Headings above the rows of a table have nothing beside them.
 */
function isTable(left: readonly Fragment[], right: readonly Fragment[]): boolean {
  if (areDates(left, right) || areDates(right, left)) return true;
  const ofRight = linesOf(right);
  const ofLeft = withoutHeadings(linesOf(left), ofRight);
  const [fewer, more] = ofLeft.length <= ofRight.length ? [ofLeft, ofRight] : [ofRight, ofLeft];
  const paired = pairedWith(more, fewer).length;
  if (paired < 0.8 * fewer.length) return false;
  if (medianLength(left) >= PROSE_LENGTH && medianLength(right) >= PROSE_LENGTH) return false;
  const isLeft = new Set(left);
  const inFile = [...left, ...right].sort((one, other) => one.order - other.order);
  let switches = 0;
  inFile.forEach((run, at) => {
    const before = inFile[at - 1];
    if (before !== undefined && isLeft.has(before) !== isLeft.has(run)) switches += 1;
  });
  return switches >= paired;
}

/**
 * Without the lines that have nothing beside them and are larger than those that have, or of another font. A table has more
 * rows than headings.
 */
function withoutHeadings(lines: readonly Fragment[], others: readonly Fragment[]): readonly Fragment[] {
  const paired = pairedWith(others, lines);
  const usual = paired.toSorted((one, other) => one.size - other.size)[paired.length >> 1];
  if (usual === undefined) return lines;
  const [cells, fonts] = [new Set(paired), new Set(paired.map(({ font }) => font))];
  const isHeading = ({ size, font }: Fragment) => size >= HEADING_SIZES * usual.size || !fonts.has(font);
  const rest = lines.filter((line) => cells.has(line) || !isHeading(line));
  return lines.length - rest.length <= HEADINGS_OF_ROWS * paired.length ? rest : lines;
}

/** The first run of each line. */
function linesOf(runs: readonly Fragment[]): readonly Fragment[] {
  return runs.filter((run, at) => {
    const before = runs[at - 1];
    return before === undefined || !isOneLine(before, run);
  });
}

function areDates(side: readonly Fragment[], other: readonly Fragment[]): boolean {
  const dates = side.filter(
    ({ text }) => (DATES.test(text) && text.length <= LONGEST_DATE) || RATING.test(text.trim()),
  );
  const paired = pairedWith(other, dates).length;
  return paired >= 2 && paired >= 0.8 * dates.length && paired >= 0.6 * pairedWith(other, side).length;
}

/**
 * The runs that share a line with one of the others. Searches in strips of the page, because a timetable has thousands
 * of runs.
 */
function pairedWith(others: readonly Fragment[], runs: readonly Fragment[]): readonly Fragment[] {
  const strips = Map.groupBy(others, ({ base }) => Math.floor(base / STRIP));
  return runs.filter((run) => {
    const strip = Math.floor(run.base / STRIP);
    const near = [strip - 1, strip, strip + 1].flatMap((at) => strips.get(at) ?? []);
    return near.some((other) => isOneLine(run, other));
  });
}

/**
 * Stricter than for runs of one row: separate columns align this closely only by chance. For smaller letters beside
 * larger ones the top edges may align instead, as in cells of a table.
 */
function isOneLine(one: Fragment, other: Fragment): boolean {
  const most = 0.15 * Math.max(one.size, other.size);
  const apart = one.base - other.base;
  return Math.abs(apart) <= most || Math.abs(apart - (one.size - other.size)) <= most;
}

function medianLength(runs: readonly Fragment[]): number {
  const lengths = runs.map(({ text }) => text.length).sort((one, other) => one - other);
  return lengths[lengths.length >> 1] ?? 0;
}
