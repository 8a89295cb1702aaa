import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Claim, Reservation, Settlement, SharedState, Standing } from '../../ports/shared-state.ts';
import { createSettleTogether, type SettleTogether } from './settle-together.ts';

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

export type AddressOutcome = { outcome: 'admitted' } | { outcome: 'refused'; retryAfterMs: number };

export type KeyOutcome =
  | { outcome: 'admitted'; allowances: KeyAllowances; reservation: CallReservation }
  | {
      outcome: 'refused';
      by: 'requests' | 'tokens' | 'calls in flight';
      retryAfterMs: number;
      allowances: KeyAllowances;
    };

/** What one admitted call holds. Every one of these functions may be called once. */
export interface CallReservation {
  /** Puts the real number of tokens in the place of the estimate and ends the call. Null keeps the estimate. */
  settle(tokens: number | null): Promise<void>;
}

export interface Limits {
  countAddress(address: string): Promise<AddressOutcome>;
  reserve(key: KeyLimits, callId: string, estimatedTokens: number): Promise<KeyOutcome>;
  /** How a key stands, without counting anything. */
  look(key: KeyLimits): Promise<KeyAllowances>;
}

export interface LimitsParts {
  readonly sharedState: SharedState;
  /** This process's own counters, for while shared state is away. */
  readonly ownState: SharedState;
  readonly clock: Clock;
  readonly log: Log;
  /** 0 is off. */
  readonly addressRequestsPerMinute: number;
}

const MINUTE_MS = 60_000;
/** A held call ends by itself if its process dies; a running one renews it three times as often. */
const HELD_MS = 90_000;
const RENEW_MS = HELD_MS / 3;
/** How long after a failure shared state is left alone: a paused server would hold up every call by its time-out. */
const LEFT_ALONE_MS = 1_000;
/** Where waiting for a moment may help, but nobody knows how long. */
const SOON_MS = 1_000;

export function createLimits(parts: LimitsParts): Limits {
  const { clock, addressRequestsPerMinute } = parts;
  const place = createPlace(parts);
  const settleTogether = createSettleTogether(clock);

  return {
    async countAddress(address) {
      if (addressRequestsPerMinute === 0) return { outcome: 'admitted' };
      const claim = windowClaim('requests', addressRequestsPerMinute, 1);
      const { reservation } = await place.reserve(`address ${address}`, [claim]);
      if (reservation.outcome !== 'refused') return { outcome: 'admitted' };
      return { outcome: 'refused', retryAfterMs: reservation.retryAfterMs ?? MINUTE_MS };
    },
    async reserve(key, callId, estimatedTokens) {
      const tokens = Math.min(Math.max(0, Math.ceil(estimatedTokens)), key.tokensPerMinute);
      const names = namesOf(key);
      const claims: Claim[] = [
        windowClaim(names.requests, key.requestsPerMinute, 1),
        windowClaim(names.tokens, key.tokensPerMinute, tokens),
      ];
      if (key.maxCallsInFlight !== null) {
        const limit = key.maxCallsInFlight;
        const entry = { entry: callId, amount: 1, ttlMs: HELD_MS, rule: 'fits' } as const;
        claims.push({ kind: 'held', name: names.inFlight, limit, ...entry });
      }
      const { reservation, state } = await place.reserve(key.companyId, claims);
      const allowances = allowancesOf(key, reservation);
      if (reservation.outcome !== 'reserved') {
        const refusedBy = reservation.outcome === 'refused' ? reservation.refusedBy : 0;
        const retryAfterMs = reservation.outcome === 'refused' ? reservation.retryAfterMs : null;
        const by = (['requests', 'tokens', 'calls in flight'] as const)[refusedBy] ?? 'requests';
        return { outcome: 'refused', by, retryAfterMs: retryAfterMs ?? SOON_MS, allowances };
      }
      const held = key.maxCallsInFlight === null ? null : { name: names.inFlight, entry: callId };
      const windowStart = reservation.standings[1]?.windowStart ?? 0;
      const end = createEnding({ ...parts, state, tag: key.companyId, held, settleTogether });
      const settleTokens = (real: number | null): Settlement[] =>
        real === null || real === tokens
          ? []
          : [{ kind: 'window', name: names.tokens, windowStart, delta: real - tokens }];
      return { outcome: 'admitted', allowances, reservation: { settle: (real) => end(settleTokens(real)) } };
    },
    async look(key) {
      const names = namesOf(key);
      const { reservation } = await place.reserve(key.companyId, [
        windowClaim(names.requests, key.requestsPerMinute, 0),
        windowClaim(names.tokens, key.tokensPerMinute, 0),
      ]);
      return allowancesOf(key, reservation);
    },
  };
}

function namesOf({ id }: KeyLimits) {
  return { requests: `rpm ${id}`, tokens: `tpm ${id}`, inFlight: `calls ${id}` };
}

function windowClaim(name: string, limit: number, amount: number): Claim {
  return { kind: 'window', name, amount, limit, windowMs: MINUTE_MS };
}

function allowancesOf(key: KeyLimits, reservation: Reservation): KeyAllowances {
  const standings = reservation.outcome === 'level-unknown' ? [] : reservation.standings;
  const allowance = (limit: number, standing: Standing | undefined): Allowance => ({
    limit,
    remaining: Math.max(0, limit - (standing?.used ?? 0)),
    resetMs: standing?.resetMs ?? 0,
  });
  return {
    requests: allowance(key.requestsPerMinute, standings[0]),
    tokens: allowance(key.tokensPerMinute, standings[1]),
  };
}

/** Shared state, or while it is away this process's own. Fails to the process: serving goes on, limits loosen. */
function createPlace({ sharedState, ownState, clock, log }: LimitsParts) {
  let leftAloneUntil = 0;
  return {
    async reserve(tag: string, claims: readonly Claim[]) {
      if (clock.now() >= leftAloneUntil) {
        try {
          const reservation = await sharedState.reserve(tag, claims);
          leftAloneUntil = 0;
          return { reservation, state: sharedState };
        } catch (error) {
          if (leftAloneUntil === 0) log.error('limits are kept by each process alone for now', { error });
          leftAloneUntil = clock.now() + LEFT_ALONE_MS;
        }
      }
      return { reservation: await ownState.reserve(tag, claims), state: ownState };
    },
  };
}

interface EndingParts {
  readonly state: SharedState;
  readonly tag: string;
  readonly held: { readonly name: string; readonly entry: string } | null;
  readonly clock: Clock;
  readonly log: Log;
  readonly settleTogether: SettleTogether;
}

/** Renews what is held for as long as the call runs; the function that ends it. */
function createEnding({ state, tag, held, clock, log, settleTogether }: EndingParts) {
  const renew = () => {
    if (held === null) return null;
    return clock.after(RENEW_MS, () => {
      state.settle(tag, [{ kind: 'renew', ...held, ttlMs: HELD_MS }]).catch(() => {});
      timer = renew();
    });
  };
  let timer = renew();
  return async (settlements: Settlement[]): Promise<void> => {
    timer?.cancel();
    const all = held === null ? settlements : [...settlements, { kind: 'release' as const, ...held }];
    if (all.length === 0) return;
    // What cannot be settled expires by itself: too strict for a while, never too lax.
    await settleTogether(state, tag, all).catch((error: unknown) => {
      log.warn('a call could not be settled with its limits', { error });
    });
  };
}
