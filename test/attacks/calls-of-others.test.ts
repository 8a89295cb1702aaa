/** Who may see which calls: a company its own, a key its own, an operator all. Cursors, filters and files change nothing of it. */
import { beforeAll, describe, expect, test } from 'bun:test';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import { openBackend, type Person } from '../backend/backend-under-test.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { chatAnswer } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

const backend = useResource(() => openBackend());
const FIELDS = `nodes { id requestId endUser company { id name } apiKey { id name } target tries providerCost }
  pageInfo { hasNextPage endCursor }`;

interface Page {
  readonly calls: {
    readonly nodes: readonly Record<string, unknown>[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
}

describe('calls of another company', () => {
  let own = '';
  let foreign = '';
  let foreignKey = '';
  let admin: Person;
  let superAdmin: Person;
  const ask = (person: Person, filter: object, after: string | null = null) =>
    person.answer(
      `query($filter: CallFilter, $after: ID) { calls(filter: $filter, first: 100, after: $after) { ${FIELDS} } }`,
      { filter, after },
    );
  const nodes = async (person: Person, filter: object, after: string | null = null) =>
    ((await ask(person, filter, after)).data as unknown as Page).calls.nodes;
  const exported = (person: Person | null, query: string, method = 'GET') =>
    backend.fetch(
      new Request(`http://backend.test/calls/export?${query}`, {
        method,
        headers: person === null ? {} : { authorization: `Bearer ${person.token}` },
      }),
    );

  beforeAll(async () => {
    [own, foreign] = [await backend.company('Own'), await backend.company('Foreign')];
    admin = await backend.person(own, { role: 'COMPANY_ADMIN' });
    superAdmin = await backend.person(null, { isSuperAdmin: true });
    foreignKey = backend.parts.secrets.newId();
    const begun = { startedAtMs: backend.clock.now(), costMicro: 9 };
    await chargeCalls(backend.database, [
      finishedCall(foreign, { ...begun, keyId: foreignKey, requestId: 'theirs' }),
      finishedCall(own, { ...begun, requestId: 'ours', endUser: '=HYPERLINK("http://evil")' }),
    ]);
  });

  test('are found by no filter, and their company is as unknown as one that does not exist', async () => {
    for (const filter of [{}, { apiKeyId: foreignKey }, { requestId: 'theirs' }, { companyId: own }]) {
      const found = await nodes(admin, filter);
      expect(found.filter(({ requestId }) => requestId !== 'ours')).toEqual([]);
    }
    const asked = await ask(admin, { companyId: foreign });
    const missing = await ask(admin, { companyId: backend.parts.secrets.newId() });
    expect(asked.errors?.[0]?.extensions.code).toBe('NOT_FOUND');
    expect(asked.errors?.[0]?.message).toBe(missing.errors?.[0]?.message ?? '');
  });

  test('are not returned for a cursor of theirs, and a forged one is refused or returns nothing', async () => {
    const all = await ask(superAdmin, { companyId: foreign });
    const { endCursor } = (all.data as unknown as Page).calls.pageInfo;
    expect(endCursor).toBeNull();
    const later = `${BigInt(backend.clock.now() + 60_000) * 1000n}_${backend.parts.secrets.newId()}`;
    expect((await nodes(admin, {}, later)).map(({ requestId }) => requestId)).toEqual(['ours']);
    for (const after of ['x', `1_${own}x`, "1_' or true--", `${'9'.repeat(30)}_${own}`]) {
      expect((await ask(admin, {}, after)).errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
    }
  });

  test('fields for operators are null for the company of the call', async () => {
    const [ours] = await nodes(admin, { requestId: 'ours' });
    expect(ours).toMatchObject({ target: null, tries: null, providerCost: null, company: { id: own } });
    const [seen] = await nodes(superAdmin, { requestId: 'theirs' });
    expect(seen).toMatchObject({ target: 'embedded', tries: 1, providerCost: 0.000009 });
    expect(seen?.company).toEqual({ id: foreign, name: 'Foreign' });
  });

  test('are in no export, which needs an admin, and whose cells are not formulas', async () => {
    expect((await exported(null, 'format=csv')).status).toBe(401);
    expect((await exported(await backend.person(own), 'format=csv')).status).toBe(403);
    expect((await exported(admin, `format=csv&company_id=${foreign}`)).status).toBe(404);
    for (const query of ['format=csv', `format=jsonl&api_key_id=${foreignKey}`, 'format=jsonl']) {
      const text = await (await exported(admin, query)).text();
      expect(text).not.toContain('theirs');
      expect(text).not.toContain('embedded');
    }
    const csv = await (await exported(admin, 'format=csv')).text();
    expect(csv).toContain(`"'=HYPERLINK(""http://evil"")"`);
    const all = await (await exported(superAdmin, 'format=jsonl')).text();
    expect(all).toContain('"request_id":"theirs"');
  });

  test('exports of one company leave slots for those of others, and a response that is not read takes none', async () => {
    const other = await backend.person(foreign, { role: 'COMPANY_ADMIN' });
    for (let count = 0; count < 5; count += 1) {
      expect((await exported(admin, 'format=csv', 'HEAD')).status).toBe(200);
    }
    const slow = [await exported(admin, 'format=csv'), await exported(admin, 'format=csv')];
    const readers = slow.map((answer) => answer.body?.getReader());
    for (const reader of readers) expect((await reader?.read())?.done).toBe(false);
    expect((await exported(admin, 'format=csv')).status).toBe(429);
    expect((await exported(other, 'format=csv')).status).toBe(200);
    for (const reader of readers) await reader?.cancel();
    expect((await exported(admin, 'format=csv')).status).toBe(200);
  });
});

describe('calls of another key of the same company', () => {
  const gateway = useResource(() => openGateway());

  test('are not returned to a key, whatever it requests', async () => {
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    const scopes = ['inference:chat', 'usage:read'];
    const [one, other] = [await gateway.mint({ scopes }), await gateway.mint({ scopes })];
    const body = { model: 'svc/chat-default', messages: [] };
    const headers = { 'x-request-id': 'of-the-other' };
    await (await post(`${gateway.url}/chat/completions`, other.rawKey, body, { headers })).text();
    await gateway.calls(other.id, 1);
    for (const query of ['', `?api_key_id=${other.id}`, '?request_id=of-the-other', '?format=jsonl']) {
      const response = await fetch(`${gateway.url}/usage/calls${query}`, {
        headers: { authorization: `Bearer ${one.rawKey}` },
      });
      expect(response.status).toBe(200);
      expect(await response.text()).not.toContain('"request_id":"of-the-other"');
    }
  });
});
