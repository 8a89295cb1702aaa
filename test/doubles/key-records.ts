import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { DEFAULT_SCOPES, recognition } from '../../src/domain/keys/api-key.ts';
import type { KeyInUse } from '../../src/domain/keys/key-lookup.ts';
import { generateRawKey } from '../../src/domain/keys/mint-key.ts';
import type { SqlValue, Statements } from '../../src/ports/database.ts';

interface KeyRecords extends Statements {
  /** A raw key, and its record in the store. */
  mint(settings?: Partial<KeyInUse>): {
    readonly rawKey: string;
    readonly hash: string;
    readonly key: KeyInUse;
  };
  revoke(hash: string): void;
}

const secrets = createSystemSecrets();
const settings = { name: 'A key', scopes: DEFAULT_SCOPES, models: null } as const;
const limits = { requestsPerMinute: 600, tokensPerMinute: 200_000, maxCallsInFlight: null } as const;
const people = {
  companyId: secrets.newId(),
  createdBy: null,
  rotatedFromId: null,
  rotationRootId: null,
} as const;
const moments = { lastUsedAt: null, expiresAt: null, revokedAt: null } as const;

/** A store of keys without SQL: it understands the look-up of live keys by their hashes, and nothing else. */
export function createKeyRecords(): KeyRecords {
  const records = new Map<string, KeyInUse>();

  function live([hashes, now]: readonly SqlValue[]): KeyInUse[] {
    if (!Array.isArray(hashes) || !(now instanceof Date)) throw new Error('this is no look-up of keys');
    return [...new Set(hashes as string[])].flatMap((hash) => {
      const key = records.get(hash);
      if (key === undefined || key.revokedAt !== null) return [];
      if (key.expiresAt !== null && key.expiresAt <= now) return [];
      return [{ hash, ...key }];
    });
  }

  return {
    query: async <R>(_: string, values: readonly SqlValue[] = []) => live(values) as R[],
    script: () => Promise.reject(new Error('there is no SQL here')),
    mint(chosen = {}) {
      const rawKey = generateRawKey(secrets);
      const hash = secrets.sha256(rawKey).toHex();
      const own = { id: secrets.newId(), ...recognition(rawKey), createdAt: new Date(0) };
      const key = {
        ...settings,
        ...limits,
        monthlySpendingLimitMicro: null,
        streamUsageChunk: null,
        project: null,
        cacheTtlSeconds: null,
        logPayloads: false,
        version: 1,
        payerUserId: null,
        ceilings: null,
        ...people,
        ...moments,
        ...own,
        ...chosen,
      };
      records.set(hash, key);
      return { rawKey, hash, key };
    },
    revoke(hash) {
      const key = records.get(hash);
      if (key !== undefined) records.set(hash, { ...key, revokedAt: new Date(0) });
    },
  };
}
