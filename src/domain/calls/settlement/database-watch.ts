import type { Clock, Timer } from '../../../ports/clock.ts';
import type { Database } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import type { JournaledCalls } from './journaled-calls.ts';

interface DatabaseWatchParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

export interface DatabaseWatch {
  isUnavailable(): boolean;
  /** Reports that a commit failed for a reason other than its calls, or passed its deadline. */
  lost(error: unknown): void;
  /** Reports that a commit succeeded. */
  found(): void;
  /** Schedules a check, because the journal has calls that the database may accept now. */
  checkSoon(): void;
  /** Starts to replay this journal and those of ended processes. */
  watch(journaled: JournaledCalls): void;
  /** Stops checking; resolves when the current check has ended, or after `waitMs`. */
  stop(waitMs: number): Promise<void>;
}

const CHECK_MS = 1_000;
const REPORT_AGAIN_MS = 60_000;
/** Calls of a killed process are charged within a minute. */
const TAKE_OVER_MS = 30_000;

/**
 * Whether the database is available, as far as commits show.
 *   available -> unavailable   a commit fails for a reason other than its calls, or gets no answer in time
 *   unavailable -> available   a check succeeds: the database answers and accepts the journal's first calls; or a
 *                              commit that was in doubt turns out to have succeeded
 * While it is unavailable, finished calls go to the journal without an attempt to commit them. Checks are a second
 * apart and one at a time: one on a paused server hangs, and succeeds as soon as the server continues.
 */
export function createDatabaseWatch({ database, clock, log }: DatabaseWatchParts): DatabaseWatch {
  let journaled: JournaledCalls | null = null;
  let state: 'available' | 'unavailable' = 'available';
  let checkTimer: Timer | null = null;
  let takeOverTimer: Timer | null = null;
  let checking: Promise<void> | null = null;
  let takingOver: Promise<void> | null = null;
  let isStopped = false;
  let reportedAtMs = 0;

  function lost(error: unknown): void {
    armCheck();
    // The absolute difference: the clock may have been set back.
    if (state === 'unavailable' && Math.abs(clock.now() - reportedAtMs) < REPORT_AGAIN_MS) return;
    state = 'unavailable';
    reportedAtMs = clock.now();
    log.warn('the database is unavailable: finished calls go to the journal', {
      waiting: journaled?.waiting(),
      error,
    });
  }
  function found(): void {
    if (state === 'available') return;
    state = 'available';
    log.info('the database is back: calls are charged again', { waiting: journaled?.waiting() });
  }

  function armCheck(): void {
    if (isStopped || checking !== null) return;
    checkTimer ??= clock.after(CHECK_MS, () => {
      checkTimer = null;
      checking = check().finally(() => {
        checking = null;
        if (state === 'unavailable' || (journaled?.waiting() ?? 0) > 0) armCheck();
      });
    });
  }
  async function check(): Promise<void> {
    try {
      await journaled?.check();
      await database.query('select 1');
    } catch (error) {
      return lost(error);
    }
    const replayed = await replayOwn();
    if (replayed !== 'unavailable') found();
  }
  async function replayOwn() {
    try {
      const replayed = await journaled?.replay();
      if (replayed?.outcome === 'unavailable') lost(replayed.error);
      return replayed?.outcome;
    } catch (error) {
      log.error('the journal cannot be replayed: it is tried again', { error });
      return 'journal-failed';
    }
  }

  async function takeOver(): Promise<void> {
    if (state === 'available') {
      await journaled?.replayOthers().catch((error: unknown) => {
        log.error('journals of ended processes cannot be replayed: they are tried again', { error });
      });
    }
    if (!isStopped) takeOverTimer = clock.after(TAKE_OVER_MS, startTakeOver);
  }
  function startTakeOver(): void {
    takingOver = takeOver();
  }

  return {
    isUnavailable: () => state === 'unavailable',
    lost,
    found,
    checkSoon: armCheck,
    watch(given) {
      journaled = given;
      if (given.waiting() > 0) armCheck();
      startTakeOver();
    },
    async stop(waitMs) {
      isStopped = true;
      checkTimer?.cancel();
      takeOverTimer?.cancel();
      journaled?.stop();
      await within(clock, waitMs, Promise.all([checking, takingOver]));
    },
  };
}

/** True if the work has ended within `waitMs`. */
export async function within(clock: Clock, waitMs: number, work: Promise<unknown>): Promise<boolean> {
  const over = new AbortController();
  const ended = work.then(
    () => true,
    () => true,
  );
  const inTime = await Promise.race([ended, clock.sleep(waitMs, over.signal).then(() => false)]);
  over.abort();
  return inTime;
}
