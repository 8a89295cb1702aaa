import type { Clock, Timer } from '../../ports/clock.ts';
import type { Database, DatabaseFailure } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import { type FinishedCall, insertCalls } from './finished-call.ts';

export type Settled = { outcome: 'settled' } | { outcome: 'not-written'; error: unknown };

export interface CallBook {
  /** Resolves once the call is committed, or could not be. */
  settle(call: FinishedCall): Promise<Settled>;
  /** For refusals and reads: written behind, and dropped past a bound. */
  note(call: FinishedCall): void;
  droppedCount(): number;
  /** Writes what waits. */
  close(): Promise<void>;
}

export interface CallBookParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

/** A statement's worth. More would hold its first call up for longer than they save. */
const MOST_AT_ONCE = 500;
const MOST_NOTED = 10_000;
const NOTES_WAIT_MS = 250;
const NOTES_TRIES = 3;

interface Waiting {
  readonly call: FinishedCall;
  readonly resolve: (settled: Settled) => void;
}

/**
 * Group commit: finished calls gather while the commit before them is under way and go together in the next. So
 * a lone call waits for one commit and no timer, and a thousand at once for two or three.
 */
export function createCallBook({ database, clock, log }: CallBookParts): CallBook {
  let waiting: Waiting[] = [];
  let committing: Promise<void> | null = null;
  const notes = createNotes({ database, clock, log });

  async function commitAll(): Promise<void> {
    // Calls that end in the same turn of the event loop go together from the start: at 32 connections this
    // takes a third of the statements.
    await clock.turn();
    while (waiting.length > 0) {
      const group = waiting.slice(0, MOST_AT_ONCE);
      waiting = waiting.slice(MOST_AT_ONCE);
      const settled = await commit(group);
      if (settled.outcome === 'settled' || group.length === 1 || !isRefused(settled.error)) {
        for (const { resolve } of group) resolve(settled);
      } else {
        // One row that the database does not take must not cost the others theirs.
        for (const one of group) one.resolve(await commit([one]));
      }
    }
    // In the same turn as the look above: a call that comes next must find either a running loop or none.
    committing = null;
  }

  async function commit(group: readonly Waiting[]): Promise<Settled> {
    try {
      await insertCalls(
        database,
        group.map(({ call }) => call),
      );
      return { outcome: 'settled' };
    } catch (error) {
      return { outcome: 'not-written', error };
    }
  }

  return {
    settle(call) {
      return new Promise((resolve) => {
        waiting.push({ call, resolve });
        committing ??= commitAll();
      });
    },
    note: notes.add,
    droppedCount: notes.droppedCount,
    async close() {
      await committing;
      await notes.flush();
    },
  };
}

function isRefused(error: unknown): boolean {
  return (error as Partial<DatabaseFailure>).reason === 'refused';
}

function createNotes({ database, clock, log }: CallBookParts) {
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
    add(call: FinishedCall): void {
      if (noted.length >= MOST_NOTED) {
        dropped += 1;
        return;
      }
      noted.push(call);
      if (writing === null) arm();
    },
    droppedCount: () => dropped,
    async flush(): Promise<void> {
      await writing;
      await write();
      timer?.cancel();
    },
  };
}
