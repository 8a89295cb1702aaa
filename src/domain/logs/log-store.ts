import type { Clock, Timer } from '../../ports/clock.ts';
import type { Database, SqlValue, Statements, Transaction } from '../../ports/database.ts';
import type { LogEntry, LogSink } from '../../ports/log.ts';
import { CHUNK_ROWS, changeInChunks } from '../retention/change-in-chunks.ts';

interface StoredLogParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly keepRows: number;
  readonly keepMs: number;
  /**
   * Called once for each type of trouble until that has passed. Entries that it logs arrive here too, which is
   * harmless.
   */
  readonly onTrouble: (trouble: LogTrouble) => void;
}

export interface LogTrouble {
  readonly kind: 'not-written' | 'refused' | 'not-pruned';
  readonly error: unknown;
}

interface StoredLog extends LogSink {
  /** Resolves when all accepted entries were written, or could not be. */
  flush(): Promise<void>;
  /** Writes as much as possible within a few seconds; later entries are dropped. */
  close(): Promise<void>;
  droppedCount(): number;
}

const GATHER_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
const CLOSE_MS = 3_000;

/** A sink that stores entries in the database, one batch at a time: every second, or as soon as 500 are waiting. */
export function createStoredLog({ database, clock, keepRows, keepMs, onTrouble }: StoredLogParts): StoredLog {
  const pruneWhenDue = createLogPruner({ database, clock, keepRows, keepMs });
  const waiting = createWaitingEntries();
  const trouble = createTroubleReporter(onTrouble);
  let timer: Timer | null = null;
  let running: Promise<void> | null = null;
  /** Null while writing succeeds. */
  let retryMs: number | null = null;
  let closed = false;

  function arm(delayMs: number): void {
    timer?.cancel();
    timer = clock.after(delayMs, () => void run(false));
  }

  /** One at a time: a call during a run gets the run in progress. */
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

  /** False if the batch could not be written: it stays and is retried, after a delay that doubles each time. */
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
      const timeout = new AbortController();
      await Promise.race([flush(), clock.sleep(CLOSE_MS, timeout.signal)]);
      timeout.abort();
      timer?.cancel();
    },
    droppedCount: waiting.droppedCount,
  };
}

/** Reports each type of trouble when it begins, and again only after it has passed. */
function createTroubleReporter(onTrouble: StoredLogParts['onTrouble']) {
  const reported = new Set<LogTrouble['kind']>();
  return {
    tell(trouble: LogTrouble): void {
      if (reported.has(trouble.kind)) return;
      reported.add(trouble.kind);
      onTrouble(trouble);
    },
    passed: (kind: LogTrouble['kind']) => void reported.delete(kind),
  };
}

/** An entry that waits for its batch. Its context is already serialized, so that its size is known. */
interface WaitingEntry {
  readonly timestamp: string;
  readonly level: string;
  readonly message: string;
  readonly context: string;
  readonly characters: number;
}

interface WaitingEntries {
  add(entry: LogEntry): void;
  /** Counts entries that are lost for a reason other than the limit. */
  drop(entries: number): void;
  size(): number;
  /** The first entries, as many as fit in one statement. They stay until they are removed. */
  nextBatch(): readonly WaitingEntry[];
  removeFirst(count: number): void;
  /** Adds an entry, even above the limit, with the number of entries dropped since the last one. */
  sayDropped(timestamp: string): void;
  droppedCount(): number;
}

const BATCH_ENTRIES = 500;
const BATCH_CHARACTERS = 2_000_000;
const MAX_WAITING_ENTRIES = 10_000;
/**
 * 10,000 entries of the usual 300 characters are 3 million; without this limit, 10,000 of the largest are 160 million.
 */
const MAX_WAITING_CHARACTERS = 16_000_000;

function createWaitingEntries(): WaitingEntries {
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
      if (entries.length >= MAX_WAITING_ENTRIES || characters >= MAX_WAITING_CHARACTERS) drop(1);
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

/** `refused`: the data is invalid, so every attempt would fail. `failed`: the next attempt may succeed. */
type BatchOutcome =
  | { readonly outcome: 'written' }
  | { readonly outcome: 'refused' | 'failed'; readonly error: unknown };

/**
 * One statement for any number of entries. The context is passed as text, because engines read a JSON string
 * differently.
 */
async function writeBatch(database: Statements, batch: readonly WaitingEntry[]): Promise<BatchOutcome> {
  try {
    await database.query(
      `insert into log_entries (timestamp, level, message, context)
       select timestamp::timestamptz, level, message, context::jsonb
       from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as entry (timestamp, level, message, context)`,
      [
        batch.map((entry) => entry.timestamp),
        batch.map((entry) => entry.level),
        batch.map((entry) => entry.message),
        batch.map((entry) => entry.context),
      ],
    );
    return { outcome: 'written' };
  } catch (error) {
    return { outcome: isAboutTheData(error) ? 'refused' : 'failed', error };
  }
}

/** PostgreSQL's error classes 22 and 23, which concern the values. */
function isAboutTheData(error: unknown): boolean {
  if (!(error instanceof Error) || !('sqlState' in error)) return false;
  return typeof error.sqlState === 'string' && /^2[23]/.test(error.sqlState);
}

/**
 * Deletes all entries that name one of these talents or meetings, in the transaction that erases them. Matching logs talents as
 * its subjects.
 */
export async function eraseEntriesAbout(transaction: Transaction, ids: readonly string[]): Promise<void> {
  await transaction.query(
    `delete from log_entries where array[context ->> 'talentId', context ->> 'subjectId', context ->> 'meetingId']
       && $1::text[]`,
    [ids],
  );
}

interface LogPrunerParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly keepRows: number;
  readonly keepMs: number;
}

const PRUNE_EVERY_MS = 60_000;
const MOST_CHUNKS = 20;

const PAST_AGE = 'select id from log_entries where timestamp < $1 order by timestamp, id';
/** Ids only increase: above the newest id minus the limit there cannot be more rows than the limit. */
const PAST_NUMBER = `select id from log_entries
  where id <= (select max(id) from log_entries) - $1::bigint order by id`;

/**
 * Deletes entries that are too old or above the limit on rows, oldest first. It can be called at any rate: it checks
 * once a minute, and at every call while it is behind.
 */
export function createLogPruner({ database, clock, keepRows, keepMs }: LogPrunerParts): () => Promise<void> {
  let dueAt = 0;

  async function prune(): Promise<boolean> {
    const oldest = new Date(clock.now() - keepMs);
    const byAge = await deleteChunks(database, PAST_AGE, oldest);
    const byNumber = await deleteChunks(database, PAST_NUMBER, BigInt(keepRows));
    return byAge && byNumber;
  }

  return async () => {
    if (clock.uptimeMs() < dueAt) return;
    dueAt = clock.uptimeMs() + PRUNE_EVERY_MS;
    const isDone = await prune();
    if (!isDone) dueAt = 0;
  };
}

/** True if nothing was left to delete. */
async function deleteChunks(database: Database, which: string, bound: SqlValue): Promise<boolean> {
  const sql = `delete from log_entries
    where id = any (array(${which} limit ${CHUNK_ROWS} for update skip locked))`;
  return (await changeInChunks(database, { sql, values: [bound], maxChunks: MOST_CHUNKS })).isDone;
}
