import type { Clock, Timer } from '../../../ports/clock.ts';
import type { Database } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import { insertCalls } from './charge-calls.ts';
import { elapsedMs, type FinishedCall } from './finished-call.ts';
import { isRefusedRow, sendInHalves } from './refused-rows.ts';

interface CallNotes {
  add(call: FinishedCall): void;
  droppedCount(): number;
  /** Tries once to write the pending records. */
  flush(): Promise<void>;
  /** Drops the pending records. */
  drop(): void;
}

const MOST_AT_ONCE = 500;
const MOST_NOTED = 10_000;
const NOTES_WAIT_MS = 250;
/** The delay after a failure. */
const NOTES_WAIT_AGAIN_MS = 1_000;

/**
 * How many refusals of one key with the same reason and status have their own records in a minute; one further record counts
 * the rest.
 */
export const MOST_REFUSALS_A_MINUTE = 60;
/** How many combinations of key, reason and status are distinguished in a minute; further refusals only count as dropped. */
const MOST_REFUSED = 10_000;
const MINUTE_MS = 60_000;

/**
 * Writes refusals and reads in the background, in groups. They wait while the database has a fault; beyond the limit the
 * newest are dropped. A row that the database refuses is dropped alone. A client that repeats a refused call in a loop does
 * not fill the table: beyond sixty a minute, each process counts them in one row.
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
        // Before the first await: refusals that are counted after this get a new entry in the list.
        refusals.taken();
        await insert(noted.slice(0, MOST_AT_ONCE));
      }
    } catch (error) {
      fail(error);
    }
  }
  /** `group` is the start of `noted`. */
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
  /** The record to write; `counted` if a pending record includes it. */
  recordOf(call: FinishedCall): FinishedCall | 'counted' | 'too-many';
  /** The records returned so far are being written: refusals after this need another write. */
  taken(): void;
}

/** A record with a count keeps its id for its minute and is written again when the count has grown. */
type Counted = { -readonly [Name in keyof FinishedCall]: FinishedCall[Name] };

interface RecentRefusals {
  count: number;
  /** The record of the refusals beyond the limit; null before that. */
  record: Counted | null;
  isWaiting: boolean;
}

function createRefusalCounts(): RefusalCounts {
  let minute = 0;
  let recent = new Map<string, RecentRefusals>();
  let waiting: RecentRefusals[] = [];
  return {
    recordOf(call) {
      const now = Math.floor((call.startedAtMs + call.durationMs) / MINUTE_MS);
      if (now !== minute) {
        minute = now;
        recent = new Map();
      }
      const name = `${call.keyId} ${call.reason} ${call.httpStatus}`;
      const known = recent.get(name);
      if (known === undefined) {
        if (recent.size >= MOST_REFUSED) return 'too-many';
        recent.set(name, { count: 1, record: null, isWaiting: false });
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
