import type { Statements } from '../../ports/database.ts';
import { keyHash, recognition } from './raw-key.ts';
import type { Scope } from './scopes.ts';

export const DEFAULT_REQUESTS_PER_MINUTE = 600;
export const DEFAULT_TOKENS_PER_MINUTE = 200_000;

export interface NewKey {
  readonly id: string;
  readonly companyId: string;
  readonly name: string;
  readonly rawKey: string;
  readonly scopes: readonly Scope[];
  readonly createdBy: string | null;
}

/** Keeps the key's hash and what it may do. Does nothing where that key is kept already. */
export async function addKey(statements: Statements, key: NewKey): Promise<void> {
  const { prefix, lastFour } = recognition(key.rawKey);
  await statements.query(
    `insert into api_keys (id, company_id, name, sha256, prefix, last_four, scopes, requests_per_minute,
       tokens_per_minute, created_by)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict do nothing`,
    [
      key.id,
      key.companyId,
      key.name,
      await keyHash(key.rawKey),
      prefix,
      lastFour,
      key.scopes,
      DEFAULT_REQUESTS_PER_MINUTE,
      DEFAULT_TOKENS_PER_MINUTE,
      key.createdBy,
    ],
  );
}
