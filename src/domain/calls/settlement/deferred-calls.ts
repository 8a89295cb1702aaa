import type { JournalEntry, LeftSegment, LogSegment, WriteAheadLog } from '../../../ports/call-journal.ts';
import type { Clock, Timer } from '../../../ports/clock.ts';
import type { Database, DeferredWrites, Statements } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import { chargeCalls, countThatFits, distinctCalls, MOST_AT_ONCE } from './charge-calls.ts';
import type { DatabaseWatch } from './database-watch.ts';
import type { FinishedCall } from './finished-call.ts';
import { entryOf, readEntry } from './journal-record.ts';
import type { JournaledCalls } from './journaled-calls.ts';
import { type OwnCharge, ownCharges } from './own-charge.ts';
import { isRefusedRow, sendInHalves } from './refused-rows.ts';

/** What deferring takes: writes that no reader misses, and a place where calls are durable until they are written. */
export interface Deferring {
  readonly writes: DeferredWrites;
  readonly writeAheadLog: WriteAheadLog;
}

export interface DeferredCalls {
  /** Durable, and charged soon; null where the call cannot be deferred: then its commit is waited for. */
  add(call: FinishedCall): Promise<OwnCharge> | null;
  /** Resolves when all that was added is in the database or in the journal. */
  flush(): Promise<void>;
}

interface DeferredCallsParts extends Deferring {
  readonly journaled: Pick<JournaledCalls, 'write'>;
  readonly watch: Pick<DatabaseWatch, 'isAway' | 'lost' | 'lookSoon'>;
  readonly clock: Clock;
  readonly log: Log;
}

interface Waiting {
  readonly call: FinishedCall;
  readonly resolve: (charge: OwnCharge | Promise<OwnCharge>) => void;
}

/** How long a call waits for others to go with. */
const DEFER_MS = 100;
/** Beyond, calls wait for their commit: the database does not keep up. */
const MOST_DEFERRED = 1_000;
/** Where neither the database nor the journal takes them. */
const TRY_AGAIN_MS = 1_000;

/**
 * A commit of the embedded engine costs as much as twenty of its calls do. So calls do not wait for it: they are written to a log
 * first, which costs next to nothing and survives the process as the engine's own commits do, and are charged many at a time.
 * Readers see no difference, because the database runs what is deferred before any other statement.
 */
export function createDeferredCalls(parts: DeferredCallsParts): DeferredCalls {
  const { writes, writeAheadLog, journaled, watch, clock, log } = parts;
  let waiting: Waiting[] = [];
  /** Those with calls that are neither in the database nor in the journal yet. */
  let segments: LogSegment[] = [];
  let timer: Timer | null = null;

  async function write(statements: Statements): Promise<void> {
    timer?.cancel();
    timer = null;
    if (waiting.length === 0) return;
    const all = waiting;
    waiting = [];
    segments.push(writeAheadLog.rotate());
    const left = await chargeAll(statements, all, watch.lost);
    if (left.length > 0 && !(await moveToJournal(left))) {
      waiting.unshift(...left);
      flushAfter(TRY_AGAIN_MS);
      return;
    }
    for (const segment of segments) segment.clear();
    segments = [];
  }

  /** From there they are charged, or set aside, as after an outage. */
  async function moveToJournal(calls: readonly Waiting[]): Promise<boolean> {
    const written = await journaled.write(calls.map(({ call }) => call));
    if (written.outcome === 'not-written') return false;
    for (const { call, resolve } of calls) resolve(written.committed(call));
    watch.lookSoon();
    return true;
  }

  async function flush(): Promise<void> {
    if (waiting.length > 0) writes.add();
    await writes.flush();
  }

  function flushNow(): void {
    flush().catch((error: unknown) => log.error('deferred calls could not be charged', { error }));
  }

  function flushAfter(delayMs: number): void {
    timer ??= clock.after(delayMs, () => {
      timer = null;
      flushNow();
    });
  }

  writes.writeBy(write);

  return {
    add(call) {
      if (watch.isAway() || waiting.length >= MOST_DEFERRED || !isDeferrable(call)) return null;
      if (!writeAheadLog.append(entryOf(call))) return null;
      const { promise, resolve } = Promise.withResolvers<OwnCharge>();
      waiting.push({ call, resolve });
      writes.add();
      if (waiting.length === MOST_AT_ONCE) flushNow();
      else flushAfter(DEFER_MS);
      return promise;
    },
    flush,
  };
}

/** Those that were not charged. `onLost` hears of a failure that is not about the calls: what comes after is not tried. */
async function chargeAll(
  statements: Statements,
  all: readonly Waiting[],
  onLost: (error: unknown) => void,
): Promise<readonly Waiting[]> {
  const refused: Waiting[] = [];
  /** How many are charged or refused, from the first on. */
  let done = 0;

  async function charge(group: readonly Waiting[]): Promise<void> {
    try {
      const chargeOf = ownCharges(await chargeCalls(statements, distinctCalls(group)));
      for (const { call, resolve } of group) resolve(chargeOf(call));
      done += group.length;
    } catch (error) {
      if (!isRefusedRow(error)) throw error;
      await sendInHalves(group, error, charge, (one) => {
        refused.push(one);
        done += 1;
      });
    }
  }

  try {
    while (done < all.length) {
      const rest = all.slice(done);
      await charge(
        rest.slice(
          0,
          countThatFits(rest, ({ call }) => call),
        ),
      );
    }
  } catch (error) {
    onLost(error);
  }
  return done === all.length ? refused : [...refused, ...all.slice(done)];
}

interface RecoveryParts {
  readonly statements: Statements;
  readonly left: LeftSegment;
  readonly log: Log;
  /** For what the database does not take; false where it cannot be kept, and stays in the log. */
  keep(entries: readonly JournalEntry[]): Promise<boolean>;
}

/** Charges what a process that was killed had deferred. */
export async function recoverDeferredCalls({ statements, left, log, keep }: RecoveryParts): Promise<void> {
  const { entries } = left;
  const readable: Waiting[] = [];
  const others: JournalEntry[] = [];
  for (const entry of entries) {
    const read = readEntry(entry);
    if (read.outcome === 'read') readable.push({ call: read.call, resolve: () => {} });
    else others.push(entry);
  }
  const onLost = (error: unknown) => log.warn('deferred calls could not be charged yet', { error });
  for (const { call } of await chargeAll(statements, readable, onLost)) others.push(entryOf(call));
  if (entries.length > 0) {
    log.info('calls that had ended before a process was killed are charged', {
      count: entries.length,
      notYet: others.length,
    });
  }
  if (others.length === 0 || (await keep(others))) left.clear();
}

/** Answers and responses that others may ask for are committed with their calls, before these end. */
function isDeferrable({ idempotent, response }: FinishedCall): boolean {
  return idempotent === undefined && response === undefined;
}

/**
 * Charges what is deferred, so that nothing is held any more by calls that have ended; false where nothing was. Undefined on a
 * database where no call is deferred.
 */
export function chargeDeferredIn(database: Database, clock: Clock): (() => Promise<boolean>) | undefined {
  const { engine, deferred } = database;
  if (engine !== 'pglite') return undefined;
  return async () => {
    if (deferred?.isEmpty() === true) return false;
    try {
      // Of another process, any statement has what is deferred there written before it.
      await (deferred === undefined ? database.query('select 1') : deferred.flush());
    } catch {
      return false;
    }
    // What the calls held is given back after their commit.
    await clock.turn();
    return true;
  };
}
