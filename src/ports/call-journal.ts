/** A row to be written to the database. The journal treats `record` as opaque and stores each id once. */
export interface JournalEntry {
  readonly id: string;
  readonly record: string;
}

export type Appended = { outcome: 'written' } | { outcome: 'not-written'; error: Error };

/** Entries to be written to the database, in a file that only this process uses. */
export interface JournalFile {
  readonly name: string;
  /** Excludes entries that were set aside. */
  waiting(): number;
  setAsideCount(): number;
  /** In the order of their ids. Returns fewer if they are long, but at least one unless there is none. */
  oldest(limit: number): Promise<readonly JournalEntry[]>;
  /** Removes entries that are in the database. */
  remove(ids: readonly string[]): Promise<void>;
  /** Skips an entry that the database rejects. It is tried again when the file is next opened. */
  setAside(id: string, reason: string): Promise<void>;
  /** Removes the file if it is empty; otherwise leaves it for the next owner. */
  close(): Promise<void>;
}

/**
 * Stores finished calls while the database is unavailable. Entries for which `append` returned true survive a crash of the
 * process and of the machine. Another process takes over the files of one that has ended.
 */
export interface CallJournal extends JournalFile {
  /** Writes all entries, or none if they exceed the limit or the disk fails. */
  append(entries: readonly JournalEntry[]): Promise<Appended>;
  /** False above nine tenths of the limit: the rest is reserved for calls that are already running. */
  hasRoom(): boolean;
  /** Whether the disk accepts writes. */
  check(): Promise<Appended>;
  /** Takes over the next file of a process that has ended; null if there is none. */
  takeOver(): Promise<JournalFile | null>;
}

/** Entries in a write-ahead log. */
export interface LogSegment {
  /** Removes the segment, once all its entries are in the database or in a journal. */
  clear(): void;
}

/**
 * Stores finished calls until their deferred commit is done. Like a commit of the embedded database, an appended entry
 * survives a kill of the process, but not necessarily a crash of the machine.
 */
export interface WriteAheadLog {
  /** False if the disk rejects the write. */
  append(entry: JournalEntry): boolean;
  /** Closes and returns the current segment. Later entries go to a new one. */
  rotate(): LogSegment;
  close(): void;
}

/** The entries in the write-ahead log of a process that was killed. */
export interface LeftSegment extends LogSegment {
  readonly entries: readonly JournalEntry[];
}
