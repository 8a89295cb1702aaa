import type { LogEntry } from '../../ports/log.ts';

/** An entry as it waits for its batch: its context is text already, so that its size is known. */
export interface WaitingEntry {
  readonly timestamp: string;
  readonly level: string;
  readonly message: string;
  readonly context: string;
  readonly characters: number;
}

export interface WaitingEntries {
  add(entry: LogEntry): void;
  /** Counts entries that are lost for another reason than the bound. */
  drop(entries: number): void;
  size(): number;
  /** The first ones, as many as one statement takes. They stay until they are removed. */
  nextBatch(): readonly WaitingEntry[];
  removeFirst(count: number): void;
  /** Adds an entry, past the bound, that says how many were dropped since the last time. */
  sayDropped(timestamp: string): void;
  droppedCount(): number;
}

export const BATCH_ENTRIES = 500;
const BATCH_CHARACTERS = 2_000_000;
const MAX_ENTRIES = 10_000;
/** 10,000 entries of the usual 300 characters take 3 million; of the largest, without this bound, 160. */
const MAX_CHARACTERS = 16_000_000;

export function createWaitingEntries(): WaitingEntries {
  let entries: WaitingEntry[] = [];
  let characters = 0;
  const dropped = { total: 0, unsaid: 0 };

  function drop(count: number): void {
    dropped.total += count;
    dropped.unsaid += count;
  }

  function keep({ timestamp, level, message, context }: LogEntry): void {
    const text = JSON.stringify(context);
    const entry = { timestamp, level, message, context: text, characters: message.length + text.length };
    entries.push(entry);
    characters += entry.characters;
  }

  return {
    add(entry) {
      if (entries.length >= MAX_ENTRIES || characters >= MAX_CHARACTERS) drop(1);
      else keep(entry);
    },
    drop,
    size: () => entries.length,
    nextBatch() {
      let count = 0;
      let taken = 0;
      while (count < Math.min(entries.length, BATCH_ENTRIES) && taken < BATCH_CHARACTERS) {
        taken += entries[count]?.characters ?? 0;
        count += 1;
      }
      return entries.slice(0, count);
    },
    removeFirst(count) {
      for (const entry of entries.slice(0, count)) characters -= entry.characters;
      entries = entries.slice(count);
    },
    sayDropped(timestamp) {
      if (dropped.unsaid === 0) return;
      const message = `${dropped.unsaid} log entries were dropped: the database did not take them`;
      dropped.unsaid = 0;
      keep({ timestamp, level: 'warn', message, context: {} });
    },
    droppedCount: () => dropped.total,
  };
}
