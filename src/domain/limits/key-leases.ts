import type { Clock } from '../../ports/clock.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import type { CreditHold, KeyLimits } from './claims.ts';
import {
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
  take(key: KeyLimits, tokens: number, holds: readonly CreditHold[]): Slot | null;
  /**
   * A call was counted singly: where calls come fast, some are counted ahead for those that follow. Gives what is
   * counted ahead and not handed out, which to the outside is not used.
   */
  admitted(call: SinglyCounted): InHand;
  /** A call of the key has ended and its tokens were put right by so many: for what is told to be left. */
  corrected(keyId: string, windowStart: number, delta: number): void;
}

interface KeyLeasesParts {
  readonly sharedState: SharedState;
  readonly clock: Clock;
  /** Shared state is away: nobody counts ahead. */
  readonly isAlone: () => boolean;
}

interface KeyState {
  readonly counted: LatelyCounted;
  lease: Lease | null;
  isTaking: boolean;
  /** Corrections that were sent after the lease was asked for: its figures are without them. */
  missed: number;
  notBeforeMs: number;
}

/** What is not handed out by then goes back; so long may a call pass on a balance that has ended meanwhile. */
const KEPT_MS = 200;
/** After a lease that was not granted. */
const PAUSE_MS = 1_000;
const MOST_KEYS = 10_000;

/**
 * One step of shared state for every call would be a fifth of what a call costs, and one server has only so many steps.
 * So where a key's calls come fast and are far from every limit, a process counts some of them ahead, in one step: their
 * requests, tokens, places in flight and credits. What was counted ahead is counted for all processes, so never more
 * than a limit passes; near a limit, or with a level of its own for the key's month, every call is counted singly and
 * all is exact. What an idle lease keeps from others is bounded by its size and 200 ms.
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
      isTaking: false,
      missed: 0,
      notBeforeMs: 0,
    };
    states.set(keyId, state);
    return state;
  }

  async function takeAhead(
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
        state.notBeforeMs = clock.now() + PAUSE_MS;
        return;
      }
      const lease = leaseOf(call.key, hold, size, entry, askedAtMs, reservation);
      lease.tokensUsed += state.missed;
      state.lease = lease;
      clock.after(KEPT_MS, () => {
        if (state.lease === lease) state.lease = null;
        giveBack(lease);
      });
    } catch {
      // The call itself finds out that shared state is away, and says so.
      state.notBeforeMs = clock.now() + PAUSE_MS;
    } finally {
      state.isTaking = false;
    }
  }

  function giveBack(lease: Lease): void {
    const settlements = leftOf(lease);
    lease.next = lease.size.count;
    // Where it fails the windows have that much less until they end, and the entries end by themselves.
    if (settlements.length > 0) sharedState.settle(lease.limits.companyId, settlements).catch(() => {});
  }

  return {
    take(key, tokens, holds) {
      const state = states.get(key.id);
      const lease = state?.lease;
      if (state === undefined || lease === undefined || lease === null || isAlone()) return null;
      if (!fitsInto(lease, key, tokens, holds) || clock.now() >= lease.endsAtMs) return null;
      state.counted.add();
      const slot = slotOf(lease, tokens, clock.now());
      lease.next += 1;
      if (lease.next === lease.size.count) state.lease = null;
      return slot;
    },
    admitted(call) {
      const state = stateOf(call.key.id);
      state.counted.add();
      if (state.lease !== null) return passedBy(state.lease, call);
      const [hold, ...more] = call.holds;
      const mayTake = more.length === 0 && !state.isTaking && clock.now() >= state.notBeforeMs && !isAlone();
      const size = mayTake ? sizeOfLease(call, state.counted.perTenth()) : null;
      if (size !== null && hold !== undefined) void takeAhead(state, call, hold, size);
      return NOTHING_IN_HAND;
    },
    corrected(keyId, windowStart, delta) {
      const state = states.get(keyId);
      if (state === undefined) return;
      if (state.isTaking) state.missed += delta;
      else if (state.lease?.windowStart === windowStart) state.lease.tokensUsed += delta;
    },
  };
}

/** How many there were lately, by tenths of a second: a guess at how many there will be. */
interface LatelyCounted {
  add(): void;
  perTenth(): number;
}

const TENTH_MS = 100;

function createLatelyCounted(clock: Clock): LatelyCounted {
  let begunAtMs = 0;
  let now = 0;
  let before = 0;

  function moveOn(): void {
    const ageMs = clock.now() - begunAtMs;
    if (ageMs >= 0 && ageMs < TENTH_MS) return;
    before = ageMs >= 0 && ageMs < 2 * TENTH_MS ? now : 0;
    now = 0;
    begunAtMs = clock.now();
  }

  return {
    add() {
      moveOn();
      now += 1;
    },
    perTenth() {
      moveOn();
      return Math.max(now, before);
    },
  };
}
