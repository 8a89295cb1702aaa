import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';

const ROOT = join(import.meta.dir, '..');

/** The text of all tests but this one. */
function allTests(): string {
  const files = [...new Glob('{src,test}/**/*.test.ts').scanSync(ROOT)];
  const others = files.filter((file) => !file.endsWith('threat-model.test.ts'));
  return others.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n');
}

/** The rows of the tables whose last column is headed `test`. */
function rows(): { readonly threat: string; readonly tests: readonly string[] }[] {
  const text = readFileSync(join(ROOT, 'docs/threat-model.md'), 'utf8');
  const found: { threat: string; tests: string[] }[] = [];
  let isOfThreats = false;
  for (const line of text.split('\n')) {
    const cells = line.split('|').map((cell) => cell.trim());
    if (cells.length < 4) isOfThreats = false;
    else if (cells.at(-2) === 'test') isOfThreats = true;
    else if (isOfThreats && !line.startsWith('|---')) {
      const tests = [...(cells.at(-2) ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
      found.push({ threat: cells[1] ?? '', tests });
    }
  }
  return found;
}

test('every threat of docs/threat-model.md names tests, and each of them is there', () => {
  const tests = allTests();
  const all = rows();
  expect(all.length).toBeGreaterThan(28);
  expect(all.filter((row) => row.tests.length === 0)).toEqual([]);
  const isThere = (name: string) =>
    name.startsWith('test/attacks/') ? existsSync(join(ROOT, name)) : tests.includes(name);
  const missing = all.flatMap((row) => row.tests.filter((name) => !isThere(name)));
  expect(missing).toEqual([]);
});

test('every file of test/attacks is named by exactly one row of docs/threat-model.md', () => {
  const files = [...new Glob('test/attacks/*.test.ts').scanSync(ROOT)].sort();
  const named = rows().flatMap((row) => row.tests.filter((name) => name.startsWith('test/attacks/')));
  expect(named.sort()).toEqual(files);
});
