import { Database } from 'bun:sqlite';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { dependencies } from '../../package.json';

const root = join(import.meta.dir, '../..');
/** What decides how a database looks that this code has migrated, and the demo world in it. */
const sources = [
  'migrations',
  'migrations/functions',
  'src/adapters/database',
  'src/adapters/database/pglite',
  'src/start/demo',
];

/** The sweep removes these folders when they are old. */
export const builtPrefix = 'turnpike-built-';
const pollMs = 20;

/**
 * A file or folder that is built by the first test process that needs it, while the others wait. It lies in the
 * temporary folder, which `npm test` makes for each run; after a bare `bun test` it serves the next one, until
 * `schemaChecksum` changes.
 */
export async function oncePerRun(name: string, build: (path: string) => Promise<void>): Promise<string> {
  const folder = builtFolder();
  const path = join(folder, name);
  await whileLocked(`${path}.lock`, async () => {
    if (existsSync(path)) return;
    // Renamed when complete: a process killed in the middle leaves nothing that looks finished.
    const unfinished = `${path}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    await build(unfinished);
    await rename(unfinished, path);
  });
  return path;
}

/** Eight digits that change with the migrations, the stored functions, the code that installs them and the demo world's. */
export function schemaChecksum(): string {
  const hash = createHash('sha256').update(dependencies['@electric-sql/pglite']);
  for (const folder of sources) {
    const files = readdirSync(join(root, folder), { withFileTypes: true }).filter((entry) => entry.isFile());
    for (const { name } of files.sort((one, other) => (one.name < other.name ? -1 : 1))) {
      hash.update(name).update(readFileSync(join(root, folder, name)));
    }
  }
  return hash.digest('hex').slice(0, 8);
}

function builtFolder(): string {
  const { uid } = userInfo();
  const folder = join(tmpdir(), `${builtPrefix}${uid}-${schemaChecksum()}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (uid !== -1 && statSync(folder).uid !== uid) throw new Error(`${folder} belongs to another user`);
  return folder;
}

/** SQLite's lock on a file is the kernel's: it ends with its process, however that ends. */
async function whileLocked(path: string, work: () => Promise<void>): Promise<void> {
  const lock = new Database(path);
  try {
    while (!takes(lock)) await Bun.sleep(pollMs);
    await work();
  } finally {
    lock.close();
  }
}

function takes(lock: Database): boolean {
  try {
    lock.run('begin exclusive');
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return false;
    throw error;
  }
}
