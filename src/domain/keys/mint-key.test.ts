import { beforeAll, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { addTestCompany } from '../../../test/doubles/test-company.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { addCompany } from '../accounts/company.ts';
import { addUser } from '../accounts/user.ts';
import { isWellFormed, keyStatus } from './api-key.ts';
import { listKeys } from './key-lifecycle.ts';
import { type KeyToMint, mintKey } from './mint-key.ts';

const secrets = createSystemSecrets();
const clock = createManualClock();
const companyId = secrets.newId();
const adminId = secrets.newId();
const database = useDatabase();

beforeAll(async () => {
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
  const admin = { id: adminId, companyId, email: 'a@acme.example', password: 'correct horse' };
  await addUser(database, secrets, { ...admin, role: 'COMPANY_ADMIN', isSuperAdmin: false });
});

function mint(wanted: Partial<KeyToMint>) {
  const whole = { name: 'A key', companyId, createdBy: adminId, ...wanted };
  return mintKey({ database, secrets, clock }, whole);
}

async function minted(wanted: Partial<KeyToMint> = {}) {
  const result = await mint(wanted);
  if (result.outcome !== 'minted') throw new Error(JSON.stringify(result));
  return result;
}

describe('G-19 minting', () => {
  test('G-19 the raw key is returned once; the database has only its hash', async () => {
    const { rawKey, key } = await minted();
    expect(isWellFormed(rawKey)).toBe(true);
    const [row] = await database.query('select * from api_keys where id = $1', [key.id]);
    expect(row?.sha256).toEqual(secrets.sha256(rawKey));
    const { sha256: _, ...rest } = row ?? {};
    const secretPart = rawKey.slice(8, -4);
    expect(JSON.stringify(rest)).not.toContain(secretPart);
    expect(JSON.stringify(await listKeys(database, companyId), withBigInts)).not.toContain(secretPart);
    expect((await minted()).rawKey).not.toBe(rawKey);
  });

  test('G-20 G-21 defaults: the default scopes, every model, 600 RPM, 2,000,000 TPM, no expiry', async () => {
    const { rawKey, key } = await minted({ name: '  Backend  ' });
    expect(key).toEqual({
      id: key.id,
      companyId,
      name: 'Backend',
      prefix: rawKey.slice(0, 8),
      lastFour: rawKey.slice(-4),
      scopes: ['inference:chat', 'inference:parse', 'usage:read'],
      models: null,
      requestsPerMinute: 600,
      tokensPerMinute: 2_000_000,
      maxCallsInFlight: null,
      monthlySpendingLimitMicro: null,
      createdBy: adminId,
      rotatedFromId: null,
      rotationRootId: null,
      createdAt: expect.any(Date),
      lastUsedAt: null,
      payerUserId: null,
      expiresAt: null,
      revokedAt: null,
      streamUsageChunk: null,
      project: null,
      cacheTtlSeconds: null,
      logPayloads: false,
      version: 1,
    });
    expect(keyStatus(key, clock.now())).toBe('LIVE');
  });

  test('G-20 chosen values are stored, also the highest ones; G-21 jobs:read where it is requested', async () => {
    const expiresAt = new Date(clock.now() + 1);
    const chosen = {
      scopes: ['jobs:read', 'inference:chat', 'jobs:read'],
      models: ['svc/chat-default', 'svc/embed-default', 'svc/chat-default'],
      requestsPerMinute: 2_000_000_000,
      tokensPerMinute: 2_000_000_000,
      maxCallsInFlight: 100_000,
      monthlySpendingLimitMicro: 9_000_000_000_000_000n,
      expiresAt,
      knownModels: ['svc/embed-default', 'svc/chat-default'],
    };
    const { key } = await minted(chosen);
    const { knownModels: _, ...settings } = chosen;
    expect(key).toMatchObject({
      ...settings,
      scopes: ['inference:chat', 'jobs:read'],
      models: ['svc/chat-default', 'svc/embed-default'],
    });
    expect(await listKeys(database, companyId, { limit: 1 })).toEqual([key]);
    expect(keyStatus(key, expiresAt.getTime() - 1)).toBe('LIVE');
    expect(keyStatus(key, expiresAt.getTime())).toBe('EXPIRED');
    expect(keyStatus({ ...key, revokedAt: expiresAt }, expiresAt.getTime())).toBe('REVOKED');
  });

  test('an invalid setting is refused by its name, and nothing is stored', async () => {
    const before = (await listKeys(database, companyId)).length;
    const bad: { readonly [field: string]: readonly Partial<KeyToMint>[] } = {
      name: ['', ' \n ', 'x'.repeat(201), 'a\u0000b', 'a\ud800'].map((name) => ({ name })),
      scopes: [[], ['usage:read', 'usage:write']].map((scopes) => ({ scopes })),
      models: [
        ...[[], ['x'.repeat(101)], [''], ['a b'], ['a\u0000']].map((models) => ({ models })),
        { models: Array.from({ length: 51 }, (_, n) => `m${n}`) },
        { models: ['a', 'c'], knownModels: ['a', 'b'] },
      ],
      requestsPerMinute: [0, -1, 1.5, 2_000_000_001, Number.NaN].map((n) => ({ requestsPerMinute: n })),
      tokensPerMinute: [0, 2_000_000_001].map((n) => ({ tokensPerMinute: n })),
      maxCallsInFlight: [0, 100_001, 0.5].map((n) => ({ maxCallsInFlight: n })),
      monthlySpendingLimitMicro: [-1n, 2n ** 53n].map((n) => ({ monthlySpendingLimitMicro: n })),
      expiresAt: [clock.now(), 0, Number.NaN, 8.64e15].map((ms) => ({ expiresAt: new Date(ms) })),
    };
    for (const [field, wanted] of Object.entries(bad)) {
      for (const one of wanted) expect(await mint(one)).toMatchObject({ outcome: 'invalid', field });
    }
    const longest = {
      name: '€'.repeat(200),
      models: Array.from({ length: 50 }, (_, n) => `${n}`.padEnd(100, 'é')),
    };
    await minted(longest);
    expect(await listKeys(database, companyId)).toHaveLength(before + 1);
  });

  test('an unknown scope and an unknown model are named, cut to a bound', async () => {
    expect(await mint({ scopes: ['usage:write'] })).toMatchObject({
      message:
        'there is no scope "usage:write"; there are inference:chat, inference:parse, usage:read, jobs:read',
    });
    expect(await mint({ models: ['gpt-x'], knownModels: ['a'] })).toMatchObject({
      message: 'there is no model "gpt-x"; there are a',
    });
    const long = await mint({ scopes: Array.from({ length: 1_000 }, () => 'x'.repeat(10_000)) });
    expect(JSON.stringify(long).length).toBeLessThan(600);
  });

  test('a company that does not exist has no keys', async () => {
    for (const other of [secrets.newId(), 'acme', '', `${companyId}0`]) {
      expect(await mint({ companyId: other })).toEqual({ outcome: 'no-such-company' });
      expect(await listKeys(database, other)).toEqual([]);
    }
  });

  test('the list has the newest first, page by page', async () => {
    const own = await addTestCompany(database);
    const ids: string[] = [];
    for (let n = 0; n < 7; n += 1) ids.unshift((await minted({ companyId: own })).key.id);
    const listed: string[] = [];
    for (let after: string | undefined; listed.length < 7; after = listed.at(-1)) {
      const page = await listKeys(database, own, { limit: 3, ...(after === undefined ? {} : { after }) });
      expect(page.length).toBeGreaterThan(0);
      listed.push(...page.map(({ id }) => id));
    }
    expect(listed).toEqual(ids);
    expect(await listKeys(database, own, { after: ids.at(-1) ?? '' })).toEqual([]);
    expect(await listKeys(database, own, { after: 'nonsense' })).toEqual([]);
    expect(await listKeys(database, companyId, { after: ids[0] ?? '' })).toEqual([]);
  });
});

function withBigInts(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}` : value;
}
