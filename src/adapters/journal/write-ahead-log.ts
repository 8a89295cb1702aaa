import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
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
/** Of a file with lines that could not be read: it is kept for the operator, and never read again. */
const DAMAGED = '.damaged';

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
  let lastNumber = Math.max(0, ...readdirSync(folder).map(numberOf));
  /** Cleared, to be used again. */
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
  const segments = filesIn(folder).map((name) => readSegment(join(folder, name), log));
  return {
    entries: segments.flatMap(({ entries }) => entries),
    clear() {
      for (const { path, isDamaged } of segments.splice(0)) {
        if (isDamaged) renameSync(path, `${path}${DAMAGED}`);
        else unlinkSync(path);
      }
    },
  };
}

function numberOf(name: string): number {
  return Number(FILE.exec(name.replace(DAMAGED, ''))?.[1] ?? 0);
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

interface ReadSegment {
  readonly path: string;
  readonly entries: readonly JournalEntry[];
  readonly isDamaged: boolean;
}

/**
 * An end without its line break was being written when the process was killed, and was never reported as written. Any other
 * line that does not fit its checksum was: the machine has crashed since, or the file was changed.
 */
function readSegment(path: string, log: Log): ReadSegment {
  const lines = readFileSync(path, 'utf8').split('\n');
  const end = lines.pop() ?? '';
  const written = lines.filter((line) => line !== '').map(readLine);
  const last = end === '' ? null : readLine(end);
  if (end !== '' && last === null) log.warn(TORN_END, { file: path });
  const entries = [...written, last].filter((entry) => entry !== null);
  const damaged = written.filter((entry) => entry === null).length;
  if (damaged > 0) log.error(DAMAGED_LINES, { file: `${path}${DAMAGED}`, damaged });
  return { path, entries, isDamaged: damaged > 0 };
}

const TORN_END =
  'the write-ahead log ends within a line: a process was killed while it wrote the end of a call, which is not charged; nothing needs to be done';
const DAMAGED_LINES =
  'the write-ahead log has damaged lines: these calls are not charged. The file is kept; look at its lines, charge with turnpike adjust-credits if it is worth it, and delete it';

/** Null where it is not what was written. */
function readLine(line: string): JournalEntry | null {
  const at = line.indexOf(' ');
  const record = line.slice(at + 1);
  const id = line.slice(0, at) === checksumOf(record) ? idOf(record) : null;
  return id === null ? null : { id, record };
}

function checksumOf(record: string): string {
  return Bun.hash.crc32(record).toString(16);
}

function idOf(record: string): string | null {
  const { id } = JSON.parse(record) as { id?: unknown };
  return typeof id === 'string' ? id : null;
}
