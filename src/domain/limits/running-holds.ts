import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Settlement, SharedState, StateSubscription } from '../../ports/shared-state.ts';

/** A running call, with the settlements that renew its holds. */
export interface HoldingCall {
  renewals(): readonly Settlement[];
}

export interface RunningHolds {
  add(tag: string, call: HoldingCall): void;
  remove(tag: string, call: HoldingCall): void;
  /**
   * Called if a level is missing in shared state: it was never set or has expired, or shared state has lost everything. In
   * the latter case it resolves when the holds are restored. `newId` must be unique.
   */
  restoreIfLost(newId: string): Promise<void>;
  /** The condition for storing a missing level: no holds were lost since they were last complete. */
  whileComplete(): readonly Settlement[];
  /** Shared state is available again: holds in this process's own state are also stored there. */
  restoreNow(): void;
  /** Restores holds when another process has found them missing, and after a lost connection. `newId` must be unique. */
  listen(newId: string): Promise<StateSubscription>;
  /** The number of holds restored because shared state may have lost them. */
  restoredCount(): number;
}

/** The mark: present while shared state has lost nothing. Its value changes with each loss. */
const MARK = 'holds are complete';
const MARK_TTL_MS = 315_360_000_000;
/** Published with the new mark: shared state has lost everything. */
const LOST_HOLDS_TOPIC = 'lost-holds';
/**
 * `restore <round> <mark>`: each process answers with `restored <round>` once its holds are stored again under this mark.
 * The one that began the round knows from the number of listeners when all have answered.
 */
const ROUNDS_TOPIC = 'restored-holds';
const ROUND = /^(restore|restored) (\S+)(?: (\S+))?$/;
/** For processes that a Redis Cluster does not count, and for versions that do not answer. */
const OTHERS_RESTORE_MS = 100;
/** The time for a paused or disconnected process. It is short, because calls that find a level missing wait for it. */
const MOST_RESTORE_MS = 2_000;
const MOST_ATTEMPTS = 3;
/** Below the limit of one step of shared state, by more than the holds of one call. */
const MOST_RENEWED_AT_ONCE = 200;

/**
 * The calls of this process that have holds, by company. Redis may lose holds: by FLUSHALL, by a restart without its data, by
 * a failover to a replica that lacks the last writes.
 *
 * The next call detects a total loss: levels are missing, and so is the mark. Commits change only stored levels, so no call
 * is admitted before a level was read, and no level is read before the holds are restored: those of this process, and those
 * of the others, which have two seconds to answer. A replica that lacks the last writes is detected by the lost connection,
 * after which each process restores all its holds. The renewal of each call restores what was not detected, within 30 seconds.
 */
export function createRunningHolds(parts: {
  readonly sharedState: SharedState;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
}): RunningHolds {
  const { sharedState, log } = parts;
  const calling = new Map<string, Set<HoldingCall>>();
  const rounds = createRounds(parts);
  /** The mark under which every process has stored its holds, as far as this one knows. */
  let completeMark: string | null = null;
  /** What was renewed last, and with which mark. */
  let renewal: { readonly mark: string | null; readonly done: Promise<void> } | null = null;
  /** The connection is back after a loss: each process stores its holds again by itself, and checks wait for that. */
  let reconnected: Promise<void> | null = null;
  const inTurn = createTurns();
  let marks = 0;
  let restored = 0;

  function renewUnder(mark: string | null): Promise<void> {
    renewal = { mark, done: renewAll() };
    return renewal.done;
  }

  /** If this fails, the renewal of each call tries it again. */
  async function renewAll(): Promise<void> {
    try {
      // Replies arrive in the order of the steps: after this one, each call admitted before the loss is known here.
      await sharedState.check();
      for (const tag of [...calling.keys()]) await renewTag(tag);
    } catch (error) {
      log.debug('holds could not be stored again; their renewal tries again', { error });
    }
  }

  async function renewTag(tag: string): Promise<void> {
    const calls = calling.get(tag) ?? new Set();
    let renewals: Settlement[] = [];
    for (const call of [...calls]) {
      // A call that ended during the previous steps is already released.
      if (!calls.has(call)) continue;
      renewals.push(...call.renewals());
      if (renewals.length >= MOST_RENEWED_AT_ONCE) {
        await renew(tag, renewals);
        renewals = [];
      }
    }
    if (renewals.length > 0) await renew(tag, renewals);
  }

  async function renew(tag: string, renewals: readonly Settlement[]): Promise<void> {
    restored += renewals.length;
    await sharedState.settle(tag, renewals);
  }

  /**
   * Restores until the mark is the one that was restored: there may be another loss meanwhile. At a process's first check, a
   * loss cannot be distinguished from a new installation.
   */
  async function check(newId: string): Promise<void> {
    await reconnected;
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const mark = await currentMark(newId);
      completeMark ??= mark;
      if (mark === null || mark === completeMark) return;
      log.warn('shared state has lost its content; what running calls hold is stored again');
      await renewedUnder(mark);
      await rounds.othersRestored(mark);
      completeMark = mark;
    }
  }

  /** Sets the mark if there is none. */
  async function currentMark(newId: string): Promise<string | null> {
    const stored = await sharedState.get(MARK);
    if (stored !== null) return stored;
    marks += 1;
    const mark = `${newId}-${marks}`;
    if (!(await sharedState.setIfAbsent(MARK, mark, MARK_TTL_MS))) return sharedState.get(MARK);
    await sharedState.publish(LOST_HOLDS_TOPIC, mark);
    return mark;
  }

  function renewedUnder(mark: string): Promise<void> {
    return renewal?.mark === mark ? renewal.done : renewUnder(mark);
  }

  /** Another process has detected the loss: calls of this one also wait until all holds are restored. */
  function noteLoss(processId: string, mark: string): void {
    if (mark === completeMark) return;
    void renewedUnder(mark);
    void inTurn(() => check(processId));
  }

  /** Processes that were disconnected detect it by themselves. */
  function restoreNow(): void {
    const all = renewUnder(completeMark)
      .then(() => rounds.othersRestored(null))
      .finally(() => {
        if (reconnected === all) reconnected = null;
      });
    reconnected = all;
  }

  async function answerRound(round: string, mark: string): Promise<void> {
    await renewedUnder(mark);
    await rounds.answer(round);
  }

  return {
    add(tag, call) {
      const calls = calling.get(tag);
      if (calls === undefined) calling.set(tag, new Set([call]));
      else calls.add(call);
    },
    remove(tag, call) {
      const calls = calling.get(tag);
      if (calls?.delete(call) && calls.size === 0) calling.delete(tag);
    },
    restoreNow,
    whileComplete: () => (completeMark === null ? [] : [{ kind: 'while', name: MARK, value: completeMark }]),
    restoreIfLost: (newId) => inTurn(() => check(newId)),
    async listen(newId) {
      const subscriptions = [
        await sharedState.subscribe(LOST_HOLDS_TOPIC, (mark) => noteLoss(newId, mark), restoreNow),
        await rounds.listen(newId, (round, mark) => void answerRound(round, mark).catch(() => {})),
      ];
      await inTurn(() => check(newId));
      return {
        async close() {
          for (const subscription of subscriptions) await subscription.close();
        },
      };
    },
    restoredCount: () => restored,
  };
}

/**
 * One at a time. Those who ask while one runs share the next one: the one that runs may have looked before the loss. Never
 * rejects: the call itself detects that shared state is unavailable.
 */
function createTurns(): (work: () => Promise<void>) => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  function begin(work: () => Promise<void>): Promise<void> {
    const begun = work()
      .catch(() => {})
      .finally(() => {
        if (running === begun) running = null;
      });
    running = begun;
    return begun;
  }

  return (work) => {
    if (running === null && next === null) return begin(work);
    next ??= (running ?? Promise.resolve()).then(() => {
      next = null;
      return begin(work);
    });
    return next;
  };
}

interface Rounds {
  /** Resolves when every process that was asked has restored its holds, or the time is over. With null no process is asked. */
  othersRestored(lostMark: string | null): Promise<void>;
  answer(round: string): Promise<void>;
  listen(processId: string, onRound: (round: string, mark: string) => void): Promise<StateSubscription>;
}

function createRounds({
  sharedState,
  clock,
}: {
  readonly sharedState: SharedState;
  readonly clock: Pick<Clock, 'after'>;
}): Rounds {
  let processId: string | null = null;
  let begun = 0;
  const open = new Map<string, () => void>();

  async function everyAnswer(round: string, mark: string): Promise<void> {
    const listeners = await sharedState.listeners(ROUNDS_TOPIC);
    await new Promise<void>((resolve, reject) => {
      let answers = 0;
      const late = clock.after(MOST_RESTORE_MS, resolve);
      open.set(round, () => {
        answers += 1;
        if (answers < listeners) return;
        late.cancel();
        resolve();
      });
      sharedState.publish(ROUNDS_TOPIC, `restore ${round} ${mark}`).catch(reject);
    }).finally(() => open.delete(round));
  }

  return {
    async othersRestored(lostMark) {
      const least = new Promise<void>((resolve) => clock.after(OTHERS_RESTORE_MS, resolve));
      if (processId !== null && lostMark !== null) {
        begun += 1;
        await everyAnswer(`${processId}-${begun}`, lostMark);
      }
      await least;
    },
    answer: async (round) => void (await sharedState.publish(ROUNDS_TOPIC, `restored ${round}`)),
    async listen(newProcessId, onRound) {
      const subscription = await sharedState.subscribe(
        ROUNDS_TOPIC,
        (message) => {
          const [, what, round = '', mark] = ROUND.exec(message) ?? [];
          if (what === 'restored') open.get(round)?.();
          else if (what === 'restore' && mark !== undefined) onRound(round, mark);
        },
        () => {},
      );
      processId = newProcessId;
      return subscription;
    },
  };
}
