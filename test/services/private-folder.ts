import { chmodSync, lstatSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import type { HostFigures } from '../../src/ports/process-figures.ts';
import { openHostFigures } from '../../src/start/processes/host-figures.ts';

/** The runner's process id follows, so that a later run can tell a stale folder from one in use. */
export const folderPrefix = 'turnpike-test-';

/** Where private folders may lie: the sweep looks into all of them. */
export function folderParents(): string[] {
  return [...new Set([resolve(tmpdir()), '/tmp'])];
}

export const MEMORY_FOLDER = '/dev/shm';
/** A run has at most 1 GB in its folder at a time. */
const LEAST_FREE_BYTES = 4 * 1024 ** 3;
const LEAST_MEMORY_BYTES = 12 * 1024 ** 3;

/**
 * A file system in memory, if there is a roomy one on a machine with much memory, and TMPDIR names no other place. A run
 * creates and deletes some hundred thousand files of databases, which takes a disk a tenth of the run.
 */
export function memoryFolders(
  figures: HostFigures = openHostFigures({ clock: createSystemClock(), dataDir: MEMORY_FOLDER })(),
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string[] {
  const { disk, memory } = figures;
  const { availableBytes, limitBytes } = memory;
  const isRoomy = disk !== null && disk.availableBytes >= LEAST_FREE_BYTES;
  const hasMemory = Math.min(availableBytes, limitBytes ?? availableBytes) >= LEAST_MEMORY_BYTES;
  return isRoomy && hasMemory && !environment.TMPDIR ? [MEMORY_FOLDER] : [];
}

/**
 * One folder for everything a test run leaves on the disk. Others may pass through it (the services of a run
 * by root belong to another user) but not list it.
 */
export function makePrivateFolder(parents: readonly string[] = folderParents()): string {
  const parent = parents.find(isReachableByServices) ?? '/tmp';
  const folder = mkdtempSync(join(parent, `${folderPrefix}${process.pid}-`));
  chmodSync(folder, 0o711);
  return folder;
}

/** Root's own TMPDIR may lie below a folder that is closed to the user PostgreSQL runs as. */
function isReachableByServices(folder: string): boolean {
  if (process.getuid?.() !== 0) return true;
  for (let path = folder; path !== dirname(path); path = dirname(path)) {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined || (found.mode & 0o001) === 0) return false;
  }
  return true;
}
