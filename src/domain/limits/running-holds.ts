import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Settlement, SharedState, StateSubscription } from '../../ports/shared-state.ts';

/** A call that runs, with the settlements that renew what it holds. */
export interface HoldingCall {
  renewals(): readonly Settlement[];
}

export interface RunningHolds {
  add(tag: string, call: HoldingCall): void;
  remove(tag: string, call: HoldingCall): void;
  /**
   * For when a level is missing in shared state: it was never set or has expired, or shared state has lost everything.
   * In the second case resolves when holds are stored again. `newId` is used by no other call.
   */
  restoreIfLost(newId: string): Promise<void>;
  /** Shared state answers again: what calls hold in this process's own state is stored in it too. */
  restoreNow(): void;
  /** Stores holds again when another process has found them missing, and after a lost connection. `newId` as above. */
  listen(newId: string): Promise<StateSubscription>;
  /** How many holds were stored again because shared state may have lost them. */
  restoredCount(): number;
}

/** Present as long as shared state has lost nothing. Its value changes with each loss. */
const MARK = 'holds are complete';
const MARK_TTL_MS = 315_360_000_000;
/** With the new mark: shared state has lost everything. */
const LOST_HOLDS_TOPIC = 'lost-holds';
/** For the other processes, before levels are set and calls are admitted again. */
const OTHERS_RESTORE_MS = 100;
const MOST_ATTEMPTS = 3;
/** Below what one step of shared state takes, by more than one call holds. */
const MOST_RENEWED_AT_ONCE = 200;

/**
 * The calls of this process that hold something, by company. Redis may lose holds: by FLUSHALL, by a restart without its
 * data, by a fail-over to a replica that lacks the last writes.
 *
 * Losing everything is noticed by the next call: levels are missing, and so is the mark. Commits change only levels that
 * are stored, so no call is admitted before a level was read, and none is read before the holds were stored again: those
 * of this process here, those of the others after one message, for which 100 ms are allowed once. A replica that lacks
 * the last writes is noticed by the lost connection, after which each process stores all of its holds again. Whatever
 * goes unnoticed is stored by the renewal of each call, within 30 seconds.
 */
export function createRunningHolds(parts: {
  readonly sharedState: SharedState;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
}): RunningHolds {
  const { sharedState, clock, log } = parts;
  const calling = new Map<string, Set<HoldingCall>>();
  let knownMark: string | null = null;
  let running: Promise<void> | null = null;
  let restored = 0;

  /** The renewal of each call tries again what fails here. */
  async function renewAll(): Promise<void> {
    try {
      for (const tag of [...calling.keys()]) await renewTag(tag);
    } catch (error) {
      log.debug('holds could not be stored again; their renewal tries again', { error });
    }
  }

  async function renewTag(tag: string): Promise<void> {
    const calls = calling.get(tag) ?? new Set();
    let renewals: Settlement[] = [];
    for (const call of [...calls]) {
      // One that has ended during the steps before is released already.
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

  async function check(newId: string): Promise<void> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS && (await isLost(newId)); attempt += 1) {
      log.warn('shared state has lost its content; what running calls hold is stored again');
      await restore();
    }
  }

  /** Sets the mark where there is none. At the first look of a process nothing tells a loss from a new installation. */
  async function isLost(newId: string): Promise<boolean> {
    const before = knownMark;
    knownMark = await sharedState.get(MARK);
    if (knownMark === null) {
      const isOurs = await sharedState.setIfAbsent(MARK, newId, MARK_TTL_MS);
      knownMark = isOurs ? newId : await sharedState.get(MARK);
      if (isOurs) await sharedState.publish(LOST_HOLDS_TOPIC, newId);
    }
    return before !== null && before !== knownMark;
  }

  async function restore(renewed: Promise<void> = renewAll()): Promise<void> {
    await renewed;
    await new Promise<void>((resolve) => clock.after(OTHERS_RESTORE_MS, resolve));
  }

  function restoreNow(): void {
    const renewed = renewAll();
    void restoring(() => restore(renewed));
  }

  /** One at a time; calls that find a level missing meanwhile wait for it. It never rejects. */
  function restoring(work: () => Promise<void>): Promise<void> {
    running ??= work()
      // The call finds out itself that shared state is unavailable.
      .catch(() => {})
      .finally(() => {
        running = null;
      });
    return running;
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
    restoreIfLost: (newId) => restoring(() => check(newId)),
    async listen(newId) {
      const subscription = await sharedState.subscribe(
        LOST_HOLDS_TOPIC,
        (mark) => {
          if (mark === knownMark) return;
          knownMark = mark;
          restoreNow();
        },
        restoreNow,
      );
      await restoring(() => check(newId));
      return subscription;
    },
    restoredCount: () => restored,
  };
}
