import type { CallJournal, JournalFile } from '../../../ports/call-journal.ts';
import type { Database } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import type { ChargedCalls } from './charge-calls.ts';
import type { FinishedCall } from './finished-call.ts';
import { entryOf } from './journal-record.ts';
import { NO_CHARGE, type OwnCharge, ownCharges } from './own-charge.ts';
import { type Replayed, replayJournal } from './replay-journal.ts';

export interface JournaledCallsParts {
  readonly journal: CallJournal;
  readonly database: Database;
  readonly log: Log;
  /** The database has taken some of them. */
  onCommitted(): void;
}

export type Journaled =
  | { outcome: 'written'; committed(call: FinishedCall): Promise<OwnCharge> }
  | { outcome: 'not-written'; error: Error };

export interface JournaledCalls {
  /** Resolves once all of them would survive a crash, or none is written. */
  write(calls: readonly FinishedCall[]): Promise<Journaled>;
  /** A commit that had been in doubt turned out well. */
  landed(calls: readonly FinishedCall[], charged: ChargedCalls): Promise<void>;
  waiting(): number;
  /** With the database away, a disk that takes nothing is no room either. */
  hasRoom(isAway: boolean): boolean;
  /** After a failed write: whether the disk takes writes by now. */
  check(): Promise<void>;
  /** Of this process's own; a second one at the same time is the first one. */
  replay(): Promise<Replayed>;
  /** What ended processes left behind. */
  replayOthers(): Promise<void>;
  /** No more commits are begun. */
  stop(): void;
}

interface Waiter {
  readonly promise: Promise<OwnCharge>;
  resolve(charge: OwnCharge): void;
}

/** The journal as the call book uses it: who waits for which entry, and how entries get into the ledger. */
export function createJournaledCalls(given: JournaledCallsParts): JournaledCalls {
  const { journal, database, log } = given;
  const waiters = new Map<string, Waiter>();
  let replaying: Promise<Replayed> | null = null;
  let isBroken = false;
  let isStopped = false;

  function resolveWaiters(calls: readonly FinishedCall[], charged: ChargedCalls): void {
    const chargeOf = ownCharges(charged);
    for (const call of calls) resolveWaiter(call.id, chargeOf(call));
  }
  function resolveWaiter(id: string, charge: OwnCharge): void {
    waiters.get(id)?.resolve(charge);
    waiters.delete(id);
  }
  const replayParts = {
    database,
    log,
    onCommitted(calls: readonly FinishedCall[], charged: ChargedCalls) {
      resolveWaiters(calls, charged);
      given.onCommitted();
    },
    onSetAside: (id: string) => resolveWaiter(id, NO_CHARGE),
    isStopped: () => isStopped,
  };

  return {
    async write(calls) {
      const appended = await journal.append(calls.map(entryOf));
      if (appended.outcome === 'not-written') {
        if (!isBroken) log.error('the journal takes no call', { waiting: journal.waiting(), ...appended });
        isBroken = true;
        return appended;
      }
      isBroken = false;
      for (const { id } of calls) if (!waiters.has(id)) waiters.set(id, Promise.withResolvers());
      const committed = new Map(calls.map(({ id }) => [id, waiters.get(id)?.promise]));
      return {
        outcome: 'written',
        committed: ({ id }) => committed.get(id) ?? Promise.resolve(NO_CHARGE),
      };
    },
    async landed(calls, charged) {
      resolveWaiters(calls, charged);
      await journal.remove(calls.map(({ id }) => id));
    },
    waiting: journal.waiting,
    hasRoom: (isAway) => journal.hasRoom() && !(isAway && isBroken),
    async check() {
      if (isBroken && journal.hasRoom()) isBroken = (await journal.check()).outcome === 'not-written';
    },
    replay() {
      replaying ??= replayJournal(journal, replayParts).finally(() => {
        replaying = null;
      });
      return replaying;
    },
    async replayOthers() {
      for (let file = await nextFile(); file !== null; file = await nextFile()) {
        if (!(await replayOther(file))) return;
      }
    },
    stop() {
      isStopped = true;
    },
  };

  async function nextFile(): Promise<JournalFile | null> {
    return isStopped ? null : await journal.takeOver();
  }

  /** False where there is no use in going on with the next. */
  async function replayOther(file: JournalFile): Promise<boolean> {
    const count = file.waiting();
    try {
      const replayed = await replayJournal(file, replayParts);
      if (replayed.outcome !== 'emptied') return false;
      if (count > 0) log.info('calls of a process that ended were charged', { count, file: file.name });
      return true;
    } finally {
      await file.close();
    }
  }
}
