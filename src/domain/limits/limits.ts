import type { Clock, Timer } from '../../ports/clock.ts';
import type { Reservation, SharedState, Standing, StateSubscription } from '../../ports/shared-state.ts';
import {
  type CallReservation,
  createReservation,
  createSettleTogether,
  createUnsettledNotice,
} from './call-reservation.ts';
import {
  type CreditHold,
  claimsWithHolds,
  createStatePlace,
  inFlightName,
  type KeyLimits,
  keyClaims,
  type LevelSteppedBack,
  MINUTE_MS,
  ONE_STREAM_NAME,
  requestsName,
  reserveAfterReading,
  type StatePlace,
  type StatePlaceParts,
  tokensName,
  windowClaim,
} from './claims.ts';
import { createKeyLeases } from './key-leases.ts';
import { type InHand, NOTHING_IN_HAND, type Slot } from './lease.ts';
import { createRunningHolds } from './running-holds.ts';

export type { KeyLimits } from './claims.ts';

/** How a counter stands after the call was counted, for the headers of the answer. */
export interface Allowance {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
}

export interface KeyAllowances {
  readonly requests: Allowance;
  readonly tokens: Allowance;
}

export type KeyLimitName = 'requests' | 'tokens' | 'calls in flight' | 'streams';

type KeyOutcome =
  | { outcome: 'admitted'; allowances: KeyAllowances; reservation: CallReservation }
  | { outcome: 'refused'; by: KeyLimitName; retryAfterMs: number; allowances: KeyAllowances }
  /** The level is at or below zero, or the calls that are running hold all of it. */
  | { outcome: 'not-payable'; hold: CreditHold; level: number; allowances: KeyAllowances }
  /** A level is unknown and cannot be read. */
  | { outcome: 'unknown-level' };

export interface Limits {
  countAddress: CountAddress;
  /** All of it or nothing, in one step; what the call holds goes first. */
  reserve(
    key: KeyLimits,
    callId: string,
    estimatedTokens: number,
    holds: readonly CreditHold[],
    /** A stream of a company that has one at a time (abandoned-streams.ts). */
    isOnlyStream?: boolean,
  ): Promise<KeyOutcome>;
  /** How a key stands, without counting anything. */
  look(key: KeyLimits): Promise<KeyAllowances>;
  /** Shared state is away, and this process limits by itself. */
  isAlone(): boolean;
  /** From now on what running calls hold is stored again as soon as shared state has lost it. */
  listen(newId: string): Promise<StateSubscription>;
  /** How many holds were stored again because shared state may have lost them. */
  restoredHolds(): number;
}

interface LimitsParts extends StatePlaceParts {
  /** 0 is off. */
  readonly addressRequestsPerMinute: number;
  /** Where shared state is on another machine or serves many: calls that come fast are counted ahead. */
  readonly countsAhead?: boolean;
  readonly onSteppedBack?: (back: LevelSteppedBack) => void;
}

type AddressOutcome = { outcome: 'admitted' } | { outcome: 'refused'; retryAfterMs: number };

/** At once where this process has some of the address's requests in hand. */
type CountAddress = (address: string) => AddressOutcome | Promise<AddressOutcome>;

/** Where waiting for a moment may help, but nobody knows how long. */
const SOON_MS = 1_000;
const IN_ORDER: readonly KeyLimitName[] = ['requests', 'tokens', 'calls in flight', 'streams'];

export function createLimits(parts: LimitsParts): Limits {
  const { clock, log, addressRequestsPerMinute } = parts;
  const settleTogether = createSettleTogether(parts.ownState);
  const noteUnsettled = createUnsettledNotice(clock, log);
  const { sharedState, countsAhead = false, onSteppedBack = () => {} } = parts;
  const running = createRunningHolds({ sharedState, clock, log });
  const place = createStatePlace({ ...parts, onTogether: running.restoreNow });
  const leases = countsAhead ? createKeyLeases({ sharedState, clock, isAlone: place.isAlone }) : null;

  /** `counted`: the tokens that the window has for it; `own`: those that the call was estimated at. */
  function reservationOf(
    key: KeyLimits,
    holds: readonly CreditHold[],
    { state, entry, windowStart, counted, own, isOnlyStream }: Counted,
  ): CallReservation {
    const held = ({ name, amount }: { name: string; amount: number }) => ({ name, entry, amount });
    return createReservation({
      state,
      sharedState,
      tag: key.companyId,
      places: placesOf(key, entry, isOnlyStream),
      credits: holds.map(held),
      estimate: {
        name: tokensName(key),
        windowStart,
        counted,
        own,
        onCorrected: leases === null ? undefined : (delta) => leases.corrected(key.id, windowStart, delta),
      },
      clock,
      noteUnsettled,
      settleTogether,
      running,
    });
  }

  return {
    countAddress: createAddressCount({ place, clock, requestsPerMinute: addressRequestsPerMinute }),
    async reserve(key, callId, estimatedTokens, holds, isOnlyStream = false) {
      const tokens = Math.min(Math.max(0, Math.ceil(estimatedTokens)), key.tokensPerMinute);
      const slot = isOnlyStream ? null : (leases?.take(key, tokens, holds) ?? null);
      if (slot !== null) {
        const { entry, windowStart } = slot;
        const counted = {
          state: sharedState,
          entry,
          windowStart,
          counted: slot.tokens,
          own: tokens,
          isOnlyStream,
        };
        return {
          outcome: 'admitted',
          allowances: allowancesOfSlot(key, slot),
          reservation: reservationOf(key, holds, counted),
        };
      }
      const tag = key.companyId;
      const wanted = { tag, callId, holds, others: keyClaims(key, callId, tokens, isOnlyStream) };
      let reserved = await place.reserve(tag, claimsWithHolds(wanted));
      if (reserved.reservation.outcome === 'level-unknown') {
        const isMissing = reserved.reservation.version === null && reserved.state === sharedState;
        // Before a level is set: with one, calls are admitted as if holds that are missing were free.
        if (isMissing) await running.restoreIfLost(callId);
        const again = await reserveAfterReading(place, wanted, reserved, onSteppedBack);
        // It may have been lost between the two.
        if (isMissing) void running.restoreIfLost(callId);
        if (again === null) return { outcome: 'unknown-level' };
        reserved = again;
      }
      const { reservation, state } = reserved;
      if (reservation.outcome !== 'reserved') return refusedBy(key, reservation, holds);
      const inHand = leases?.admitted({ key, callId, tokens, holds, reservation });
      const windowStart = reservation.standings[holds.length + 1]?.windowStart ?? 0;
      const counted = { state, entry: callId, windowStart, counted: tokens, own: tokens, isOnlyStream };
      return {
        outcome: 'admitted',
        allowances: allowancesOf(key, reservation, holds.length, inHand),
        reservation: reservationOf(key, holds, counted),
      };
    },
    async look(key) {
      const { reservation } = await place.reserve(key.companyId, [
        windowClaim(requestsName(key), key.requestsPerMinute, 0),
        windowClaim(tokensName(key), key.tokensPerMinute, 0),
      ]);
      return allowancesOf(key, reservation, 0);
    },
    isAlone: place.isAlone,
    listen: running.listen,
    restoredHolds: running.restoredCount,
  };
}

interface AddressCountParts {
  readonly place: StatePlace;
  readonly clock: Clock;
  /** 0 is off. */
  readonly requestsPerMinute: number;
}

/** Requests of one address that were counted ahead, for this process to hand out. */
interface AddressInHand {
  left: number;
  /** How many are counted at once the next time: the fewer, the more are used. */
  nextAmount: number;
  /** By this process's clock, a little early. */
  readonly endsAtMs: number;
  readonly windowStart: number;
  readonly state: SharedState;
  giveBack: Timer | null;
}

const MOST_ADDRESS_REQUESTS_IN_HAND = 16;
/** How much of what is left until half the limit one process takes at once. */
const ADDRESS_SHARE = 8;
/** What is not handed out by then goes back, for the other processes. */
const ADDRESS_KEPT_MS = 1_000;
const MOST_ADDRESSES = 10_000;
const ADDRESS_WINDOW = 'requests';
const ADDRESS_ADMITTED: AddressOutcome = { outcome: 'admitted' };

type AddressWindow = Standing & { readonly state: SharedState };

/**
 * Requests of an address (G-39). A step of shared state for every request would be most of what admission costs, so
 * while less than half of the limit is used a process counts some requests ahead and hands them out by itself. Beyond
 * half each is counted singly, and what was not handed out is given back after a second: never more than the limit
 * passes, and of several processes none sits on what another one needs. A single process is exact.
 */
export function createAddressCount({ place, clock, requestsPerMinute }: AddressCountParts): CountAddress {
  const inHand = new Map<string, AddressInHand>();
  /** Where some are counted ahead, those who ask meanwhile wait for what it brings. */
  const takingAhead = new Map<string, Promise<AddressOutcome>>();

  function count(address: string): AddressOutcome | Promise<AddressOutcome> {
    const hand = inHand.get(address);
    const isRunning = hand !== undefined && clock.now() < hand.endsAtMs;
    if (isRunning && hand.left > 0) {
      hand.left -= 1;
      return ADDRESS_ADMITTED;
    }
    const ahead = takingAhead.get(address);
    if (ahead !== undefined) return countAfter(address, ahead);
    const amount = isRunning ? hand.nextAmount : 1;
    if (amount === 1) return take(address, 1);
    const mine = take(address, amount).finally(() => takingAhead.delete(address));
    takingAhead.set(address, mine);
    return mine;
  }

  async function countAfter(address: string, ahead: Promise<AddressOutcome>): Promise<AddressOutcome> {
    await ahead;
    return await count(address);
  }

  async function take(address: string, amount: number): Promise<AddressOutcome> {
    const tag = `address ${address}`;
    const askedAtMs = clock.now();
    const claim = windowClaim(ADDRESS_WINDOW, requestsPerMinute, amount);
    const { reservation, state } = await place.reserve(tag, [claim]);
    if (reservation.outcome === 'refused') {
      if (amount > 1) return await take(address, 1);
      return { outcome: 'refused', retryAfterMs: reservation.retryAfterMs ?? MINUTE_MS };
    }
    const standing = reservation.outcome === 'reserved' ? reservation.standings[0] : undefined;
    if (standing !== undefined) keep(address, tag, amount - 1, askedAtMs, { ...standing, state });
    return ADDRESS_ADMITTED;
  }

  function keep(address: string, tag: string, more: number, askedAtMs: number, window: AddressWindow): void {
    const { windowStart, state, used, resetMs } = window;
    const known = inHand.get(address);
    const isSame = known !== undefined && known.windowStart === windowStart && known.state === state;
    const hand = isSame
      ? known
      : { left: 0, nextAmount: 1, endsAtMs: askedAtMs + resetMs, windowStart, state, giveBack: null };
    hand.left += more;
    const wanted = Math.floor((requestsPerMinute / 2 - used) / ADDRESS_SHARE);
    hand.nextAmount = Math.max(1, Math.min(wanted, MOST_ADDRESS_REQUESTS_IN_HAND));
    if (hand.left > 0) hand.giveBack ??= clock.after(ADDRESS_KEPT_MS, () => giveBack(tag, hand));
    if (isSame) return;
    inHand.delete(address);
    inHand.set(address, hand);
    // The one that came first goes; what it still has goes back by its own timer.
    if (inHand.size > MOST_ADDRESSES) inHand.delete(inHand.keys().next().value ?? '');
  }

  function giveBack(tag: string, hand: AddressInHand): void {
    hand.giveBack = null;
    const { left, windowStart, state } = hand;
    if (left === 0) return;
    hand.left = 0;
    // Where it fails the address has that much less until its minute is over.
    state.settle(tag, [{ kind: 'window', name: ADDRESS_WINDOW, windowStart, delta: -left }]).catch(() => {});
  }

  return (address) => (requestsPerMinute === 0 ? ADDRESS_ADMITTED : count(address));
}

interface Counted {
  readonly state: SharedState;
  readonly entry: string;
  readonly windowStart: number;
  readonly counted: number;
  readonly own: number;
  readonly isOnlyStream: boolean;
}

const NO_PLACES: readonly { readonly name: string; readonly entry: string; readonly amount: number }[] = [];

function placesOf(key: KeyLimits, entry: string, isOnlyStream: boolean) {
  const place = { name: inFlightName(key), entry, amount: 1 };
  if (!isOnlyStream) return key.maxCallsInFlight === null ? NO_PLACES : [place];
  const stream = { name: ONE_STREAM_NAME, entry, amount: 1 };
  return key.maxCallsInFlight === null ? [stream] : [place, stream];
}

function allowancesOfSlot(key: KeyLimits, { requestsUsed, tokensUsed, resetMs }: Slot): KeyAllowances {
  const { requestsPerMinute, tokensPerMinute } = key;
  return {
    requests: { limit: requestsPerMinute, remaining: Math.max(0, requestsPerMinute - requestsUsed), resetMs },
    tokens: { limit: tokensPerMinute, remaining: Math.max(0, tokensPerMinute - tokensUsed), resetMs },
  };
}

function refusedBy(key: KeyLimits, reservation: Reservation, holds: readonly CreditHold[]): KeyOutcome {
  if (reservation.outcome !== 'refused') return { outcome: 'unknown-level' };
  const allowances = allowancesOf(key, reservation, holds.length);
  const hold = holds[reservation.refusedBy];
  if (hold !== undefined) {
    const level = reservation.standings[reservation.refusedBy]?.limit ?? 0;
    return { outcome: 'not-payable', hold, level, allowances };
  }
  const place = reservation.refusedBy - holds.length;
  // Without a limit of calls in flight the stream is in its place.
  const by = IN_ORDER[place === 2 && key.maxCallsInFlight === null ? 3 : place] ?? 'requests';
  return { outcome: 'refused', by, retryAfterMs: reservation.retryAfterMs ?? SOON_MS, allowances };
}

/** `before`: how many claims stood before the key's own. */
function allowancesOf(
  key: KeyLimits,
  reservation: Reservation,
  before: number,
  inHand: InHand = NOTHING_IN_HAND,
): KeyAllowances {
  const standings = reservation.outcome === 'level-unknown' ? [] : reservation.standings;
  return {
    requests: allowance(key.requestsPerMinute, standings[before], inHand.requests),
    tokens: allowance(key.tokensPerMinute, standings[before + 1], inHand.tokens),
  };
}

function allowance(limit: number, standing: Standing | undefined, unused: number): Allowance {
  return {
    limit,
    remaining: Math.max(0, limit - (standing?.used ?? 0) + unused),
    resetMs: standing?.resetMs ?? 0,
  };
}
