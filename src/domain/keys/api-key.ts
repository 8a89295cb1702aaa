import type { Scope } from './scopes.ts';

/** The record of a key: everything about it but the key. */
export interface ApiKey extends KeySettings {
  readonly id: string;
  readonly companyId: string;
  /** The raw key's first eight characters and its last four, for recognition. */
  readonly prefix: string;
  readonly lastFour: string;
  readonly createdBy: string | null;
  readonly rotatedFromId: string | null;
  readonly createdAt: Date;
  /** Up to half a minute late, and now and then lost: it tells keys in use from forgotten ones. */
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

/** What is chosen when a key is minted and kept when it is rotated. */
export interface KeySettings {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The aliases it may call; null is all of them, those that are added later too. */
  readonly models: readonly string[] | null;
  readonly requestsPerMinute: number;
  readonly tokensPerMinute: number;
  readonly maxCallsInFlight: number | null;
  readonly monthlySpendingLimitMicro: bigint | null;
  /** From this moment on it opens nothing. */
  readonly expiresAt: Date | null;
}

export type KeyStatus = 'LIVE' | 'REVOKED' | 'EXPIRED';

export const DEFAULT_REQUESTS_PER_MINUTE = 600;
export const DEFAULT_TOKENS_PER_MINUTE = 200_000;

/** A row of `api_keys` as an ApiKey. */
export const KEY_COLUMNS = `id, company_id as "companyId", name, prefix, last_four as "lastFour", scopes, models,
  requests_per_minute as "requestsPerMinute", tokens_per_minute as "tokensPerMinute",
  max_calls_in_flight as "maxCallsInFlight", monthly_spending_limit_micro as "monthlySpendingLimitMicro",
  created_by as "createdBy", rotated_from_id as "rotatedFromId", created_at as "createdAt",
  last_used_at as "lastUsedAt", expires_at as "expiresAt", revoked_at as "revokedAt"`;

export function keyStatus(key: Pick<ApiKey, 'revokedAt' | 'expiresAt'>, nowMs: number): KeyStatus {
  if (key.revokedAt !== null) return 'REVOKED';
  return key.expiresAt !== null && key.expiresAt.getTime() <= nowMs ? 'EXPIRED' : 'LIVE';
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Ids come from addresses and command lines. One that is none names nothing; PostgreSQL would call it an error. */
export function isId(text: string): boolean {
  return ID.test(text);
}
