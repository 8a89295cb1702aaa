import { chmodSync, lstatSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/** The runner's process id follows, so that a later run can tell a stale folder from one in use. */
export const folderPrefix = 'turnpike-test-';

/** Where private folders may lie: the sweep looks into all of them. */
export function folderParents(): string[] {
  return [...new Set([resolve(tmpdir()), '/tmp'])];
}

/**
 * One folder for everything a test run leaves on the disk. Others may pass through it (the services of a run
 * by root belong to another user) but not list it.
 */
export function makePrivateFolder(): string {
  const parent = folderParents().find(isReachableByServices) ?? '/tmp';
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
