import { afterEach, describe, expect, test } from 'bun:test';
import { SignJWT } from 'jose';
import { JWT_SECRET, openBackend, PASSWORD, type Person } from '../backend/backend-under-test.ts';
import { graphqlClient } from '../backend/graphql-client.ts';
import { type LiveLogsUnderTest, openLiveLogs } from '../backend/live-logs-under-test.ts';
import { useResource } from '../setup/use-resource.ts';

/** What a thief holds: a copied access token, used again and left open in a socket, on another process too. */
interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
}

const LOGIN =
  'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken refreshToken } }';
const REFRESH =
  'mutation($token: String!) { refreshSession(refreshToken: $token) { accessToken refreshToken } }';
const LOGOUT = 'mutation($token: String!) { logout(refreshToken: $token) }';
const CHANGE =
  'mutation { changePassword(currentPassword: "correct horse battery", newPassword: "tall ladders at noon") { accessToken } }';
const WHO = '{ whoAmI { id } }';

const live = useResource(() => openLiveLogs());
/** A second process: the same database, shared state of its own. */
const second = useResource(() => openLiveLogs({ database: live.database }));
const processes = () => [live, second];
afterEach(async () => {
  for (const one of processes()) await one.watchers(0);
});

async function logIn({ email }: Person) {
  const { login } = await live.people.anonymous.ask<{ login: Tokens }>(LOGIN, { email, password: PASSWORD });
  return { ...login, client: graphqlClient(live.fetch, login.accessToken) };
}

async function signedIn() {
  const person = await live.person(null, { isSuperAdmin: true });
  return { person, ...(await logIn(person)) };
}

async function watchEverywhere(token: string) {
  const watches = processes().map((one) => one.watch(token));
  for (const one of processes()) await one.watchers(1);
  return watches;
}

/** Refused at once by every process, and every socket is closed within a second. */
async function expectEnded(token: string, watches: readonly ReturnType<LiveLogsUnderTest['watch']>[] = []) {
  for (const one of processes()) {
    const refused = await graphqlClient(one.fetch, token).refusal(WHO);
    expect(refused.extensions.code).toBe('UNAUTHENTICATED');
  }
  for (const one of processes()) await one.clock.advance(1_000);
  for (const watch of watches) expect(await watch.ended).toEqual({ code: 4403 });
}

type SignedIn = Awaited<ReturnType<typeof signedIn>>;

/** Each way in which a session ends, by the thief's own copy of its tokens or from elsewhere. */
const ENDINGS: Readonly<Record<string, (session: SignedIn) => Promise<unknown>>> = {
  'the logout': ({ refreshToken }) => live.people.anonymous.ask(LOGOUT, { token: refreshToken }),
  'a change of the password, in the same second too': ({ client }) => client.ask(CHANGE),
  async 'a sign-out everywhere, as tokens without a session'({ client, person }) {
    await live.clock.advance(300);
    await client.ask('mutation { endAllSessions }');
    await expectEnded(person.token);
  },
  async 'an end by the owner, whose other session stays'({ person }) {
    const { accessToken, client } = await logIn(person);
    const { sessions } = await client.ask<{ sessions: { id: string; isCurrent: boolean }[] }>(
      '{ sessions { id isCurrent } }',
    );
    const id = sessions.find(({ isCurrent }) => !isCurrent)?.id;
    await client.ask('mutation($id: ID!) { endSession(id: $id) }', { id });
    await graphqlClient(second.fetch, accessToken).ask(WHO);
  },
  async 'a used refresh token that is presented again'({ refreshToken }) {
    await live.people.anonymous.ask(REFRESH, { token: refreshToken });
    await live.clock.advance(10_001);
    await live.people.anonymous.refusal(REFRESH, { token: refreshToken });
  },
};

test.each(Object.entries(ENDINGS))(
  'a copied access token and the sockets opened with it end with %s',
  async (_, end) => {
    const session = await signedIn();
    const watches = await watchEverywhere(session.accessToken);
    await end(session);
    await expectEnded(session.accessToken, watches);
  },
);

describe('a signed token without a session', () => {
  async function signed(subject: { userId: string; email: string }, changes: object = {}) {
    const iat = Math.floor(live.clock.now() / 1000);
    return await new SignJWT({ sub: subject.userId, email: subject.email, iat, exp: iat + 600, ...changes })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode(JWT_SECRET));
  }

  test('is valid until it expires, whatever happens to sessions, unless it is older than a reset', async () => {
    const { person, refreshToken } = await signedIn();
    const before = await signed(person);
    await live.people.anonymous.ask(LOGOUT, { token: refreshToken });
    await graphqlClient(live.fetch, before).ask(WHO);
    await live.clock.advance(400);
    await person.ask(CHANGE);
    await expectEnded(before);
    await live.clock.advance(1_000);
    const after = graphqlClient(live.fetch, await signed(person));
    await after.ask(WHO);
    await live.clock.advance(600_000);
    expect((await after.refusal(WHO)).extensions.code).toBe('UNAUTHENTICATED');
  });

  test('cannot name a session: one of another user, an unknown one or an invalid one is refused', async () => {
    const [mine, other] = [await signedIn(), await signedIn()];
    const rows = await live.database.query<{ id: string }>('select id from sessions where user_id = $1', [
      other.person.userId,
    ]);
    for (const sid of [rows[0]?.id, crypto.randomUUID(), "' or true --", '', 7]) {
      const client = graphqlClient(live.fetch, await signed(mine.person, { sid }));
      expect((await client.refusal(WHO)).extensions.code).toBe('UNAUTHENTICATED');
    }
  });
});

describe('a password that is changed while it is verified', () => {
  let duringVerification: () => Promise<unknown> = async () => null;
  const hashed = (password: string) => `cheap ${live.parts.secrets.sha256(password).toHex()}`;
  const slow = useResource(() =>
    openBackend({
      secrets: {
        ...live.parts.secrets,
        async verifyPassword(password, hash) {
          const matches = hash === hashed(password);
          await duringVerification();
          return matches;
        },
      },
    }),
  );

  test('P-8 a log-in with the earlier one starts no session', async () => {
    const { ask, email, userId } = await slow.person(slow.companies.acme);
    duringVerification = async () => {
      duringVerification = async () => null;
      await ask(CHANGE);
    };
    const login = slow.people.anonymous.refusal(LOGIN, { email, password: PASSWORD });
    expect((await login).message).toBe('The e-mail address or the password is wrong.');
    const sessions = 'select 1 from sessions where user_id = $1 and ended_at is null';
    expect(await slow.database.query(sessions, [userId])).toHaveLength(1);
  });
});
