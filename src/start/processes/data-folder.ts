import { SQLiteError, Database as Sqlite } from 'bun:sqlite';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statfsSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Configuration } from '../settings/configuration.ts';
import { describe, StartProblem } from './lifecycle.ts';

const LOCK_FILE = 'lock';
const DATABASE = 'database';
const ROOT = 0;
/** The embedded database, its log and one checkpoint need about 80 MB; with less than this, a start could fail halfway. */
const LEAST_FREE_BYTES = 128 * 1024 * 1024;

interface DataFolder {
  readonly path: string;
  /** Unlocks the folder for the next process. */
  release(): void;
}

/**
 * What this process writes to its data folder, for the message if it cannot. Empty if all of it is on servers: such a
 * process starts on a read-only file system. The command line only reads the folder, except that it makes the secrets
 * where it can.
 */
export function usesOfDataFolder(configuration: Configuration): readonly string[] {
  const { role, postgres, redis, isProduction } = configuration;
  if (postgres === null) return ['the embedded database'];
  if (role === 'command-line') return [];
  const hasGateway = role === 'gateway' || role === 'everything';
  const uses = {
    'the journal of finished calls': hasGateway,
    'the socket between its two processes': role === 'everything' && redis === null,
    'mail, without SMTP_URL': role !== 'gateway' && configuration.mail.smtpUrl === null,
    'the secrets, outside production': !isProduction,
  };
  return Object.entries(uses).flatMap(([use, isWritten]) => (isWritten ? [use] : []));
}

/** Creates the folder if it does not exist, accessible to its owner only, and checks that it is writable. */
export function prepareDataFolder(
  path: string,
  uses: readonly string[],
  leastFreeBytes = LEAST_FREE_BYTES,
): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    // Several processes may start on one folder at the same time.
    const probe = join(path, `.write-probe-${process.pid}`);
    writeFileSync(probe, 'x');
    unlinkSync(probe);
  } catch (error) {
    throw new StartProblem(
      `DATA_DIR ${path} cannot be written (${describe(error)}), and this process stores there: ${uses.join('; ')}. ` +
        'Mend its permissions or name another folder',
    );
  }
  const { bavail, bsize } = statfsSync(path);
  const freeBytes = bavail * bsize;
  if (freeBytes >= leastFreeBytes) return;
  const mib = (bytes: number) => Math.floor(bytes / (1024 * 1024));
  throw new StartProblem(
    `DATA_DIR ${path} has ${mib(freeBytes)} MiB of free disk: at least ${mib(leastFreeBytes)} MiB are needed; ` +
      'free some or name another folder',
  );
}

/**
 * Locks the folder for this process: two processes on one embedded database would destroy it. The lock is a locked
 * SQLite file, because the kernel releases such a lock whenever its process ends, for whatever reason.
 */
export function lockDataFolder(path: string): DataFolder {
  prepareDataFolder(path, ['the embedded database']);
  const holderFile = join(path, 'running.pid');
  const lock = tryLock(path);
  if (lock === null) {
    throw new StartProblem(
      `DATA_DIR ${path} is in use by ${holder(holderFile)}: stop it, or name another folder`,
    );
  }
  writeFileSync(holderFile, String(process.pid), { mode: 0o600 });
  return { path, release: () => lock.close() };
}

/**
 * For a command that would open the embedded database itself: the files that it creates there, as root too, could not be read
 * by the owner of the database, whose next start would fail.
 */
export function refuseFolderOfAnother(path: string, user = process.getuid?.()): void {
  if (user === undefined || !existsSync(path)) return;
  const database = join(path, DATABASE);
  const owner = statSync(existsSync(database) ? database : path).uid;
  // A volume may be of root and written by a group. Files that root left in it are named when they cannot be opened.
  if (owner === user || owner === ROOT) return;
  throw new StartProblem(
    `DATA_DIR ${path} belongs to another user: run the command as that user (sudo -u '#${owner}' …), or while the system runs`,
  );
}

/**
 * Says what to do if the database cannot be opened and some of its files are of another user than this process. Files beside
 * it, such as `lost+found` of a volume, do not matter, and root can read all of them.
 */
export function explainForeignFiles(path: string, error: unknown, user = process.getuid?.() ?? ROOT): never {
  const database = join(path, DATABASE);
  const foreign = user === ROOT || !existsSync(database) ? null : foreignFileIn(database, user);
  if (foreign === null) throw error;
  throw new StartProblem(
    `DATA_DIR ${path} has files of another user, such as ${foreign}: give all of them to this one (chown -R '${user}' ${path})`,
  );
}

/** A folder of another user is found before it is read, which may be refused. */
function foreignFileIn(path: string, user: number): string | null {
  const file = lstatSync(path);
  if (file.uid !== user) return path;
  if (!file.isDirectory()) return null;
  for (const name of readdirSync(path)) {
    const foreign = foreignFileIn(join(path, name), user);
    if (foreign !== null) return foreign;
  }
  return null;
}

/** Whether another process has locked the folder. */
export function isDataFolderHeld(path: string): boolean {
  if (!existsSync(join(path, LOCK_FILE))) return false;
  const lock = tryLock(path);
  lock?.close();
  return lock === null;
}

/** Null if another process has the lock. */
function tryLock(path: string): Sqlite | null {
  let lock: Sqlite | null = null;
  try {
    lock = new Sqlite(join(path, LOCK_FILE), { create: true, readwrite: true });
    lock.run('begin exclusive');
    return lock;
  } catch (error) {
    lock?.close();
    if (error instanceof SQLiteError && error.code?.startsWith('SQLITE_BUSY') === true) return null;
    // For example a full disk, or a folder of another user.
    throw new StartProblem(
      `DATA_DIR ${path} cannot be locked (${describe(error)}): free some disk, mend its permissions or name another folder`,
    );
  }
}

function holder(file: string): string {
  try {
    return `process ${readFileSync(file, 'utf8').trim()}`;
  } catch {
    return 'another process';
  }
}
