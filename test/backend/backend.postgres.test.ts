import { beforeAll, expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { describePostgres, usePostgres } from '../setup/use-postgres.ts';
import { type BackendUnderTest, openBackend, PASSWORD, type Person } from './backend-under-test.ts';
import type { GraphqlAnswer } from './graphql-client.ts';

describePostgres('the backend on PostgreSQL', () => {
  const database = usePostgres();
  let backend: BackendUnderTest;
  beforeAll(async () => {
    backend = await openBackend({ database });
  });

  async function twoAdmins(): Promise<readonly [Person, Person]> {
    const company = await backend.company('Race');
    const admin = () => backend.person(company, { role: 'COMPANY_ADMIN' });
    return [await admin(), await admin()];
  }
  const succeeded = (answers: readonly GraphqlAnswer<unknown>[]) =>
    answers.filter(({ errors }) => errors === undefined).length;
  const codes = (answers: readonly GraphqlAnswer<unknown>[]) =>
    answers.flatMap(({ errors }) => errors?.map(({ extensions }) => extensions.code) ?? []);

  test('P-15 of two admins who concurrently remove, demote or leave, one stays admin', async () => {
    const remove = 'mutation($id: ID!) { removeMember(userId: $id) }';
    const demote = 'mutation($id: ID!) { changeRole(userId: $id, role: MEMBER) { id } }';
    const leave = 'mutation { leaveCompany }';
    const duels = [
      [remove, remove],
      [remove, demote],
      [demote, leave],
      [leave, leave],
      [remove, leave],
    ] as const;
    for (const [firstMove, secondMove] of [...duels, ...duels, ...duels]) {
      const [first, second] = await twoAdmins();
      const answers = await Promise.all([
        first.answer(firstMove, firstMove === leave ? {} : { id: second.userId }),
        second.answer(secondMove, secondMove === leave ? {} : { id: first.userId }),
      ]);
      const admins = await database.query(
        "select 1 from users where company_id = $1 and role = 'COMPANY_ADMIN' and removed_at is null",
        [first.companyId],
      );
      expect(admins.length).toBeGreaterThanOrEqual(1);
      for (const code of codes(answers)) {
        expect(['CONFLICT', 'NOT_FOUND', 'FORBIDDEN', 'UNAUTHENTICATED']).toContain(code);
      }
    }
  });

  test('P-14 an admin who is removed while their own change waits for its turn changes nothing', async () => {
    const moves = [
      'mutation($id: ID!) { removeMember(userId: $id) }',
      'mutation($id: ID!) { changeRole(userId: $id, role: MEMBER) { id } }',
    ];
    for (const move of moves) {
      const [first, second] = await twoAdmins();
      await backend.person(first.companyId, { role: 'COMPANY_ADMIN' });
      const answered = await database.transaction(async (transaction) => {
        await transaction.query('select 1 from companies where id = $1 for no key update', [first.companyId]);
        const answer = first.answer(move, { id: second.userId });
        await until(async () => {
          const waiting = `select 1 from pg_stat_activity where datname = current_database()
            and wait_event_type = 'Lock' and query like 'select 1 from companies%'`;
          return (await database.query(waiting)).length > 0;
        });
        await transaction.query('update users set removed_at = now() where id = $1', [first.userId]);
        return { answer };
      });
      expect(codes([await answered.answer])).toEqual(['FORBIDDEN']);
      const [row] = await database.query('select role, removed_at from users where id = $1', [second.userId]);
      expect(row).toEqual({ role: 'COMPANY_ADMIN', removed_at: null });
    }
  });

  test('P-15 no key outlives the member who pays for it, created or rotated during the removal', async () => {
    const mint = 'mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKey { id } } }';
    const rotate = 'mutation($id: ID!) { rotateApiKey(id: $id) { apiKey { id } } }';
    const remove = 'mutation($id: ID!) { removeMember(userId: $id) }';
    for (let round = 0; round < 6; round += 1) {
      const [admin, leaver] = await twoAdmins();
      const input = { name: 'k', payer: 'USER', payerUserId: leaver.userId };
      type Minted = { createApiKey: { apiKey: { id: string } } };
      const { createApiKey: old } = await admin.ask<Minted>(mint, { input });
      const [removed] = await Promise.all([
        admin.answer(remove, { id: leaver.userId }),
        leaver.answer(mint, { input }),
        admin.answer(rotate, { id: old.apiKey.id }),
      ]);
      expect(removed.errors).toBeUndefined();
      const live = 'select 1 from api_keys where payer_user_id = $1 and revoked_at is null';
      expect(await database.query(live, [leaver.userId])).toEqual([]);
    }
  });

  test('P-8 of two concurrent changes of one password, the second is refused', async () => {
    const person = await backend.person(backend.companies.acme);
    const change = (to: string) =>
      person.answer(
        'mutation($from: String!, $to: String!) { changePassword(currentPassword: $from, newPassword: $to) { expiresAt } }',
        { from: PASSWORD, to },
      );
    const answers = await Promise.all([change('tall ladders at noon'), change('short ladders at dusk')]);
    expect(succeeded(answers)).toBe(1);
    expect(['BAD_USER_INPUT', 'UNAUTHENTICATED']).toContain(codes(answers)[0] as string);
  });

  test('P-15 of two concurrent resets with one token one succeeds', async () => {
    const { email } = await backend.person(backend.companies.acme);
    const { anonymous } = backend.people;
    await anonymous.ask('mutation($email: String!) { requestPasswordReset(email: $email) }', { email });
    await until(() => backend.mails.some((mail) => mail.to === email));
    const mail = backend.mails.find((one) => one.to === email);
    const token = mail?.kind === 'password-reset' ? mail.data.token : '';
    const reset =
      'mutation($token: String!, $password: String!) { resetPassword(token: $token, password: $password) { expiresAt } }';
    const passwords = ['tall ladders at noon', 'short ladders at dusk'];
    const answers = await Promise.all(
      passwords.map((password) => anonymous.answer(reset, { token, password })),
    );
    expect([succeeded(answers), codes(answers)]).toEqual([1, ['NOT_FOUND']]);
  });

  test('P-8 a refresh token used ten times at once has one successor', async () => {
    const login =
      'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { refreshToken } }';
    const { login: session } = await backend.people.anonymous.ask<{ login: { refreshToken: string } }>(
      login,
      {
        email: backend.people.member.email,
        password: PASSWORD,
      },
    );
    const refresh = 'mutation($token: String!) { refreshSession(refreshToken: $token) { refreshToken } }';
    const ask = () =>
      backend.people.anonymous.ask<{ refreshSession: { refreshToken: string } }>(refresh, {
        token: session.refreshToken,
      });
    const answers = await Promise.all(Array.from({ length: 10 }, ask));
    expect(new Set(answers.map(({ refreshSession }) => refreshSession.refreshToken)).size).toBe(1);
  });

  test('P-15 an address signs up once, under concurrent requests', async () => {
    const input = { companyName: 'Rush', email: 'rush@rush.example', password: PASSWORD };
    const signUp = 'mutation($input: SignUpInput!) { signUp(input: $input) { expiresAt } }';
    const tries = Array.from({ length: 8 }, () => backend.people.anonymous.answer(signUp, { input }));
    const answers = await Promise.all(tries);
    expect(succeeded(answers)).toBe(1);
    expect(new Set(codes(answers))).toEqual(new Set(['CONFLICT']));
    expect(await database.query("select 1 from companies where name = 'Rush'")).toHaveLength(1);
  });

  test('P-15 one address invited many times at once has one open invitation, accepted once', async () => {
    const invite = 'mutation { inviteMember(email: "guest@race.example") { id } }';
    const answers = await Promise.all(Array.from({ length: 6 }, () => backend.people.admin.answer(invite)));
    expect(succeeded(answers)).toBe(6);
    const listed = await backend.people.admin.ask<{ invitations: { nodes: unknown[] } }>(
      '{ invitations { nodes { id } } }',
    );
    expect(listed.invitations.nodes).toHaveLength(1);
    const accept =
      'mutation($token: String!) { acceptInvitation(token: $token, password: "a long password") { expiresAt } }';
    const tokens = backend.mails.flatMap((mail) => (mail.kind === 'invitation' ? [mail.data.token] : []));
    const tries = [...tokens, ...tokens].map((token) => backend.people.anonymous.answer(accept, { token }));
    expect(succeeded(await Promise.all(tries))).toBe(1);
  });

  test('P-15 a credit line set by concurrent requests is completely that of one of them', async () => {
    const { superAdmin } = backend.people;
    const id = await backend.company('Lines');
    const set = `mutation($id: ID!, $limit: Float) {
      setCompanyBilling(companyId: $id, billingMode: POSTPAID, creditLimit: $limit) { creditLimit } }`;
    await Promise.all([1, 2, 3, 4, 5].map((limit) => superAdmin.ask(set, { id, limit })));
    const [row] = await database.query<{ line: bigint; limit: bigint }>(
      `select line_micro as line, credit_limit_micro as limit from credit_accounts join companies using (id)
       where companies.id = $1`,
      [id],
    );
    expect(row?.line).toBe(row?.limit as bigint);
    const changes = await database.query(`select 1 from audit_log where action = 'company.billing-set'`);
    expect(changes).toHaveLength(5);
  });
});
