import type { Reservation, SharedState, Standing } from '../../ports/shared-state.ts';
import { type CountAddress, createAddressCount } from './address-count.ts';
import { type CallReservation, createReservation } from './call-reservation.ts';
import { type CreditHold, claimsWithHolds, reserveAfterReading } from './credit-hold.ts';
import {
  inFlightName,
  type KeyLimits,
  keyClaims,
  requestsName,
  tokensName,
  windowClaim,
} from './key-claims.ts';
import { createKeyLeases } from './key-leases.ts';
import type { InHand, Slot } from './lease.ts';
import { createSettleTogether } from './settle-together.ts';
import { createStatePlace, type StatePlaceParts } from './state-place.ts';
import { createUnsettledNotice } from './unsettled-notice.ts';

export type { KeyLimits } from './key-claims.ts';

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

export type KeyLimitName = 'requests' | 'tokens' | 'calls in flight';

export type KeyOutcome =
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
  ): Promise<KeyOutcome>;
  /** How a key stands, without counting anything. */
  look(key: KeyLimits): Promise<KeyAllowances>;
  /** Shared state is away, and this process limits by itself. */
  isAlone(): boolean;
}

export interface LimitsParts extends StatePlaceParts {
  /** 0 is off. */
  readonly addressRequestsPerMinute: number;
  /** Where shared state is on another machine or serves many: calls that come fast are counted ahead. */
  readonly countsAhead?: boolean;
}

/** Where waiting for a moment may help, but nobody knows how long. */
const SOON_MS = 1_000;
const IN_ORDER: readonly KeyLimitName[] = ['requests', 'tokens', 'calls in flight'];

export function createLimits(parts: LimitsParts): Limits {
  const { clock, log, addressRequestsPerMinute } = parts;
  const place = createStatePlace(parts);
  const settleTogether = createSettleTogether(parts.ownState);
  const noteUnsettled = createUnsettledNotice(clock, log);
  const { sharedState, countsAhead = false } = parts;
  const leases = countsAhead ? createKeyLeases({ sharedState, clock, isAlone: place.isAlone }) : null;

  /** `counted`: the tokens that the window has for it; `own`: those that the call was estimated at. */
  function reservationOf(
    key: KeyLimits,
    holds: readonly CreditHold[],
    { state, entry, windowStart, counted, own }: Counted,
  ): CallReservation {
    const held = ({ name }: { name: string }) => ({ name, entry });
    return createReservation({
      state,
      tag: key.companyId,
      callInFlight: key.maxCallsInFlight === null ? null : held({ name: inFlightName(key) }),
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
    });
  }

  return {
    countAddress: createAddressCount({ place, clock, requestsPerMinute: addressRequestsPerMinute }),
    async reserve(key, callId, estimatedTokens, holds) {
      const tokens = Math.min(Math.max(0, Math.ceil(estimatedTokens)), key.tokensPerMinute);
      const slot = leases?.take(key, tokens, holds) ?? null;
      if (slot !== null) {
        const { entry, windowStart } = slot;
        const counted = { state: sharedState, entry, windowStart, counted: slot.tokens, own: tokens };
        return {
          outcome: 'admitted',
          allowances: allowancesOfSlot(key, slot),
          reservation: reservationOf(key, holds, counted),
        };
      }
      const tag = key.companyId;
      const wanted = { tag, callId, holds, others: keyClaims(key, callId, tokens) };
      let reserved = await place.reserve(tag, claimsWithHolds(wanted));
      if (reserved.reservation.outcome === 'level-unknown') {
        const again = await reserveAfterReading(place, wanted, reserved);
        if (again === null) return { outcome: 'unknown-level' };
        reserved = again;
      }
      const { reservation, state } = reserved;
      if (reservation.outcome !== 'reserved') return refusedBy(key, reservation, holds);
      const inHand = leases?.admitted({ key, callId, tokens, holds, reservation });
      const windowStart = reservation.standings[holds.length + 1]?.windowStart ?? 0;
      const counted = { state, entry: callId, windowStart, counted: tokens, own: tokens };
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
  };
}

interface Counted {
  readonly state: SharedState;
  readonly entry: string;
  readonly windowStart: number;
  readonly counted: number;
  readonly own: number;
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
  const by = IN_ORDER[reservation.refusedBy - holds.length] ?? 'requests';
  return { outcome: 'refused', by, retryAfterMs: reservation.retryAfterMs ?? SOON_MS, allowances };
}

/** `before`: how many claims stood before the key's own. */
function allowancesOf(
  key: KeyLimits,
  reservation: Reservation,
  before: number,
  inHand: InHand = { requests: 0, tokens: 0 },
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
