import type { Clock, Timer } from '../../../ports/clock.ts';
import type { Database } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import { type FinishedCall, insertCalls } from './finished-call.ts';

export interface CallNotes {
  add(call: FinishedCall): void;
  droppedCount(): number;
  /** Tries once what waits. */
  flush(): Promise<void>;
  /** Gives up what waits. */
  drop(): void;
}

const MOST_AT_ONCE = 500;
const MOST_NOTED = 10_000;
const NOTES_WAIT_MS = 250;
const NOTES_TRIES = 3;

/** Refusals and reads: written behind, together, and dropped past a bound or when the database stays away. */
export function createCallNotes(parts: { database: Database; clock: Clock; log: Log }): CallNotes {
  const { database, clock, log } = parts;
  let noted: FinishedCall[] = [];
  let timer: Timer | null = null;
  let writing: Promise<void> | null = null;
  let tries = 0;
  let dropped = 0;

  async function writeAll(): Promise<void> {
    while (noted.length > 0) {
      const group = noted.slice(0, MOST_AT_ONCE);
      try {
        await insertCalls(database, group);
        tries = 0;
      } catch (error) {
        tries += 1;
        if (tries < NOTES_TRIES) return;
        tries = 0;
        dropped += group.length;
        log.warn('records of refused calls were dropped', { count: group.length, error });
      }
      noted = noted.slice(group.length);
    }
  }
  function write(): Promise<void> {
    timer?.cancel();
    timer = null;
    writing ??= writeAll().finally(() => {
      writing = null;
      if (noted.length > 0) arm();
    });
    return writing;
  }
  function arm(): void {
    timer ??= clock.after(NOTES_WAIT_MS, () => void write());
  }
  return {
    add(call) {
      if (noted.length >= MOST_NOTED) {
        dropped += 1;
        return;
      }
      noted.push(call);
      if (writing === null) arm();
    },
    droppedCount: () => dropped,
    async flush() {
      await writing;
      await write();
      timer?.cancel();
    },
    drop() {
      timer?.cancel();
      if (noted.length === 0) return;
      dropped += noted.length;
      log.warn('records of refused calls were dropped', { count: noted.length });
      noted = [];
    },
  };
}
