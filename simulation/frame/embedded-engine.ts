import {
  createDeferredGate,
  createDeferredWrites,
} from '../../src/adapters/database/pglite/deferred-writes.ts';
import type { JournalEntry, LeftSegment, WriteAheadLog } from '../../src/ports/call-journal.ts';
import type { Database, DeferredWrites } from '../../src/ports/database.ts';
import type { SimulatedDatabase } from './database.ts';
import type { Requests } from './requests.ts';
import type { Owner, Scheduler } from './scheduler.ts';

/** The embedded engine of one process: it defers writes, and every statement but the independent ones waits for them. */
export interface EmbeddedEngine {
  /** Of the process that has it. */
  readonly own: Database & { readonly deferred: DeferredWrites };
  /** Of the other process, whose statements arrive at the engine's thread and wait there. */
  attach(owner: Owner): Database;
}

const MESSAGE_MS = 0.1;

/** As `src/adapters/database/pglite` does it, with its own deferred writes, on the simulated database. */
export function createEmbeddedEngine(
  database: SimulatedDatabase,
  scheduler: Scheduler,
  engineOwner: Owner,
): EmbeddedEngine {
  const direct = database.connect(engineOwner);
  const deferred = createDeferredWrites(direct);
  const gate = createDeferredGate(deferred.counts, () =>
    scheduler.at(engineOwner, MESSAGE_MS, async () => {
      await deferred.flush();
      scheduler.at(engineOwner, MESSAGE_MS, gate.opened);
    }),
  );
  return {
    own: { ...waiting(direct, deferred.flush), deferred },
    attach: (owner) => waiting(database.connect(owner), gate.pass),
  };
}

function waiting(on: Database, before: () => Promise<void>): Database {
  return {
    ...on,
    engine: 'pglite',
    query: async (text, values, options) => {
      if (options?.isIndependent !== true) await before();
      return await on.query(text, values);
    },
    script: async (text) => {
      await before();
      return await on.script(text);
    },
    transaction: async (work, options) => {
      await before();
      return await on.transaction(work, options);
    },
  };
}

/** A write-ahead log on a disk that outlives its processes. */
export interface SimulatedLog {
  open(owner: Owner): WriteAheadLog;
  /** What is there when a process starts. */
  left(): LeftSegment;
  entries(): readonly JournalEntry[];
}

export function createSimulatedLog(requests: Requests, isFull: () => boolean): SimulatedLog {
  const segments = new Set<JournalEntry[]>();
  return {
    open(owner) {
      let current: JournalEntry[] | null = null;
      return {
        append: (entry) =>
          requests.now(owner, 'log append', () => {
            if (isFull()) return false;
            current ??= [];
            segments.add(current);
            current.push(entry);
            return true;
          }) ?? false,
        rotate() {
          const segment = current;
          current = null;
          return {
            clear: () =>
              void requests.now(owner, 'log clear', () => segment !== null && segments.delete(segment)),
          };
        },
        close() {},
      };
    },
    left() {
      const found = [...segments];
      return {
        entries: found.flat(),
        clear() {
          for (const segment of found) segments.delete(segment);
        },
      };
    },
    entries: () => [...segments].flat(),
  };
}
