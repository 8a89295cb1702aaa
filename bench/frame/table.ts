import type { Row } from './measurement.ts';

/** The rows of one measurement, in columns. */
export function renderRows(rows: readonly Row[]): string {
  const cells = rows.map((row) => [row.label, figure(row.value, row.unit), range(row), notes(row)]);
  const widths = [0, 1, 2].map((column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  const [labels = 0, figures = 0, ranges = 0] = widths;
  return cells
    .map(([label = '', value = '', spread = '', note = '']) =>
      `  ${label.padEnd(labels)}  ${value.padStart(figures)}  ${spread.padEnd(ranges)}  ${note}`.trimEnd(),
    )
    .join('\n');
}

function figure(value: number, unit: Row['unit']): string {
  return `${plain(value)} ${unit}`;
}

/** Three digits that mean something are enough. */
export function plain(value: number): string {
  const fractionDigits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString('en', {
    minimumFractionDigits: fractionDigits,
    maximumFractionDigits: fractionDigits,
  });
}

function range({ range }: Row): string {
  return range === undefined ? '' : `${plain(range[0])} – ${plain(range[1])}`;
}

function notes({ value, unit, beside, aim }: Row): string {
  const parts: string[] = [];
  if (beside !== undefined) parts.push(`${beside.ratio.toFixed(2)} × ${beside.reference}`);
  if (aim !== undefined) {
    parts.push(`aim: under ${figure(aim.below, unit)}, ${value < aim.below ? 'met' : 'MISSED'}`);
  }
  return parts.join('; ');
}
