import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Appended, CallJournal, JournalFile } from '../../ports/call-journal.ts';
import type { Log } from '../../ports/log.ts';
import { createLockedFile, type LockedFile, lockFile, removeIfThere } from './locked-file.ts';

interface SqliteJournalOptions {
  /** Shared by all processes of a data folder; each has its own file. */
  readonly folder: string;
  readonly maxEntries: number;
  readonly newId: () => string;
  readonly log: Log;
}

const FILE = /^[0-9a-f-]{36}\.calls$/;
const WRITE_AHEAD_FILE = /^([0-9a-f-]{36}\.calls)-wal$/;
const CREATE_TRIES = 10;

/**
 * A SQLite file for each process. A process holds a lock on its file while it runs; a file that can be locked
 * has no owner and is taken over. Writing blocks the event loop for an fsync, which is acceptable only while the
 * database is unavailable.
 */
export function openSqliteJournal({ folder, maxEntries, newId, log }: SqliteJournalOptions): CallJournal {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const own = createOwnFile(folder, newId);
  const admitted = Math.max(1, Math.floor(maxEntries * 0.9));
  /** Files that cannot be taken over, or contain only entries that the database rejects. This process does not try them again. */
  const skipped = new Set<string>([own.name]);
  const taken = new Set<string>();

  return {
    ...own,
    async append(entries) {
      if (own.size() + entries.length > maxEntries) {
        return notWritten(`the journal is full: it holds ${own.size()} of ${maxEntries} calls`);
      }
      return attempt(() => own.insert(entries));
    },
    hasRoom: () => own.size() < admitted,
    async check() {
      return attempt(own.probe);
    },
    async takeOver() {
      removeOrphans(folder);
      for (const name of filesIn(folder)) {
        if (skipped.has(name) || taken.has(name)) continue;
        const file = tryToLock(join(folder, name));
        if (file !== null) return handOut(file);
      }
      return null;
    },
  };

  function tryToLock(path: string): LockedFile | null {
    try {
      return lockFile(path);
    } catch (error) {
      skipped.add(path.slice(folder.length + 1));
      log.error('a journal file cannot be read: its calls are not charged until it is mended', {
        file: path,
        error,
      });
      return null;
    }
  }

  function handOut(file: LockedFile): JournalFile {
    const { name } = file;
    taken.add(name);
    return {
      ...file,
      async close() {
        const hasOnlyRefused = file.waiting() === 0 && file.setAsideCount() > 0;
        await file.close();
        taken.delete(name);
        if (hasOnlyRefused) skipped.add(name);
      },
    };
  }
}

function createOwnFile(folder: string, newId: () => string): LockedFile {
  for (let tries = 0; tries < CREATE_TRIES; tries += 1) {
    const file = createLockedFile(join(folder, `${newId()}.calls`));
    if (file !== null) return file;
  }
  throw new Error(`no journal file in ${folder} can be locked: is it on a network disk without locks?`);
}

function attempt(write: () => void): Appended {
  try {
    write();
    return { outcome: 'written' };
  } catch (error) {
    return notWritten('the journal cannot be written: free some disk of DATA_DIR', error);
  }
}

function notWritten(message: string, cause?: unknown): Appended {
  return { outcome: 'not-written', error: new Error(message, cause === undefined ? undefined : { cause }) };
}

function filesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => FILE.test(name))
    .sort();
}

/** Left by a process that removed its file and died before closing it. Nothing in it is needed. */
function removeOrphans(folder: string): void {
  for (const name of readdirSync(folder)) {
    const owner = WRITE_AHEAD_FILE.exec(name)?.[1];
    // Checked after the listing: a new file exists before its write-ahead log does.
    if (owner !== undefined && !existsSync(join(folder, owner))) removeIfThere(join(folder, name));
  }
}
