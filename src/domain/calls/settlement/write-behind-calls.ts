import type { Clock, Timer } from '../../../ports/clock.ts';
import type { Database } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import { insertCalls } from './charge-calls.ts';
import { elapsedMs, type FinishedCall } from './finished-call.ts';
import { isRefusedRow, sendInHalves } from './refused-rows.ts';

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

/** Refusals of one key with one code in a minute that have a record each; the record of those past it carries their count. */
export const MOST_REFUSALS_A_MINUTE = 60;
/** How many keys and codes of one minute are distinguished; refusals beyond it are only counted. */
const MOST_REFUSED = 10_000;
const MINUTE_MS = 60_000;

/**
 * Refusals and reads: written behind, together. They wait while the database has a fault; past the bound the newest
 * are dropped, and a row that the database refuses is dropped alone. A client that repeats a refused call in a loop fills
 * no table: past sixty a minute one row has the count, in each process.
 */
export function createCallNotes(parts: { database: Database; clock: Clock; log: Log }): CallNotes {
  const { database, clock, log } = parts;
  let noted: FinishedCall[] = [];
  let timer: Timer | null = null;
  let writing: Promise<void> | null = null;
  let isFailing = false;
  let dropped = 0;
  const refusals = createRefusalCounts();

  async function writeAll(): Promise<void> {
    try {
      while (noted.length > 0) {
        // Before anything waits: from here on what is counted belongs to another row of this list.
        refusals.taken();
        await insert(noted.slice(0, MOST_AT_ONCE));
      }
    } catch (error) {
      fail(error);
    }
  }
  /** The first of `noted`. */
  async function insert(group: readonly FinishedCall[]): Promise<void> {
    try {
      await insertCalls(database, group);
      isFailing = false;
      noted = noted.slice(group.length);
    } catch (error) {
      if (!isRefusedRow(error)) throw error;
      await sendInHalves(group, error, insert, dropFirst);
    }
  }
  function dropFirst(_: FinishedCall, error: unknown): void {
    noted = noted.slice(1);
    dropped += 1;
    log.warn('records of refused calls were dropped', { count: 1, error });
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
    add(given) {
      const call = given.outcome === 'REFUSED' ? refusals.recordOf(given) : given;
      if (call === 'counted') return;
      if (call === 'too-many' || noted.length >= MOST_NOTED) {
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

interface RefusalCounts {
  /** What is written of it; `counted` where a record that still waits has it. */
  recordOf(call: FinishedCall): FinishedCall | 'counted' | 'too-many';
  /** Records that were given out are being written: what comes next is written again. */
  taken(): void;
}

/** A record that carries a count keeps its id for its minute, and is written again when the count has grown. */
type Counted = { -readonly [Name in keyof FinishedCall]: FinishedCall[Name] };

interface RefusedLately {
  count: number;
  /** That of those past the bound; null before. */
  record: Counted | null;
  isWaiting: boolean;
}

function createRefusalCounts(): RefusalCounts {
  let minute = 0;
  let lately = new Map<string, RefusedLately>();
  let waiting: RefusedLately[] = [];
  return {
    recordOf(call) {
      const now = Math.floor((call.startedAtMs + call.durationMs) / MINUTE_MS);
      if (now !== minute) {
        minute = now;
        lately = new Map();
      }
      const name = `${call.keyId} ${call.reason} ${call.httpStatus}`;
      const known = lately.get(name);
      if (known === undefined) {
        if (lately.size >= MOST_REFUSED) return 'too-many';
        lately.set(name, { count: 1, record: null, isWaiting: false });
        return call;
      }
      known.count += 1;
      if (known.count <= MOST_REFUSALS_A_MINUTE) return call;
      const count = known.count - MOST_REFUSALS_A_MINUTE;
      if (known.record !== null && known.isWaiting) {
        known.record.count = count;
        known.record.durationMs = elapsedMs(known.record.startedAtMs, call.startedAtMs + call.durationMs);
        return 'counted';
      }
      const first = known.record ?? call;
      const durationMs = elapsedMs(first.startedAtMs, call.startedAtMs + call.durationMs);
      known.record = { ...first, count, durationMs };
      known.isWaiting = true;
      waiting.push(known);
      return known.record;
    },
    taken() {
      for (const one of waiting) one.isWaiting = false;
      waiting = [];
    },
  };
}
