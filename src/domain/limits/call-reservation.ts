import type { Clock, Timer } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Settlement, SharedState } from '../../ports/shared-state.ts';
import { HELD_MS, type HeldLevel, settlementOf } from './claims.ts';
import type { HoldingCall, RunningHolds } from './running-holds.ts';

/** What one admitted call holds. It ends once. */
export interface CallReservation {
  /**
   * Puts the real number of tokens in the place of the estimate (null keeps it), gives back what the call holds and
   * sets the levels as its commit left them, all in one step. Where the commit is still to come, the credits stay
   * held until then, and this does not wait for it. Of a call that was counted ahead, nor does it wait for the step.
   */
  end(tokens: number | null, levels: readonly HeldLevel[] | Promise<readonly HeldLevel[]>): Promise<void>;
}

interface HeldEntry {
  readonly name: string;
  readonly entry: string;
  readonly amount: number;
}

interface ReservationParts {
  /** Where it was reserved: shared state, or the process's own while that is unavailable. */
  readonly state: SharedState;
  readonly sharedState: SharedState;
  readonly tag: string;
  /** Its places among the key's calls in flight and its company's streams, where these are limited. */
  readonly places: readonly HeldEntry[];
  readonly credits: readonly HeldEntry[];
  /**
   * It has a place of a lease, so its key is far from every limit: no call is refused because it holds a little longer,
   * and its end does not wait for shared state.
   */
  readonly isCountedAhead: boolean;
  readonly estimate: {
    readonly name: string;
    readonly windowStart: number;
    /** What the window has for it. */
    readonly counted: number;
    /** The estimate, which stays where the actual usage is unknown. */
    readonly own: number;
    /** The window of the company's tokens, which counts the same; null where they have no ceiling. */
    readonly companys: { readonly name: string; readonly windowStart: number } | null;
    /** Called with the correction of the window. */
    readonly onCorrected?: ((delta: number) => void) | undefined;
  };
  readonly clock: Clock;
  readonly noteUnsettled: UnsettledNotice;
  readonly settleTogether: SettleTogether;
  readonly running: Pick<RunningHolds, 'add' | 'remove'>;
}

type SettleTogether = (state: SharedState, tag: string, settlements: readonly Settlement[]) => Promise<void>;

/** Tells that a call could not be settled with its limits. */
type UnsettledNotice = (error: unknown) => void;

const RENEW_MS = HELD_MS / 3;
/** Two days: no call runs that long, so one that does was forgotten, and nothing is held for ever. */
const MOST_RENEWALS = (48 * 3_600_000) / RENEW_MS;
/** What was held ends by itself in the end; until then a company may be refused for it. */
const RELEASE_AGAIN_MS = 5_000;
const MOST_RELEASES = HELD_MS / RELEASE_AGAIN_MS;

/** One object with methods in the place of closures: it is made for every call. */
class HeldReservation implements CallReservation, HoldingCall {
  readonly #parts: ReservationParts;
  #places: readonly HeldEntry[];
  #timer: Timer | null = null;
  /** Its renewals were sent to shared state too, which was unavailable when the call began. */
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
    const { name, windowStart, counted, own, companys } = estimate;
    const delta = (tokens ?? own) - counted;
    if (delta !== 0) once.push({ kind: 'window', name, windowStart, delta });
    if (delta !== 0 && companys !== null) once.push({ kind: 'window', ...companys, delta });
    estimate.onCorrected?.(delta);
    const repeatable: Settlement[] = this.#places.map(released);
    // A renewal would take the places again.
    this.#places = [];
    if (levels instanceof Promise) {
      void this.#giveBackCredits(levels);
    } else {
      this.#stopRenewing();
      for (const entry of credits) repeatable.push(released(entry));
      for (const level of levels) repeatable.push(settlementOf(level));
    }
    const givenBack = this.#giveBack(once, repeatable);
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

  /** A release and a level may be sent twice, a correction of a window may not. */
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
      // Too strict for a while, never too lax.
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
      await this.#giveBack([], [...this.#parts.credits.map(released), ...levels.map(settlementOf)]);
    } catch {
      // What it cost is no longer known: the holds expire.
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

/** Below what one step of shared state takes. */
const MOST_SETTLED_AT_ONCE = 200;

/**
 * Calls of one company that one commit has ended are settled in one step: at 32 connections that is one step for a
 * dozen calls. They come here one right after the other, so it is enough to let those pass who stand in line
 * already; nothing waits for a timer or for a turn of the event loop.
 *
 * `ownState` gets the levels too, so that a process that loses both shared state and the database still knows the
 * balances of its companies.
 */
export function createSettleTogether(ownState: SharedState | null = null): SettleTogether {
  const batches = new Map<SharedState, Map<string, Batch>>();

  function open(state: SharedState, tag: string, byTag: Map<string, Batch>): Batch {
    const settlements: Settlement[] = [];
    const settled = Promise.resolve().then(() => {
      if (byTag.get(tag) === batch) byTag.delete(tag);
      const levels = ownState === null || state === ownState ? [] : levelsToKeep(settlements);
      // In this process's memory: it has no way to fail but being closed.
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

/** An outage meets every call that ends in it: the first says why, and each minute one says how many more. */
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

/** What goes into the same window goes as one sum, and of a level only the newest. */
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
        other.kind === 'window' &&
        other.name === settlement.name &&
        other.windowStart === settlement.windowStart,
    );
    const same = settlements[at];
    if (same?.kind === 'window') {
      settlements[at] = { ...same, delta: same.delta + settlement.delta };
      return;
    }
  }
  settlements.push(settlement);
}
