import type { CallJournal, JournalEntry, JournalFile } from '../../src/ports/call-journal.ts';

interface MemoryJournal extends CallJournal {
  /** A disk that is full from now on; null ends it. */
  failWith(error: Error | null): void;
  /** What a process that ended has left behind. */
  leaveBehind(name: string, entries: readonly JournalEntry[]): void;
  ids(): string[];
  readonly asideReasons: ReadonlyMap<string, string>;
}

/** A journal in memory, which is lost with its process: for tests of code that uses one. */
export function createMemoryJournal(maxEntries = 1_000): MemoryJournal {
  const left = new Map<string, Map<string, JournalEntry>>();
  const own = new Map<string, JournalEntry>();
  const asideReasons = new Map<string, string>();
  let failure: Error | null = null;

  function fileOf(name: string, entries: Map<string, JournalEntry>): JournalFile {
    const waitingOf = () => [...entries.values()].filter(({ id }) => !asideReasons.has(id));
    return {
      name,
      waiting: () => waitingOf().length,
      setAsideCount: () => entries.size - waitingOf().length,
      oldest: async (limit) =>
        waitingOf()
          .sort((one, other) => (one.id < other.id ? -1 : 1))
          .slice(0, limit),
      async remove(ids) {
        if (failure !== null) throw failure;
        for (const id of ids) entries.delete(id);
      },
      async setAside(id, reason) {
        asideReasons.set(id, reason);
      },
      async close() {
        if (entries.size > 0 && name !== 'own') left.set(name, entries);
      },
    };
  }

  return {
    ...fileOf('own', own),
    async append(entries) {
      const error =
        failure ?? (own.size + entries.length > maxEntries ? new Error('the journal is full') : null);
      if (error !== null) return { outcome: 'not-written', error };
      for (const entry of entries) own.set(entry.id, entry);
      return { outcome: 'written' };
    },
    hasRoom: () => own.size < maxEntries * 0.9,
    check: async () =>
      failure === null ? { outcome: 'written' } : { outcome: 'not-written', error: failure },
    async takeOver() {
      for (const [name, entries] of left) {
        left.delete(name);
        return fileOf(name, entries);
      }
      return null;
    },
    failWith(error) {
      failure = error;
    },
    leaveBehind(name, entries) {
      left.set(name, new Map(entries.map((entry) => [entry.id, entry])));
    },
    ids: () => [...own.keys()],
    asideReasons,
  };
}
