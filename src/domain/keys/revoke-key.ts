import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { type ApiKey, isId, KEY_COLUMNS } from './api-key.ts';

/** Each message is the hash, in hexadecimal, of a key that has been revoked. */
export const REVOKED_KEYS_TOPIC = 'keys';
const PAUSES_MS = [50, 200] as const;

export interface RevokeParts {
  readonly database: Database;
  readonly sharedState: SharedState;
  readonly clock: Clock;
}

export type RevokedKey =
  /**
   * `announced`: the gateways have been told and drop the key at once. Otherwise shared state was away; the key
   * is revoked all the same, and every gateway finds out when it looks it up anew, within a second.
   */
  | { readonly outcome: 'revoked'; readonly key: ApiKey; readonly announced: boolean }
  | { readonly outcome: 'no-such-key' };

/** Again is no error: the moment of the first time stays, and the gateways are told once more. */
export async function revokeKey(
  { database, sharedState, clock }: RevokeParts,
  { companyId, keyId }: { readonly companyId: string; readonly keyId: string },
): Promise<RevokedKey> {
  if (!isId(companyId) || !isId(keyId)) return { outcome: 'no-such-key' };
  const rows = await database.query<ApiKey & { hash: string }>(
    `update api_keys set revoked_at = coalesce(revoked_at, $3) where company_id = $1 and id = $2
     returning ${KEY_COLUMNS}, encode(sha256, 'hex') as hash`,
    [companyId, keyId, new Date(clock.now())],
  );
  const found = rows[0];
  if (found === undefined) return { outcome: 'no-such-key' };
  const { hash, ...key } = found;
  // After the commit, never before: whoever looks the key up because of the message must find it revoked.
  return { outcome: 'revoked', key, announced: await announce(sharedState, clock, hash) };
}

async function announce(sharedState: SharedState, clock: Clock, hash: string): Promise<boolean> {
  for (let attempt = 0; attempt <= PAUSES_MS.length; attempt += 1) {
    try {
      await sharedState.publish(REVOKED_KEYS_TOPIC, hash);
      return true;
    } catch {
      const pauseMs = PAUSES_MS[attempt];
      if (pauseMs !== undefined) await clock.sleep(pauseMs);
    }
  }
  return false;
}
