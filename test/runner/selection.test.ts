import { afterAll, beforeAll, expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { affectedTests, changedSince, reachedTests } from './selection.ts';

const FILES = {
  'src/price.ts': 'export const price = 1;\nexport interface Price {}\n',
  'src/price.test.ts': "import { price } from './price.ts';\n",
  'src/call.ts': "import { price } from './price.ts';\nexport const call = price;\n",
  'src/shape.ts': "import type { Price } from './price.ts';\nexport const shape = (one: Price) => one;\n",
  'src/shape.test.ts': "import { shape } from './shape.ts';\n",
  'src/thread.ts': "export const path = new URL('./price.ts', import.meta.url);\n",
  'test/call.slow.test.ts': "import { call } from '../src/call.ts';\n",
  'test/gateway/call.test.ts': "import { call } from '../../src/call.ts';\n",
  'test/gateway/thread.test.ts': "import { path } from '../../src/thread.ts';\n",
  'test/gateway/gateway-under-test.ts': "export { price } from '../../src/price.ts';\n",
  'test/gateway/usage.test.ts': "import { price } from './gateway-under-test.ts';\n",
  'test/tidy.test.ts': '',
  'migrations/0001.sql': '',
};
let root = '';

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'selection-'));
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  git('init', '-q');
  git('add', '.');
  git('-c', 'user.name=a', '-c', 'user.email=a@a.example', 'commit', '-q', '-m', 'first');
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function git(...words: string[]): void {
  const { status, stderr } = spawnSync('git', words, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
}

test('a file is reached through imports of values and through threads, the nearest tests first, none of them slow', () => {
  expect(reachedTests(root, ['src/price.ts'])).toEqual([
    'src/price.test.ts',
    'test/gateway/call.test.ts',
    'test/gateway/thread.test.ts',
    'test/gateway/usage.test.ts',
  ]);
  expect(reachedTests(root, ['src/call.ts'])).toEqual(['test/gateway/call.test.ts']);
  expect(reachedTests(root, ['src/shape.ts'])).toEqual(['src/shape.test.ts']);
});

test('the rules of the house are tested after every change, everything fast after a migration', () => {
  const affected = (path: string, budgetMs = 10) => affectedTests(root, [path], () => 1, budgetMs);
  expect(affected('src/shape.ts').paths).toEqual(['test/tidy.test.ts', 'src/shape.test.ts']);
  expect(affected('migrations/0001.sql').paths).toHaveLength(6);
});

test('the nearest tests come first, those through a whole service last, as many as the time allows', () => {
  const affected = (budgetMs: number) => affectedTests(root, ['src/price.ts'], () => 1, budgetMs);
  const near = ['src/price.test.ts', 'test/gateway/call.test.ts', 'test/gateway/thread.test.ts'];
  const all = [...near, 'test/gateway/usage.test.ts'];
  expect(affected(4)).toEqual({ paths: ['test/tidy.test.ts', ...all], left: 0 });
  expect(affected(3)).toEqual({ paths: ['test/tidy.test.ts', ...near], left: 1 });
});

test('a change is what is not committed, not tracked, or committed since', () => {
  expect(changedSince(root, 'HEAD')).toEqual([]);
  writeFileSync(join(root, 'src/call.ts'), 'export const call = 2;\n');
  writeFileSync(join(root, 'src/new.ts'), '');
  expect(changedSince(root, 'HEAD')).toEqual(['src/call.ts', 'src/new.ts']);
  expect(() => changedSince(root, 'no-such-commit')).toThrow('git diff');
});
