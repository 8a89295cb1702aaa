import type { Clock } from '../../ports/clock.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import type { CreditHold, KeyLimits } from './claims.ts';
import {
  FEW_CALLS,
  fitsInto,
  type InHand,
  type Lease,
  type LeaseSize,
  leaseClaims,
  leaseOf,
  leftOf,
  NOTHING_IN_HAND,
  passedBy,
  type SinglyCounted,
  type Slot,
  sizeOfLease,
  slotOf,
} from './lease.ts';

interface KeyLeases {
  /** At once. Null where none is in hand, or the call does not fit into it: then it is counted singly. */
  take(key: KeyLimits, callId: string, tokens: number, holds: readonly CreditHold[]): Slot | null;
  /**
   * A call was counted singly: where calls come fast, some are counted ahead for those that follow. Gives what is
   * counted ahead and not handed out, which to the outside is not used.
   */
  admitted(call: SinglyCounted): InHand;
  /** A call of the key has ended and its tokens were corrected by this amount: for the reported remaining limit. */
  corrected(keyId: string, windowStart: number, delta: number): void;
}

interface KeyLeasesParts {
  readonly sharedState: SharedState;
  readonly clock: Clock;
  /** Shared state is unavailable: nothing is counted ahead. */
  readonly isAlone: () => boolean;
}

interface KeyState {
  readonly counted: LatelyCounted;
  /** What is handed out now; then `next`, which was taken before this was used up. */
  lease: Lease | null;
  next: Lease | null;
  isTaking: boolean;
  /** Corrections that were sent after the lease was asked for: its figures are without them. */
  missed: number;
  notBeforeMs: number;
}

/** What is not handed out by then goes back; so long may a call pass on a balance that has ended meanwhile. */
const KEPT_MS = 200;
/** The same of a lease of a few calls, for keys whose calls come slowly. */
const FEW_KEPT_MS = 1_000;
/** After a lease that was not granted. */
const PAUSE_MS = 1_000;
const MOST_KEYS = 10_000;
/** The next one is taken when so much of a lease is left: it is there before this one is used up. */
const REFILL_AT = 1 / 2;

/**
 * One step of shared state for every call would be a fifth of what a call costs, and one server has only so many steps.
 * So from a key's second call within a second on, while it is far from every limit, a process counts some of its calls
 * ahead, in one step: their requests, tokens, places in flight and credits. The next lease is taken while the one before
 * is handed out, so that no call waits for shared state. What was counted ahead is counted for all processes, so never more
 * than a limit passes; near a limit, or with a level of its own for the key's month, every call is counted singly and
 * all is exact. What an idle lease keeps from others is bounded by its size and 200 ms, or 4 calls and a second.
 */
export function createKeyLeases({ sharedState, clock, isAlone }: KeyLeasesParts): KeyLeases {
  const states = new Map<string, KeyState>();

  function stateOf(keyId: string): KeyState {
    const known = states.get(keyId);
    if (known !== undefined) return known;
    if (states.size >= MOST_KEYS) states.delete(states.keys().next().value ?? '');
    const state = {
      counted: createLatelyCounted(clock),
      lease: null,
      next: null,
      isTaking: false,
      missed: 0,
      notBeforeMs: 0,
    };
    states.set(keyId, state);
    return state;
  }

  function takeAhead(state: KeyState, call: SinglyCounted): void {
    const [hold, ...more] = call.holds;
    if (hold === undefined || more.length > 0) return;
    if (state.isTaking || clock.uptimeMs() < state.notBeforeMs || isAlone()) return;
    const size = sizeOfLease(call, state.counted.wanted());
    if (size !== null) void takeLease(state, call, hold, size);
  }

  async function takeLease(
    state: KeyState,
    call: SinglyCounted,
    hold: CreditHold,
    size: LeaseSize,
  ): Promise<void> {
    state.isTaking = true;
    state.missed = 0;
    const entry = `lease-${call.callId}`;
    const askedAtMs = clock.now();
    try {
      const reservation = await sharedState.reserve(
        call.key.companyId,
        leaseClaims(call.key, hold, entry, size),
      );
      if (reservation.outcome !== 'reserved') {
        state.notBeforeMs = clock.uptimeMs() + PAUSE_MS;
        return;
      }
      const lease = leaseOf(call.key, hold, size, entry, askedAtMs, reservation);
      lease.tokensUsed += state.missed;
      if (state.lease === null) state.lease = lease;
      else state.next = lease;
      clock.after(size.count <= FEW_CALLS ? FEW_KEPT_MS : KEPT_MS, () => drop(state, lease));
    } catch {
      // The call itself finds out that shared state is unavailable, and says so.
      state.notBeforeMs = clock.uptimeMs() + PAUSE_MS;
    } finally {
      state.isTaking = false;
    }
  }

  function drop(state: KeyState, lease: Lease): void {
    if (state.next === lease) state.next = null;
    if (state.lease === lease) {
      state.lease = state.next;
      state.next = null;
    }
    const settlements = leftOf(lease);
    lease.next = lease.size.count;
    // Where it fails the windows have that much less until they end, and the entries end by themselves.
    if (settlements.length > 0) sharedState.settle(lease.limits.companyId, settlements).catch(() => {});
  }

  return {
    take(key, callId, tokens, holds) {
      const state = states.get(key.id);
      const lease = state?.lease;
      if (state === undefined || lease === undefined || lease === null || isAlone()) return null;
      if (!fitsInto(lease, key, tokens, holds) || clock.now() >= lease.endsAtMs) return null;
      state.counted.add();
      const slot = slotOf(lease, tokens, clock.now());
      lease.next += 1;
      const left = lease.size.count - lease.next;
      if (left <= lease.size.count * REFILL_AT && state.next === null) {
        takeAhead(state, { key, callId, tokens, holds, reservation: lease.reservation });
      }
      if (left === 0) {
        state.lease = state.next;
        state.next = null;
      }
      return slot;
    },
    admitted(call) {
      const state = stateOf(call.key.id);
      state.counted.add();
      const { lease, next } = state;
      if (lease !== null) return passedBy(next === null ? [lease] : [lease, next], call);
      takeAhead(state, call);
      return NOTHING_IN_HAND;
    },
    corrected(keyId, windowStart, delta) {
      const state = states.get(keyId);
      if (state === undefined) return;
      if (state.isTaking) state.missed += delta;
      if (state.lease?.windowStart === windowStart) state.lease.tokensUsed += delta;
      if (state.next?.windowStart === windowStart) state.next.tokensUsed += delta;
    },
  };
}

/** How many calls there were lately: a guess at how many there will be. */
interface LatelyCounted {
  add(): void;
  /** How many to count ahead. */
  wanted(): number;
}

const TENTH_MS = 100;
const SECOND_MS = 1_000;
/** Of what a tenth of a second brings, so that a lease is used up before it goes back. */
const PART_OF_A_TENTH = 4;
/** Of what a second brings, where calls come slowly. */
const PART_OF_A_SECOND = 2;

function createLatelyCounted(clock: Clock): LatelyCounted {
  const tenth = countIn(clock, TENTH_MS);
  const second = countIn(clock, SECOND_MS);
  return {
    add() {
      tenth.add();
      second.add();
    },
    wanted() {
      const fast = Math.floor(tenth.most() / PART_OF_A_TENTH);
      if (fast > FEW_CALLS) return fast;
      return Math.min(FEW_CALLS, Math.floor(second.most() / PART_OF_A_SECOND));
    },
  };
}

/** In this span of time and the one before, whichever had more. */
function countIn(clock: Clock, spanMs: number): { add(): void; most(): number } {
  let begunAtMs = 0;
  let now = 0;
  let before = 0;

  function moveOn(): void {
    const ageMs = clock.now() - begunAtMs;
    if (ageMs >= 0 && ageMs < spanMs) return;
    before = ageMs >= 0 && ageMs < 2 * spanMs ? now : 0;
    now = 0;
    begunAtMs = clock.now();
  }

  return {
    add() {
      moveOn();
      now += 1;
    },
    most() {
      moveOn();
      return Math.max(now, before);
    },
  };
}
