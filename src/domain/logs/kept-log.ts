import type { Clock, Timer } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { LogSink } from '../../ports/log.ts';
import { createLogPruner } from './prune-log.ts';
import { BATCH_ENTRIES, createWaitingEntries } from './waiting-entries.ts';
import { writeBatch } from './write-batch.ts';

export interface KeptLogParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly keepRows: number;
  readonly keepMs: number;
  /** Runs once for each kind until it has passed. What it logs comes back here as an entry, which is harmless. */
  readonly onTrouble: (trouble: LogTrouble) => void;
}

export interface LogTrouble {
  readonly kind: 'not-written' | 'refused' | 'not-pruned';
  readonly error: unknown;
}

export interface KeptLog extends LogSink {
  /** Resolves when all that was taken is written, or could not be. */
  flush(): Promise<void>;
  /** Writes what it can within a few seconds; entries after it are dropped. */
  close(): Promise<void>;
  droppedCount(): number;
}

const GATHER_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
const CLOSE_MS = 3_000;

/** A sink that keeps entries in the database: gathered for a second or until 500 are there, one batch at a time. */
export function createKeptLog({ database, clock, keepRows, keepMs, onTrouble }: KeptLogParts): KeptLog {
  const pruneWhenDue = createLogPruner({ database, clock, keepRows, keepMs });
  const waiting = createWaitingEntries();
  const trouble = createTroubleTeller(onTrouble);
  let timer: Timer | null = null;
  let running: Promise<void> | null = null;
  /** Null while the database takes what it is given. */
  let retryMs: number | null = null;
  let closed = false;

  function arm(delayMs: number): void {
    timer?.cancel();
    timer = clock.after(delayMs, () => void run(false));
  }

  /** One at a time: whoever comes while it runs gets the run that is under way. */
  function run(untilEmpty: boolean): Promise<void> {
    timer?.cancel();
    timer = null;
    running ??= writeWaiting(untilEmpty).finally(() => {
      running = null;
      if (waiting.size() > 0 && !closed) arm(retryMs ?? GATHER_MS);
    });
    return running;
  }

  async function writeWaiting(untilEmpty: boolean): Promise<void> {
    do {
      if (!(await writeNextBatch())) return;
    } while (waiting.size() >= (untilEmpty ? 1 : BATCH_ENTRIES));
    if (closed) return;
    await pruneWhenDue().then(
      () => trouble.passed('not-pruned'),
      (error: unknown) => trouble.tell({ kind: 'not-pruned', error }),
    );
  }

  /** False: it stays, and is tried again later, each time after twice as long. */
  async function writeNextBatch(): Promise<boolean> {
    const batch = waiting.nextBatch();
    const result = await writeBatch(database, batch);
    if (result.outcome === 'failed') {
      retryMs = retryMs === null ? GATHER_MS : Math.min(2 * retryMs, LONGEST_RETRY_MS);
      trouble.tell({ kind: 'not-written', error: result.error });
      return false;
    }
    retryMs = null;
    trouble.passed('not-written');
    waiting.removeFirst(batch.length);
    if (result.outcome === 'refused') {
      waiting.drop(batch.length);
      trouble.tell({ kind: 'refused', error: result.error });
    } else {
      trouble.passed('refused');
    }
    waiting.sayDropped(new Date(clock.now()).toISOString());
    return true;
  }

  async function flush(): Promise<void> {
    await running;
    if (waiting.size() > 0) await run(true);
  }

  return {
    take(entry) {
      if (closed) return waiting.drop(1);
      waiting.add(entry);
      if (running !== null || retryMs !== null) return;
      if (waiting.size() === BATCH_ENTRIES) arm(0);
      else if (timer === null) arm(GATHER_MS);
    },
    flush,
    async close() {
      closed = true;
      const patience = new AbortController();
      await Promise.race([flush(), clock.sleep(CLOSE_MS, patience.signal)]);
      patience.abort();
      timer?.cancel();
    },
    droppedCount: waiting.droppedCount,
  };
}

/** Each kind of trouble is told when it begins, and again only after it has passed. */
function createTroubleTeller(onTrouble: KeptLogParts['onTrouble']) {
  const told = new Set<LogTrouble['kind']>();
  return {
    tell(trouble: LogTrouble): void {
      if (told.has(trouble.kind)) return;
      told.add(trouble.kind);
      onTrouble(trouble);
    },
    passed: (kind: LogTrouble['kind']) => void told.delete(kind),
  };
}
