import type { Block } from './pdf-layout.ts';
import type { Fragment } from './pdf-runs.ts';

type Row = readonly Fragment[];

/** The fewest values below each other that make a column of a form. */
const LEAST_VALUES = 3;
/** Values start in the left part of a form; text that starts further right is usually dates beside titles. */
const VALUES_WITHIN = 0.45;
const TOLERANCE = 2;
/** The lines of one label are about as close as the closest lines of the form. */
const CLOSE = 1.12;

/**
 * Joins labels of a form that are wrapped in their narrow column ("Name and address of" above "employer") on one line,
 * with the value beside their first line. The lines of a label are recognized by being closer than the rows of the
 * form.
 */
export function joinLabels({ rows, left, right }: Block): readonly Row[] {
  const value = valueColumn(rows);
  if (value === null || value > left + VALUES_WITHIN * (right - left)) return rows;
  const gaps = rows.slice(1).map((row, at) => baseOf(row) - baseOf(rows[at] ?? row));
  let least = Number.POSITIVE_INFINITY;
  gaps.forEach((gap, at) => {
    if (gap >= 0.9 * (rows[at]?.[0]?.size ?? 0)) least = Math.min(least, gap);
  });
  if (!Number.isFinite(least)) return rows;
  const groups: Row[][] = [];
  rows.forEach((row, at) => {
    const isClose = at > 0 && (gaps[at - 1] ?? 0) <= CLOSE * least;
    if (isClose) groups.at(-1)?.push(row);
    else groups.push([row]);
  });
  return groups.flatMap((group) => joinedLabel(group, value) ?? group);
}

const baseOf = (row: Row) => Math.max(...row.map(({ base }) => base));

/** Where most second cells of the rows start. */
function valueColumn(rows: readonly Row[]): number | null {
  const seconds = rows.flatMap(([, second]) => (second === undefined ? [] : [second]));
  const [most] = [...Map.groupBy(seconds, (run) => Math.round(run.left / TOLERANCE)).values()].sort(
    (one, other) => other.length - one.length,
  );
  return most !== undefined && most.length >= LEAST_VALUES ? (most[0]?.left ?? null) : null;
}

/** Null if the lines are not a label and its value. */
function joinedLabel(group: readonly Row[], value: number): readonly Row[] | null {
  const [[label, ...values] = [], ...rest] = group;
  if (label === undefined || rest.length === 0 || /\d/.test(label.text)) return null;
  if (values.length === 0) return joinedHeading(group, value);
  const words = [label.text.trim()];
  const rows: Row[] = [];
  for (const row of rest) {
    const [first, ...others] = row;
    if (first === undefined) return null;
    if (Math.abs(first.left - value) <= TOLERANCE) {
      rows.push(row);
      continue;
    }
    if (first.right >= value || !continues(label, first, others.length > 0)) return null;
    words.push(first.text.trim());
    if (others.length > 0) rows.push(others);
  }
  return words.length === 1 ? null : [[{ ...label, text: words.join(' ') }, ...values], ...rows];
}

const LONGEST_HEADING = 3;
const GOES_ON = /(?:^|\s)(?:und|and|et|e|y|en|i|és|och|og|ve|&|\/)$/iu;

/**
 * Joins "Education and" above "training" in the column of the labels: the words of a heading show that it continues.
 */
function joinedHeading(group: readonly Row[], value: number): readonly Row[] | null {
  const runs = group.flat();
  const [first, ...rest] = runs;
  if (first === undefined || runs.length !== group.length || runs.length > LONGEST_HEADING) return null;
  const isHeading =
    /^\p{Lu}/u.test(first.text.trim()) &&
    runs.every(({ right }) => right < value) &&
    rest.every((next, at) => {
      const goesOn = GOES_ON.test(runs[at]?.text.trim() ?? '') || /^\p{Ll}/u.test(next.text.trim());
      return goesOn && continues(first, next, false);
    });
  return isHeading ? [[{ ...first, text: runs.map(({ text }) => text.trim()).join(' ') }]] : null;
}

function continues(label: Fragment, next: Fragment, hasValue: boolean): boolean {
  const isBelow =
    Math.abs(label.left - next.left) <= TOLERANCE || Math.abs(label.right - next.right) <= TOLERANCE;
  const isAlike =
    label.font === next.font && Math.abs(label.size - next.size) <= 0.2 && !/\d/.test(next.text);
  return isBelow && isAlike && (!hasValue || /^\p{Ll}/u.test(next.text.trim()));
}
