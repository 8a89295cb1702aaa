import { expect, test } from 'bun:test';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { oncePerRun } from './once-per-run.ts';

const name = `once-${crypto.randomUUID()}`;

test('of several that need it at once one builds, and the others get its result', async () => {
  let builds = 0;
  const build = async (path: string) => {
    builds += 1;
    mkdirSync(path);
    // The others look meanwhile.
    await new Promise((resolve) => setImmediate(resolve));
    writeFileSync(join(path, 'file'), 'whole');
  };
  const paths = await Promise.all([1, 2, 3].map(() => oncePerRun(name, build)));
  expect(builds).toBe(1);
  expect(new Set(paths).size).toBe(1);
  expect(readFileSync(join(paths[0] ?? '', 'file'), 'utf8')).toBe('whole');
  await remove(paths[0]);
});

test('a failed build is started again from the beginning', async () => {
  const failing = oncePerRun(name, async (path) => {
    mkdirSync(path);
    throw new Error('in the middle');
  });
  expect(failing).rejects.toThrow('in the middle');
  await failing.catch(() => undefined);
  const path = await oncePerRun(name, async (path) => mkdirSync(path));
  await remove(path);
});

async function remove(path: string | undefined): Promise<void> {
  if (path === undefined || !dirname(path).includes('turnpike-built-')) throw new Error(`what is ${path}?`);
  for (const one of [path, `${path}.lock`]) await rm(one, { recursive: true, force: true });
}
