import { Database as Sqlite } from 'bun:sqlite';
import { closeSync, existsSync, fsyncSync, openSync, unlinkSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { JournalEntry, JournalFile } from '../../ports/call-journal.ts';

export interface LockedFile extends JournalFile {
  insert(entries: readonly JournalEntry[]): void;
  /** Checks that the disk accepts a write of some pages. */
  probe(): void;
  /** All entries, including those that were set aside. */
  size(): number;
}

const WRITE_AHEAD = '-wal';
const PROBE_BYTES = 16_384;
/** Allocated in advance, so that a thousand calls can be stored and entries can be removed when the disk is full. */
const RESERVED_BYTES = 1_048_576;

/** Entries may be long. The rest is read next time. */
const MOST_READ_CHARACTERS = 64 * 1024 * 1024;

/** Creates a file that only its owner can read; null if another process took it over first. */
export function createLockedFile(path: string): LockedFile | null {
  closeSync(openSync(path, 'wx', 0o600));
  const file = lockFile(path, reserveDisk);
  // The names of the file and of the folder must survive a crash of the machine.
  syncFolder(dirname(path));
  syncFolder(dirname(dirname(path)));
  return file;
}

/**
 * Null if another process has it, or has removed it meanwhile. The lock lasts as long as the connection, and the kernel
 * releases it when the process ends. Only the holder of the lock removes the file, so a file that exists after locking
 * stays.
 */
export function lockFile(path: string, prepare: (sqlite: Sqlite) => void = () => {}): LockedFile | null {
  let sqlite: Sqlite | null = null;
  try {
    sqlite = new Sqlite(path, { readwrite: true, create: false });
    sqlite.run('pragma locking_mode = exclusive');
    // One fsync per commit; the other modes need two or three.
    sqlite.run('pragma journal_mode = wal');
    sqlite.run('pragma synchronous = full');
    sqlite.run('begin immediate');
    sqlite.run(`create table if not exists entries (
      id text primary key, record text not null, set_aside text) without rowid`);
    sqlite.run('create table if not exists probes (one integer primary key, bytes blob)');
    sqlite.run('update entries set set_aside = null where set_aside is not null');
    sqlite.run('commit');
    prepare(sqlite);
  } catch (error) {
    sqlite?.close();
    if (isBusy(error) || !existsSync(path)) return null;
    throw error;
  }
  if (existsSync(path)) return fileOn(sqlite, path);
  sqlite.close();
  removeIfThere(`${path}${WRITE_AHEAD}`);
  return null;
}

function fileOn(sqlite: Sqlite, path: string): LockedFile {
  const add = sqlite.prepare('insert or ignore into entries (id, record) values (?, ?)');
  const first = sqlite.prepare<JournalEntry, [number]>(
    'select id, record from entries where set_aside is null order by id limit ?',
  );
  const find = sqlite.prepare<{ id: string; set_aside: string | null }, [string]>(
    'select id, set_aside from entries where id in (select value from json_each(?))',
  );
  const removeAll = sqlite.prepare('delete from entries where id in (select value from json_each(?))');
  const mark = sqlite.prepare('update entries set set_aside = ? where id = ? and set_aside is null');
  const prepared = [add, first, find, removeAll, mark];
  /** Entries whose removal could not be written to the disk yet. */
  const gone = new Set<string>();
  let waiting = countOf(sqlite);
  let setAside = 0;
  let isClosed = false;

  /** The entries are in the database. If the disk rejects their removal, it is tried again with the next write. */
  function removeGone(): void {
    if (gone.size === 0) return;
    try {
      withRoomMade(sqlite, () => removeAll.run(JSON.stringify([...gone])));
    } catch {
      return;
    }
    gone.clear();
    if (waiting + setAside === 0) truncateFreePages(sqlite);
  }

  return {
    name: basename(path),
    waiting: () => waiting,
    setAsideCount: () => setAside,
    size: () => waiting + setAside,
    insert(entries) {
      removeGone();
      waiting += withRoomMade(sqlite, () =>
        inTransaction(sqlite, () => {
          let added = 0;
          for (const { id, record } of entries) added += add.run(id, record).changes;
          return added;
        }),
      );
    },
    probe() {
      removeGone();
      withRoomMade(sqlite, () =>
        sqlite.run('insert or replace into probes values (1, randomblob(?))', [PROBE_BYTES]),
      );
    },
    async oldest(limit) {
      if (isClosed) return [];
      const entries: JournalEntry[] = [];
      let characters = 0;
      for (const entry of first.iterate(limit + gone.size)) {
        characters += entry.record.length;
        if (entries.length === limit || (entries.length > 0 && characters > MOST_READ_CHARACTERS)) break;
        if (!gone.has(entry.id)) entries.push(entry);
      }
      return entries;
    },
    async remove(ids) {
      // A commit may succeed after the file is closed: the database ignores its entries by their ids at the next start.
      if (isClosed) return;
      for (const { id, set_aside } of find.all(JSON.stringify(ids))) {
        if (gone.has(id)) continue;
        gone.add(id);
        if (set_aside === null) waiting -= 1;
        else setAside -= 1;
      }
      removeGone();
    },
    async setAside(id, reason) {
      if (isClosed || mark.run(reason, id).changes === 0) return;
      waiting -= 1;
      setAside += 1;
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      // While the lock is still ours.
      if (waiting + setAside === 0) removeIfThere(path);
      // An open statement would keep the connection, and so the lock, until it is garbage collected.
      for (const statement of prepared) statement.finalize();
      sqlite.close(true);
      if (waiting + setAside === 0) removeIfThere(`${path}${WRITE_AHEAD}`);
    },
  };
}

function countOf(sqlite: Sqlite): number {
  const count = sqlite.prepare<{ n: number }, []>('select count(*) as n from entries');
  const row = count.get();
  count.finalize();
  return row?.n ?? 0;
}

/** On a full disk: checkpoints the write-ahead log, so that it starts over in the space it already has. */
function withRoomMade<T>(sqlite: Sqlite, work: () => T): T {
  try {
    return work();
  } catch {
    sqlite.run('pragma wal_checkpoint(restart)');
    return work();
  }
}

/** Enlarges the file and its write-ahead log, which do not shrink again. */
function reserveDisk(sqlite: Sqlite): void {
  sqlite.run('insert or replace into probes values (1, randomblob(?))', [RESERVED_BYTES]);
  sqlite.run('delete from probes');
  sqlite.run('pragma wal_checkpoint(restart)');
}

function inTransaction<T>(sqlite: Sqlite, work: () => T): T {
  sqlite.run('begin immediate');
  try {
    const result = work();
    sqlite.run('commit');
    return result;
  } catch (error) {
    // SQLite may have rolled back already because of a full disk.
    if (sqlite.inTransaction) sqlite.run('rollback');
    throw error;
  }
}

/** Shrinks the file, which has grown during an outage. */
function truncateFreePages(sqlite: Sqlite): void {
  try {
    sqlite.run('vacuum');
    sqlite.run('pragma wal_checkpoint(truncate)');
    reserveDisk(sqlite);
  } catch {
    // This needs space, so it fails on a full disk. It is tried again later.
  }
}

function isBusy(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code?.startsWith('SQLITE_BUSY') === true || code?.startsWith('SQLITE_LOCKED') === true;
}

export function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error;
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
