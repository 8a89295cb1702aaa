import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the process that runs a test file writes down what happened in its tests. */
export function recentFile(folder: string, testFile: string): string {
  return join(folder, `${Bun.hash(testFile).toString(16)}.jsonl`);
}

/** Where a test process writes down what it does when it is asked. */
export function stackFile(folder: string, pid: number): string {
  return join(folder, `${pid}.stack`);
}

/** What happened in that test of a file, the first being 1; empty where nothing is known. */
export function readRecent(folder: string, testFile: string, test: number): string {
  const path = recentFile(folder, testFile);
  if (!existsSync(path)) return '';
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  const entries = lines.map((line) => JSON.parse(line) as { test: number; text: string });
  return entries.findLast((one) => one.test === test)?.text ?? '';
}
