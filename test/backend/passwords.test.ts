import { describe, expect, test } from 'bun:test';
import { useResource } from '../setup/use-resource.ts';
import { openBackend, PASSWORD } from './backend-under-test.ts';
import { graphqlClient } from './graphql-client.ts';

const LOGIN =
  'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { refreshToken } }';
const REQUEST = 'mutation($email: String!) { requestPasswordReset(email: $email) }';
const RESET =
  'mutation($token: String!, $password: String!) { resetPassword(token: $token, password: $password) { accessToken } }';
const CHANGE =
  'mutation($now: String!, $new: String!) { changePassword(currentPassword: $now, newPassword: $new) { accessToken refreshToken } }';
const NEW = 'another good password';

const backend = useResource(() => openBackend());

async function mailedToken(email: string): Promise<string> {
  const before = backend.mails.length;
  expect(await backend.people.nobody.ask(REQUEST, { email })).toEqual({ requestPasswordReset: true });
  const mail = backend.mails[before];
  expect(mail).toMatchObject({ kind: 'password-reset', to: email });
  return mail?.data.token ?? '';
}

describe('a password', () => {
  test('P-15 is changed by who knows the old one; all other sessions and tokens end', async () => {
    const person = await backend.person(backend.companies.acme);
    const { nobody } = backend.people;
    const { login } = await nobody.ask<{ login: { refreshToken: string } }>(LOGIN, {
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
    const old = await nobody.refusal(refresh, { token: login.refreshToken });
    expect(old.extensions.code).toBe('UNAUTHENTICATED');
    const renewed = graphqlClient(backend.fetch, changePassword.accessToken);
    await renewed.ask('{ whoAmI { id } }');
    await nobody.refusal(LOGIN, { email: person.email, password: PASSWORD });
    await nobody.ask(LOGIN, { email: person.email, password: NEW });
  });

  test('P-15 is reset by the token of a mail, once', async () => {
    const person = await backend.person(backend.companies.acme);
    const token = await mailedToken(person.email);
    const short = await backend.people.nobody.refusal(RESET, { token, password: 'short' });
    expect(short.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'password' });
    await backend.people.nobody.ask(RESET, { token, password: NEW });
    const again = await backend.people.nobody.refusal(RESET, { token, password: 'a third password' });
    expect(again.extensions.code).toBe('NOT_FOUND');
    await backend.people.nobody.ask(LOGIN, { email: person.email, password: NEW });
  });

  test('P-15 two resets with one token at once: one wins', async () => {
    const person = await backend.person(backend.companies.acme);
    const token = await mailedToken(person.email);
    const both = await Promise.all(
      ['first password', 'second password'].map((password) =>
        backend.people.nobody.answer(RESET, { token, password }),
      ),
    );
    expect(both.filter(({ errors }) => errors === undefined)).toHaveLength(1);
  });

  test('P-15 a reset token ends after an hour, and when a later one is asked for', async () => {
    const person = await backend.person(backend.companies.acme);
    const first = await mailedToken(person.email);
    const second = await mailedToken(person.email);
    const refused = await backend.people.nobody.refusal(RESET, { token: first, password: NEW });
    expect(refused.extensions.code).toBe('NOT_FOUND');
    await backend.clock.advance(60 * 60 * 1000);
    const late = await backend.people.nobody.refusal(RESET, { token: second, password: NEW });
    expect(late.extensions.code).toBe('NOT_FOUND');
  });

  test('P-15 who asks for a reset does not learn whether there is an account', async () => {
    const mails = backend.mails.length;
    const client = graphqlClient(backend.fetch, null, '203.0.113.77');
    const unknown = await client.answer(REQUEST, { email: 'nobody@nowhere.example' });
    expect(backend.mails).toHaveLength(mails);
    const person = await backend.person(backend.companies.acme);
    expect(await client.answer(REQUEST, { email: person.email })).toEqual(unknown);
    // After five in an hour a mailbox is spared, with the same answer.
    for (let more = 0; more < 8; more += 1) {
      expect(await client.answer(REQUEST, { email: person.email })).toEqual(unknown);
    }
    expect(backend.mails.length - mails).toBe(5);
  });

  test('no token and no password stands in a table or a log', async () => {
    const person = await backend.person(backend.companies.acme);
    const token = await mailedToken(person.email);
    await backend.people.nobody.ask(RESET, { token, password: 'a password to look for' });
    const tables = ['users', 'sessions', 'password_resets', 'audit_log'];
    for (const table of tables) {
      const kept = JSON.stringify(await backend.database.query(`select to_jsonb(t) as row from ${table} t`));
      expect(kept).not.toContain(token);
      expect(kept).not.toContain('a password to look for');
    }
    const logged = JSON.stringify(backend.entries);
    for (const secret of [token, PASSWORD, NEW, 'a password to look for'])
      expect(logged).not.toContain(secret);
  });
});
