import { beforeAll, describe, expect, test } from 'bun:test';
import { createKeyDirectory } from '../../src/domain/keys/key-directory.ts';
import { useDatabase } from '../setup/use-database.ts';
import { type BackendUnderTest, openBackend } from './backend-under-test.ts';

const ALL = `id name prefix lastFour scopes models requestsPerMinute tokensPerMinute status expiresAt createdAt
  lastUsedAt rotatedFromId monthlySpendingLimit maxCallsInFlight streamUsageChunk project createdBy { id email }`;
const CREATE = `mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { rawKey apiKey { ${ALL} } } }`;
const ROTATE_UNTIL = `mutation($id: ID!, $expiresAt: DateTime) {
  rotateApiKey(id: $id, expiresAt: $expiresAt) { apiKey { expiresAt rotatedFromId } } }`;
const UPDATE = `mutation($id: ID!, $input: UpdateApiKeyInput!) { updateApiKey(id: $id, input: $input) { ${ALL} } }`;
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
  });

  test('G-20 G-24 settings of a live key are changed one by one; an expired one cannot be reactivated', async () => {
    const keys = await createKeyDirectory(backend.parts);
    const soon = new Date(backend.clock.now() + 60_000).toISOString();
    const { apiKey, rawKey } = await create({ expiresAt: soon, maxCallsInFlight: 4 });
    const { id } = apiKey;
    const change = async (input: object) =>
      (await backend.people.admin.ask<{ updateApiKey: Key }>(UPDATE, { id, input })).updateApiKey;
    const later = new Date(backend.clock.now() + 3_600_000).toISOString();
    const renamed = { expiresAt: later, name: 'Renamed' };
    expect(await change(renamed)).toEqual({ ...apiKey, ...renamed });
    await backend.clock.advance(60_001);
    expect((await keys.find(rawKey)).outcome).toBe('live');
    const more = { requestsPerMinute: 3, maxCallsInFlight: null, streamUsageChunk: 'ASKED' };
    expect(await change({ ...more, project: ' website ' })).toMatchObject({
      ...{ ...renamed, ...more, project: 'website' },
    });
    await backend.clock.advance(1_001);
    expect(await keys.find(rawKey)).toMatchObject({ key: { project: 'website' } });
    expect(await change({ project: null, streamUsageChunk: null })).toMatchObject({
      ...{ project: null, streamUsageChunk: null, requestsPerMinute: 3 },
    });
    for (const [field, value] of [
      ['expiresAt', '2001-01-01T00:00:00Z'],
      ['name', ' '],
      ['requestsPerMinute', 0],
      ['project', 'a\u0007b'],
    ] as const) {
      const refused = await backend.people.admin.refusal(UPDATE, { id, input: { [field]: value } });
      expect(refused.extensions).toEqual({ code: 'BAD_USER_INPUT', field: `input.${field}` });
    }
    // Brought forward, it is expired from that moment on, and for good.
    await change({ expiresAt: new Date(backend.clock.now() + 1_000).toISOString() });
    await backend.clock.advance(1_001);
    expect((await keys.find(rawKey)).outcome).toBe('unknown');
    const again = await backend.people.admin.refusal(UPDATE, { id, input: { expiresAt: null } });
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

  test('G-20 limits are changed one by one; left out they stay, null removes them', async () => {
    const { apiKey } = await create({ requestsPerMinute: 5, maxCallsInFlight: 3, monthlySpendingLimit: 10 });
    const { id } = apiKey;
    const input = { maxCallsInFlight: null, monthlySpendingLimit: 0.5 };
    expect(await backend.people.admin.ask(LIMITS, { id, input })).toEqual({
      updateApiKeyLimits: { ...apiKey, ...input },
    });
    for (const [field, value] of [
      ['tokensPerMinute', -1],
      ['monthlySpendingLimit', 1e300],
      ['monthlySpendingLimit', 0.00000001],
    ] as const) {
      const refused = await backend.people.admin.refusal(LIMITS, { id, input: { [field]: value } });
      expect(refused.extensions).toEqual({ code: 'BAD_USER_INPUT', field: `input.${field}` });
    }
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
    for (let after: string | null | undefined; after !== null; ) {
      const { apiKeyPage }: Found = await admin.ask<Found>(PAGE, { after });
      for (const { id } of apiKeyPage.nodes) seen.add(id);
      after = apiKeyPage.pageInfo.hasNextPage ? apiKeyPage.pageInfo.endCursor : null;
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
