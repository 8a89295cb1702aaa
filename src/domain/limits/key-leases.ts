import type { Clock } from '../../ports/clock.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { type CreditHold, type KeyLimits, MINUTE_MS } from './claims.ts';
import {
  FEW_CALLS,
  fitsInto,
  type Lease,
  type LeaseSize,
  leaseClaims,
  leaseOf,
  leftOf,
  NOTHING_UNUSED,
  passedBy,
  type SingleCall,
  type Slot,
  sizeOfLease,
  slotOf,
  type UnusedCounts,
} from './lease.ts';

interface KeyLeases {
  /** Synchronous. Null if there is no lease, or the call does not fit into it: then it is counted singly. */
  take(key: KeyLimits, callId: string, tokens: number, holds: readonly CreditHold[]): Slot | null;
  /**
   * A call was counted singly. If calls are frequent, some are counted ahead for the following ones. Returns what is counted
   * ahead but not used yet: clients do not see it as used.
   */
  admitted(call: SingleCall): UnusedCounts;
  /** A call of the key has ended and its tokens were corrected by this amount. Used for the remaining limit in headers. */
  corrected(keyId: string, bucket: number, delta: number): void;
}

interface KeyLeasesParts {
  readonly sharedState: SharedState;
  readonly clock: Clock;
  /** Shared state is unavailable: nothing is counted ahead. */
  readonly isAlone: () => boolean;
}

interface KeyState {
  readonly counted: RecentCalls;
  /** The lease in use. `next` follows; it was taken before this one was used up. */
  lease: Lease | null;
  next: Lease | null;
  isTaking: boolean;
  /** Corrections sent after the lease was requested: its figures do not include them. */
  missed: number;
  notBeforeMs: number;
}

/**
 * Nothing is handed out after this time, and the rest is returned. For as long a call may pass although the balance has run
 * out meanwhile.
 */
const KEPT_MS = 200;
/** The same for a small lease, for keys with infrequent calls. */
const FEW_KEPT_MS = 1_000;
/** The pause after a lease was not granted. */
const PAUSE_MS = 1_000;
const MOST_KEYS = 10_000;
/** The next lease is taken when this share is left, so that it arrives before this one is used up. */
const REFILL_AT = 1 / 2;

/**
 * One step of shared state per call would be a fifth of the cost of a call, and a server has a limited number of steps. So
 * from a key's second call within a second on, while it is far from every limit, a process counts some of its calls ahead in
 * one step: their requests, tokens, calls in flight and credits. The next lease is taken while the current one is in use, so
 * no call waits for shared state. Calls counted ahead are counted for all processes, and until a minute after the lease
 * ends, so no minute exceeds a limit. Near a limit, or if the key has a monthly limit, every call is counted singly. An idle lease withholds at most its size for
 * 200 ms, or 4 calls for a second, from other processes.
 */
export function createKeyLeases({ sharedState, clock, isAlone }: KeyLeasesParts): KeyLeases {
  const states = new Map<string, KeyState>();

  function stateOf(keyId: string): KeyState {
    const known = states.get(keyId);
    if (known !== undefined) return known;
    if (states.size >= MOST_KEYS) states.delete(states.keys().next().value ?? '');
    const state = {
      counted: createRecentCalls(clock),
      lease: null,
      next: null,
      isTaking: false,
      missed: 0,
      notBeforeMs: 0,
    };
    states.set(keyId, state);
    return state;
  }

  function prefetch(state: KeyState, call: SingleCall): void {
    const [hold, ...more] = call.holds;
    if (hold === undefined || more.length > 0) return;
    if (state.isTaking || clock.uptimeMs() < state.notBeforeMs || isAlone()) return;
    const size = sizeOfLease(call, state.counted.expected());
    if (size !== null) void takeLease(state, call, hold, size);
  }

  async function takeLease(
    state: KeyState,
    call: SingleCall,
    hold: CreditHold,
    size: LeaseSize,
  ): Promise<void> {
    state.isTaking = true;
    state.missed = 0;
    const entry = `lease-${call.callId}`;
    const keptMs = size.count <= FEW_CALLS ? FEW_KEPT_MS : KEPT_MS;
    // Before shared state counts it: the lease ends here before it may no longer be used there.
    const askedAtMs = clock.uptimeMs();
    try {
      const reservation = await sharedState.reserve(
        call.key.companyId,
        leaseClaims(call.key, hold, entry, size, keptMs),
      );
      if (reservation.outcome !== 'reserved') {
        state.notBeforeMs = clock.uptimeMs() + PAUSE_MS;
        return;
      }
      const lease = leaseOf(call.key, hold, size, entry, { askedAtMs, keptMs }, reservation);
      lease.tokensUsed += state.missed;
      if (state.lease === null) state.lease = lease;
      else state.next = lease;
      clock.after(Math.max(0, lease.untilMs - clock.uptimeMs()), () => drop(state, lease));
    } catch {
      // The call itself detects and reports that shared state is unavailable.
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
    // If it fails, the windows have that much less until they end, and the entries expire.
    if (settlements.length > 0) sharedState.settle(lease.limits.companyId, settlements).catch(() => {});
  }

  /** Its timer may be late. */
  function currentLease(state: KeyState, nowMs: number): Lease | null {
    while (state.lease !== null && nowMs >= state.lease.untilMs) drop(state, state.lease);
    return state.lease;
  }

  return {
    take(key, callId, tokens, holds) {
      const state = states.get(key.id);
      if (state === undefined || state.lease === null || isAlone()) return null;
      const nowMs = clock.uptimeMs();
      const lease = currentLease(state, nowMs);
      if (lease === null || !fitsInto(lease, key, tokens, holds)) return null;
      state.counted.add();
      const slot = slotOf(lease, tokens, nowMs);
      lease.next += 1;
      const left = lease.size.count - lease.next;
      if (left <= lease.size.count * REFILL_AT && state.next === null) {
        prefetch(state, { key, callId, tokens, holds, reservation: lease.reservation });
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
      prefetch(state, call);
      return NOTHING_UNUSED;
    },
    corrected(keyId, bucket, delta) {
      const state = states.get(keyId);
      if (state === undefined) return;
      if (state.isTaking) state.missed += delta;
      for (const lease of [state.lease, state.next]) {
        if (lease !== null && lease.bucket < bucket + MINUTE_MS) lease.tokensUsed += delta;
      }
    },
  };
}

/** The recent number of calls, as an estimate of the next ones. */
interface RecentCalls {
  add(): void;
  /** How many to count ahead. */
  expected(): number;
}

const TENTH_MS = 100;
const SECOND_MS = 1_000;
/** The share of the calls of a tenth of a second, so that a lease is used up before it is returned. */
const PART_OF_A_TENTH = 4;
/** The share of the calls of a second, for infrequent calls. */
const PART_OF_A_SECOND = 2;

function createRecentCalls(clock: Clock): RecentCalls {
  const tenth = countIn(clock, TENTH_MS);
  const second = countIn(clock, SECOND_MS);
  return {
    add() {
      tenth.add();
      second.add();
    },
    expected() {
      const fast = Math.floor(tenth.most() / PART_OF_A_TENTH);
      if (fast > FEW_CALLS) return fast;
      return Math.min(FEW_CALLS, Math.floor(second.most() / PART_OF_A_SECOND));
    },
  };
}

/** The larger count of this time span and the previous one. */
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
