import type { CallJournal, JournalEntry, JournalFile } from '../../src/ports/call-journal.ts';
import { createSimulatedLog, type SimulatedLog } from './embedded-engine.ts';
import type { Requests } from './requests.ts';
import { NEVER, type Owner } from './scheduler.ts';

interface File {
  readonly name: string;
  readonly entries: Map<string, JournalEntry>;
  readonly aside: Set<string>;
  /** Who has the lock, which ends with its process. */
  owner: Owner | null;
}

/** The disk that outlives the processes of a gateway, with a journal of each. */
export interface SimulatedDisk {
  open(owner: Owner): CallJournal;
  /** Of calls that the embedded engine defers. */
  readonly log: SimulatedLog;
  /** Takes no more writes. */
  isFull: boolean;
  /** The content of all files, of any process. */
  entries(): readonly JournalEntry[];
  /** Files that no living process has. */
  orphans(): number;
}

const MOST_ENTRIES = 1_000;

export function createSimulatedDisk(requests: Requests): SimulatedDisk {
  const files = new Map<string, File>();
  let opened = 0;

  function newFile(owner: Owner): File {
    opened += 1;
    const file: File = { name: `journal-${opened}`, entries: new Map(), aside: new Set(), owner };
    files.set(file.name, file);
    return file;
  }
  const waitingOf = (file: File) => [...file.entries.values()].filter(({ id }) => !file.aside.has(id));

  function fileOf(owner: Owner, file: File): JournalFile {
    return {
      name: file.name,
      waiting: () => waitingOf(file).length,
      setAsideCount: () => file.aside.size,
      oldest: async (limit) =>
        waitingOf(file)
          .sort((one, other) => (one.id < other.id ? -1 : 1))
          .slice(0, limit),
      remove: (ids) =>
        requests.send(owner, 'journal remove', () => {
          if (disk.isFull) throw new Error('the disk is full');
          for (const id of ids) file.entries.delete(id);
        }),
      setAside: (id) => requests.send(owner, 'journal set-aside', () => void file.aside.add(id)),
      async close() {
        if (!owner.isAlive) return await NEVER;
        file.owner = null;
        if (file.entries.size === 0) files.delete(file.name);
      },
    };
  }

  const disk: SimulatedDisk = {
    isFull: false,
    log: createSimulatedLog(requests, () => disk.isFull),
    entries: () => [...files.values()].flatMap(({ entries }) => [...entries.values()]),
    orphans: () =>
      [...files.values()].filter(({ owner, entries }) => entries.size > 0 && !(owner?.isAlive ?? false))
        .length,
    open(owner) {
      const own = newFile(owner);
      /** A file in which only set-aside entries are left is taken once. */
      const taken = new Set<string>();
      const full = () => new Error('the disk is full');
      return {
        ...fileOf(owner, own),
        append: (entries) =>
          requests.send(owner, 'journal append', () => {
            const isFull = disk.isFull || own.entries.size + entries.length > MOST_ENTRIES;
            if (isFull) return { outcome: 'not-written' as const, error: full() };
            for (const entry of entries) own.entries.set(entry.id, entry);
            return { outcome: 'written' as const };
          }),
        hasRoom: () => own.entries.size < MOST_ENTRIES * 0.9,
        check: async () => (disk.isFull ? { outcome: 'not-written', error: full() } : { outcome: 'written' }),
        async takeOver() {
          const isFree = ({ name, owner: has }: File) => !(has?.isAlive ?? false) && !taken.has(name);
          const found = [...files.values()].find(isFree);
          if (found === undefined) return null;
          if (found.aside.size > 0) taken.add(found.name);
          found.owner = owner;
          found.aside.clear();
          return fileOf(owner, found);
        },
      };
    },
  };
  return disk;
}
