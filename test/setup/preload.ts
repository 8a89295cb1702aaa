/** Preloaded by `npm test` into every test process: writes down what happened in each test, for the report of those that fail. */
import { afterEach, beforeEach } from 'bun:test';
import { appendFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { pendingWaits } from '../doubles/until.ts';
import { recentFile, stackFile } from '../runner/recent-files.ts';
import { keepRecent, takeRecent } from './recent.ts';

const folder = process.env.TEST_RECENT;
if (folder) {
  keepRecent();
  let file = '';
  let tests = 0;
  const where = () => `${process.pid} is in ${relative(process.cwd(), file)}`;
  const say = (text: string) => writeFileSync(stackFile(folder, process.pid), text);
  beforeEach(() => {
    // The file that runs now, also where a process runs many.
    if (file === Bun.main) return;
    file = Bun.main;
    tests = 0;
    say(`${where()}, and runs without ever waiting`);
  });
  afterEach(() => {
    tests++;
    const text = takeRecent();
    if (text !== '') appendFileSync(recentFile(folder, file), `${JSON.stringify({ test: tests, text })}\n`);
  });
  // The runner asks so where nothing has happened for too long.
  process.on('SIGUSR2', () => {
    const { stack = '' } = new Error(where());
    say([stack, ...pendingWaits(), takeRecent()].join('\n'));
  });
}
