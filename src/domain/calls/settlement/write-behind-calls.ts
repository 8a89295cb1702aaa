import type { Clock, Timer } from '../../../ports/clock.ts';
import type { Database } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import { type FinishedCall, insertCalls, isRefusedRow } from './finished-call.ts';

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
/** After a failure. */
const NOTES_WAIT_AGAIN_MS = 1_000;

/**
 * Refusals and reads: written behind, together. They wait while the database has a fault; past the bound the newest
 * are dropped, and a row that the database refuses is dropped alone.
 */
export function createCallNotes(parts: { database: Database; clock: Clock; log: Log }): CallNotes {
  const { database, clock, log } = parts;
  let noted: FinishedCall[] = [];
  let timer: Timer | null = null;
  let writing: Promise<void> | null = null;
  let isFailing = false;
  let dropped = 0;

  async function writeAll(): Promise<void> {
    let singly = 0;
    while (noted.length > 0) {
      const group = noted.slice(0, singly > 0 ? 1 : MOST_AT_ONCE);
      try {
        await insertCalls(database, group);
        isFailing = false;
      } catch (error) {
        if (!isRefusedRow(error)) return fail(error);
        if (group.length > 1) {
          // One bad row must not cost the others theirs.
          singly = group.length;
          continue;
        }
        dropped += 1;
        log.warn('records of refused calls were dropped', { count: 1, error });
      }
      noted = noted.slice(group.length);
      singly -= 1;
    }
  }
  function fail(error: unknown): void {
    if (!isFailing)
      log.warn('records of refused calls cannot be written yet', { waiting: noted.length, error });
    isFailing = true;
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
    timer ??= clock.after(isFailing ? NOTES_WAIT_AGAIN_MS : NOTES_WAIT_MS, () => void write());
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
