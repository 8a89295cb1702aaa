import type { Claim, Reservation, Settlement } from '../../ports/shared-state.ts';
import {
  type CreditHold,
  HELD_MS,
  inFlightName,
  type KeyLimits,
  requestsName,
  tokensName,
  windowClaim,
} from './claims.ts';

/** One call of a lease: already counted and held, with its own entry. */
export interface Slot {
  readonly entry: string;
  /** The tokens counted for it; a call that uses it needs no more. */
  readonly tokens: number;
  readonly bucket: number;
  readonly requestsUsed: number;
  readonly tokensUsed: number;
  readonly resetMs: number;
}

export interface UnusedCounts {
  readonly requests: number;
  readonly tokens: number;
}

/** Calls counted ahead. Each is used once; the rest is returned soon, for other processes. */
export interface Lease {
  readonly limits: KeyLimits;
  readonly hold: CreditHold;
  readonly size: LeaseSize;
  readonly entry: string;
  readonly bucket: number;
  readonly requestsBucket: number;
  requestsUsed: number;
  tokensUsed: number;
  /** No call is handed out later, by this process's uptime: shared state counts it until a minute after this. */
  readonly untilMs: number;
  /** When the windows are unused again, by this process's uptime, a little early. */
  readonly resetAtMs: number;
  /** The allowances that shared state returned. They determine the size of the next lease. */
  readonly reservation: Reservation;
  next: number;
}

export interface SingleCall {
  readonly key: KeyLimits;
  readonly callId: string;
  readonly tokens: number;
  readonly holds: readonly CreditHold[];
  readonly reservation: Reservation;
}

export interface LeaseSize {
  readonly count: number;
  /** Per call: more than the measured call needs, because the next one may be longer. */
  readonly tokensEach: number;
  readonly creditsEach: number;
}

export const NOTHING_UNUSED: UnusedCounts = { requests: 0, tokens: 0 };

/** A lease of this size may be kept for longer. */
export const FEW_CALLS = 4;
const MOST_CALLS = 64;
/** If fewer fit, a limit is near, and leases reserve more than their calls need. */
const LEAST_FITTING = 16;
/** The share that one process takes of what is left until half of a limit. */
const PART_OF_WINDOW = 8;
/** The share of the credits that are not held: the calls of a company near the end of its credits are counted singly. */
const PART_OF_CREDITS = 32;
const PART_OF_PLACES = 4;
const ALLOWANCE = 1.25;

/** Null if calls are infrequent or a limit is near. `expected` is the number of calls to come. */
export function sizeOfLease(
  { key, tokens, holds, reservation }: SingleCall,
  expected: number,
): LeaseSize | null {
  if (reservation.outcome !== 'reserved') return null;
  const [credits, requests, counted, places] = reservation.limitStates;
  const [hold] = holds;
  if (credits === undefined || requests === undefined || counted === undefined || hold === undefined)
    return null;
  const tokensEach = Math.ceil(tokens * ALLOWANCE);
  const creditsEach = Math.ceil(hold.amount * ALLOWANCE);
  const fitting = Math.min(
    (key.requestsPerMinute / 2 - requests.used) / PART_OF_WINDOW,
    (key.tokensPerMinute / 2 - counted.used) / PART_OF_WINDOW / Math.max(1, tokensEach),
    (credits.limit - credits.used) / PART_OF_CREDITS / Math.max(1, creditsEach),
    key.maxCallsInFlight === null
      ? MOST_CALLS
      : (key.maxCallsInFlight - (places?.used ?? 0)) / PART_OF_PLACES,
  );
  const count = Math.floor(Math.min(MOST_CALLS, expected, fitting));
  return fitting >= LEAST_FITTING && count >= 1 ? { count, tokensEach, creditsEach } : null;
}

/** In the order of the holds and the key's claims, as for a single call. */
export function leaseClaims(
  key: KeyLimits,
  hold: CreditHold,
  entry: string,
  size: LeaseSize,
  keptMs: number,
): Claim[] {
  const { count, tokensEach, creditsEach } = size;
  const many = { kind: 'held-many', entry, count, ttlMs: HELD_MS } as const;
  const claims: Claim[] = [
    { ...many, name: hold.name, amount: creditsEach, limit: { level: hold.level, maxAgeMs: hold.maxAgeMs } },
    windowClaim(requestsName(key), key.requestsPerMinute, count, keptMs),
    windowClaim(tokensName(key), key.tokensPerMinute, count * tokensEach, keptMs),
  ];
  const limit = key.maxCallsInFlight;
  if (limit !== null) claims.push({ ...many, name: inFlightName(key), amount: 1, limit });
  return claims;
}

export function leaseOf(
  limits: KeyLimits,
  hold: CreditHold,
  size: LeaseSize,
  entry: string,
  { askedAtMs, keptMs }: { readonly askedAtMs: number; readonly keptMs: number },
  reservation: Extract<Reservation, { outcome: 'reserved' }>,
): Lease {
  const [, requests, tokens] = reservation.limitStates;
  const resetMs = Math.max(requests?.resetMs ?? 0, tokens?.resetMs ?? 0);
  return {
    limits,
    hold,
    size,
    entry,
    bucket: tokens?.bucket ?? 0,
    requestsBucket: requests?.bucket ?? 0,
    requestsUsed: requests?.used ?? 0,
    tokensUsed: tokens?.used ?? 0,
    untilMs: askedAtMs + keptMs,
    resetAtMs: askedAtMs + resetMs,
    reservation,
    next: 0,
  };
}

/** Calls of a key whose limits have changed, and calls that need more than was counted ahead, are counted singly. */
export function fitsInto(
  lease: Lease,
  key: KeyLimits,
  tokens: number,
  holds: readonly CreditHold[],
): boolean {
  const { limits, size, hold } = lease;
  const [own] = holds;
  return (
    holds.length === 1 &&
    own?.name === hold.name &&
    own.amount <= size.creditsEach &&
    tokens <= size.tokensEach &&
    key.requestsPerMinute === limits.requestsPerMinute &&
    key.tokensPerMinute === limits.tokensPerMinute &&
    key.maxCallsInFlight === limits.maxCallsInFlight
  );
}

/** A call that did not fit was counted besides. */
export function passedBy(leases: readonly Lease[], { tokens }: SingleCall): UnusedCounts {
  const unused = { requests: 0, tokens: 0 };
  for (const lease of leases) {
    lease.requestsUsed += 1;
    lease.tokensUsed += tokens;
    const left = lease.size.count - lease.next;
    unused.requests += left;
    unused.tokens += left * lease.size.tokensEach;
  }
  return unused;
}

export function slotOf(lease: Lease, tokens: number, nowMs: number): Slot {
  const { size, entry, next, bucket, resetAtMs } = lease;
  const after = size.count - next - 1;
  return {
    entry: `${entry}-${next}`,
    tokens: size.tokensEach,
    bucket,
    requestsUsed: lease.requestsUsed - after,
    tokensUsed: lease.tokensUsed - after * size.tokensEach - (size.tokensEach - tokens),
    resetMs: resetAtMs - nowMs,
  };
}

export function leftOf({ limits, hold, size, entry, next, bucket, requestsBucket }: Lease): Settlement[] {
  const left = size.count - next;
  if (left === 0) return [];
  const settlements: Settlement[] = [
    { kind: 'window', name: requestsName(limits), bucket: requestsBucket, delta: -left },
    { kind: 'window', name: tokensName(limits), bucket, delta: -left * size.tokensEach },
  ];
  for (let at = next; at < size.count; at += 1) {
    settlements.push({ kind: 'release', name: hold.name, entry: `${entry}-${at}` });
    if (limits.maxCallsInFlight !== null) {
      settlements.push({ kind: 'release', name: inFlightName(limits), entry: `${entry}-${at}` });
    }
  }
  return settlements;
}
