import type { Claim } from '../../ports/shared-state.ts';
import { HELD_MS } from './credit-hold.ts';

/** The limits of one key, as its record says. */
export interface KeyLimits {
  readonly id: string;
  readonly companyId: string;
  readonly requestsPerMinute: number;
  readonly tokensPerMinute: number;
  readonly maxCallsInFlight: number | null;
}

const MINUTE_MS = 60_000;

export const requestsName = ({ id }: KeyLimits) => `rpm ${id}`;
export const tokensName = ({ id }: KeyLimits) => `tpm ${id}`;
export const inFlightName = ({ id }: KeyLimits) => `calls ${id}`;

/** Requests, tokens, calls in flight: the order in which they refuse. */
export function keyClaims(key: KeyLimits, callId: string, tokens: number): Claim[] {
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

export function windowClaim(name: string, limit: number, amount: number): Claim {
  return { kind: 'window', name, amount, limit, windowMs: MINUTE_MS };
}
