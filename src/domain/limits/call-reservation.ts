import type { Clock, Timer } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Settlement, SharedState } from '../../ports/shared-state.ts';
import { HELD_MS, type HeldLevel, settlementOf } from './claims.ts';
import type { HoldingCall, RunningHolds } from './running-holds.ts';

/** The limits and credits that an admitted call holds. It ends once. */
export interface CallReservation {
  /**
   * Replaces the estimate by the actual number of tokens (null keeps it), releases what the call holds and sets the levels
   * as of its commit, all in one step. If the commit is deferred, the credits stay held until then, and this does not wait
   * for it. For a call that was counted ahead, it does not wait for the step either.
   */
  end(tokens: number | null, levels: readonly HeldLevel[] | Promise<readonly HeldLevel[]>): Promise<void>;
}

interface HeldEntry {
  readonly name: string;
  readonly entry: string;
  readonly amount: number;
}

interface ReservationParts {
  /** The state it was reserved in: shared state, or the process's own while that is unavailable. */
  readonly state: SharedState;
  readonly sharedState: SharedState;
  readonly tag: string;
  /** Its entries among the key's calls in flight and the company's streams, if these are limited. */
  readonly places: readonly HeldEntry[];
  readonly credits: readonly HeldEntry[];
  /**
   * It was counted ahead by a lease, so its key is far from every limit: holding a little longer refuses no other call, and
   * its end does not wait for shared state.
   */
  readonly isCountedAhead: boolean;
  readonly estimate: {
    readonly name: string;
    readonly bucket: number;
    /** The tokens counted for it in the bucket. */
    readonly counted: number;
    /** The estimate, which stays if the actual usage is unknown. */
    readonly own: number;
    /** The bucket of the company's tokens, which counts the same; null if there is no ceiling. */
    readonly companys: { readonly name: string; readonly bucket: number } | null;
    /** Called with the correction of the bucket. */
    readonly onCorrected?: ((delta: number) => void) | undefined;
  };
  readonly clock: Clock;
  readonly noteUnsettled: UnsettledNotice;
  readonly settleTogether: SettleTogether;
  readonly running: Pick<RunningHolds, 'add' | 'remove'>;
  /** Called when credits are released; the promise is settled once they are. */
  readonly onReleased: (released: Promise<void>) => void;
}

type SettleTogether = (state: SharedState, tag: string, settlements: readonly Settlement[]) => Promise<void>;

/** Reports that a call could not be settled with its limits. */
type UnsettledNotice = (error: unknown) => void;

const RENEW_MS = HELD_MS / 3;
/** Two days: no call runs that long, so an older reservation was forgotten and is released. */
const MOST_RENEWALS = (48 * 3_600_000) / RENEW_MS;
/** Holds expire eventually; until then they may cause refusals. */
const RELEASE_AGAIN_MS = 5_000;
const MOST_RELEASES = HELD_MS / RELEASE_AGAIN_MS;

/** Created for every call: one object with methods is cheaper than closures. */
class HeldReservation implements CallReservation, HoldingCall {
  readonly #parts: ReservationParts;
  #places: readonly HeldEntry[];
  #timer: Timer | null = null;
  /** Its renewals were also sent to shared state, which was unavailable when the call began. */
  #isAlsoShared = false;

  constructor(parts: ReservationParts) {
    this.#parts = parts;
    this.#places = parts.places;
    if (parts.places.length === 0 && parts.credits.length === 0) return;
    parts.running.add(parts.tag, this);
    this.#renewLater(1);
  }

  renewals(): readonly Settlement[] {
    this.#isAlsoShared = this.#parts.state !== this.#parts.sharedState;
    return [...this.#parts.credits, ...this.#places].map(renewed);
  }

  end(tokens: number | null, levels: readonly HeldLevel[] | Promise<readonly HeldLevel[]>): Promise<void> {
    const { credits, estimate, isCountedAhead } = this.#parts;
    const once: Settlement[] = [];
    const { name, bucket, counted, own, companys } = estimate;
    const delta = (tokens ?? own) - counted;
    if (delta !== 0) once.push({ kind: 'window', name, bucket, delta });
    if (delta !== 0 && companys !== null) once.push({ kind: 'window', ...companys, delta });
    estimate.onCorrected?.(delta);
    const repeatable: Settlement[] = this.#places.map(released);
    // A renewal would add the entries again.
    this.#places = [];
    if (levels instanceof Promise) {
      void this.#giveBackCredits(levels);
    } else {
      this.#stopRenewing();
      for (const entry of credits) repeatable.push(released(entry));
      for (const level of levels) repeatable.push(settlementOf(level));
    }
    const givenBack = this.#giveBack(once, repeatable);
    if (!(levels instanceof Promise) && credits.length > 0) this.#parts.onReleased(givenBack);
    return isCountedAhead ? DONE : givenBack;
  }

  #renewLater(renewal: number): void {
    const { state, sharedState, tag, clock, running } = this.#parts;
    this.#timer = clock.after(RENEW_MS, () => {
      const renewals = this.renewals();
      state.settle(tag, renewals).catch(() => {});
      if (this.#isAlsoShared) sharedState.settle(tag, renewals).catch(() => {});
      if (renewal < MOST_RENEWALS) this.#renewLater(renewal + 1);
      else running.remove(tag, this);
    });
  }

  #stopRenewing(): void {
    this.#timer?.cancel();
    this.#parts.running.remove(this.#parts.tag, this);
  }

  /** Releases and levels may be sent twice, corrections of a bucket may not. */
  #giveBack(once: readonly Settlement[], repeatable: readonly Settlement[]): Promise<void> {
    const { state, sharedState } = this.#parts;
    const all = once.length === 0 ? repeatable : [...once, ...repeatable];
    if (all.length === 0) return DONE;
    if (this.#isAlsoShared) void this.#giveBackTo(sharedState, repeatable, repeatable);
    return this.#giveBackTo(state, all, repeatable);
  }

  #giveBackTo(
    place: SharedState,
    all: readonly Settlement[],
    repeatable: readonly Settlement[],
  ): Promise<void> {
    const { settleTogether, tag, noteUnsettled } = this.#parts;
    return settleTogether(place, tag, all).catch((error: unknown) => {
      // The limits are too strict for a while, never too lax.
      noteUnsettled(error);
      this.#giveBackLater(place, repeatable, 1);
    });
  }

  #giveBackLater(place: SharedState, repeatable: readonly Settlement[], release: number): void {
    if (repeatable.length === 0 || release >= MOST_RELEASES) return;
    const { clock, settleTogether, tag } = this.#parts;
    clock.after(RELEASE_AGAIN_MS, () => {
      settleTogether(place, tag, repeatable).catch(() => this.#giveBackLater(place, repeatable, release + 1));
    });
  }

  async #giveBackCredits(committed: Promise<readonly HeldLevel[]>): Promise<void> {
    try {
      const levels = await committed;
      this.#stopRenewing();
      const givenBack = this.#giveBack(
        [],
        [...this.#parts.credits.map(released), ...levels.map(settlementOf)],
      );
      this.#parts.onReleased(givenBack);
      await givenBack;
    } catch {
      // The cost is no longer known, so the holds expire.
      this.#stopRenewing();
    }
  }
}

const DONE: Promise<void> = Promise.resolve();

export function createReservation(parts: ReservationParts): CallReservation {
  return new HeldReservation(parts);
}

interface Batch {
  readonly settlements: Settlement[];
  readonly settled: Promise<void>;
}

/** Below the limit of one step of shared state. */
const MOST_SETTLED_AT_ONCE = 200;

/**
 * Settles the calls of a company that ended with the same commit in one step: at 32 connections that is one step for a dozen
 * calls. They arrive right after each other, so it is enough to let queued microtasks run first; nothing waits for a timer
 * or a turn of the event loop.
 *
 * `ownState` also gets the levels, so that a process that loses both shared state and the database still knows the balances
 * of its companies.
 */
export function createSettleTogether(ownState: SharedState | null = null): SettleTogether {
  const batches = new Map<SharedState, Map<string, Batch>>();

  function open(state: SharedState, tag: string, byTag: Map<string, Batch>): Batch {
    const settlements: Settlement[] = [];
    const settled = Promise.resolve().then(() => {
      if (byTag.get(tag) === batch) byTag.delete(tag);
      const levels = ownState === null || state === ownState ? [] : levelsToKeep(settlements);
      // In this process's memory: it fails only if it is closed.
      if (levels.length > 0) ownState?.settle(tag, levels).catch(() => {});
      return state.settle(tag, settlements);
    });
    const batch: Batch = { settlements, settled };
    byTag.set(tag, batch);
    return batch;
  }

  return (state, tag, settlements) => {
    let byTag = batches.get(state);
    if (byTag === undefined) {
      byTag = new Map();
      batches.set(state, byTag);
    }
    const current = byTag.get(tag);
    const hasRoom =
      current !== undefined && current.settlements.length + settlements.length <= MOST_SETTLED_AT_ONCE;
    const batch = hasRoom ? current : open(state, tag, byTag);
    for (const settlement of settlements) addSettlement(batch.settlements, settlement);
    return batch.settled;
  };
}

const NOTICE_PAUSE_MS = 60_000;

/** An outage affects every call that ends during it: the first is logged with its reason, then a count each minute. */
export function createUnsettledNotice(clock: Clock, log: Log): UnsettledNotice {
  let quietUntilMs = 0;
  let unsaid = 0;
  return (error) => {
    if (clock.uptimeMs() < quietUntilMs) {
      unsaid += 1;
      return;
    }
    log.warn('a call could not be settled with its limits', { error, othersSince: unsaid });
    unsaid = 0;
    quietUntilMs = clock.uptimeMs() + NOTICE_PAUSE_MS;
  };
}

function released({ name, entry }: HeldEntry): Settlement {
  return { kind: 'release', name, entry };
}

function renewed({ name, entry, amount }: HeldEntry): Settlement {
  return { kind: 'renew', name, entry, amount, ttlMs: HELD_MS };
}

function levelsToKeep(settlements: readonly Settlement[]): readonly Settlement[] {
  return settlements.flatMap((one) => (one.kind === 'level' ? [{ ...one, replaces: null }] : []));
}

/** Corrections of the same bucket are added up, and only the newest version of each level is sent. */
function addSettlement(settlements: Settlement[], settlement: Settlement): void {
  if (settlement.kind === 'level') {
    const at = settlements.findIndex(({ kind, name }) => kind === 'level' && name === settlement.name);
    const same = settlements[at];
    if (same?.kind === 'level') {
      if (settlement.version > same.version) settlements[at] = settlement;
      return;
    }
  }
  if (settlement.kind === 'window') {
    const at = settlements.findIndex(
      (other) =>
        other.kind === 'window' && other.name === settlement.name && other.bucket === settlement.bucket,
    );
    const same = settlements[at];
    if (same?.kind === 'window') {
      settlements[at] = { ...same, delta: same.delta + settlement.delta };
      return;
    }
  }
  settlements.push(settlement);
}
