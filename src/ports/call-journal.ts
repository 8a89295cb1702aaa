/** What was to go into the database. The journal does not look into `record`; of two entries with one id it keeps one. */
export interface JournalEntry {
  readonly id: string;
  readonly record: string;
}

export type Appended = { outcome: 'written' } | { outcome: 'not-written'; error: Error };

/** Entries that wait for the database, in a file that this process alone has. */
export interface JournalFile {
  readonly name: string;
  /** Without those that were set aside. */
  waiting(): number;
  setAsideCount(): number;
  /** In the order of their ids; fewer where they are long, at least one where there is one. */
  oldest(limit: number): Promise<readonly JournalEntry[]>;
  /** Once they are known to be in the database. */
  remove(ids: readonly string[]): Promise<void>;
  /** For an entry that the database does not take: it is kept, and waits again when the file is next opened. */
  setAside(id: string, reason: string): Promise<void>;
  /** Removes the file if it is empty; otherwise leaves it for the next owner. */
  close(): Promise<void>;
}

/**
 * Where finished calls go while the database is unavailable. What `append` called written is there after a crash of the
 * process or of the machine, and whatever a process leaves behind another one finds.
 */
export interface CallJournal extends JournalFile {
  /** All of them, or none where there is no room for all or the disk takes no more. */
  append(entries: readonly JournalEntry[]): Promise<Appended>;
  /** False a tenth before the bound: that much is kept for what is running already. */
  hasRoom(): boolean;
  /** Whether the disk takes writes. */
  check(): Promise<Appended>;
  /** The next file of a process that has ended, taken for this one; null where there is none. */
  takeOver(): Promise<JournalFile | null>;
}

/** Entries in a write-ahead log. */
export interface LogSegment {
  /** Once all of them are in the database or in a journal. */
  clear(): void;
}

/**
 * Where finished calls go whose commit is deferred, until it is done. What was appended is there after the process has been
 * killed, as what is committed in the embedded database: neither survives a crash of the machine for certain.
 */
export interface WriteAheadLog {
  /** False where the disk does not take it. */
  append(entry: JournalEntry): boolean;
  /** The segment with all that was appended since the last time; what follows goes into another. */
  rotate(): LogSegment;
  close(): void;
}

/** What a process that was killed has left in its write-ahead log. */
export interface LeftSegment extends LogSegment {
  readonly entries: readonly JournalEntry[];
}
