import { beforeAll, describe, expect, test } from 'bun:test';
import { createKeyDirectory } from '../../src/domain/keys/key-directory.ts';
import { useDatabase } from '../setup/use-database.ts';
import { type BackendUnderTest, openBackend } from './backend-under-test.ts';

const ALL = `id name prefix lastFour scopes models requestsPerMinute tokensPerMinute status expiresAt createdAt
  lastUsedAt rotatedFromId monthlySpendingLimit maxCallsInFlight streamUsageChunk project createdBy { id email }`;
const CREATE = `mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { rawKey apiKey { ${ALL} } } }`;
const ROTATE = `mutation($id: ID!) { rotateApiKey(id: $id) { rawKey apiKey { ${ALL} } } }`;
const ROTATE_UNTIL = `mutation($id: ID!, $expiresAt: DateTime) {
  rotateApiKey(id: $id, expiresAt: $expiresAt) { apiKey { expiresAt rotatedFromId } } }`;
const UPDATE = `mutation($id: ID!, $input: UpdateApiKeyInput!) { updateApiKey(id: $id, input: $input) { ${ALL} } }`;
const REVOKE = 'mutation($id: ID!) { revokeApiKey(id: $id) { id status } }';
const LIMITS = `mutation($id: ID!, $input: ApiKeyLimitsInput!) { updateApiKeyLimits(id: $id, input: $input) { ${ALL} } }`;

type Key = Record<string, unknown> & { id: string };
type Minted = { rawKey: string; apiKey: Key };

let backend: BackendUnderTest;
const statements = { count: 0 };
const real = useDatabase();
beforeAll(async () => {
  const query: typeof real.query = (text, values) => {
    statements.count += 1;
    return real.query(text, values);
  };
  backend = await openBackend({ database: { ...real, query } });
});

async function create(input: object = {}): Promise<Minted> {
  const wanted = { name: 'A key', ...input };
  return (await backend.people.admin.ask<{ createApiKey: Minted }>(CREATE, { input: wanted })).createApiKey;
}

describe('API keys', () => {
  test('G-20 G-21 a key has the requested settings, and defaults for the rest', async () => {
    const { apiKey, rawKey } = await create();
    expect(apiKey).toMatchObject({
      name: 'A key',
      scopes: ['inference:chat', 'inference:parse', 'usage:read'],
      status: 'LIVE',
      requestsPerMinute: 600,
      monthlySpendingLimit: null,
      streamUsageChunk: null,
      project: null,
      createdBy: { id: backend.people.admin.userId },
    });
    expect(apiKey.models).toHaveLength(6);
    expect(rawKey).toStartWith(String(apiKey.prefix));
    const asked = {
      scopes: ['jobs:read'],
      models: ['svc/chat-cheap'],
      requestsPerMinute: 5,
      tokensPerMinute: 7,
    };
    const more = {
      monthlySpendingLimit: 12.345678,
      maxCallsInFlight: 2,
      expiresAt: '2031-01-01T00:00:00.000Z',
      streamUsageChunk: 'ASKED',
      project: 'website',
    };
    expect((await create({ ...asked, ...more })).apiKey).toMatchObject({ ...asked, ...more });
  });

  test('G-19 the raw key is only in the response that mints it', async () => {
    const minted = await create({ name: 'secret one' });
    const { rotateApiKey } = await backend.people.admin.ask<{ rotateApiKey: Minted }>(ROTATE, {
      id: minted.apiKey.id,
    });
    const shown = JSON.stringify([
      await backend.people.admin.ask(
        `{ apiKeys { ${ALL} } auditLog(first: 100) { nodes { action details } } }`,
      ),
      await backend.database.query('select to_jsonb(a) as row from audit_log a'),
      await backend.database.query('select to_jsonb(k) as row from api_keys k'),
      backend.entries,
    ]);
    expect(shown).toContain('key.minted');
    expect(shown).toContain('key.rotated');
    for (const { rawKey } of [minted, rotateApiKey]) {
      expect(rawKey).toHaveLength(53);
      expect(shown).not.toContain(rawKey);
      expect(shown).not.toContain(rawKey.slice(8, -4));
    }
  });

  test('G-22 a rotation mints a sibling with the same settings; the old one stays live', async () => {
    const { apiKey: old } = await create({ requestsPerMinute: 9, scopes: ['usage:read'] });
    const setBudget = async (subject: string, monthlyCredits: number) =>
      await backend.people.admin.ask('mutation($input: BudgetInput!) { setBudget(input: $input) { id } }', {
        input: { scope: 'KEY', subject, monthlyCredits },
      });
    await setBudget(old.id, 5);
    const { rotateApiKey } = await backend.people.admin.ask<{ rotateApiKey: Minted }>(ROTATE, { id: old.id });
    // One budget for both, whichever of them it is set for.
    await setBudget(rotateApiKey.apiKey.id, 6);
    const { budgets } = await backend.people.admin.ask<{ budgets: { subject: string }[] }>(
      '{ budgets { subject monthlyCredits keyName } }',
    );
    const own = [old.id, rotateApiKey.apiKey.id];
    expect(budgets.filter(({ subject }) => own.includes(subject))).toEqual([
      { subject: old.id, monthlyCredits: 6, keyName: 'A key' } as { subject: string },
    ]);
    const same = { name: 'A key', requestsPerMinute: 9, scopes: ['usage:read'], status: 'LIVE' };
    expect(rotateApiKey.apiKey).toMatchObject({ ...same, rotatedFromId: old.id });
    const { apiKeys } = await backend.people.admin.ask<{ apiKeys: Key[] }>('{ apiKeys { id status } }');
    expect(apiKeys.find(({ id }) => id === old.id)?.status).toBe('LIVE');
  });

  test('G-20 G-22 a rotation may set the expiry of the new key; by default it has that of the old', async () => {
    const expiresAt = '2031-01-01T00:00:00.000Z';
    const { apiKey } = await create({ expiresAt });
    const rotate = async (variables: object) =>
      (
        await backend.people.admin.ask<{ rotateApiKey: { apiKey: Key } }>(ROTATE_UNTIL, {
          id: apiKey.id,
          ...variables,
        })
      ).rotateApiKey.apiKey.expiresAt;
    expect(await rotate({})).toBe(expiresAt);
    expect(await rotate({ expiresAt: '2032-06-01T00:00:00Z' })).toBe('2032-06-01T00:00:00.000Z');
    expect(await rotate({ expiresAt: null })).toBeNull();
    const past = { id: apiKey.id, expiresAt: '2020-01-01T00:00:00Z' };
    expect((await backend.people.admin.refusal(ROTATE_UNTIL, past)).extensions).toEqual({
      code: 'BAD_USER_INPUT',
      field: 'expiresAt',
    });
    const noDay = { id: apiKey.id, expiresAt: '2031-02-29T00:00:00Z' };
    expect((await backend.people.admin.refusal(ROTATE_UNTIL, noDay)).extensions.code).toBe('BAD_USER_INPUT');
  });

  test('G-20 G-24 name and expiry of a live key can be changed; an expired one cannot be reactivated', async () => {
    const keys = await createKeyDirectory(backend.parts);
    const soon = new Date(backend.clock.now() + 60_000).toISOString();
    const { apiKey, rawKey } = await create({ expiresAt: soon, maxCallsInFlight: 4 });
    expect((await keys.find(rawKey)).outcome).toBe('live');
    const change = async (input: object) =>
      (await backend.people.admin.ask<{ updateApiKey: Key }>(UPDATE, { id: apiKey.id, input })).updateApiKey;
    const later = new Date(backend.clock.now() + 3_600_000).toISOString();
    expect(await change({ expiresAt: later, name: 'Renamed' })).toEqual({
      ...apiKey,
      ...{ expiresAt: later, name: 'Renamed' },
    });
    await backend.clock.advance(60_001);
    expect((await keys.find(rawKey)).outcome).toBe('live');
    expect(await change({ requestsPerMinute: 3, maxCallsInFlight: null })).toMatchObject({
      ...{ requestsPerMinute: 3, maxCallsInFlight: null, expiresAt: later, name: 'Renamed' },
    });
    expect(await change({ project: ' website ' })).toMatchObject({ project: 'website' });
    expect(await keys.find(rawKey)).toMatchObject({ outcome: 'live' });
    await backend.clock.advance(1_001);
    expect(await keys.find(rawKey)).toMatchObject({ key: { project: 'website' } });
    expect(await change({ streamUsageChunk: 'ASKED' })).toMatchObject({
      streamUsageChunk: 'ASKED',
      name: 'Renamed',
    });
    const { rotateApiKey } = await backend.people.admin.ask<{ rotateApiKey: Minted }>(ROTATE, {
      id: apiKey.id,
    });
    expect(rotateApiKey.apiKey).toMatchObject({ streamUsageChunk: 'ASKED', project: 'website' });
    expect(await change({ project: null })).toMatchObject({ project: null });
    expect(await change({ name: 'Renamed' })).toMatchObject({ streamUsageChunk: 'ASKED' });
    expect(await change({ streamUsageChunk: null })).toMatchObject({ streamUsageChunk: null });
    for (const [field, value] of [
      ['expiresAt', '2001-01-01T00:00:00Z'],
      ['name', ' '],
      ['requestsPerMinute', 0],
      ['project', 'p'.repeat(65)],
      ['project', 'a\u0007b'],
    ] as const) {
      const refused = await backend.people.admin.refusal(UPDATE, {
        id: apiKey.id,
        input: { [field]: value },
      });
      expect(refused.extensions).toEqual({ code: 'BAD_USER_INPUT', field: `input.${field}` });
    }
    // Brought forward, it is expired from that moment on, and for good.
    await change({ expiresAt: new Date(backend.clock.now() + 1_000).toISOString() });
    await backend.clock.advance(1_001);
    expect((await keys.find(rawKey)).outcome).toBe('unknown');
    const again = await backend.people.admin.refusal(UPDATE, { id: apiKey.id, input: { expiresAt: null } });
    expect(again.extensions.code).toBe('CONFLICT');
    await keys.close();
  });

  test('G-20 a change that is based on an older version is refused and changes nothing', async () => {
    const { admin } = backend.people;
    const { apiKey } = await create();
    const save = `mutation($id: ID!, $input: UpdateApiKeyInput!, $ifVersion: Int) {
      updateApiKey(id: $id, input: $input, ifVersion: $ifVersion) { version name requestsPerMinute } }`;
    const first = { id: apiKey.id, ifVersion: 1, input: { requestsPerMinute: 7 } };
    expect(await admin.ask(save, first)).toMatchObject({ updateApiKey: { version: 2 } });
    const late = { id: apiKey.id, ifVersion: 1, input: { name: 'Late' } };
    const refused = await admin.refusal(save, late);
    expect(refused.extensions.code).toBe('CONFLICT');
    expect(refused.message).toContain('changed since you opened it');
    expect(await admin.ask(save, { ...late, ifVersion: 2 })).toEqual({
      updateApiKey: { version: 3, name: 'Late', requestsPerMinute: 7 },
    });
  });

  test('G-23 G-24 a revoked key is rejected from then on, and cannot be rotated', async () => {
    const keys = await createKeyDirectory(backend.parts);
    const { rawKey, apiKey } = await create();
    expect((await keys.find(rawKey)).outcome).toBe('live');
    for (let again = 0; again < 2; again += 1) {
      expect(await backend.people.admin.ask(REVOKE, { id: apiKey.id })).toEqual({
        revokeApiKey: { id: apiKey.id, status: 'REVOKED' },
      });
    }
    // The message came after the commit: no time has passed on the clock, and the key is gone.
    expect((await keys.find(rawKey)).outcome).toBe('unknown');
    expect((await backend.people.admin.refusal(ROTATE, { id: apiKey.id })).extensions.code).toBe('CONFLICT');
    const limits = await backend.people.admin.refusal(LIMITS, { id: apiKey.id, input: {} });
    expect(limits.extensions.code).toBe('CONFLICT');
    await keys.close();
  });

  test('G-20 limits are changed one by one; left out they stay, null removes them', async () => {
    const { apiKey } = await create({ requestsPerMinute: 5, maxCallsInFlight: 3, monthlySpendingLimit: 10 });
    const change = async (input: object) =>
      (await backend.people.admin.ask<{ updateApiKeyLimits: Key }>(LIMITS, { id: apiKey.id, input }))
        .updateApiKeyLimits;
    expect(await change({ requestsPerMinute: 50 })).toEqual({ ...apiKey, requestsPerMinute: 50 });
    expect(await change({ maxCallsInFlight: null, monthlySpendingLimit: 0.5 })).toEqual({
      ...apiKey,
      requestsPerMinute: 50,
      maxCallsInFlight: null,
      monthlySpendingLimit: 0.5,
    });
    for (const [field, value] of [
      ['requestsPerMinute', 0],
      ['tokensPerMinute', -1],
      ['monthlySpendingLimit', -1],
      ['monthlySpendingLimit', 1e300],
      ['monthlySpendingLimit', 0.00000001],
    ] as const) {
      const refused = await backend.people.admin.refusal(LIMITS, {
        id: apiKey.id,
        input: { [field]: value },
      });
      expect(refused.extensions).toEqual({ code: 'BAD_USER_INPUT', field: `input.${field}` });
    }
  });

  test('G-20 invalid settings are refused by name, and nothing is minted', async () => {
    const before = await backend.database.query('select 1 from api_keys');
    const wrong: [string, unknown][] = [
      ['name', ''],
      ['name', 'x'.repeat(10_000)],
      ['name', 'a\u0000b'],
      ['scopes', ['everything']],
      ['scopes', []],
      ['models', ['gpt-4']],
      ['models', []],
      ['requestsPerMinute', 0],
      ['expiresAt', '2001-01-01T00:00:00Z'],
    ];
    for (const [field, value] of wrong) {
      const refused = await backend.people.admin.refusal(CREATE, {
        input: { name: 'A key', [field]: value },
      });
      expect(refused.extensions).toEqual({ code: 'BAD_USER_INPUT', field: `input.${field}` });
    }
    expect(await backend.database.query('select 1 from api_keys')).toHaveLength(before.length);
  });

  test('a list with users in it causes no N+1 queries', async () => {
    const count = async () => {
      statements.count = 0;
      await backend.people.admin.ask('{ apiKeys { id createdBy { email } } }');
      return statements.count;
    };
    const few = await count();
    for (let more = 0; more < 20; more += 1) await create();
    expect(await count()).toBe(few);
    // Who asks, the keys, and all their makers at once.
    expect(few).toBe(3);
    statements.count = 0;
    await backend.people.superAdmin.ask('{ modelAliases { alias targets { model } } }');
    // Who asks, the aliases, their bounds and all their targets.
    expect(statements.count).toBe(4);
  });

  test('a company with more than 1,000 keys can page through and search all of them', async () => {
    const companyId = await backend.company('Many keys');
    const admin = await backend.person(companyId, { role: 'COMPANY_ADMIN' });
    await backend.database.query(
      `insert into api_keys (id, company_id, name, sha256, prefix, last_four, scopes, requests_per_minute, tokens_per_minute,
         created_at, expires_at, monthly_spending_limit_micro)
       select gen_random_uuid(), $1, 'Key number ' || n, sha256(n::text::bytea), 'sk-x', lpad(n::text, 4, '0'), '{usage:read}', 1, 1,
         $2::timestamptz - make_interval(secs => n), case when n = 1100 then $2::timestamptz end,
         case when n = 1099 then 1 end
       from generate_series(1, 1105) as n`,
      [companyId, new Date(backend.clock.now())],
    );
    const PAGE = `query($after: ID, $search: String, $status: ApiKeyStatus, $limited: Boolean, $ids: [ID!]) {
      apiKeyPage(first: 100, after: $after, search: $search, status: $status, limited: $limited, ids: $ids) {
        nodes { id name status } pageInfo { hasNextPage endCursor } } }`;
    interface Found {
      apiKeyPage: { nodes: Key[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } };
    }
    const seen = new Set<string>();
    let after: string | null = null;
    for (let pages = 0; pages < 12; pages += 1) {
      const { apiKeyPage }: Found = await admin.ask<Found>(PAGE, { after });
      for (const { id } of apiKeyPage.nodes) seen.add(id);
      after = apiKeyPage.pageInfo.endCursor;
      expect(apiKeyPage.pageInfo.hasNextPage).toBe(pages < 11);
    }
    expect(seen.size).toBe(1_105);
    const names = async (filter: object) =>
      (await admin.ask<Found>(PAGE, filter)).apiKeyPage.nodes.map(({ name }) => name);
    expect(await names({ search: '  NUMBER 1104 ' })).toEqual(['Key number 1104']);
    expect(await names({ search: '…1105' })).toEqual(['Key number 1105']);
    expect(await names({ search: ' ' })).toHaveLength(100);
    expect(await names({ status: 'EXPIRED' })).toEqual(['Key number 1100']);
    expect(await names({ limited: true })).toEqual(['Key number 1099']);
    const [oldest = ''] = [...seen].slice(-1);
    expect(await names({ ids: [oldest] })).toEqual(['Key number 1105']);
    const many = Array.from({ length: 101 }, () => oldest);
    expect((await admin.refusal(PAGE, { ids: many })).extensions).toMatchObject({ field: 'ids' });
    // Another company's ids find nothing.
    const stranger = await backend.people.otherAdmin.ask<Found>(PAGE, { ids: [oldest] });
    expect(stranger.apiKeyPage.nodes).toEqual([]);
  });
});
