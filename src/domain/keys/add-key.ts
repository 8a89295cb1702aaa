import type { Statements } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import {
  type ApiKey,
  DEFAULT_REQUESTS_PER_MINUTE,
  DEFAULT_TOKENS_PER_MINUTE,
  KEY_COLUMNS,
  type KeySettings,
} from './api-key.ts';
import { recognition } from './raw-key.ts';

/** A key whose settings are known to be good. */
export interface NewKey extends Partial<Omit<KeySettings, 'name' | 'scopes'>> {
  readonly id: string;
  readonly companyId: string;
  readonly name: string;
  readonly scopes: KeySettings['scopes'];
  readonly rawKey: string;
  readonly createdBy: string | null;
}

/** Keeps the key's hash and what it may do. Null where there is no such company. */
export async function addKey(statements: Statements, secrets: Secrets, key: NewKey): Promise<ApiKey | null> {
  const { prefix, lastFour } = recognition(key.rawKey);
  const rows = await statements.query<ApiKey>(
    `insert into api_keys (id, company_id, name, sha256, prefix, last_four, scopes, models, requests_per_minute,
       tokens_per_minute, max_calls_in_flight, monthly_spending_limit_micro, created_by, expires_at)
     select $1::uuid, companies.id, $3::text, $4::bytea, $5::text, $6::text, $7::text[], $8::text[], $9::integer,
       $10::integer, $11::integer, $12::bigint, $13::uuid, $14::timestamptz
     from companies where companies.id = $2
     returning ${KEY_COLUMNS}`,
    [
      key.id,
      key.companyId,
      key.name,
      secrets.sha256(key.rawKey),
      prefix,
      lastFour,
      key.scopes,
      key.models ?? null,
      key.requestsPerMinute ?? DEFAULT_REQUESTS_PER_MINUTE,
      key.tokensPerMinute ?? DEFAULT_TOKENS_PER_MINUTE,
      key.maxCallsInFlight ?? null,
      key.monthlySpendingLimitMicro ?? null,
      key.createdBy,
      key.expiresAt ?? null,
    ],
  );
  return rows[0] ?? null;
}
