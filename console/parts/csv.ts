import { saveFile } from './save-file.ts';

export type Cell = string | number | null;

export function saveCsv(name: string, head: readonly string[], rows: readonly (readonly Cell[])[]): void {
  saveFile(name, 'text/csv', [head, ...rows].map((line) => line.map(cell).join(',')).join('\r\n'));
}

/** A leading sign would be a formula to a spreadsheet. */
function cell(value: Cell): string {
  const text = typeof value === 'string' && /^[=+\-@\t]/.test(value) ? `'${value}` : String(value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
