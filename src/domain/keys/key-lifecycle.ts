import type { Clock } from '../../ports/clock.ts';
import type { Database, Statements, Transaction } from '../../ports/database.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import {
  type ApiKey,
  isId,
  KEY_COLUMNS,
  type KeySettings,
  type KeyStatus,
  keyStatus,
  recognition,
  type StreamUsageChunk,
} from './api-key.ts';
import { checkKeyParams, generateRawKey, type MintParts } from './mint-key.ts';

/** Each message is the hash, in hexadecimal, of a key that has been revoked. */
export const REVOKED_KEYS_TOPIC = 'keys';
const PAUSES_MS = [50, 200] as const;

interface KeyToRotate {
  readonly companyId: string;
  readonly keyId: string;
  /** The user who rotates it; null on the command line. */
  readonly createdBy: string | null;
  /** When the new key expires; null is never. Undefined keeps the expiry of the old key. */
  readonly expiresAt?: Date | null | undefined;
}

type RotatedKey =
  | { readonly outcome: 'rotated'; readonly rawKey: string; readonly key: ApiKey }
  | InvalidSetting
  | { readonly outcome: 'no-such-key' }
  | { readonly outcome: 'not-live'; readonly status: 'REVOKED' | 'EXPIRED' };

/**
 * Mints a sibling with the same settings (G-22). Its expiry may differ, because a key is mostly rotated when it is
 * about to expire. The old key stays as it is, so that programs can migrate one by one; revoking it is a separate step.
 * Both share one monthly limit and one budget. Only a live key can be rotated: a rotation must not reopen a key that
 * was closed.
 */
export async function rotateKey(parts: MintParts, old: KeyToRotate): Promise<RotatedKey> {
  if (!isId(old.companyId) || !isId(old.keyId)) return { outcome: 'no-such-key' };
  const { database, secrets, clock } = parts;
  const { expiresAt } = old;
  const checked = checkKeyParams({ name: 'sibling', expiresAt }, clock.now());
  if (checked.outcome === 'invalid') return checked;
  const rawKey = generateRawKey(secrets);
  const { prefix, lastFour } = recognition(rawKey);
  const now = new Date(clock.now());
  const rows = await database.query<ApiKey>(
    `insert into api_keys (id, company_id, name, sha256, prefix, last_four, scopes, models, requests_per_minute,
       tokens_per_minute, max_calls_in_flight, monthly_spending_limit_micro, created_by, rotated_from_id,
       rotation_root_id, expires_at, stream_usage_chunk, payer_user_id, project, cache_ttl_seconds, log_payloads)
     select $1::uuid, company_id, name, $2::bytea, $3::text, $4::text, scopes, models, requests_per_minute,
       tokens_per_minute, max_calls_in_flight, monthly_spending_limit_micro, $5::uuid, id,
       coalesce(rotation_root_id, id), case when $9 then $10::timestamptz else expires_at end, stream_usage_chunk, payer_user_id, project, cache_ttl_seconds, log_payloads
     from api_keys
     where company_id = $6 and id = $7 and revoked_at is null and (expires_at is null or expires_at > $8)
     returning ${KEY_COLUMNS}`,
    [
      ...[secrets.newId(), secrets.sha256(rawKey), prefix, lastFour, old.createdBy, old.companyId, old.keyId],
      ...[now, expiresAt !== undefined, expiresAt ?? null],
    ],
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

interface RevokeParts {
  readonly database: Database;
  readonly sharedState: SharedState;
  readonly clock: Clock;
}

type RevokedKey =
  /**
   * `announced`: the gateways were notified and drop the key at once. Otherwise shared state was unavailable; the key
   * is revoked nevertheless, and every gateway notices within a second, when it looks the key up again.
   */
  | { readonly outcome: 'revoked'; readonly key: ApiKey; readonly announced: boolean }
  | { readonly outcome: 'no-such-key' };

/** May be repeated: the time of the first revocation is kept, and the gateways are notified again. */
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
  // Only after the commit: a lookup caused by the message must find the key revoked.
  return { outcome: 'revoked', key, announced: await announce(sharedState, clock, hash) };
}

/** Revokes the keys that a user pays for, when the user leaves the company. Returns their ids. */
export async function revokeKeysPaidBy(
  { database, sharedState, clock }: RevokeParts,
  { companyId, userId }: { readonly companyId: string; readonly userId: string },
): Promise<readonly string[]> {
  const rows = await database.query<{ id: string; hash: string }>(
    `update api_keys set revoked_at = $3 where company_id = $1 and payer_user_id = $2 and revoked_at is null
     returning id, encode(sha256, 'hex') as hash`,
    [companyId, userId, new Date(clock.now())],
  );
  for (const { hash } of rows) await announce(sharedState, clock, hash);
  return rows.map(({ id }) => id);
}

type InvalidSetting = {
  readonly outcome: 'invalid';
  readonly field: keyof KeySettings;
  readonly message: string;
};

interface KeyChanges {
  readonly companyId: string;
  readonly keyId: string;
  /** Undefined keeps a setting; null removes a limit, an expiry or the project. */
  readonly name?: string | undefined;
  readonly expiresAt?: Date | null | undefined;
  readonly requestsPerMinute?: number | undefined;
  readonly tokensPerMinute?: number | undefined;
  readonly maxCallsInFlight?: number | null | undefined;
  readonly monthlySpendingLimitMicro?: bigint | null | undefined;
  readonly streamUsageChunk?: StreamUsageChunk | null | undefined;
  readonly project?: string | null | undefined;
  readonly cacheTtlSeconds?: number | null | undefined;
  readonly logPayloads?: boolean | undefined;
  /** The change is refused if the key has another version. */
  readonly ifVersion?: number | undefined;
}

type ChangedKey =
  | { readonly outcome: 'changed'; readonly key: ApiKey }
  | InvalidSetting
  | { readonly outcome: 'no-such-key' }
  | { readonly outcome: 'changed-since' }
  | { readonly outcome: 'not-live' };

/**
 * Takes effect in every gateway within a second, the longest that a key is cached. A key that has expired is not
 * reopened by a later expiry.
 */
export async function changeKey(
  transaction: Transaction,
  clock: Clock,
  changes: KeyChanges,
): Promise<ChangedKey> {
  const { companyId, keyId } = changes;
  if (!isId(companyId) || !isId(keyId)) return { outcome: 'no-such-key' };
  const rows = await transaction.query<ApiKey>(
    `select ${KEY_COLUMNS} from api_keys where company_id = $1 and id = $2 for update`,
    [companyId, keyId],
  );
  const [old] = rows;
  if (old === undefined) return { outcome: 'no-such-key' };
  if (keyStatus(old, clock.now()) !== 'LIVE') return { outcome: 'not-live' };
  if (changes.ifVersion !== undefined && changes.ifVersion !== old.version)
    return { outcome: 'changed-since' };
  const params = {
    ...old,
    name: changes.name ?? old.name,
    expiresAt: limitAfter(changes.expiresAt, old.expiresAt),
    requestsPerMinute: changes.requestsPerMinute ?? old.requestsPerMinute,
    tokensPerMinute: changes.tokensPerMinute ?? old.tokensPerMinute,
    maxCallsInFlight: limitAfter(changes.maxCallsInFlight, old.maxCallsInFlight),
    monthlySpendingLimitMicro: limitAfter(changes.monthlySpendingLimitMicro, old.monthlySpendingLimitMicro),
    streamUsageChunk: limitAfter(changes.streamUsageChunk, old.streamUsageChunk),
    project: limitAfter(changes.project, old.project),
    cacheTtlSeconds: limitAfter(changes.cacheTtlSeconds, old.cacheTtlSeconds),
    logPayloads: changes.logPayloads ?? old.logPayloads,
  };
  const checked = checkKeyParams(params, clock.now());
  if (checked.outcome === 'invalid') return checked;
  const { requestsPerMinute, tokensPerMinute, maxCallsInFlight, monthlySpendingLimitMicro, ...rest } =
    checked.settings;
  const changed = await transaction.query<ApiKey>(
    `update api_keys set requests_per_minute = $2, tokens_per_minute = $3, max_calls_in_flight = $4,
       monthly_spending_limit_micro = $5, name = $6, expires_at = $7, stream_usage_chunk = $8, project = $9,
       cache_ttl_seconds = $10, log_payloads = $11, version = version + 1
     where id = $1 returning ${KEY_COLUMNS}`,
    [
      ...[keyId, requestsPerMinute, tokensPerMinute, maxCallsInFlight, monthlySpendingLimitMicro],
      ...[rest.name, rest.expiresAt, rest.streamUsageChunk, rest.project, rest.cacheTtlSeconds],
      rest.logPayloads,
    ],
  );
  return { outcome: 'changed', key: changed[0] ?? old };
}

export const LONGEST_PAGE = 1_000;

interface KeyPage {
  /** Default and maximum 1,000. */
  readonly limit?: number;
  /** The id of the last key of the previous page. */
  readonly after?: string | undefined;
  /** Lower-case words that the name or the shown part of the key must all contain. */
  readonly words?: readonly string[];
  /** `now` is the time at which the status is determined. */
  readonly status?: { readonly is: KeyStatus; readonly now: Date } | undefined;
  readonly ids?: readonly string[] | undefined;
  /** True selects keys with a monthly spending limit. */
  readonly isLimited?: boolean;
}

/** A company's keys of any status, newest first. */
export async function listKeys(
  statements: Statements,
  companyId: string,
  { limit = LONGEST_PAGE, after, words = [], status, ids, isLimited = false }: KeyPage = {},
): Promise<readonly ApiKey[]> {
  if (!isId(companyId) || (after !== undefined && !isId(after))) return [];
  return await statements.query<ApiKey>(
    `select ${KEY_COLUMNS} from api_keys
     where company_id = $1 and ($2::uuid is null or (created_at, id) <
       (select last.created_at, last.id from api_keys last where last.id = $2 and last.company_id = $1))
       and not exists (select 1 from unnest($4::text[]) as word
         where position(word in lower(concat_ws(' ', name, prefix || '…' || last_four))) = 0)
       and ($5::text is null or $5 = case when revoked_at is not null then 'REVOKED'
         when expires_at <= $6 then 'EXPIRED' else 'LIVE' end)
       and ($7::uuid[] is null or id = any($7)) and (not $8 or monthly_spending_limit_micro is not null)
     order by created_at desc, id desc limit $3`,
    [
      ...[companyId, after ?? null, Math.min(limit, LONGEST_PAGE), words],
      ...[status?.is ?? null, status?.now ?? null, ids ?? null, isLimited],
    ],
  );
}

export async function countLiveKeys(statements: Statements, companyId: string, now: Date): Promise<number> {
  const [row] = await statements.query<{ count: number }>(
    `select count(*)::integer as count from api_keys
     where company_id = $1 and revoked_at is null and (expires_at is null or expires_at > $2)`,
    [companyId, now],
  );
  return row?.count ?? 0;
}

/** Those of these keys that belong to the company, in any status and in no order. */
export async function findKeys(
  statements: Statements,
  companyId: string,
  keyIds: readonly string[],
): Promise<readonly ApiKey[]> {
  const ids = keyIds.filter(isId);
  if (!isId(companyId) || ids.length === 0) return [];
  return await statements.query<ApiKey>(
    `select ${KEY_COLUMNS} from api_keys where company_id = $1 and id = any($2::uuid[])`,
    [companyId, ids],
  );
}

/** Names of keys of any company, for lists that show which key was used. */
export async function findKeyNames(
  statements: Statements,
  keyIds: readonly string[],
): Promise<readonly Pick<ApiKey, 'id' | 'name' | 'companyId'>[]> {
  const ids = keyIds.filter(isId);
  if (ids.length === 0) return [];
  return await statements.query(
    'select id, name, company_id as "companyId" from api_keys where id = any($1::uuid[])',
    [ids],
  );
}

/** Null for a key of another company, as for one that does not exist. */
export async function findKey(
  statements: Statements,
  companyId: string,
  keyId: string,
): Promise<ApiKey | null> {
  return (await findKeys(statements, companyId, [keyId]))[0] ?? null;
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

function limitAfter<Value>(change: Value | null | undefined, old: Value | null): Value | null {
  return change === undefined ? old : change;
}
