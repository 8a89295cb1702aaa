import type { CallJournal, JournalFile } from '../../../ports/call-journal.ts';
import type { Database } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import type { ChargedCalls } from './charge-calls.ts';
import type { FinishedCall } from './finished-call.ts';
import { entryOf } from './journal-record.ts';
import { NO_CHARGE, type OwnCharge, ownCharges } from './own-charge.ts';
import { type Replayed, replayJournal } from './replay-journal.ts';

interface JournaledCallsParts {
  readonly journal: CallJournal;
  readonly database: Database;
  readonly log: Log;
  /** Called when the database has committed some of them. */
  onCommitted(): void;
}

type Journaled =
  | { outcome: 'written'; committed(call: FinishedCall): Promise<OwnCharge> }
  | { outcome: 'not-written'; error: Error };

export interface JournaledCalls {
  /** Resolves once all of them would survive a crash, or none was written. */
  write(calls: readonly FinishedCall[]): Promise<Journaled>;
  /** Reports that a commit in doubt has succeeded. */
  landed(calls: readonly FinishedCall[], charged: ChargedCalls): Promise<void>;
  waiting(): number;
  /** If the database is unavailable, a disk that rejects writes counts as no room. */
  hasRoom(isUnavailable: boolean): boolean;
  /** After a failed write, checks whether the disk accepts writes again. */
  check(): Promise<void>;
  /** Replays this process's own journal; concurrent calls share one replay. */
  replay(): Promise<Replayed>;
  /** Replays the journals of ended processes. */
  replayOthers(): Promise<void>;
  /** Starts no further commits. */
  stop(): void;
}

interface Waiter {
  readonly promise: Promise<OwnCharge>;
  resolve(charge: OwnCharge): void;
}

/** The journal as the call book uses it: tracks who waits for which entry, and replays entries into the ledger. */
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
    hasRoom: (isUnavailable) => journal.hasRoom() && !(isUnavailable && isBroken),
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

  /** False if there is no use in continuing with the next file. */
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
