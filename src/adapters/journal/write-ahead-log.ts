import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { JournalEntry, LeftSegment, WriteAheadLog } from '../../ports/call-journal.ts';
import type { Log } from '../../ports/log.ts';

interface WriteAheadLogOptions {
  /** The caller ensures that no other process uses it. */
  readonly folder: string;
  readonly log: Log;
}

const FILE = /^deferred-(\d+)\.log$/;

interface SegmentFile {
  readonly path: string;
  readonly descriptor: number;
  size: number;
  /** The last write was incomplete and could not be truncated. */
  isTorn: boolean;
}

/**
 * Each line has a checksum and a record. While one file is being written to the database, new entries go to another. Files
 * are not synced to the disk.
 */
export function openWriteAheadLog({ folder, log }: WriteAheadLogOptions): WriteAheadLog {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  let lastNumber = Math.max(0, ...filesIn(folder).map((name) => Number(FILE.exec(name)?.[1])));
  /** Empty files to be reused. */
  const free: SegmentFile[] = [];
  const used = new Set<SegmentFile>();
  let current: SegmentFile | null = null;

  function openNext(): SegmentFile {
    const cleared = free.pop();
    if (cleared !== undefined) return cleared;
    lastNumber += 1;
    const path = join(folder, `deferred-${lastNumber}.log`);
    return { path, descriptor: openSync(path, 'a', 0o600), size: 0, isTorn: false };
  }

  function removeFile({ path, descriptor }: SegmentFile): void {
    closeSync(descriptor);
    unlinkSync(path);
  }

  function clear(file: SegmentFile): void {
    if (!used.delete(file)) return;
    try {
      ftruncateSync(file.descriptor, 0);
      free.push({ ...file, size: 0, isTorn: false });
    } catch (error) {
      // The database ignores its calls by their ids when they are replayed at the next start.
      log.warn('a segment of the write-ahead log could not be cleared', { file: file.path, error });
      closeSync(file.descriptor);
    }
  }

  return {
    append({ record }) {
      try {
        current ??= openNext();
        return appendLine(current, `${checksumOf(record)} ${record}\n`);
      } catch {
        return false;
      }
    },
    rotate() {
      const file = current;
      current = null;
      if (file === null) return { clear() {} };
      used.add(file);
      return { clear: () => clear(file) };
    },
    close() {
      if (current?.size === 0) free.push(current);
      else if (current !== null) closeSync(current.descriptor);
      current = null;
      for (const file of free.splice(0)) removeFile(file);
      for (const { descriptor } of used) closeSync(descriptor);
      used.clear();
    },
  };
}

/** Reads the log of the process that used the folder before. */
export function readLeftSegment({ folder, log }: WriteAheadLogOptions): LeftSegment {
  const paths = filesIn(folder).map((name) => join(folder, name));
  return {
    entries: paths.flatMap((path) => readSegment(path, log)),
    clear() {
      for (const path of paths.splice(0)) unlinkSync(path);
    },
  };
}

function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => FILE.test(name))
    .sort();
}

function appendLine(file: SegmentFile, line: string): boolean {
  if (file.isTorn) return false;
  const bytes = Buffer.from(line);
  let written = 0;
  try {
    written = writeSync(file.descriptor, bytes);
  } catch {
    // A full disk.
  }
  if (written === bytes.length) {
    file.size += written;
    return true;
  }
  file.isTorn = true;
  ftruncateSync(file.descriptor, file.size);
  file.isTorn = false;
  return false;
}

/** An incomplete line or a wrong checksum: it was never acknowledged, or the machine has crashed. */
function readSegment(path: string, log: Log): JournalEntry[] {
  const entries: JournalEntry[] = [];
  let torn = 0;
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    if (line === '') continue;
    const at = line.indexOf(' ');
    const record = line.slice(at + 1);
    const id = line.slice(0, at) === checksumOf(record) ? idOf(record) : null;
    if (id === null) torn += 1;
    else entries.push({ id, record });
  }
  if (torn > 0) log.warn('the write-ahead log has lines that were not written whole', { file: path, torn });
  return entries;
}

function checksumOf(record: string): string {
  return Bun.hash.crc32(record).toString(16);
}

function idOf(record: string): string | null {
  const { id } = JSON.parse(record) as { id?: unknown };
  return typeof id === 'string' ? id : null;
}
