import { describe, expect, test } from 'bun:test';
import { decodeJwt } from 'jose';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBackend, PASSWORD, type Person } from './backend-under-test.ts';
import { graphqlClient } from './graphql-client.ts';

const SIGN_UP =
  'mutation($input: SignUpInput!) { signUp(input: $input) { accessToken refreshToken expiresAt } }';
type Session = { accessToken: string; refreshToken: string; expiresAt: string };

const TOKENS = '{ accessToken refreshToken expiresAt }';
const REFRESH = `mutation($token: String!) { refreshSession(refreshToken: $token) ${TOKENS} }`;
const LOGOUT = 'mutation($token: String!) { logout(refreshToken: $token) }';
const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresAt: string;
}
const REQUEST = 'mutation($email: String!) { requestPasswordReset(email: $email) }';
const RESET =
  'mutation($token: String!, $password: String!) { resetPassword(token: $token, password: $password) { accessToken } }';
const CHANGE =
  'mutation($now: String!, $new: String!) { changePassword(currentPassword: $now, newPassword: $new) { accessToken refreshToken } }';
const NEW = 'another good password';

const backend = useResource(() => openBackend());

describe('log-in', () => {
  const LOGIN =
    'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken refreshToken expiresAt } }';

  let addresses = 0;

  /** Each from an address of its own, so that tests do not use up each other's attempts. */
  function stranger(token: string | null = null, address?: string) {
    addresses += 1;
    return graphqlClient(backend.fetch, token, address ?? `198.51.100.${addresses}`);
  }

  describe('sign-up and log-in', () => {
    test('P-15 a user who signs up has a company and is its admin', async () => {
      const input = { companyName: 'Initech', email: 'Peter@Initech.example', password: PASSWORD };
      const { signUp } = await stranger().ask<{ signUp: Session }>(SIGN_UP, { input });
      const peter = stranger(signUp.accessToken);
      expect(await peter.ask('{ whoAmI { email isSuperAdmin role } company { name billingMode } }')).toEqual({
        whoAmI: { email: 'Peter@Initech.example', isSuperAdmin: false, role: 'COMPANY_ADMIN' },
        company: { name: 'Initech', billingMode: 'PREPAID' },
      });
      const again = await stranger().refusal(SIGN_UP, {
        input: { ...input, email: 'peter@initech.EXAMPLE' },
      });
      expect(again.extensions.code).toBe('CONFLICT');
      const companies = await backend.database.query("select 1 from companies where name = 'Initech'");
      expect(companies).toHaveLength(1);
    });

    test('P-8 a log-in returns a valid token with sub, email, iat, exp and its session', async () => {
      const { member } = backend.people;
      const { login } = await stranger().ask<{ login: Session }>(LOGIN, {
        email: member.email.toUpperCase(),
        password: PASSWORD,
      });
      const claims = decodeJwt(login.accessToken);
      expect(Object.keys(claims).sort()).toEqual(['email', 'exp', 'iat', 'sid', 'sub']);
      expect(claims.sub).toBe(member.userId);
      expect(new Date((claims.exp as number) * 1000).toISOString()).toBe(login.expiresAt);
      expect(await stranger(login.accessToken).ask('{ whoAmI { id } }')).toEqual({
        whoAmI: { id: member.userId },
      });
    });

    test('P-8 a successful login does not count as a failed attempt', async () => {
      const person = await backend.person(backend.companies.acme);
      for (let attempt = 0; attempt < 25; attempt += 1) {
        await stranger().ask(LOGIN, { email: person.email, password: PASSWORD });
      }
    });

    test('P-8 while shared state is unavailable attempts are still counted, and no user is locked out', async () => {
      const away = () => Promise.reject(Object.assign(new Error('away'), { name: 'SharedStateFailure' }));
      const { sharedState } = backend.parts;
      const broken = await openBackend({ sharedState: { ...sharedState, reserve: away, settle: away } });
      const { member, anonymous } = broken.people;
      const wrong = { email: member.email, password: 'wrong password' };
      await anonymous.ask(LOGIN, { ...wrong, password: PASSWORD });
      for (let attempt = 0; attempt < 10; attempt += 1) await anonymous.refusal(LOGIN, wrong);
      expect((await anonymous.refusal(LOGIN, wrong)).extensions.code).toBe('RATE_LIMITED');
      await broken.close();
    });
  });
});

describe('a session', () => {
  async function loggedIn(): Promise<{ person: Person; refreshToken: string }> {
    const person = await backend.person(backend.companies.acme);
    const login = `mutation($email: String!, $password: String!) { login(email: $email, password: $password) ${TOKENS} }`;
    const given = { email: person.email, password: PASSWORD };
    const { login: session } = await backend.people.anonymous.ask<{ login: Tokens }>(login, given);
    return { person, refreshToken: session.refreshToken };
  }

  async function refresh(token: string): Promise<Tokens> {
    return (await backend.people.anonymous.ask<{ refreshSession: Tokens }>(REFRESH, { token }))
      .refreshSession;
  }

  async function refusedCode(token: string): Promise<unknown> {
    return (await backend.people.anonymous.refusal(REFRESH, { token })).extensions.code;
  }

  test('P-8 a client that lost the response retries within seconds and gets the same token', async () => {
    const { refreshToken } = await loggedIn();
    const second = await refresh(refreshToken);
    await backend.clock.advance(10_000);
    expect((await refresh(refreshToken)).refreshToken).toBe(second.refreshToken);
    await refresh(second.refreshToken);
  });

  test('P-8 a used token that is presented later ends the session, for its thief and its owner', async () => {
    const { person, refreshToken } = await loggedIn();
    const second = await refresh(refreshToken);
    await backend.clock.advance(10_001);
    expect(await refusedCode(refreshToken)).toBe('UNAUTHENTICATED');
    expect(await refusedCode(second.refreshToken)).toBe('UNAUTHENTICATED');
    const warned = backend.entries.filter(({ context }) => context.userId === person.userId);
    expect(warned.map(({ level }) => level)).toEqual(['warn']);
  });

  test('P-8 a clock that is set back does not make a used token usable for longer', async () => {
    const { refreshToken } = await loggedIn();
    await refresh(refreshToken);
    backend.clock.step(-HOUR_MS);
    expect(await refusedCode(refreshToken)).toBe('UNAUTHENTICATED');
    backend.clock.step(HOUR_MS);
  });

  test('P-8 a token whose successor has been used is invalid at once', async () => {
    const { refreshToken } = await loggedIn();
    const second = await refresh(refreshToken);
    const third = await refresh(second.refreshToken);
    expect(await refusedCode(refreshToken)).toBe('UNAUTHENTICATED');
    expect(await refusedCode(third.refreshToken)).toBe('UNAUTHENTICATED');
  });

  test('P-8 ends after thirty days without use, and after ninety in any case', async () => {
    const silent = await loggedIn();
    let { refreshToken } = await loggedIn();
    await backend.clock.advance(30 * DAY_MS - 1);
    refreshToken = (await refresh(refreshToken)).refreshToken;
    await backend.clock.advance(1);
    expect(await refusedCode(silent.refreshToken)).toBe('UNAUTHENTICATED');
    for (const days of [20, 20, 19]) {
      await backend.clock.advance(days * DAY_MS);
      refreshToken = (await refresh(refreshToken)).refreshToken;
    }
    await backend.clock.advance(DAY_MS);
    expect(await refusedCode(refreshToken)).toBe('UNAUTHENTICATED');
  });

  test('P-8 ends by logout, with any of its tokens; a second logout is no error', async () => {
    const { refreshToken } = await loggedIn();
    const second = await refresh(refreshToken);
    for (const token of [refreshToken, refreshToken, 'tpr_nothing', '']) {
      expect(await backend.people.anonymous.ask(LOGOUT, { token })).toEqual({ logout: true });
    }
    expect(await refusedCode(second.refreshToken)).toBe('UNAUTHENTICATED');
  });

  test('P-8 is listed and ended by its owner, from another session', async () => {
    const { person, refreshToken } = await loggedIn();
    const { token } = await backend.parts.accessTokens.issue(person);
    const owner = graphqlClient(backend.fetch, token);
    const listed = await owner.ask<{ sessions: { id: string; clientAddress: string }[] }>(
      '{ sessions { id clientAddress userAgent createdAt refreshedAt expiresAt } }',
    );
    expect(listed.sessions).toMatchObject([{ clientAddress: '192.0.2.1' }]);
    const id = listed.sessions[0]?.id;
    await owner.ask('mutation($id: ID!) { endSession(id: $id) }', { id });
    expect(await refusedCode(refreshToken)).toBe('UNAUTHENTICATED');
    expect(await owner.ask('{ sessions { id } }')).toEqual({ sessions: [] });
  });

  test('forged refresh tokens are rejected and end no session', async () => {
    const { refreshToken } = await loggedIn();
    const other = refreshToken.replace(/.\./, '-.');
    for (const forged of ['', 'x', other, `${refreshToken}x`, 'tpr_'.padEnd(500, 'a'), "' or 1=1"]) {
      expect(await refusedCode(forged)).toBe('UNAUTHENTICATED');
    }
    await refresh(refreshToken);
  });
});

describe('a password', () => {
  const LOGIN =
    'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { refreshToken } }';

  async function mailedToken(email: string): Promise<string> {
    const before = backend.mails.length;
    expect(await backend.people.anonymous.ask(REQUEST, { email })).toEqual({ requestPasswordReset: true });
    await until(() => backend.mails.length > before);
    const mail = backend.mails[before];
    expect(mail).toMatchObject({ kind: 'password-reset', to: email });
    return mail?.data.token ?? '';
  }

  test('P-15 is changed with the old one; all other sessions and tokens end', async () => {
    const person = await backend.person(backend.companies.acme);
    const { anonymous } = backend.people;
    const { login } = await anonymous.ask<{ login: { refreshToken: string } }>(LOGIN, {
      email: person.email,
      password: PASSWORD,
    });
    const wrong = await person.refusal(CHANGE, { now: 'not the password', new: NEW });
    expect(wrong.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'currentPassword' });
    await backend.clock.advance(2_000);
    const { changePassword } = await person.ask<{ changePassword: { accessToken: string } }>(CHANGE, {
      now: PASSWORD,
      new: NEW,
    });
    expect((await person.refusal('{ whoAmI { id } }')).extensions.code).toBe('UNAUTHENTICATED');
    const refresh = 'mutation($token: String!) { refreshSession(refreshToken: $token) { expiresAt } }';
    const old = await anonymous.refusal(refresh, { token: login.refreshToken });
    expect(old.extensions.code).toBe('UNAUTHENTICATED');
    const renewed = graphqlClient(backend.fetch, changePassword.accessToken);
    await renewed.ask('{ whoAmI { id } }');
    await anonymous.refusal(LOGIN, { email: person.email, password: PASSWORD });
    await anonymous.ask(LOGIN, { email: person.email, password: NEW });
  });

  test('P-15 is reset by the token of a mail, once', async () => {
    const person = await backend.person(backend.companies.acme);
    const token = await mailedToken(person.email);
    const short = await backend.people.anonymous.refusal(RESET, { token, password: 'short' });
    expect(short.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'password' });
    await backend.people.anonymous.ask(RESET, { token, password: NEW });
    const again = await backend.people.anonymous.refusal(RESET, { token, password: 'a third password' });
    expect(again.extensions.code).toBe('NOT_FOUND');
    await backend.people.anonymous.ask(LOGIN, { email: person.email, password: NEW });
  });

  test('P-15 a reset token expires after an hour, and when a later one is requested', async () => {
    const person = await backend.person(backend.companies.acme);
    const first = await mailedToken(person.email);
    const second = await mailedToken(person.email);
    const refused = await backend.people.anonymous.refusal(RESET, { token: first, password: NEW });
    expect(refused.extensions.code).toBe('NOT_FOUND');
    await backend.clock.advance(60 * 60 * 1000);
    const late = await backend.people.anonymous.refusal(RESET, { token: second, password: NEW });
    expect(late.extensions.code).toBe('NOT_FOUND');
  });

  test('P-15 a reset token ends with a change of the password', async () => {
    const person = await backend.person(backend.companies.acme);
    const token = await mailedToken(person.email);
    await person.ask(CHANGE, { now: PASSWORD, new: NEW });
    const { anonymous } = backend.people;
    const late = await anonymous.refusal(RESET, { token, password: 'the password of a thief' });
    expect(late.extensions.code).toBe('NOT_FOUND');
    await anonymous.ask(LOGIN, { email: person.email, password: NEW });
  });

  test('P-15 after five requests in an hour a mailbox is spared, with the same answer as for an unknown address', async () => {
    const mails = backend.mails.length;
    const client = graphqlClient(backend.fetch, null, '203.0.113.77');
    const unknown = await client.answer(REQUEST, { email: 'anonymous@nowhere.example' });
    const person = await backend.person(backend.companies.acme);
    for (let time = 0; time < 9; time += 1) {
      expect(await client.answer(REQUEST, { email: person.email })).toEqual(unknown);
    }
    await until(() => backend.mails.length - mails === 5);
    await client.ask('{ __typename }');
    expect(backend.mails.length - mails).toBe(5);
  });

  test('no token and no password is in a log', async () => {
    const person = await backend.person(backend.companies.acme);
    const token = await mailedToken(person.email);
    await backend.people.anonymous.ask(RESET, { token, password: 'a password to look for' });
    const logged = JSON.stringify(backend.entries);
    for (const secret of [token, PASSWORD, NEW, 'a password to look for'])
      expect(logged).not.toContain(secret);
  });
});
