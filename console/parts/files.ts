type Cell = string | number | null;

/** Lets the browser save a text as a file. */
export function saveFile(name: string, kind: string, text: string): void {
  saveBlob(name, new Blob([text], { type: kind }));
}

export function saveBlob(name: string, blob: Blob): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}

export function saveCsv(name: string, head: readonly string[], rows: readonly (readonly Cell[])[]): void {
  saveFile(name, 'text/csv', [head, ...rows].map((line) => line.map(csvCell).join(',')).join('\r\n'));
}

/** A leading sign, after blanks too, would make a spreadsheet read the cell as a formula. */
export function csvCell(value: Cell): string {
  const text = typeof value === 'string' && /^\s*[=+\-@|%]/.test(value) ? `'${value}` : String(value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
