/**
 * State that all processes share and that may be lost: counters, short-lived values, messages. Redis, or this
 * process's memory when it is alone.
 *
 * Time is the server's (one clock for all processes), plus an offset that only tests set. Amounts are whole
 * numbers within ±2^53.
 */
export interface SharedState {
  /**
   * Takes all claims or none, in one step. The first claim, in the order given, that does not fit refuses.
   * All names of one call live under `tag` (one slot of a cluster). A level that is not known comes before any
   * refusal. An entry claimed again has its amount replaced; one that grows is judged like a new one.
   */
  reserve(tag: string, claims: readonly Claim[]): Promise<Reservation>;
  /** Corrects, renews and ends what was reserved, in one step. */
  settle(tag: string, settlements: readonly Settlement[]): Promise<void>;

  get(key: string): Promise<string | null>;
  set(key: string, value: string, ttlMs: number): Promise<void>;
  /** False where the key holds a value already, which then stays as it is. */
  setIfAbsent(key: string, value: string, ttlMs: number): Promise<boolean>;
  delete(key: string): Promise<void>;

  publish(topic: string, message: string): Promise<void>;
  /** How many listen, this process among them; each at least once. A cluster may count fewer than there are. */
  listeners(topic: string): Promise<number>;
  /**
   * Resolves once messages arrive. `onGap` runs each time the subscription was lost and made again: messages in
   * between are gone, so caches that rely on them must be dropped. A subscription that cannot be renewed is
   * retried for as long as it is open.
   */
  subscribe(
    topic: string,
    onMessage: (message: string) => void,
    onGap: () => void,
  ): Promise<StateSubscription>;

  /** Rejects with a SharedStateFailure where the server does not answer in time. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/**
 * `window`: at most `limit` units in `windowMs`. A window begins with the first claim after the last one ended.
 * `held`: entries of their own that end by `release` or by themselves after `ttlMs`; `fits` admits while the
 * entries' sum with this one stays within the limit, `room` while the sum before this one is below it.
 * `held-many`: `count` new entries of `amount` each under the rule `fits`, all or none. They are named
 * `${entry}-0` and so on, and end one by one.
 */
export type Claim =
  | { kind: 'window'; name: string; amount: number; limit: number; windowMs: number }
  | {
      kind: 'held';
      name: string;
      entry: string;
      amount: number;
      ttlMs: number;
      rule: 'fits' | 'room';
      /** A number, or a level set before and not older than `maxAgeMs`. */
      limit: number | { level: string; maxAgeMs: number };
    }
  | {
      kind: 'held-many';
      name: string;
      entry: string;
      count: number;
      amount: number;
      ttlMs: number;
      limit: number | { level: string; maxAgeMs: number };
    };

export type Reservation =
  | { outcome: 'reserved'; standings: readonly Standing[] }
  /**
   * `refusedBy` is the claim's place in the list. `retryAfterMs` is exact for windows where nothing else happens
   * meanwhile; null where waiting does not help: for `held`, and for an amount above the whole limit.
   */
  | { outcome: 'refused'; refusedBy: number; retryAfterMs: number | null; standings: readonly Standing[] }
  /**
   * A claim named a level that was never set, or is too old: set it and try again. Nothing was taken. `version` is that
   * of the level that is too old, null where none is stored.
   */
  | { outcome: 'level-unknown'; level: string; version: number | null };

/** One for each claim, as it stands after the call. */
export interface Standing {
  readonly limit: number;
  readonly used: number;
  /** When the window began, by the server's clock: `settle` needs it. 0 for `held`. */
  readonly windowStart: number;
  /** Until the window ends, 0 for `held`. With no window running all three are 0. */
  readonly resetMs: number;
}

export type Settlement =
  /** Adds `delta` (may be negative; the count does not go below 0) if that window is still the running one. */
  | { kind: 'window'; name: string; windowStart: number; delta: number }
  /** Lets a held entry live for `ttlMs` from now. One that is missing, because it expired or was lost, is added again. */
  | { kind: 'renew'; name: string; entry: string; amount: number; ttlMs: number }
  | { kind: 'release'; name: string; entry: string }
  /**
   * Stored only over a lower version; an equal version renews its age. Without `replaces` only a level that is stored is
   * changed. With null it is also stored where there is none. With the version that a reservation found too old, it
   * replaces exactly that version, also with a lower one: the level was read after that version had been set.
   */
  | { kind: 'level'; name: string; value: number; version: number; ttlMs: number; replaces?: number | null };

export interface StateSubscription {
  close(): Promise<void>;
}

/** Every failure of shared state, as an Error with these fields. */
export interface SharedStateFailure extends Error {
  readonly name: 'SharedStateFailure';
  readonly reason: 'unavailable' | 'time-out' | 'refused';
}
