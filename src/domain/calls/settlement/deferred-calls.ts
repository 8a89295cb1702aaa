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

/** What deferring requires: writes that no reader misses, and a log in which calls are durable until they are written. */
export interface Deferring {
  readonly writes: DeferredWrites;
  readonly writeAheadLog: WriteAheadLog;
}

interface DeferredCalls {
  /** Makes the call durable and charges it soon. Null if it cannot be deferred and must wait for its commit. */
  add(call: FinishedCall): Promise<OwnCharge> | null;
  /** Writes all added calls to the database or the journal. */
  flush(): Promise<void>;
}

interface DeferredCallsParts extends Deferring {
  readonly journaled: Pick<JournaledCalls, 'write'>;
  readonly watch: Pick<DatabaseWatch, 'isUnavailable' | 'lost' | 'checkSoon'>;
  readonly clock: Clock;
  readonly log: Log;
}

interface Waiting {
  readonly call: FinishedCall;
  readonly resolve: (charge: OwnCharge | Promise<OwnCharge>) => void;
}

/** How long a call waits to be charged together with others. */
const DEFER_MS = 100;
/** Beyond this the database does not keep up, and calls wait for their commit. */
const MOST_DEFERRED = 1_000;
/** The delay before a retry, if neither the database nor the journal accepts them. */
const TRY_AGAIN_MS = 1_000;

/**
 * A commit of the embedded engine costs as much as charging twenty calls. So calls do not wait for it: they are first written
 * to a log, which costs almost nothing and survives the process as the engine's own commits do, and then charged many at a
 * time. Readers see no difference, because the database runs deferred writes before any other statement.
 */
export function createDeferredCalls(parts: DeferredCallsParts): DeferredCalls {
  const { writes, writeAheadLog, journaled, watch, clock, log } = parts;
  let waiting: Waiting[] = [];
  /** Segments with calls that are in neither the database nor the journal yet. */
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

  /** The replay of the journal charges them, or sets them aside, as after an outage. */
  async function moveToJournal(calls: readonly Waiting[]): Promise<boolean> {
    const written = await journaled.write(calls.map(({ call }) => call));
    if (written.outcome === 'not-written') return false;
    for (const { call, resolve } of calls) resolve(written.committed(call));
    watch.checkSoon();
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
      if (watch.isUnavailable() || waiting.length >= MOST_DEFERRED || !isDeferrable(call)) return null;
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

/**
 * Returns the calls that were not charged. `onLost` receives a failure that is not about the calls; the remaining calls are
 * not tried then.
 */
async function chargeAll(
  statements: Statements,
  all: readonly Waiting[],
  onLost: (error: unknown) => void,
): Promise<readonly Waiting[]> {
  const refused: Waiting[] = [];
  /** How many are charged or refused so far, in order. */
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
  /** Stores entries that the database does not accept; false if it cannot, and they stay in the log. */
  keep(entries: readonly JournalEntry[]): Promise<boolean>;
}

/** Charges the calls that a killed process had deferred. */
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

/** Answers and responses that may be requested later are committed with their calls, before these end. */
function isDeferrable({ idempotent, response }: FinishedCall): boolean {
  return idempotent === undefined && response === undefined;
}

/**
 * Returns a function that charges deferred calls, so that calls that have ended hold nothing any more. The function returns
 * false if there were none, or if this failed. Undefined on a database that never defers calls.
 */
export function chargeDeferredIn(database: Database, clock: Clock): (() => Promise<boolean>) | undefined {
  const { engine, deferred } = database;
  if (engine !== 'pglite') return undefined;
  return async () => {
    if (deferred?.isEmpty() === true) return false;
    try {
      // If another process runs the engine, any statement makes it write its deferred calls first.
      await (deferred === undefined ? database.query('select 1') : deferred.flush());
    } catch {
      return false;
    }
    // Holds are released after the commit.
    await clock.turn();
    return true;
  };
}
