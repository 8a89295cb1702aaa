import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';

const ROOT = join(import.meta.dir, '..');

/** The rows of the tables whose last column is headed `test`. */
function rows(): { readonly threat: string; readonly files: readonly string[] }[] {
  const text = readFileSync(join(ROOT, 'docs/threat-model.md'), 'utf8');
  const found: { threat: string; files: string[] }[] = [];
  let isOfThreats = false;
  for (const line of text.split('\n')) {
    const cells = line.split('|').map((cell) => cell.trim());
    if (cells.length < 4) isOfThreats = false;
    else if (cells.at(-2) === 'test') isOfThreats = true;
    else if (isOfThreats && !line.startsWith('|---')) {
      const files = [...(cells.at(-2) ?? '').matchAll(/`([^`]+)`/g)].map(([, file = '']) => file);
      found.push({ threat: cells[1] ?? '', files });
    }
  }
  return found;
}

test('every threat of docs/threat-model.md has one file of test/attacks that runs it, and every file a row', () => {
  const all = rows();
  expect(all.length).toBeGreaterThan(40);
  expect(all.filter(({ files }) => files.length !== 1)).toEqual([]);
  const files = [...new Glob('test/attacks/*.test.ts').scanSync(ROOT)].sort();
  // Attacks on one started system share a file.
  expect([...new Set(all.flatMap((row) => row.files))].sort()).toEqual(files);
});
