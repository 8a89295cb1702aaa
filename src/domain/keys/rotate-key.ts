import { type ApiKey, isId, KEY_COLUMNS, keyStatus } from './api-key.ts';
import { findKey } from './list-keys.ts';
import { drawRawKey, type MintParts } from './mint-key.ts';
import { recognition } from './raw-key.ts';

export interface KeyToRotate {
  readonly companyId: string;
  readonly keyId: string;
  /** The user who rotates it; null on the command line. */
  readonly createdBy: string | null;
}

export type RotatedKey =
  | { readonly outcome: 'rotated'; readonly rawKey: string; readonly key: ApiKey }
  | { readonly outcome: 'no-such-key' }
  | { readonly outcome: 'not-live'; readonly status: 'REVOKED' | 'EXPIRED' };

/**
 * Mints a sibling with the same settings, the expiry among them (G-22). The old key stays as it is, so that
 * programs can change over one by one; revoking it is a step of its own. Only a live key has a sibling: what was
 * closed on purpose is not opened again by a rotation.
 */
export async function rotateKey(parts: MintParts, old: KeyToRotate): Promise<RotatedKey> {
  if (!isId(old.companyId) || !isId(old.keyId)) return { outcome: 'no-such-key' };
  const { database, secrets, clock } = parts;
  const rawKey = drawRawKey(secrets);
  const { prefix, lastFour } = recognition(rawKey);
  const now = new Date(clock.now());
  const rows = await database.query<ApiKey>(
    `insert into api_keys (id, company_id, name, sha256, prefix, last_four, scopes, models, requests_per_minute,
       tokens_per_minute, max_calls_in_flight, monthly_spending_limit_micro, created_by, rotated_from_id, expires_at)
     select $1::uuid, company_id, name, $2::bytea, $3::text, $4::text, scopes, models, requests_per_minute,
       tokens_per_minute, max_calls_in_flight, monthly_spending_limit_micro, $5::uuid, id, expires_at
     from api_keys
     where company_id = $6 and id = $7 and revoked_at is null and (expires_at is null or expires_at > $8)
     returning ${KEY_COLUMNS}`,
    [secrets.newId(), secrets.sha256(rawKey), prefix, lastFour, old.createdBy, old.companyId, old.keyId, now],
  );
  const key = rows[0];
  if (key !== undefined) return { outcome: 'rotated', rawKey, key };
  const found = await findKey(database, old.companyId, old.keyId);
  if (found === null) return { outcome: 'no-such-key' };
  return {
    outcome: 'not-live',
    status: keyStatus(found, now.getTime()) === 'REVOKED' ? 'REVOKED' : 'EXPIRED',
  };
}
