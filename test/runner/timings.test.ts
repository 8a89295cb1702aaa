import { expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { slowestFirst } from './timings.ts';

test('files are ordered by what was measured, else by their size; a damaged record is begun again', () => {
  const root = mkdtempSync(join(tmpdir(), 'timings-'));
  const file = join(root, 'node_modules/.cache/turnpike/test-timings.json');
  const files = () => JSON.parse(readFileSync(file, 'utf8')).files;
  mkdirSync(join(root, 'src'));
  writeFileSync(join(root, 'src/a.test.ts'), 'x'.repeat(1_000));
  writeFileSync(join(root, 'src/b.test.ts'), 'x'.repeat(2_000));
  expect(slowestFirst(root, ['src/a.test.ts', 'src/b.test.ts'])).toEqual([
    `--timings=${file}`,
    '--update-timings',
  ]);
  expect(files()).toEqual({ 'src/a.test.ts': 100, 'src/b.test.ts': 200 });
  writeFileSync(file, JSON.stringify({ version: 1, files: { 'src/a.test.ts': 7, 'src/c.test.ts': 9 } }));
  slowestFirst(root, ['src/a.test.ts', 'src/b.test.ts']);
  expect(files()).toEqual({ 'src/a.test.ts': 7, 'src/b.test.ts': 200, 'src/c.test.ts': 9 });
  writeFileSync(file, '{"version":1,');
  slowestFirst(root, ['src/a.test.ts']);
  expect(files()).toEqual({ 'src/a.test.ts': 100 });
  rmSync(root, { recursive: true, force: true });
});
