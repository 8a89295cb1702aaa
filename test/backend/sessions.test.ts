import { describe, expect, test } from 'bun:test';
import { useResource } from '../setup/use-resource.ts';
import { openBackend, PASSWORD, type Person } from './backend-under-test.ts';
import { graphqlClient } from './graphql-client.ts';

const TOKENS = '{ accessToken refreshToken expiresAt }';
const REFRESH = `mutation($token: String!) { refreshSession(refreshToken: $token) ${TOKENS} }`;
const LOGOUT = 'mutation($token: String!) { logout(refreshToken: $token) }';
const DAY_MS = 24 * 60 * 60 * 1000;

const backend = useResource(() => openBackend());

async function loggedIn(): Promise<{ person: Person; refreshToken: string }> {
  const person = await backend.person(backend.companies.acme);
  const login = `mutation($email: String!, $password: String!) { login(email: $email, password: $password) ${TOKENS} }`;
  const given = { email: person.email, password: PASSWORD };
  const { login: session } = await backend.people.nobody.ask<{ login: Tokens }>(login, given);
  return { person, refreshToken: session.refreshToken };
}

interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresAt: string;
}

async function refresh(token: string): Promise<Tokens> {
  return (await backend.people.nobody.ask<{ refreshSession: Tokens }>(REFRESH, { token })).refreshSession;
}

async function refusedCode(token: string): Promise<unknown> {
  return (await backend.people.nobody.refusal(REFRESH, { token })).extensions.code;
}

describe('a session', () => {
  test('P-8 is refreshed with a new token each time, and the access token opens', async () => {
    const { person, refreshToken } = await loggedIn();
    const second = await refresh(refreshToken);
    const third = await refresh(second.refreshToken);
    expect(new Set([refreshToken, second.refreshToken, third.refreshToken]).size).toBe(3);
    const asked = await graphqlClient(backend.fetch, third.accessToken).ask('{ whoAmI { id } }');
    expect(asked).toEqual({ whoAmI: { id: person.userId } });
  });

  test('P-8 a client that lost the answer asks again within seconds and gets the same token', async () => {
    const { refreshToken } = await loggedIn();
    const second = await refresh(refreshToken);
    await backend.clock.advance(10_000);
    expect((await refresh(refreshToken)).refreshToken).toBe(second.refreshToken);
    await refresh(second.refreshToken);
  });

  test('P-8 two at once with one token are both answered, with the same token', async () => {
    const { refreshToken } = await loggedIn();
    const both = await Promise.all([refresh(refreshToken), refresh(refreshToken)]);
    expect(both[0].refreshToken).toBe(both[1].refreshToken);
  });

  test('P-8 a spent token that comes back later ends the session, for its thief and its owner', async () => {
    const { person, refreshToken } = await loggedIn();
    const second = await refresh(refreshToken);
    await backend.clock.advance(10_001);
    expect(await refusedCode(refreshToken)).toBe('UNAUTHENTICATED');
    expect(await refusedCode(second.refreshToken)).toBe('UNAUTHENTICATED');
    const warned = backend.entries.filter(({ context }) => context.userId === person.userId);
    expect(warned.map(({ level }) => level)).toEqual(['warn']);
  });

  test('P-8 a token whose successor has been used is spent at once', async () => {
    const { refreshToken } = await loggedIn();
    const second = await refresh(refreshToken);
    const third = await refresh(second.refreshToken);
    expect(await refusedCode(refreshToken)).toBe('UNAUTHENTICATED');
    expect(await refusedCode(third.refreshToken)).toBe('UNAUTHENTICATED');
  });

  test('P-8 ends after thirty days of silence, and after ninety in any case', async () => {
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

  test('P-8 ends by logout, with any of its tokens; again is no error', async () => {
    const { refreshToken } = await loggedIn();
    const second = await refresh(refreshToken);
    for (const token of [refreshToken, refreshToken, 'tpr_nothing', '']) {
      expect(await backend.people.nobody.ask(LOGOUT, { token })).toEqual({ logout: true });
    }
    expect(await refusedCode(second.refreshToken)).toBe('UNAUTHENTICATED');
  });

  test('P-8 is seen and ended by its owner, from elsewhere', async () => {
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

  test('P-8 no token is kept in clear', async () => {
    const { refreshToken } = await loggedIn();
    const { refreshToken: second } = await refresh(refreshToken);
    const kept = JSON.stringify(await backend.database.query('select to_jsonb(s) as row from sessions s'));
    for (const part of [refreshToken, second].flatMap((token) => token.slice(4).split('.'))) {
      expect(kept).not.toContain(part);
    }
  });

  test('forged refresh tokens open nothing and end nobody’s session', async () => {
    const { refreshToken } = await loggedIn();
    const other = refreshToken.replace(/.\./, '-.');
    for (const forged of ['', 'x', other, `${refreshToken}x`, 'tpr_'.padEnd(500, 'a'), "' or 1=1"]) {
      expect(await refusedCode(forged)).toBe('UNAUTHENTICATED');
    }
    await refresh(refreshToken);
  });
});
