import type { Database, Statements, Transaction } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import type { AliasName } from '../models/aliases.ts';
import type { Cipher } from '../models/cipher.ts';
import { type OwnKeyPlace, readOwnKeyPlaces } from './own-key-places.ts';

/** Published when keys have changed: processes that have them in memory read them again. */
export const OWN_KEYS_TOPIC = 'own-keys';

/** A company's own key for the provider of an alias, without the key itself. */
export interface OwnKey {
  readonly id: string;
  readonly companyId: string;
  /** Without the configured prefix, as aliases are stored. */
  readonly alias: AliasName;
  readonly origin: string;
  /** Empty if the key is too short to show a part of it. */
  readonly lastFour: string;
  readonly createdAt: Date;
  /** When it was last stored. */
  readonly changedAt: Date;
}

export interface SealedOwnKey extends Pick<OwnKey, 'id' | 'companyId' | 'alias' | 'origin'> {
  readonly sealedKey: Uint8Array;
}

interface OwnKeyParts {
  readonly database: Database;
  readonly sharedState: Pick<SharedState, 'publish'>;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly cipher: Cipher;
}

interface OwnKeyParams {
  readonly companyId: string;
  readonly alias: AliasName;
  /** Null if the alias has providers at one host only. */
  readonly host: string | null;
  readonly apiKey: string;
  readonly now: Date;
}

type StoredOwnKey =
  | { readonly outcome: 'stored'; readonly key: OwnKey; readonly isNew: boolean }
  | { readonly outcome: 'not-allowed' }
  | { readonly outcome: 'wrong-host'; readonly problem: string }
  | { readonly outcome: 'wrong-key'; readonly problem: string }
  | { readonly outcome: 'too-many'; readonly problem: string };

export const MOST_OWN_KEYS = 100;
const SHORTEST_KEY = 8;
const LONGEST_KEY = 4_096;
/** Four characters would be too large a part of a shorter key. */
const SHORTEST_SHOWN = 16;

const COLUMNS = `id, company_id as "companyId", alias, origin, last_four as "lastFour", created_at as "createdAt",
  changed_at as "changedAt"`;

/**
 * Stores a key, or replaces the one that the company has for the alias and host: its calls of the alias then use only
 * this key at that host.
 */
export async function setOwnKey(parts: OwnKeyParts, params: OwnKeyParams): Promise<StoredOwnKey> {
  const { companyId, alias, apiKey, now } = params;
  const problem = problemWithKey(apiKey);
  if (problem !== null) return { outcome: 'wrong-key', problem };
  const found = placeFor(await readOwnKeyPlaces(parts.database), params);
  if (found.outcome !== 'found') return found;
  const { origin } = found.place;
  const sealed = await parts.cipher.encrypt(apiKey, boundTo({ companyId, origin }));
  const lastFour = apiKey.length < SHORTEST_SHOWN ? '' : apiKey.slice(-4);
  const stored = await parts.database.transaction((transaction) =>
    upsert(transaction, { id: parts.secrets.newId(), companyId, alias, origin, sealed, lastFour, now }),
  );
  if (stored === null) {
    return {
      outcome: 'too-many',
      problem: `a company has at most ${MOST_OWN_KEYS} own keys: delete one first`,
    };
  }
  await published(parts);
  return { outcome: 'stored', ...stored };
}

interface KeyRow extends Pick<OwnKey, 'id' | 'companyId' | 'alias' | 'origin' | 'lastFour'> {
  readonly sealed: Uint8Array;
  readonly now: Date;
}

/** Null if the company has too many. A lock per company keeps concurrent calls within the limit. */
async function upsert(
  transaction: Transaction,
  { id, companyId, alias, origin, sealed, lastFour, now }: KeyRow,
): Promise<{ readonly key: OwnKey; readonly isNew: boolean } | null> {
  await transaction.query('select pg_advisory_xact_lock(hashtextextended($1, 56))', [companyId]);
  const rows = await transaction.query<OwnKey & { readonly isNew: boolean }>(
    `insert into own_provider_keys as present (id, company_id, alias, origin, sealed_key, last_four, created_at, changed_at)
     select $1, $2, $3, $4, $5, $6, $7, $7
     where exists (select 1 from own_provider_keys where company_id = $2 and alias = $3 and origin = $4)
       or (select count(*) from own_provider_keys where company_id = $2) < $8
     on conflict (company_id, alias, origin) do update set sealed_key = excluded.sealed_key,
       last_four = excluded.last_four, changed_at = excluded.changed_at
     returning ${COLUMNS}, id = $1 as "isNew"`,
    [id, companyId, alias, origin, sealed, lastFour, now, MOST_OWN_KEYS],
  );
  const [row] = rows;
  if (row === undefined) return null;
  const { isNew, ...key } = row;
  return { key, isNew };
}

/** Null if the company has no such key. Its next calls use its remaining keys, or else the operator's. */
export async function deleteOwnKey(
  parts: Pick<OwnKeyParts, 'database' | 'sharedState'>,
  { companyId, id }: { readonly companyId: string; readonly id: string },
): Promise<OwnKey | null> {
  const [deleted] = await parts.database.query<OwnKey>(
    `delete from own_provider_keys where company_id = $1 and id = $2 returning ${COLUMNS}`,
    [companyId, id],
  );
  if (deleted === undefined) return null;
  await published(parts);
  return deleted;
}

/** Returns at most MOST_OWN_KEYS. */
export async function listOwnKeys(statements: Statements, companyId: string): Promise<readonly OwnKey[]> {
  return await statements.query<OwnKey>(
    `select ${COLUMNS} from own_provider_keys where company_id = $1 order by alias, origin`,
    [companyId],
  );
}

/** The stored key itself, for a test call; null if the company has none there. Rejects with a CipherFailure. */
export async function openStoredKey(
  { database, cipher }: Pick<OwnKeyParts, 'database' | 'cipher'>,
  { companyId, alias, origin }: Pick<OwnKey, 'companyId' | 'alias' | 'origin'>,
): Promise<string | null> {
  const [row] = await database.query<SealedOwnKey>(
    `select ${SEALED_COLUMNS} from own_provider_keys where company_id = $1 and alias = $2 and origin = $3`,
    [companyId, alias, origin],
  );
  return row === undefined ? null : await openOwnKey(cipher, row);
}

const SEALED_COLUMNS = `id, company_id as "companyId", alias, origin, sealed_key as "sealedKey"`;

/** Reads all keys and their version in one statement. */
export async function readOwnKeys(
  statements: Statements,
): Promise<{ readonly version: bigint; readonly keys: readonly SealedOwnKey[] }> {
  const rows = await statements.query<{ readonly version: bigint } & (SealedOwnKey | { readonly id: null })>(
    `select version, ${SEALED_COLUMNS} from own_key_catalogue left join own_provider_keys on true`,
  );
  const [first] = rows;
  if (first === undefined) throw new Error('own_key_catalogue has lost its row: insert version 1 again');
  return { version: first.version, keys: rows.filter((row) => row.id !== null) };
}

export async function readOwnKeysVersion(statements: Statements): Promise<bigint | null> {
  const [row] = await statements.query<{ readonly version: bigint }>(
    'select version from own_key_catalogue',
    [],
    { isIndependent: true },
  );
  return row?.version ?? null;
}

/** Rejects with a CipherFailure. */
export async function openOwnKey(cipher: Cipher, key: SealedOwnKey): Promise<string> {
  return await cipher.decrypt(key.sealedKey, boundTo(key));
}

interface ResealedOwnKeys {
  readonly resealed: number;
  /** Encrypted under a master key that this process does not have: left unchanged. */
  readonly unreadable: readonly SealedOwnKey[];
}

/** Encrypts all keys again under the first master key, so that the others can be retired. */
export async function resealOwnKeys(
  parts: Pick<OwnKeyParts, 'database' | 'sharedState' | 'cipher'>,
): Promise<ResealedOwnKeys> {
  const result = await parts.database.transaction(async (transaction): Promise<ResealedOwnKeys> => {
    const keys = await transaction.query<SealedOwnKey>(
      `select ${SEALED_COLUMNS} from own_provider_keys order by id for update`,
    );
    const unreadable: SealedOwnKey[] = [];
    for (const key of keys) {
      const apiKey = await openOwnKey(parts.cipher, key).catch((error: Error) => {
        if (error.name !== 'CipherFailure') throw error;
        return null;
      });
      if (apiKey === null) {
        unreadable.push(key);
        continue;
      }
      const sealed = await parts.cipher.encrypt(apiKey, boundTo(key));
      await transaction.query('update own_provider_keys set sealed_key = $2 where id = $1', [key.id, sealed]);
    }
    return { resealed: keys.length - unreadable.length, unreadable };
  });
  if (result.resealed > 0) await published(parts);
  return result;
}

/** A row that is moved to another company or host in the database cannot be decrypted. */
function boundTo({ companyId, origin }: Pick<OwnKey, 'companyId' | 'origin'>): string {
  return `own key of ${companyId} at ${origin}`;
}

/** Null if the key is acceptable. No part of it is repeated. */
export function problemWithKey(apiKey: string): string | null {
  if (apiKey.length >= SHORTEST_KEY && apiKey.length <= LONGEST_KEY && /^[\x21-\x7e]+$/.test(apiKey))
    return null;
  return `the key must be ${SHORTEST_KEY} to ${LONGEST_KEY} visible ASCII characters, without spaces`;
}

type FoundPlace =
  | { readonly outcome: 'found'; readonly place: OwnKeyPlace }
  | { readonly outcome: 'not-allowed' }
  | { readonly outcome: 'wrong-host'; readonly problem: string };

/** The place where a key for the alias would be used. */
export function placeFor(
  places: readonly OwnKeyPlace[],
  { alias, host }: Pick<OwnKeyParams, 'alias' | 'host'>,
): FoundPlace {
  const own = places.filter((place) => place.alias === alias);
  if (own.length === 0) return { outcome: 'not-allowed' };
  const fitting = host === null ? own : own.filter((place) => place.host === host);
  const [place] = fitting;
  if (place !== undefined && fitting.length === 1) return { outcome: 'found', place };
  const hosts = own.map((one) => one.host).join(', ');
  return { outcome: 'wrong-host', problem: `name one of the model’s providers: ${hosts}` };
}

async function published({ sharedState }: Pick<OwnKeyParts, 'sharedState'>): Promise<void> {
  // The change is effective even if this message is lost: every process checks the version twice a second.
  await sharedState.publish(OWN_KEYS_TOPIC, 'changed').catch(() => {});
}
