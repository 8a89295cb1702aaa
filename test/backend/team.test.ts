import { describe, expect, test } from 'bun:test';
import { inviteMember } from '../../src/domain/accounts/members.ts';
import { findUser, type User } from '../../src/domain/accounts/user.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBackend, PASSWORD, type Person } from './backend-under-test.ts';
import { graphqlClient } from './graphql-client.ts';

const INVITE =
  'mutation($email: String!, $role: Role!) { inviteMember(email: $email, role: $role) { id email role expiresAt } }';
const ACCEPT =
  'mutation($token: String!, $password: String!) { acceptInvitation(token: $token, password: $password) { accessToken } }';
const CHANGE_ROLE = 'mutation($id: ID!, $role: Role!) { changeRole(userId: $id, role: $role) { role } }';
const REMOVE = 'mutation($id: ID!) { removeMember(userId: $id) }';
const MEMBERS = '{ members(first: 100) { nodes { email role } } }';

const backend = useResource(() => openBackend());

async function team(): Promise<{ admin: Person; member: Person }> {
  const company = await backend.company('Team');
  return {
    admin: await backend.person(company, { role: 'COMPANY_ADMIN' }),
    member: await backend.person(company),
  };
}

async function invited(admin: Person, email: string, role = 'MEMBER'): Promise<string> {
  await admin.ask(INVITE, { email, role });
  const mail = backend.mails.at(-1);
  expect(mail).toMatchObject({ kind: 'invitation', to: email, data: { invitedBy: admin.email } });
  return mail?.data.token ?? '';
}

describe('invitations', () => {
  test('P-15 a user who accepts belongs to the company, in the role of the invitation', async () => {
    const { admin } = await team();
    const token = await invited(admin, 'ann@team.example', 'COMPANY_ADMIN');
    const { acceptInvitation } = await backend.people.anonymous.ask<{
      acceptInvitation: { accessToken: string };
    }>(ACCEPT, { token, password: PASSWORD });
    const ann = graphqlClient(backend.fetch, acceptInvitation.accessToken);
    expect(await ann.ask('{ whoAmI { email role companyId } }')).toEqual({
      whoAmI: { email: 'ann@team.example', role: 'COMPANY_ADMIN', companyId: admin.companyId },
    });
    expect(await admin.ask('{ invitations { nodes { id } } }')).toEqual({ invitations: { nodes: [] } });
  });

  test('P-15 an invitation is valid once, for a week, until it is withdrawn or replaced', async () => {
    const { admin } = await team();
    const { anonymous } = backend.people;
    const refused = async (token: string) =>
      (await anonymous.refusal(ACCEPT, { token, password: PASSWORD })).extensions.code;
    const first = await invited(admin, 'bob@team.example');
    const second = await invited(admin, 'BOB@team.example');
    expect(await refused(first)).toBe('NOT_FOUND');
    await anonymous.ask(ACCEPT, { token: second, password: PASSWORD });
    expect(await refused(second)).toBe('NOT_FOUND');
    const withdrawn = await invited(admin, 'cid@team.example');
    type Listed = { invitations: { nodes: { id: string }[] } };
    const { invitations } = await admin.ask<Listed>('{ invitations { nodes { id email } } }');
    expect(invitations.nodes).toMatchObject([{ email: 'cid@team.example' }]);
    const id = invitations.nodes[0]?.id;
    await admin.ask('mutation($id: ID!) { withdrawInvitation(id: $id) { email } }', { id });
    expect(await refused(withdrawn)).toBe('NOT_FOUND');
    const late = await invited(admin, 'dan@team.example');
    await backend.clock.advance(7 * 24 * 60 * 60 * 1000);
    expect(await refused(late)).toBe('NOT_FOUND');
  });

  test('P-15 the open invitations of an admin end when the admin is demoted, removed or leaves; those of others stay', async () => {
    const { admin, member } = await team();
    const { anonymous } = backend.people;
    const ends = [
      ['role-changed', (id: string) => admin.ask(CHANGE_ROLE, { id, role: 'MEMBER' })],
      ['removed', (id: string) => admin.ask(REMOVE, { id })],
      ['left', (_: string, leaver: Person) => leaver.ask('mutation { leaveCompany }')],
    ] as const;
    const own = await invited(admin, 'own@team.example');
    for (const [how, end] of ends) {
      const second = await backend.person(admin.companyId ?? '', { role: 'COMPANY_ADMIN' });
      const token = await invited(second, `${how}@team.example`, 'COMPANY_ADMIN');
      await end(second.userId, second);
      const refused = await anonymous.refusal(ACCEPT, { token, password: PASSWORD });
      expect([how, refused.extensions.code]).toEqual([how, 'NOT_FOUND']);
      const { auditLog } = await admin.ask<{ auditLog: { nodes: object[] } }>(
        '{ auditLog(first: 1) { nodes { action details } } }',
      );
      expect(auditLog.nodes).toMatchObject([
        { action: `member.${how}`, details: { withdrawnInvitations: 1 } },
      ]);
    }
    expect(await admin.ask('{ invitations { nodes { email } } }')).toEqual({
      invitations: { nodes: [{ email: 'own@team.example' }] },
    });
    // A member who becomes an admin, or an admin who stays one, changes nothing.
    await admin.ask(CHANGE_ROLE, { id: member.userId, role: 'COMPANY_ADMIN' });
    await member.ask(CHANGE_ROLE, { id: admin.userId, role: 'COMPANY_ADMIN' });
    await anonymous.ask(ACCEPT, { token: own, password: PASSWORD });
  });

  test('P-15 an invitation made while its inviter is demoted is refused', async () => {
    const { admin } = await team();
    const second = await backend.person(admin.companyId ?? '', { role: 'COMPANY_ADMIN' });
    const { database } = backend.parts;
    const asAdmin = await findUser(database, second.userId);
    await admin.ask(CHANGE_ROLE, { id: second.userId, role: 'MEMBER' });
    const inviter = { ...(asAdmin as User), companyId: admin.companyId ?? '' };
    const wanted = { inviter, email: 'race@team.example', role: 'COMPANY_ADMIN' } as const;
    const made = await database.transaction((transaction) =>
      inviteMember(backend.parts, transaction, wanted),
    );
    expect(made).toEqual({ outcome: 'not-admin' });
  });

  test('P-15 an address with an account cannot accept an invitation; a colleague is not invited', async () => {
    const [{ admin, member }, other] = [await team(), await team()];
    const { token } = await backend.parts.accessTokens.issue(admin);
    const fresh = graphqlClient(backend.fetch, token);
    const elsewhere = await invited({ ...admin, ...fresh }, other.member.email);
    const taken = await backend.people.anonymous.refusal(ACCEPT, { token: elsewhere, password: PASSWORD });
    expect(taken.extensions.code).toBe('CONFLICT');
    expect((await fresh.refusal(INVITE, { email: member.email, role: 'MEMBER' })).extensions.code).toBe(
      'CONFLICT',
    );
    const input = { companyName: 'Own', email: 'eve@team.example', password: PASSWORD };
    const late = await invited({ ...admin, ...fresh }, input.email);
    await backend.people.anonymous.ask(
      'mutation($input: SignUpInput!) { signUp(input: $input) { expiresAt } }',
      { input },
    );
    const refused = await backend.people.anonymous.refusal(ACCEPT, { token: late, password: PASSWORD });
    expect(refused.extensions.code).toBe('CONFLICT');
    expect(await fresh.ask(MEMBERS)).toHaveProperty('members.nodes.length', 2);
  });
});

describe('members', () => {
  test('P-14 P-15 a promoted or demoted user has the new rights with the next request', async () => {
    const { admin, member } = await team();
    expect((await member.refusal('{ apiKeys { id } }')).extensions.code).toBe('FORBIDDEN');
    await admin.ask(CHANGE_ROLE, { id: member.userId, role: 'COMPANY_ADMIN' });
    await member.ask('{ apiKeys { id } }');
    await member.ask(CHANGE_ROLE, { id: admin.userId, role: 'MEMBER' });
    expect((await admin.refusal('{ apiKeys { id } }')).extensions.code).toBe('FORBIDDEN');
  });

  test('P-15 a removed user loses access at once, and their address is free', async () => {
    const { admin, member } = await team();
    const login =
      'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { refreshToken } }';
    expect(await admin.ask(REMOVE, { id: member.userId })).toEqual({ removeMember: true });
    expect((await member.refusal('{ whoAmI { id } }')).extensions.code).toBe('UNAUTHENTICATED');
    const closed = await backend.people.anonymous.refusal(login, { email: member.email, password: PASSWORD });
    expect(closed.extensions.code).toBe('UNAUTHENTICATED');
    expect((await admin.refusal(REMOVE, { id: member.userId })).extensions.code).toBe('NOT_FOUND');
    await admin.ask(INVITE, { email: member.email, role: 'MEMBER' });
  });

  test('P-15 the last admin is not removed, not demoted and cannot leave', async () => {
    const { admin, member } = await team();
    for (const refused of [
      await admin.refusal(REMOVE, { id: admin.userId }),
      await admin.refusal(CHANGE_ROLE, { id: admin.userId, role: 'MEMBER' }),
      await admin.refusal('mutation { leaveCompany }'),
    ]) {
      expect(refused.extensions.code).toBe('CONFLICT');
    }
    await admin.ask(CHANGE_ROLE, { id: admin.userId, role: 'COMPANY_ADMIN' });
    await member.ask('mutation { leaveCompany }');
    expect(await admin.ask(MEMBERS)).toEqual({
      members: { nodes: [{ email: admin.email, role: 'COMPANY_ADMIN' }] },
    });
  });

  test('P-15 people are listed page by page, each once', async () => {
    const { admin, member } = await team();
    const page = async (after: string | null) =>
      (
        await admin.ask<{ members: { nodes: { id: string }[]; pageInfo: object & { endCursor: string } } }>(
          'query($after: ID) { members(first: 1, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }',
          { after },
        )
      ).members;
    const first = await page(null);
    const second = await page(first.pageInfo.endCursor);
    expect([first, second].map(({ pageInfo }) => pageInfo)).toMatchObject([
      { hasNextPage: true },
      { hasNextPage: false },
    ]);
    expect([...first.nodes, ...second.nodes].map(({ id }) => id).sort()).toEqual(
      [admin.userId, member.userId].sort(),
    );
    for (const first of [0, 101]) {
      const refused = await admin.refusal(`{ members(first: ${first}) { nodes { id } } }`);
      expect(refused.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'first' });
    }
    const nonsense = await admin.refusal('{ members(after: "x y") { nodes { id } } }');
    expect(nonsense.extensions.code).toBe('BAD_USER_INPUT');
  });

  test('users, companies and talents are found by words, in any case', async () => {
    const { admin, member } = await team();
    const search = `query($search: String) { members(search: $search) { nodes { email } } talents(search: $search) { nodes { name } } }`;
    const found = (text: string) => admin.ask(search, { search: text });
    const profile = { basics: { name: 'Zoë Quark', label: 'Pastry cook' } };
    await admin.ask('mutation($input: TalentInput!) { createTalent(input: $input) { id } }', {
      input: { profile },
    });
    expect(await found(member.email.toUpperCase().slice(0, 34))).toEqual({
      members: { nodes: [{ email: member.email }] },
      talents: { nodes: [] },
    });
    expect(await found('cook zoë')).toEqual({
      members: { nodes: [] },
      talents: { nodes: [{ name: 'Zoë Quark' }] },
    });

    const operator = await backend.person(null, { isSuperAdmin: true });
    const inCompanies = `{ companies(search: "team ${member.email}") { nodes { id } } }`;
    expect(await operator.ask(inCompanies)).toEqual({
      companies: { nodes: [{ id: admin.companyId }] },
    });
  });
});
