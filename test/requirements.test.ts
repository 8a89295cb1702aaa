import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';

const ROOT = join(import.meta.dir, '..');
const NUMBER = /\b[GPA]-\d{1,2}\b/g;
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

/** The rows of docs/requirements.md: number, and the files that prove it. */
const rows = new Map(
  [...read('docs/requirements.md').matchAll(/^\| ([GPA]-\d+) \|.*\|([^|]*)\|$/gm)].map(
    ([, number = '', last = '']) => [number, [...last.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file)],
  ),
);

test('every number that a test carries has its row in docs/requirements.md', () => {
  const files = [...new Glob('{src,test}/**/*.{test,contract}.ts').scanSync(ROOT)];
  const used = new Set(files.flatMap((file) => read(file).match(NUMBER) ?? []));
  expect(rows.size).toBeGreaterThan(90);
  expect([...used].filter((number) => !rows.has(number)).sort()).toEqual([]);
});

test('every row of docs/requirements.md names files whose tests carry its number', () => {
  const wrong = [...rows].flatMap(([number, files]) => {
    const proving = files.filter(
      (file) =>
        existsSync(join(ROOT, file)) &&
        read(file)
          .match(NUMBER)
          ?.some((found) => found === number) === true,
    );
    return files.length > 0 && proving.length === files.length ? [] : [`${number}: ${files.join(', ')}`];
  });
  expect(wrong).toEqual([]);
});

test('every row is proven in the fast tests, whatever the slow ones prove besides', () => {
  const slowOnly = [...rows].filter(([, files]) => files.every((file) => file.includes('.slow.')));
  expect(slowOnly).toEqual([]);
});
