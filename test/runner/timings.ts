import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Bun writes how long each file took, and starts the slowest first: what comes last decides when a run ends. */
interface Timings {
  readonly version: 1;
  /** In milliseconds, by path. */
  readonly files: Readonly<Record<string, number>>;
}

/** A file of twenty kilobytes takes about two seconds. */
const MS_PER_BYTE = 0.1;

/** How long a test file takes: as measured on this machine, else by its size. */
export function openTimings(root: string): (path: string) => number {
  const measured = readTimings(fileIn(root));
  return (path) => measured[path] ?? Math.round(statSync(join(root, path)).size * MS_PER_BYTE);
}

/** The arguments that have the slowest of these files started first. */
export function slowestFirst(root: string, paths: readonly string[]): string[] {
  const file = fileIn(root);
  const msOf = openTimings(root);
  const files = Object.fromEntries(paths.map((path) => [path, msOf(path)]));
  mkdirSync(dirname(file), { recursive: true });
  const timings: Timings = { version: 1, files: { ...readTimings(file), ...files } };
  writeFileSync(file, JSON.stringify(timings));
  return [`--timings=${file}`, '--update-timings'];
}

function fileIn(root: string): string {
  return join(root, 'node_modules/.cache/turnpike/test-timings.json');
}

function readTimings(file: string): Timings['files'] {
  if (!existsSync(file)) return {};
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as Timings).files;
  } catch {
    // A run that was killed while it wrote: the next one measures again.
    return {};
  }
}
