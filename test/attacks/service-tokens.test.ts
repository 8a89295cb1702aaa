import { describe, expect, test } from 'bun:test';
import { createSchema } from '../../src/backend/graphql/schema.ts';
import { SCOPE_OF_OPERATION } from '../../src/backend/graphql/service-scopes.ts';
import { SERVICE_SCOPES } from '../../src/domain/accounts/service-tokens.ts';
import { openBackend } from '../backend/backend-under-test.ts';
import { graphqlClient } from '../backend/graphql-client.ts';
import { documentOf, operationsOf, variablesOf } from '../backend/sample-operations.ts';
import { useResource } from '../setup/use-resource.ts';

const backend = useResource(() => openBackend());
const CREATE = `mutation($name: String!, $scopes: [String!]!, $expiresAt: DateTime) {
  createServiceToken(name: $name, scopes: $scopes, expiresAt: $expiresAt) {
    rawToken serviceToken { id name scopes expiresAt lastUsedAt status } } }`;
const DAY_MS = 86_400_000;

interface Created {
  readonly rawToken: string;
  readonly serviceToken: { readonly id: string; readonly status: string; readonly lastUsedAt: string | null };
}

async function create(scopes: readonly string[], more: object = {}): Promise<Created> {
  const { admin } = backend.people;
  const made = await admin.ask<{ createServiceToken: Created }>(CREATE, { name: 'ci', scopes, ...more });
  return made.createServiceToken;
}

const client = (token: string) => graphqlClient(backend.fetch, token);
const clientWith = async (...scopes: string[]) => client((await create(scopes)).rawToken);
const operations = operationsOf(createSchema());

describe('a service token', () => {
  test('is shown once, stored as its hash, and has the rights of its scopes', async () => {
    const { rawToken, serviceToken } = await create(['keys:write', 'keys:read', 'keys:read']);
    expect(rawToken).toMatch(/^tps_[\w-]{43}$/);
    expect(serviceToken).toMatchObject({ name: 'ci', scopes: ['keys:read', 'keys:write'], lastUsedAt: null });
    const [row] = await backend.database.query('select to_jsonb(t)::text as text from service_tokens t');
    expect(JSON.stringify(row)).not.toContain(rawToken.slice(4));
    const minted = await client(rawToken).ask(
      'mutation { createApiKey(input: { name: "by ci" }) { rawKey } }',
    );
    expect(JSON.stringify(minted)).toContain('rawKey');
    const { serviceTokens } = await backend.people.admin.ask<{ serviceTokens: Created['serviceToken'][] }>(
      '{ serviceTokens { id lastUsedAt } }',
    );
    expect(serviceTokens.find(({ id }) => id === serviceToken.id)?.lastUsedAt).not.toBeNull();
  });

  test('cannot call an operation without a scope, whatever its scopes, not by alias, fragment or next to another', async () => {
    const all = await clientWith(...SERVICE_SCOPES);
    const closed = operations.filter(
      ({ name, kind }) => !(name in SCOPE_OF_OPERATION) && kind !== 'subscription',
    );
    expect(closed.length).toBeGreaterThan(50);
    for (const operation of closed) {
      const { data, errors } = await all.answer(documentOf(operation), variablesOf(operation));
      const [first] = errors ?? [];
      const given = Object.values(data ?? {}).filter((value) => value !== null);
      expect([operation.name, given, first?.extensions.code]).toEqual([operation.name, [], 'FORBIDDEN']);
      expect(first?.message).toContain('cannot be called with a service token');
    }
    for (const query of [
      '{ apiKeys: whoAmI { id } }',
      '{ apiKeys { id } ...Other } fragment Other on Query { whoAmI { id } }',
      '{ apiKeys { id } ... on Query { sessions { id } } }',
    ]) {
      expect((await all.answer(query)).errors?.[0]?.extensions.code).toBe('FORBIDDEN');
    }
  });

  test('calls only the operations of its own scopes', async () => {
    for (const scope of SERVICE_SCOPES) {
      const one = await clientWith(scope);
      for (const operation of operations) {
        const needed = SCOPE_OF_OPERATION[operation.name];
        if (needed === undefined || needed === scope) continue;
        const { errors } = await one.answer(documentOf(operation), variablesOf(operation));
        const [first] = errors ?? [];
        expect([scope, operation.name, first?.extensions]).toEqual([
          scope,
          operation.name,
          expect.objectContaining({ code: 'FORBIDDEN', reason: 'SCOPE_REQUIRED', scope: needed }),
        ]);
      }
    }
  });

  test('reads balances with billing:read alone, also as a field of the company', async () => {
    const balance = '{ company { name balance { credits } } }';
    const { extensions } = await (await clientWith('company:read')).refusal(balance);
    expect(extensions).toMatchObject({
      ...{ code: 'FORBIDDEN', reason: 'SCOPE_REQUIRED', scope: 'billing:read' },
    });
    const both = await clientWith('company:read', 'billing:read');
    expect(await both.ask(balance)).toHaveProperty('company.balance.credits');
    expect(await backend.people.member.ask(balance)).toHaveProperty('company.balance.credits');
  });

  test('every operation with a scope exists, and none is a super admin’s, about access or needs a fresh code', () => {
    const names = new Set(operations.map(({ name }) => name));
    for (const name of Object.keys(SCOPE_OF_OPERATION)) expect([name, names.has(name)]).toEqual([name, true]);
    const never =
      /session|login|logout|password|totp|stepUp|serviceToken|changeRole|adjust|refund|checkout|portal|setCompany|setAlias|erase|export/i;
    expect(Object.keys(SCOPE_OF_OPERATION).filter((name) => never.test(name))).toEqual([]);
  });

  test('can neither create nor remove an admin', async () => {
    const token = await clientWith('members:write');
    const invite = 'mutation($role: Role!) { inviteMember(email: "new@people.example", role: $role) { id } }';
    expect((await token.refusal(invite, { role: 'COMPANY_ADMIN' })).extensions.code).toBe('FORBIDDEN');
    expect(await token.ask(invite, { role: 'MEMBER' })).toHaveProperty('inviteMember.id');
    const second = await backend.person(backend.companies.acme, { role: 'COMPANY_ADMIN' });
    const remove = 'mutation($id: ID!) { removeMember(userId: $id) }';
    expect((await token.refusal(remove, { id: second.userId })).extensions.code).toBe('FORBIDDEN');
    expect(await second.ask('{ whoAmI { id } }')).toHaveProperty('whoAmI.id', second.userId);
  });

  test('is named in the audit log instead of its creator', async () => {
    const { rawToken, serviceToken } = await create(['keys:write']);
    await client(rawToken).ask('mutation { createApiKey(input: { name: "audited" }) { rawKey } }');
    const { auditLog } = await backend.people.admin.ask<{ auditLog: { nodes: object[] } }>(
      '{ auditLog(first: 2) { nodes { action actorId actorEmail details } } }',
    );
    expect(auditLog.nodes[0]).toMatchObject({
      ...{ action: 'key.minted', actorId: serviceToken.id, actorEmail: 'service token ci' },
    });
    expect(auditLog.nodes[1]).toMatchObject({ action: 'service-token.created' });
    expect(JSON.stringify(auditLog)).not.toContain(rawToken);
  });
});

describe('a service token is refused', () => {
  const KEYS = '{ apiKeys { id } }';
  const refusedWith = async (token: string) => (await client(token).refusal(KEYS)).extensions.code;

  test('at once when it is revoked, and permanently', async () => {
    const { rawToken, serviceToken } = await create(['keys:read']);
    await client(rawToken).ask(KEYS);
    const revoke = 'mutation($id: ID!) { revokeServiceToken(id: $id) { status } }';
    const { admin } = backend.people;
    for (const _ of [1, 2]) {
      expect(await admin.ask(revoke, { id: serviceToken.id })).toEqual({
        revokeServiceToken: { status: 'REVOKED' },
      });
      expect(await refusedWith(rawToken)).toBe('UNAUTHENTICATED');
    }
  });

  test('when its creator is no longer an admin, or was removed', async () => {
    const change = 'mutation($id: ID!) { changeRole(userId: $id, role: MEMBER) { id } }';
    const remove = 'mutation($id: ID!) { removeMember(userId: $id) }';
    for (const mutation of [change, remove]) {
      const creator = await backend.person(backend.companies.acme, { role: 'COMPANY_ADMIN' });
      const made = await creator.ask<{ createServiceToken: Created }>(CREATE, {
        name: 'x',
        scopes: ['keys:read'],
      });
      const { rawToken } = made.createServiceToken;
      await client(rawToken).ask(KEYS);
      const fresh = await backend.person(backend.companies.acme, { role: 'COMPANY_ADMIN' });
      await fresh.ask(mutation, { id: creator.userId });
      expect(await refusedWith(rawToken)).toBe('UNAUTHENTICATED');
    }
  });

  test('when it is guessed, altered or of another form', async () => {
    const { rawToken } = await create(['keys:read']);
    const other = rawToken.endsWith('A') ? 'B' : 'A';
    for (const token of [
      `${rawToken.slice(0, -1)}${other}`,
      `${rawToken}A`,
      `tps_${'A'.repeat(43)}`,
      `tps_${"' or true --".padEnd(43, 'x')}`,
    ]) {
      expect([token, await refusedWith(token)]).toEqual([token, 'UNAUTHENTICATED']);
    }
  });

  test('with an invalid name, scope or expiry, and past a hundred', async () => {
    const { admin } = backend.people;
    for (const [field, variables] of [
      ['scopes', { name: 'x', scopes: [] }],
      ['scopes', { name: 'x', scopes: ['keys:read', 'super:admin'] }],
      ['name', { name: ' ', scopes: ['keys:read'] }],
      ['expiresAt', { name: 'x', scopes: ['keys:read'], expiresAt: '2020-01-01T00:00:00Z' }],
      ['expiresAt', { name: 'x', scopes: ['keys:read'], expiresAt: '2999-01-01T00:00:00Z' }],
    ] as const) {
      const { extensions } = await admin.refusal(CREATE, variables);
      expect([extensions.code, extensions.field]).toEqual(['BAD_USER_INPUT', field]);
    }
    await backend.database.query(
      `insert into service_tokens (id, company_id, name, token_sha256, scopes, created_by, created_at, expires_at)
       select gen_random_uuid(), company_id, 'many', sha256(number::text::bytea), scopes, created_by, created_at, 'infinity'
       from generate_series(1, 100) number, (select * from service_tokens limit 1) one`,
    );
    expect((await admin.refusal(CREATE, { name: 'x', scopes: ['keys:read'] })).extensions.code).toBe(
      'CONFLICT',
    );
    await backend.database.query(`delete from service_tokens where name = 'many'`);
  });

  test('when it has expired', async () => {
    const expiresAt = new Date(backend.clock.now() + DAY_MS).toISOString();
    const { rawToken } = await create(['keys:read'], { expiresAt });
    await client(rawToken).ask(KEYS);
    await backend.clock.advance(DAY_MS);
    expect(await refusedWith(rawToken)).toBe('UNAUTHENTICATED');
  });
});
