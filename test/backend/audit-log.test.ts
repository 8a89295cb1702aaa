import { describe, expect, test } from 'bun:test';
import { listAuditEntries } from '../../src/domain/audit/audit-log.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBackend, PASSWORD } from './backend-under-test.ts';
import { graphqlClient } from './graphql-client.ts';

const LOG = `query($first: Int, $after: ID, $companyId: ID) { auditLog(first: $first, after: $after, companyId: $companyId) {
  nodes { id happenedAt companyId actorId actorEmail action objectKind objectId details clientAddress requestId }
  pageInfo { hasNextPage endCursor } } }`;

interface Entry {
  readonly action: string;
  readonly objectId: string;
  readonly companyId: string | null;
  readonly details: unknown;
}
interface Log {
  readonly auditLog: {
    readonly nodes: readonly Entry[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
}

const backend = useResource(() => openBackend());

describe('the audit log', () => {
  test('P-15 records who changed what, when and from which address', async () => {
    const { admin } = backend.people;
    await admin.ask('mutation { updateCompany(name: "Acme & Sons") { id } }');
    const { auditLog } = await admin.ask<Log>(LOG, { first: 1 });
    expect(auditLog.nodes).toEqual([
      {
        id: expect.any(String),
        happenedAt: new Date(backend.clock.now()).toISOString(),
        companyId: backend.companies.acme,
        actorId: admin.userId,
        actorEmail: admin.email,
        action: 'company.renamed',
        objectKind: 'company',
        objectId: backend.companies.acme,
        details: { name: 'Acme & Sons' },
        clientAddress: '192.0.2.1',
        requestId: expect.stringMatching(/^req_/),
      } as unknown as Entry,
    ]);
  });

  test('P-15 has every change by a user', async () => {
    const company = await backend.company('Audited');
    const admin = await backend.person(company, { role: 'COMPANY_ADMIN' });
    const { anonymous } = backend.people;
    const made = await admin.ask<{
      createApiKey: { apiKey: { id: string } };
      inviteMember: { id: string };
    }>(`mutation {
      createApiKey(input: { name: "k" }) { apiKey { id } }
      inviteMember(email: "guest@audited.example") { id } }`);
    const [id, invitationId] = [made.createApiKey.apiKey.id, made.inviteMember.id];
    await admin.ask(
      `mutation($id: ID!, $invitationId: ID!) {
        updateApiKeyLimits(id: $id, input: { requestsPerMinute: 3 }) { id }
        rotateApiKey(id: $id) { rawKey }
        revokeApiKey(id: $id) { id }
        withdrawInvitation(id: $invitationId) { id } }`,
      { id, invitationId },
    );
    await admin.ask('mutation { inviteMember(email: "new@audited.example", role: COMPANY_ADMIN) { id } }');
    const token = backend.mails.at(-1)?.data.token;
    const accept =
      'mutation($token: String!) { acceptInvitation(token: $token, password: "a long password") { accessToken refreshToken } }';
    const { acceptInvitation } = await anonymous.ask<{
      acceptInvitation: { accessToken: string; refreshToken: string };
    }>(accept, { token });
    const joined = graphqlClient(backend.fetch, acceptInvitation.accessToken);
    const { whoAmI } = await joined.ask<{ whoAmI: { id: string } }>('{ whoAmI { id } }');
    await anonymous.ask('mutation($token: String!) { logout(refreshToken: $token) }', {
      token: acceptInvitation.refreshToken,
    });
    const mails = backend.mails.length;
    await anonymous.ask('mutation { requestPasswordReset(email: "new@audited.example") }');
    await until(() => backend.mails.length > mails);
    const reset =
      'mutation($token: String!) { resetPassword(token: $token, password: "the next password") { expiresAt } }';
    await anonymous.ask(reset, { token: backend.mails.at(-1)?.data.token });
    await admin.ask('mutation($id: ID!) { changeRole(userId: $id, role: MEMBER) { id } }', { id: whoAmI.id });
    await admin.ask('mutation($id: ID!) { removeMember(userId: $id) }', { id: whoAmI.id });
    const change =
      'mutation($now: String!) { changePassword(currentPassword: $now, newPassword: "yet another password") { accessToken } }';
    const { changePassword } = await admin.ask<{ changePassword: { accessToken: string } }>(change, {
      now: PASSWORD,
    });
    const again = graphqlClient(backend.fetch, changePassword.accessToken);
    const { auditLog } = await again.ask<Log>(LOG, { first: 100 });
    expect(auditLog.nodes.map(({ action }) => action).reverse()).toEqual([
      'key.minted',
      'member.invited',
      'key.limits-changed',
      'key.rotated',
      'key.revoked',
      'invitation.withdrawn',
      'member.invited',
      'invitation.accepted',
      'session.started',
      'session.ended',
      'password.reset-requested',
      'password.reset',
      'session.started',
      'member.role-changed',
      'member.removed',
      'password.changed',
      'session.started',
    ]);
  });

  test('P-15 is read page by page, by admins for their company, by super admins for all', async () => {
    const { superAdmin, admin, otherAdmin } = backend.people;
    await otherAdmin.ask('mutation { updateCompany(name: "Other & Sons") { id } }');
    const targets = [{ baseUrl: 'https://provider.example/v1', model: 'm', apiKey: 'sk-very-secret' }];
    const set =
      'mutation($targets: [AliasTargetInput!]!) { setAliasTargets(alias: "svc/chat-cheap", targets: $targets) { alias targets { baseUrl model weight hasKey } } }';
    expect(await superAdmin.ask(set, { targets })).toEqual({
      setAliasTargets: {
        alias: 'svc/chat-cheap',
        targets: [{ baseUrl: 'https://provider.example/v1', model: 'm', weight: 1, hasKey: true }],
      },
    });
    const seen: Entry[] = [];
    let after: string | null = null;
    do {
      const { auditLog }: Log = await superAdmin.ask<Log>(LOG, { first: 2, after });
      seen.push(...auditLog.nodes);
      after = auditLog.pageInfo.hasNextPage ? auditLog.pageInfo.endCursor : null;
    } while (after !== null);
    const rows = await backend.database.query('select 1 from audit_log');
    expect(seen).toHaveLength(rows.length);
    expect(seen[0]).toMatchObject({
      action: 'alias.targets-set',
      companyId: null,
      details: { targets: ['provider.example m'] },
    });
    expect(JSON.stringify([seen, backend.entries])).not.toContain('sk-very-secret');
    const { auditLog: own } = await admin.ask<Log>(LOG, { first: 100 });
    expect(new Set(own.nodes.map(({ companyId }) => companyId))).toEqual(new Set([backend.companies.acme]));
    const { auditLog: theirs } = await superAdmin.ask<Log>(LOG, { companyId: backend.companies.other });
    expect(theirs.nodes.map(({ action }) => action)).toContain('company.renamed');
  });

  test('P-15 is searched by words and time; a page reads a bounded number of entries', async () => {
    const company = await backend.company('Searched');
    const admin = await backend.person(company, { role: 'COMPANY_ADMIN' });
    const days = ['2030-01-01', '2030-01-02', '2030-01-03'];
    for (const [n, day] of days.entries()) {
      await backend.database.query(
        `insert into audit_log (happened_at, company_id, actor_email, action, object_kind, object_id, details,
           client_address, request_id)
         values ($1, $2, 'ada@searched.example', 'key.minted', 'api-key', $3, $4, '192.0.2.9', 'req_searched')`,
        [new Date(`${day}T12:00:00Z`), company, `key-${n}`, { name: `Night job ${n}` }],
      );
    }
    const find = async (filter: object) => {
      const query = `query($search: String, $from: DateTime, $to: DateTime) {
        auditLog(search: $search, from: $from, to: $to) { nodes { objectId } searchedUntil } }`;
      const { auditLog } = await admin.ask<{ auditLog: { nodes: { objectId: string }[] } }>(query, filter);
      return auditLog.nodes.map(({ objectId }) => objectId);
    };
    expect(await find({})).toEqual(['key-2', 'key-1', 'key-0']);
    for (const search of ['night JOB key-1', 'ada@ minted KEY-1', 'req_searched key-1 192.0.2.9']) {
      expect(await find({ search })).toEqual(['key-1']);
    }
    expect(await find({ search: 'night other' })).toEqual([]);
    expect(await find({ from: '2030-01-02T00:00:00Z', to: '2030-01-03T00:00:00Z' })).toEqual(['key-1']);
    const turned = '{ auditLog(from: "2030-01-02", to: "2030-01-01") { nodes { id } } }';
    expect((await admin.refusal(turned)).extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'to' });

    // Of three entries two are looked at: the page says how far it got and goes on from there, without gaps or repeats.
    const pageOf = (words: string[], after: bigint | null, limit = 5) =>
      listAuditEntries(backend.database, { companyId: company, words }, { limit, after }, 2);
    const first = await pageOf(['key-0'], null);
    expect([first.entries.length, first.searchedUntil]).toEqual([0, new Date('2030-01-02T12:00:00Z')]);
    const second = await pageOf(['key-0'], first.next);
    expect(second).toMatchObject({ entries: [{ objectId: 'key-0' }], next: null, searchedUntil: null });
    const seen: string[] = [];
    let after: bigint | null = null;
    do {
      const page = await pageOf(['night'], after, 1);
      seen.push(...page.entries.map(({ objectId }) => objectId));
      after = page.next;
    } while (after !== null);
    expect(seen).toEqual(['key-2', 'key-1', 'key-0']);
  });

  test('P-15 is append-only for every role', async () => {
    for (const statement of [
      "update audit_log set action = 'a.b'",
      'delete from audit_log',
      'truncate audit_log',
    ]) {
      const failed = await backend.database.query(statement).catch((error: Error) => error.message);
      expect(failed).toContain('append-only');
    }
  });

  test('a change whose entry cannot be written is rolled back', async () => {
    const { admin } = backend.people;
    await backend.database.query(
      "alter table audit_log add constraint full_now check (action <> 'company.renamed') not valid",
    );
    const refused = await admin.refusal('mutation { updateCompany(name: "Unrecorded") { id } }');
    await backend.database.query('alter table audit_log drop constraint full_now');
    expect(refused.extensions.code).toBe('INTERNAL_SERVER_ERROR');
    expect(await admin.ask('{ company { name } }')).toEqual({ company: { name: 'Acme & Sons' } });
  });
});
