import type { CallJournal } from '../../../ports/call-journal.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Database } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import { type ChargedCalls, chargeCalls, countThatFits, distinctCalls } from './charge-calls.ts';
import { createDatabaseWatch, within } from './database-watch.ts';
import { createDeferredCalls, type Deferring } from './deferred-calls.ts';
import type { FinishedCall } from './finished-call.ts';
import { createJournaledCalls } from './journaled-calls.ts';
import { type OwnCharge, ownCharges } from './own-charge.ts';
import { isRefusedRow, sendInHalves } from './refused-rows.ts';
import { createCallNotes } from './write-behind-calls.ts';

export type Settled =
  | ({ outcome: 'settled' } & OwnCharge)
  /**
   * Durable and charged later: when the database is back, or together with others before the database is read. `committed`
   * resolves when it is charged or set aside, and never if the process ends before that.
   */
  | { outcome: 'journaled' | 'deferred'; committed: Promise<OwnCharge> }
  | { outcome: 'not-written'; error: unknown };

export interface CallBook {
  /**
   * Resolves once the call is committed, journaled or deferred, or could not be written at all. `onSent` runs when its group
   * is sent; until then the call waits for the current commit.
   */
  settle(call: FinishedCall, onSent?: () => void): Promise<Settled>;
  /** False if a call that is admitted now may end with nowhere to be written. */
  hasRoom(): boolean;
  /** For refusals and reads: written in the background, and dropped beyond a limit. */
  note(call: FinishedCall): void;
  droppedCount(): number;
  /** The number of calls in this process's own journal. */
  journalState(): { readonly waiting: number; readonly setAside: number };
  /**
   * Writes pending calls, including those in the journal; calls that the database does not accept in time stay in the
   * journal.
   */
  close(): Promise<void>;
}

interface CallBookParts {
  readonly database: Database;
  readonly journal: CallJournal;
  readonly clock: Clock;
  readonly log: Log;
  /** How long a commit may take before it is in doubt. */
  readonly commitDeadlineMs: number;
  /** Only on the embedded engine, where a commit costs as much as charging twenty calls. */
  readonly deferring?: Deferring | undefined;
}

/** Together shorter than the time that closing may take. */
const LAST_REPLAY_MS = 5_000;
const LAST_LOOK_MS = 500;
const LAST_NOTES_MS = 2_000;

interface Waiting {
  readonly call: FinishedCall;
  readonly resolve: (settled: Settled) => void;
  readonly onSent: (() => void) | undefined;
}

/**
 * Group commit: finished calls gather while the previous commit runs and are committed together in the next. So a single call
 * waits for one commit and no timer, and a thousand concurrent calls for two or three.
 *
 * The path of a call, under one id throughout, which the ledger accepts once:
 *   waiting -> committed              settled
 *   waiting -> refused alone          not written; the others of its group are sent again without it (SQLSTATE 22 and 23)
 *   waiting -> in doubt -> journal    any other failure, or no answer in time: journaled; when the database is back,
 *                                     committed, or ignored if the database already has it
 *   waiting -> journal                the same, if the database is known to be unavailable
 *   ... journal -> no room            not written; if a commit is in doubt, its answer is awaited first
 *   write-ahead log -> committed      deferred: on the embedded engine (deferred-calls.ts)
 */
export function createCallBook(parts: CallBookParts): CallBook {
  const { database, journal, clock, log, commitDeadlineMs } = parts;
  let waiting: Waiting[] = [];
  let committing: Promise<void> | null = null;
  const notes = createCallNotes({ database, clock, log });
  const watch = createDatabaseWatch({ database, clock, log });
  const journaled = createJournaledCalls({ journal, database, log, onCommitted: watch.found });
  watch.watch(journaled);
  const deferred =
    parts.deferring === undefined
      ? null
      : createDeferredCalls({ ...parts.deferring, journaled, watch, clock, log });

  async function settleAll(): Promise<void> {
    // Calls that end in the same turn of the event loop are grouped from the start: at 32 connections this needs a third of
    // the statements.
    await clock.turn();
    while (waiting.length > 0) {
      const fitting = countThatFits(waiting, ({ call }) => call);
      const group = waiting.slice(0, fitting);
      waiting = waiting.slice(fitting);
      for (const { onSent } of group) onSent?.();
      await settleGroup(group);
    }
    // In the same turn as the check above: the next call must find either a running loop or none.
    committing = null;
  }

  async function settleGroup(group: readonly Waiting[]): Promise<void> {
    if (watch.isUnavailable()) return await writeToJournal(group, null);
    const tried = await commitGroup({ database, clock, deadlineMs: commitDeadlineMs }, distinctCalls(group));
    switch (tried.outcome) {
      case 'committed': {
        const chargeOf = ownCharges(tried.charged);
        for (const { call, resolve } of group) resolve({ outcome: 'settled', ...chargeOf(call) });
        return;
      }
      case 'in-doubt':
        watch.lost(tried.error);
        await writeToJournal(group, tried);
        return noteLateAnswer(group, tried);
      case 'refused':
        return await sendInHalves(group, tried.error, settleGroup, refuse);
    }
  }

  async function writeToJournal(group: readonly Waiting[], doubt: InDoubt | null): Promise<void> {
    const written = await journaled.write(distinctCalls(group));
    if (written.outcome === 'written') {
      for (const { call, resolve } of group) {
        resolve({ outcome: 'journaled', committed: written.committed(call) });
      }
      return;
    }
    if (group.length > 1) {
      // There may be room for some of them.
      const half = group.length >> 1;
      await writeToJournal(group.slice(0, half), doubt);
      return await writeToJournal(group.slice(half), doubt);
    }
    for (const one of group) awaitLateAnswer(one, doubt, written.error);
  }

  /** A commit that succeeds after all needs no replay, and shows that the database is back. */
  function noteLateAnswer(group: readonly Waiting[], { late }: InDoubt): void {
    late
      ?.then(
        (charged) => {
          watch.found();
          return journaled.landed(distinctCalls(group), charged);
        },
        () => {},
      )
      .catch((error: unknown) =>
        log.warn('charged calls stay in the journal until its next replay', { error }),
      );
  }

  /** Only the late answer of the database can still show that this call is written. Nothing else waits for it. */
  function awaitLateAnswer(one: Waiting, doubt: InDoubt | null, error: unknown): void {
    const answer = doubt?.late ?? Promise.reject(error);
    answer.then(
      (charged) => one.resolve({ outcome: 'settled', ...ownCharges(charged)(one.call) }),
      () => refuse(one, error),
    );
  }

  return {
    settle(call, onSent) {
      const committed = deferred?.add(call) ?? null;
      if (committed !== null) {
        onSent?.();
        return Promise.resolve({ outcome: 'deferred', committed });
      }
      return new Promise((resolve) => {
        waiting.push({ call, resolve, onSent });
        committing ??= settleAll();
      });
    },
    hasRoom: () => journaled.hasRoom(watch.isUnavailable()),
    note: notes.add,
    droppedCount: notes.droppedCount,
    journalState: () => ({ waiting: journal.waiting(), setAside: journal.setAsideCount() }),
    async close() {
      await committing;
      if (deferred !== null) await within(clock, LAST_REPLAY_MS, deferred.flush());
      if (journaled.waiting() > 0) await within(clock, LAST_REPLAY_MS, journaled.replay());
      await watch.stop(LAST_LOOK_MS);
      if (!watch.isUnavailable()) await within(clock, LAST_NOTES_MS, notes.flush());
      notes.drop();
      const left = journaled.waiting();
      if (left === 0) return;
      log.warn('calls stay in the journal: they are charged when a process starts on this DATA_DIR', {
        count: left,
        file: journal.name,
      });
    },
  };
}

function refuse({ resolve }: Waiting, error: unknown): void {
  resolve({ outcome: 'not-written', error });
}

/** It is unknown whether the commit took effect. */
interface InDoubt {
  readonly outcome: 'in-doubt';
  readonly error: unknown;
  /** The late answer of the database, if it only missed the deadline; null if none will arrive. */
  readonly late: Promise<ChargedCalls> | null;
}

type Tried =
  | { readonly outcome: 'committed'; readonly charged: ChargedCalls }
  | { readonly outcome: 'refused'; readonly error: unknown }
  | InDoubt;

interface CommitParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly deadlineMs: number;
}

/**
 * One attempt. The deadline is enforced here and not by the server: a paused server, or one behind a broken network, ends
 * nothing. The connection's own time-out is longer and settles the `late` answer.
 */
function commitGroup(
  { database, clock, deadlineMs }: CommitParts,
  calls: readonly FinishedCall[],
): Promise<Tried> {
  return new Promise((resolve) => {
    const late = chargeCalls(database, calls);
    const timer = clock.after(deadlineMs, () => {
      const error = new Error(`the database has not answered a commit within ${deadlineMs} ms`);
      resolve({ outcome: 'in-doubt', error, late });
    });
    late.then(
      (charged) => {
        timer.cancel();
        resolve({ outcome: 'committed', charged });
      },
      (error: unknown) => {
        timer.cancel();
        resolve(
          isRefusedRow(error) ? { outcome: 'refused', error } : { outcome: 'in-doubt', error, late: null },
        );
      },
    );
  });
}
