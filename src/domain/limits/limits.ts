import type { Claim, Reservation, Standing } from '../../ports/shared-state.ts';
import { type CountAddress, createAddressCount } from './address-count.ts';
import { type CallReservation, createReservation } from './call-reservation.ts';
import { type CreditHold, claimsWithHolds, HELD_MS, reserveAfterReading } from './credit-hold.ts';
import { createSettleTogether } from './settle-together.ts';
import { createStatePlace, type StatePlaceParts } from './state-place.ts';
import { createUnsettledNotice } from './unsettled-notice.ts';

/** The limits of one key, as its record says. */
export interface KeyLimits {
  readonly id: string;
  readonly companyId: string;
  readonly requestsPerMinute: number;
  readonly tokensPerMinute: number;
  readonly maxCallsInFlight: number | null;
}

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
}

export interface LimitsParts extends StatePlaceParts {
  /** 0 is off. */
  readonly addressRequestsPerMinute: number;
}

const MINUTE_MS = 60_000;
/** Where waiting for a moment may help, but nobody knows how long. */
const SOON_MS = 1_000;
const IN_ORDER: readonly KeyLimitName[] = ['requests', 'tokens', 'calls in flight'];

export function createLimits(parts: LimitsParts): Limits {
  const { clock, log, addressRequestsPerMinute } = parts;
  const place = createStatePlace(parts);
  const settleTogether = createSettleTogether();
  const noteUnsettled = createUnsettledNotice(clock, log);

  return {
    countAddress: createAddressCount({ place, clock, requestsPerMinute: addressRequestsPerMinute }),
    async reserve(key, callId, estimatedTokens, holds) {
      const tokens = Math.min(Math.max(0, Math.ceil(estimatedTokens)), key.tokensPerMinute);
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
      const held = ({ name }: { name: string }) => ({ name, entry: callId });
      const estimate = {
        name: tokensName(key),
        windowStart: reservation.standings[holds.length + 1]?.windowStart ?? 0,
        tokens,
      };
      return {
        outcome: 'admitted',
        allowances: allowancesOf(key, reservation, holds.length),
        reservation: createReservation({
          state,
          tag,
          callInFlight: key.maxCallsInFlight === null ? null : held({ name: inFlightName(key) }),
          credits: holds.map(held),
          estimate,
          clock,
          noteUnsettled,
          settleTogether,
        }),
      };
    },
    async look(key) {
      const { reservation } = await place.reserve(key.companyId, [
        windowClaim(requestsName(key), key.requestsPerMinute, 0),
        windowClaim(tokensName(key), key.tokensPerMinute, 0),
      ]);
      return allowancesOf(key, reservation, 0);
    },
  };
}

const requestsName = ({ id }: KeyLimits) => `rpm ${id}`;
const tokensName = ({ id }: KeyLimits) => `tpm ${id}`;
const inFlightName = ({ id }: KeyLimits) => `calls ${id}`;

/** In the order of IN_ORDER. */
function keyClaims(key: KeyLimits, callId: string, tokens: number): Claim[] {
  const claims = [
    windowClaim(requestsName(key), key.requestsPerMinute, 1),
    windowClaim(tokensName(key), key.tokensPerMinute, tokens),
  ];
  const limit = key.maxCallsInFlight;
  if (limit !== null) {
    const entry = { entry: callId, amount: 1, ttlMs: HELD_MS, rule: 'fits' } as const;
    claims.push({ kind: 'held', name: inFlightName(key), limit, ...entry });
  }
  return claims;
}

function windowClaim(name: string, limit: number, amount: number): Claim {
  return { kind: 'window', name, amount, limit, windowMs: MINUTE_MS };
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
function allowancesOf(key: KeyLimits, reservation: Reservation, before: number): KeyAllowances {
  const standings = reservation.outcome === 'level-unknown' ? [] : reservation.standings;
  return {
    requests: allowance(key.requestsPerMinute, standings[before]),
    tokens: allowance(key.tokensPerMinute, standings[before + 1]),
  };
}

function allowance(limit: number, standing: Standing | undefined): Allowance {
  return {
    limit,
    remaining: Math.max(0, limit - (standing?.used ?? 0)),
    resetMs: standing?.resetMs ?? 0,
  };
}
