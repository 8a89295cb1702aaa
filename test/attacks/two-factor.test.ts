import { describe, expect, test } from 'bun:test';
import { totpCode } from '../../src/domain/accounts/two-factor.ts';
import { openBackend, PASSWORD, type Person } from '../backend/backend-under-test.ts';
import { graphqlClient } from '../backend/graphql-client.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';

const LOGIN = `mutation($email: String!, $password: String!, $totp: String) {
  login(email: $email, password: $password, totp: $totp) { accessToken refreshToken } }`;
const STEP_UP = 'mutation($totp: String!) { stepUp(totp: $totp) }';
const ADJUST = `mutation($id: ID!, $key: String!) {
  adjustCredits(companyId: $id, credits: 1, reason: "test", idempotencyKey: $key) { credits } }`;
const TARGETS = 'mutation { setAliasTargets(alias: "svc/chat-default", targets: []) { alias } }';
const BILLING =
  'mutation($id: ID!) { setCompanyBilling(companyId: $id, billingMode: POSTPAID, creditLimit: 5) { id } }';

const backend = useResource(() => openBackend());
let addresses = 0;

/** From an address of its own: attempts of one test do not count for the next. */
function stranger(token: string | null = null) {
  addresses += 1;
  return graphqlClient(backend.fetch, token, `198.51.100.${addresses}`);
}

const step = () => Math.floor(backend.clock.now() / 30_000);
const nextStep = async () => await backend.clock.advance(30_000);

async function enrolled(isSuperAdmin = true) {
  const person = await backend.person(isSuperAdmin ? null : backend.companies.acme, { isSuperAdmin });
  const { beginTotp } = await person.ask<{ beginTotp: { secret: string } }>(
    'mutation { beginTotp { secret otpauthUrl } }',
  );
  const code = async () => await totpCode(beginTotp.secret, step());
  const { confirmTotp } = await person.ask<{ confirmTotp: { recoveryCodes: string[] } }>(
    'mutation($code: String!) { confirmTotp(code: $code) { recoveryCodes } }',
    { code: await code() },
  );
  return { person, code, recoveryCodes: confirmTotp.recoveryCodes };
}

async function logIn(person: Person, totp: string | null, client = stranger()) {
  return await client.answer<{ login: { accessToken: string } }>(LOGIN, {
    email: person.email,
    password: PASSWORD,
    totp,
  });
}

describe('an attacker with a stolen password', () => {
  test('gets TOTP_REQUIRED without a code, and nothing with a wrong one', async () => {
    const { person } = await enrolled();
    for (const totp of [null, '']) {
      expect((await logIn(person, totp)).errors?.[0]?.extensions.code).toBe('TOTP_REQUIRED');
    }
    for (const totp of ['000000', 'abcdef', '12345', 'aaaa-aaaa-aaaa-aaaa']) {
      expect((await logIn(person, totp)).errors?.[0]?.extensions).toMatchObject({
        code: 'UNAUTHENTICATED',
        field: 'totp',
      });
    }
    const { errors } = await stranger().answer(LOGIN, { email: person.email, password: 'wrong', totp: null });
    expect(errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED');
  });

  test('can guess ten codes in a quarter of an hour, from any number of addresses', async () => {
    const { person, code } = await enrolled();
    for (let guess = 0; guess < 10; guess += 1) await logIn(person, String(guess).padStart(6, '0'));
    const locked = await logIn(person, await code());
    expect(locked.errors?.[0]?.extensions.code).toBe('RATE_LIMITED');
  });

  test('cannot circumvent the code by a password reset', async () => {
    const { person, code } = await enrolled();
    const before = backend.mails.length;
    await stranger().ask('mutation($email: String!) { requestPasswordReset(email: $email) }', {
      email: person.email,
    });
    await until(() => backend.mails.length > before);
    const token = backend.mails[before]?.data.token;
    const reset = (totp: string | null) =>
      stranger().answer(
        `mutation($token: String!, $totp: String) {
          resetPassword(token: $token, password: "tall ladders at noon", totp: $totp) { accessToken } }`,
        { token, totp },
      );
    expect((await reset(null)).errors?.[0]?.extensions.code).toBe('TOTP_REQUIRED');
    expect((await reset('000000')).errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED');
    expect((await logIn(person, null)).errors?.[0]?.extensions.code).toBe('TOTP_REQUIRED');
    await nextStep();
    expect((await reset(await code())).errors).toBeUndefined();
  });
});

describe('an attacker with a stolen session', () => {
  test('cannot adjust credits, provider keys or credit limits without a fresh code', async () => {
    const { person, code } = await enrolled();
    const { data } = await logIn(person, await code());
    const thief = stranger(data?.login.accessToken ?? '');
    const id = backend.companies.acme;
    const attempts = [
      [ADJUST, { id, key: 'a' }],
      [TARGETS, {}],
      [BILLING, { id }],
      ['mutation($id: ID!) { resetTotp(userId: $id) }', { id: person.userId }],
      ['mutation($id: ID!) { postWithheldUsage(id: $id, reason: "x") { id } }', { id }],
    ] as const;
    for (const [query, variables] of attempts) {
      expect((await thief.refusal(query, variables)).extensions.code).toBe('STEP_UP_REQUIRED');
    }
    expect((await thief.refusal(STEP_UP, { totp: '000000' })).extensions.code).toBe('BAD_USER_INPUT');
    // The code of the log-in is spent.
    expect((await thief.refusal(STEP_UP, { totp: await code() })).extensions.code).toBe('BAD_USER_INPUT');
    await nextStep();
    await thief.ask(STEP_UP, { totp: await code() });
    await thief.ask(ADJUST, { id, key: 'a' });
    await thief.ask(TARGETS);
    // Another session of the same person has not shown a code, and ten minutes later this one has not either.
    expect((await person.refusal(ADJUST, { id, key: 'b' })).extensions.code).toBe('STEP_UP_REQUIRED');
    await backend.clock.advance(10 * 60_000);
    expect((await thief.refusal(ADJUST, { id, key: 'b' })).extensions.code).toBe('STEP_UP_REQUIRED');
  });

  test('makes no admin of a company without a fresh code: that admin would need none', async () => {
    const { person, code } = await enrolled(false);
    const { admin, member } = backend.people;
    const change = 'mutation($id: ID!, $role: Role!) { changeRole(userId: $id, role: $role) { role } }';
    await admin.ask(change, { id: person.userId, role: 'COMPANY_ADMIN' });
    const invite =
      'mutation($email: String!, $role: Role!) { inviteMember(email: $email, role: $role) { role } }';
    const thief = person;
    const attempts = [
      [invite, { email: 'thief@people.example', role: 'COMPANY_ADMIN' }],
      [change, { id: member.userId, role: 'COMPANY_ADMIN' }],
    ] as const;
    for (const [query, variables] of attempts) {
      expect((await thief.refusal(query, variables)).extensions.code).toBe('STEP_UP_REQUIRED');
    }
    await thief.ask(invite, { email: 'plain@people.example', role: 'MEMBER' });
    await thief.ask(change, { id: member.userId, role: 'MEMBER' });
    await nextStep();
    await person.ask(STEP_UP, { totp: await code() });
    for (const [query, variables] of attempts) await person.ask(query, variables);
    await admin.ask(change, { id: member.userId, role: 'MEMBER' });
  });

  test('a token without a session steps up for itself alone', async () => {
    const { person, code } = await enrolled();
    const id = backend.companies.acme;
    await person.ask(STEP_UP, { totp: await code() });
    await person.ask(ADJUST, { id, key: 'without a session' });
    await nextStep();
    const { token } = await backend.parts.accessTokens.issue(person);
    const other = stranger(token);
    expect((await other.refusal(ADJUST, { id, key: 'x' })).extensions.code).toBe('STEP_UP_REQUIRED');
  });

  test('can turn two-factor authentication off only with the password and a code', async () => {
    const { person, code, recoveryCodes } = await enrolled();
    const DISABLE =
      'mutation($password: String!, $totp: String!) { disableTotp(password: $password, totp: $totp) }';
    await nextStep();
    const wrong = await person.refusal(DISABLE, { password: 'wrong', totp: await code() });
    expect(wrong.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'password' });
    const noCode = await person.refusal(DISABLE, { password: PASSWORD, totp: '000000' });
    expect(noCode.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'totp' });
    expect((await person.refusal('mutation { beginTotp { secret } }')).extensions.code).toBe('CONFLICT');
    await person.ask(DISABLE, { password: PASSWORD, totp: await code() });
    expect((await logIn(person, null)).errors).toBeUndefined();
    expect((await person.refusal(STEP_UP, { totp: recoveryCodes[0] })).extensions.code).toBe('CONFLICT');
  });

  test('new recovery codes need a code, and invalidate the old ones', async () => {
    const { person, code, recoveryCodes } = await enrolled();
    const DRAW = 'mutation($totp: String!) { createRecoveryCodes(totp: $totp) { recoveryCodes } }';
    expect((await person.refusal(DRAW, { totp: '000000' })).extensions.code).toBe('BAD_USER_INPUT');
    await nextStep();
    await person.ask(DRAW, { totp: await code() });
    expect((await logIn(person, recoveryCodes[0] ?? '')).errors?.[0]?.extensions.code).toBe(
      'UNAUTHENTICATED',
    );
    expect(await person.ask('{ whoAmI { totpEnabled recoveryCodesLeft } }')).toEqual({
      whoAmI: { totpEnabled: true, recoveryCodesLeft: 10 },
    });
  });
});

test('a super admin resets a user who has lost all factors: recorded, and their sessions end', async () => {
  const { person } = await enrolled(false);
  await backend.clock.advance(500);
  await backend.people.superAdmin.ask('mutation($id: ID!) { resetTotp(userId: $id) }', { id: person.userId });
  expect((await person.refusal('{ whoAmI { id } }')).extensions.code).toBe('UNAUTHENTICATED');
  expect((await logIn(person, null)).errors).toBeUndefined();
  const entries = await backend.database.query<{ action: string }>(
    'select action from audit_log where object_id = $1 order by id',
    [person.userId],
  );
  expect(entries.map(({ action }) => action)).toEqual(['totp.begun', 'totp.enabled', 'totp.reset']);
});

test('no code, secret or recovery code reaches the log or the audit log', async () => {
  const { person, code, recoveryCodes } = await enrolled();
  await nextStep();
  await logIn(person, await code());
  await logIn(person, '918273');
  const kept = JSON.stringify([
    backend.entries,
    await backend.database.query('select details from audit_log'),
  ]);
  for (const secret of [await code(), '918273', ...recoveryCodes]) expect(kept).not.toContain(secret);
});

describe('REQUIRE_SUPER_ADMIN_TOTP', () => {
  const strict = useResource(() => openBackend({ requireSuperAdminTotp: true }));

  test('a super admin without two-factor authentication has no super admin rights, and the error says how to get them', async () => {
    const { superAdmin, member } = strict.people;
    const refused = await superAdmin.refusal('{ companies { nodes { id } } }');
    expect(refused.extensions).toMatchObject({ code: 'FORBIDDEN', reason: 'TOTP_SETUP_REQUIRED' });
    const who = '{ whoAmI { isSuperAdmin mustSetUpTotp } }';
    expect(await superAdmin.ask(who)).toEqual({ whoAmI: { isSuperAdmin: false, mustSetUpTotp: true } });
    expect(await member.ask(who)).toEqual({ whoAmI: { isSuperAdmin: false, mustSetUpTotp: false } });
    const { beginTotp } = await superAdmin.ask<{ beginTotp: { secret: string } }>(
      'mutation { beginTotp { secret } }',
    );
    const code = await totpCode(beginTotp.secret, Math.floor(strict.clock.now() / 30_000));
    await superAdmin.ask('mutation($code: String!) { confirmTotp(code: $code) { recoveryCodes } }', { code });
    await superAdmin.ask('{ companies { nodes { id } } }');
    expect(await superAdmin.ask(who)).toEqual({ whoAmI: { isSuperAdmin: true, mustSetUpTotp: false } });
  });
});

// Last, because it moves the clock past the expiry of the other tokens.
test('a stolen session cannot set two-factor authentication up and lock the owner out: after a while it takes the password', async () => {
  const BEGIN = 'mutation { beginTotp { secret } }';
  const CONFIRM = `mutation($code: String!, $password: String) {
    confirmTotp(code: $code, password: $password) { recoveryCodes } }`;
  const person = await backend.person(backend.companies.acme);
  const logged = await stranger().ask<{ login: { refreshToken: string } }>(LOGIN, {
    ...{ email: person.email, password: PASSWORD, totp: null },
  });
  await backend.clock.advance(16 * 60_000);
  const { refreshSession } = await stranger().ask<{ refreshSession: { accessToken: string } }>(
    'mutation($token: String!) { refreshSession(refreshToken: $token) { accessToken } }',
    { token: logged.login.refreshToken },
  );
  const thief = stranger(refreshSession.accessToken);
  const begun = await thief.ask<{ beginTotp: { secret: string } }>(BEGIN);
  const code = async (secret: string) => await totpCode(secret, step());
  for (const password of [undefined, '', 'wrong']) {
    const refused = await thief.refusal(CONFIRM, { code: await code(begun.beginTotp.secret), password });
    expect(refused.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'password' });
  }
  const again = await logIn(person, null);
  const owner = stranger(again.data?.login.accessToken ?? '');
  expect(await owner.ask('{ whoAmI { totpEnabled } }')).toEqual({ whoAmI: { totpEnabled: false } });
  // The old session with the password passes, as a recent log-in does without it.
  const { beginTotp } = await owner.ask<{ beginTotp: { secret: string } }>(BEGIN);
  await thief.ask(CONFIRM, { code: await code(beginTotp.secret), password: PASSWORD });
  const other = await backend.person(backend.companies.acme);
  const recent = stranger((await logIn(other, null)).data?.login.accessToken ?? '');
  await backend.clock.advance(14 * 60_000);
  const third = await recent.ask<{ beginTotp: { secret: string } }>(BEGIN);
  await recent.ask(CONFIRM, { code: await code(third.beginTotp.secret) });
});
