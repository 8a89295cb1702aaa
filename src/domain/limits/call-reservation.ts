import type { Clock, Timer } from '../../ports/clock.ts';
import type { Settlement, SharedState } from '../../ports/shared-state.ts';
import { HELD_MS, type HeldLevel, settlementOf } from './credit-hold.ts';
import type { SettleTogether } from './settle-together.ts';
import type { UnsettledNotice } from './unsettled-notice.ts';

/** What one admitted call holds. It ends once. */
export interface CallReservation {
  /**
   * Puts the real number of tokens in the place of the estimate (null keeps it), gives back what the call holds and
   * sets the levels as its commit left them, all in one step. Where the commit is still to come, the credits stay
   * held until then, and this does not wait for it.
   */
  end(tokens: number | null, levels: readonly HeldLevel[] | Promise<readonly HeldLevel[]>): Promise<void>;
}

interface HeldEntry {
  readonly name: string;
  readonly entry: string;
}

export interface ReservationParts {
  readonly state: SharedState;
  readonly tag: string;
  /** Null where the key has no such limit. */
  readonly callInFlight: HeldEntry | null;
  readonly credits: readonly HeldEntry[];
  readonly estimate: {
    readonly name: string;
    readonly windowStart: number;
    /** What the window has for it. */
    readonly counted: number;
    /** What it was estimated at, which stays where nobody tells what it used. */
    readonly own: number;
    /** Is told what the window is put right by. */
    readonly onCorrected?: ((delta: number) => void) | undefined;
  };
  readonly clock: Clock;
  readonly noteUnsettled: UnsettledNotice;
  readonly settleTogether: SettleTogether;
}

const RENEW_MS = HELD_MS / 3;
/** Two days: no call runs that long, so one that does was forgotten, and nothing is held for ever. */
const MOST_RENEWALS = (48 * 3_600_000) / RENEW_MS;
/** What was held ends by itself in the end; until then a company may be refused for it. */
const RELEASE_AGAIN_MS = 5_000;
const MOST_RELEASES = HELD_MS / RELEASE_AGAIN_MS;

export function createReservation(parts: ReservationParts): CallReservation {
  const { state, tag, callInFlight, credits, estimate, clock, noteUnsettled, settleTogether } = parts;
  let timer: Timer | null = null;

  function renewLater(renewal: number): void {
    if ((callInFlight === null && credits.length === 0) || renewal > MOST_RENEWALS) return;
    timer = clock.after(RENEW_MS, () => {
      const renewals = [...credits, ...(callInFlight === null ? [] : [callInFlight])].map(renewed);
      state.settle(tag, renewals).catch(() => {});
      renewLater(renewal + 1);
    });
  }

  /** A release and a level may be sent twice, a correction of a window may not. */
  async function giveBack(once: readonly Settlement[], repeatable: readonly Settlement[]): Promise<void> {
    const all = once.length === 0 ? repeatable : [...once, ...repeatable];
    if (all.length === 0) return;
    try {
      await settleTogether(state, tag, all);
    } catch (error) {
      // Too strict for a while, never too lax.
      noteUnsettled(error);
      giveBackLater(repeatable, 1);
    }
  }

  function giveBackLater(repeatable: readonly Settlement[], release: number): void {
    if (repeatable.length === 0 || release >= MOST_RELEASES) return;
    clock.after(RELEASE_AGAIN_MS, () => {
      settleTogether(state, tag, repeatable).catch(() => giveBackLater(repeatable, release + 1));
    });
  }

  async function giveBackCredits(committed: Promise<readonly HeldLevel[]>): Promise<void> {
    try {
      const levels = await committed;
      timer?.cancel();
      await giveBack([], [...credits.map(released), ...levels.map(settlementOf)]);
    } catch {
      // Nobody can say any more what it cost: the holds end by themselves.
      timer?.cancel();
    }
  }

  renewLater(1);
  return {
    async end(tokens, levels) {
      const once: Settlement[] = [];
      const { name, windowStart, counted, own } = estimate;
      const delta = (tokens ?? own) - counted;
      if (delta !== 0) once.push({ kind: 'window', name, windowStart, delta });
      estimate.onCorrected?.(delta);
      const repeatable: Settlement[] = callInFlight === null ? [] : [released(callInFlight)];
      if (levels instanceof Promise) {
        void giveBackCredits(levels);
      } else {
        timer?.cancel();
        for (const entry of credits) repeatable.push(released(entry));
        for (const level of levels) repeatable.push(settlementOf(level));
      }
      await giveBack(once, repeatable);
    },
  };
}

function released({ name, entry }: HeldEntry): Settlement {
  return { kind: 'release', name, entry };
}

function renewed({ name, entry }: HeldEntry): Settlement {
  return { kind: 'renew', name, entry, ttlMs: HELD_MS };
}
