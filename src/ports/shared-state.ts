/**
 * State that all processes share and that may be lost: counters, short-lived values, messages. In Redis, or in memory if
 * there is only one process.
 *
 * Time is the server's (one clock for all processes), plus an offset that only tests set. Amounts are whole
 * numbers within ±2^53.
 */
export interface SharedState {
  /**
   * Takes all claims or none, atomically. The first claim, in the given order, that does not fit is the reason for the
   * refusal. All names of one call are under `tag` (one slot of a cluster). An unknown level is reported before any
   * refusal. Claiming an entry again replaces its amount; if the amount grows, it must fit like a new one.
   */
  reserve(tag: string, claims: readonly Claim[]): Promise<Reservation>;
  /** Corrects, renews and releases reservations, atomically. */
  settle(tag: string, settlements: readonly Settlement[]): Promise<void>;

  get(key: string): Promise<string | null>;
  set(key: string, value: string, ttlMs: number): Promise<void>;
  /** False if the key already has a value, which then stays unchanged. */
  setIfAbsent(key: string, value: string, ttlMs: number): Promise<boolean>;
  delete(key: string): Promise<void>;

  publish(topic: string, message: string): Promise<void>;
  /** Returns the number of subscribers, including this process. Each receives it at least once. A cluster may count too few. */
  listeners(topic: string): Promise<number>;
  /**
   * Resolves once the subscription is active. `onGap` runs each time it was lost and renewed: messages in between are
   * lost, so caches that depend on them must be cleared. Renewal is retried until the subscription is closed.
   */
  subscribe(
    topic: string,
    onMessage: (message: string) => void,
    onGap: () => void,
  ): Promise<StateSubscription>;

  /** Rejects with a SharedStateFailure if the server does not answer in time. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/**
 * `window`: at most `limit` units in any span of `windowMs`, counted in buckets of a sixtieth of it. Every claim of a name
 * has the same `windowMs`. Units that are claimed ahead are used later, within `aheadMs` of the claim (0 by default).
 * Nothing that is claimed ahead delays the time at which units leave that were claimed without it.
 * `held`: entries that last until `release` or until `ttlMs` is over. `fits` admits an entry if the sum including it is
 * within the limit, `room` if the sum before it is below the limit.
 * `held-many`: `count` new entries of `amount` each under the rule `fits`, all or none. They are named
 * `${entry}-0` and so on, and are released one by one.
 */
export type Claim =
  | { kind: 'window'; name: string; amount: number; limit: number; windowMs: number; aheadMs?: number }
  | {
      kind: 'held';
      name: string;
      entry: string;
      amount: number;
      ttlMs: number;
      rule: 'fits' | 'room';
      limit: number | LevelLimit;
    }
  | {
      kind: 'held-many';
      name: string;
      entry: string;
      count: number;
      amount: number;
      ttlMs: number;
      limit: number | LevelLimit;
    };

/** How many buckets a window has: a bucket of a minute is a second. */
export const WINDOW_BUCKETS = 60;

/** A level that was set before and is not older than `maxAgeMs`, and a number besides; 0 by default. */
export interface LevelLimit {
  level: string;
  maxAgeMs: number;
  plus?: number;
}

export type Reservation =
  | { outcome: 'reserved'; limitStates: readonly LimitState[] }
  /**
   * `refusedBy` is the index of the claim. `retryAfterMs` is exact for windows if nothing else is claimed meanwhile: then
   * every window of the call has room, and a millisecond earlier one has not. Null if waiting does not help: for `held`, and
   * for an amount above the whole limit.
   */
  | { outcome: 'refused'; refusedBy: number; retryAfterMs: number | null; limitStates: readonly LimitState[] }
  /**
   * A claim names a level that was never set, or is too old: set it and try again. Nothing was taken. `version` is that
   * of the level that is too old; null if none is stored.
   */
  | { outcome: 'level-unknown'; level: string; version: number | null };

/** The state of each claim after the call. */
export interface LimitState {
  readonly limit: number;
  readonly used: number;
  /** The newest bucket of the window, which counts a claim that was reserved: `settle` needs it. 0 for `held`. */
  readonly bucket: number;
  /** Time until nothing of the window is used; 0 for `held`. If nothing is counted all three are 0. */
  readonly resetMs: number;
}

export type Settlement =
  /** What follows is applied only while the value `name` is this one. In a cluster it always is: values have other slots. */
  | { kind: 'while'; name: string; value: string }
  /** Adds `delta` (may be negative; the bucket does not go below 0) if that bucket is still in the window. */
  | { kind: 'window'; name: string; bucket: number; delta: number }
  /** Removes all that a window has counted. */
  | { kind: 'clear'; name: string }
  /** Extends a held entry to `ttlMs` from now. Adds it again if it has expired or was lost. */
  | { kind: 'renew'; name: string; entry: string; amount: number; ttlMs: number }
  | { kind: 'release'; name: string; entry: string }
  /**
   * Replaces only a lower version; an equal version renews its age. Without `replaces`, only an existing level is
   * changed. With null, a missing level is also stored. With the version that a reservation found too old, exactly that
   * version is replaced, even by a lower one: the level was read after that version was set.
   */
  | { kind: 'level'; name: string; value: number; version: number; ttlMs: number; replaces?: number | null };

export interface StateSubscription {
  close(): Promise<void>;
}

/** The fields of every Error of shared state. */
export interface SharedStateFailure extends Error {
  readonly name: 'SharedStateFailure';
  readonly reason: 'unavailable' | 'time-out' | 'refused';
}
