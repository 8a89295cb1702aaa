import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { builtPrefix } from './once-per-run.ts';
import { folderPrefix } from './private-folder.ts';

/** What bare runs share is rebuilt once a day. */
const builtForMs = 24 * 60 * 60_000;

/**
 * Removes what runs that were killed with -9 have left. Their services are gone already (they die with their
 * runner), only the folders stay. And what bare runs of `bun test` have built, once it is old. Returns the paths
 * that were removed.
 */
export function sweepStaleFolders(
  parents: readonly string[],
  isRunning: (pid: number) => boolean = isTestRunner,
): string[] {
  const removed: string[] = [];
  for (const parent of parents) {
    const stale = privateFoldersIn(parent)
      // The sweep comes before this run makes a folder, so one with its own number is from an earlier life.
      .filter(({ pid }) => pid === process.pid || !isRunning(pid))
      .map(({ folder }) => folder);
    for (const folder of [...stale, ...oldBuiltFoldersIn(parent)]) {
      try {
        rmSync(folder, { recursive: true, force: true });
        removed.push(folder);
      } catch {
        // Another user's folder is theirs to sweep.
      }
    }
  }
  return removed;
}

function oldBuiltFoldersIn(parent: string): string[] {
  if (!existsSync(parent)) return [];
  const folders = readdirSync(parent, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders
    .filter(({ name }) => name.startsWith(builtPrefix))
    .map(({ name }) => join(parent, name))
    .filter((folder) => Date.now() - statSync(folder).mtimeMs > builtForMs);
}

function privateFoldersIn(parent: string): { folder: string; pid: number }[] {
  if (!existsSync(parent)) return [];
  return readdirSync(parent, { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory() || !entry.name.startsWith(folderPrefix)) return [];
    const pid = /^(\d+)-\w+$/.exec(entry.name.slice(folderPrefix.length))?.[1];
    return pid === undefined ? [] : [{ folder: join(parent, entry.name), pid: Number(pid) }];
  });
}

/**
 * Numbers of processes are used again: one that lives counts only if it may have made a folder. That is any program on Bun,
 * because besides `npm test` a bare `bun test`, the faults and the benchmarks make them.
 */
export function isTestRunner(pid: number): boolean {
  if (existsSync('/proc/self/cmdline')) {
    try {
      const [program = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return /^bunx?(?:\.exe)?$/.test(basename(program));
    } catch {
      return false;
    }
  }
  // Without /proc the program's name is unknown, and a folder too many is better than one too few.
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
