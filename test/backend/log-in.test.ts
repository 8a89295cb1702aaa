import { describe, expect, test } from 'bun:test';
import { decodeJwt, SignJWT } from 'jose';
import { useResource } from '../setup/use-resource.ts';
import { JWT_SECRET, openBackend, PASSWORD } from './backend-under-test.ts';
import { graphqlClient } from './graphql-client.ts';

const LOGIN =
  'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken refreshToken expiresAt } }';
const SIGN_UP =
  'mutation($input: SignUpInput!) { signUp(input: $input) { accessToken refreshToken expiresAt } }';
type Session = { accessToken: string; refreshToken: string; expiresAt: string };

let addresses = 0;
const backend = useResource(() => openBackend());

/** Each from an address of its own, so that tests do not use up each other's attempts. */
function stranger(token: string | null = null, address?: string) {
  addresses += 1;
  return graphqlClient(backend.fetch, token, address ?? `198.51.100.${addresses}`);
}

describe('sign-up and log-in', () => {
  test('P-15 who signs up has a company and is its admin', async () => {
    const input = { companyName: 'Initech', email: 'Peter@Initech.example', password: PASSWORD };
    const { signUp } = await stranger().ask<{ signUp: Session }>(SIGN_UP, { input });
    const peter = stranger(signUp.accessToken);
    expect(await peter.ask('{ whoAmI { email isSuperAdmin role } company { name billingMode } }')).toEqual({
      whoAmI: { email: 'Peter@Initech.example', isSuperAdmin: false, role: 'COMPANY_ADMIN' },
      company: { name: 'Initech', billingMode: 'PREPAID' },
    });
    const again = await stranger().refusal(SIGN_UP, { input: { ...input, email: 'peter@initech.EXAMPLE' } });
    expect(again.extensions.code).toBe('CONFLICT');
    const companies = await backend.database.query("select 1 from companies where name = 'Initech'");
    expect(companies).toHaveLength(1);
  });

  test('P-8 a log-in gives a token with sub, email, iat and exp, which opens', async () => {
    const { member } = backend.people;
    const { login } = await stranger().ask<{ login: Session }>(LOGIN, {
      email: member.email.toUpperCase(),
      password: PASSWORD,
    });
    const claims = decodeJwt(login.accessToken);
    expect(Object.keys(claims).sort()).toEqual(['email', 'exp', 'iat', 'sub']);
    expect(claims.sub).toBe(member.userId);
    expect(new Date((claims.exp as number) * 1000).toISOString()).toBe(login.expiresAt);
    expect(await stranger(login.accessToken).ask('{ whoAmI { id } }')).toEqual({
      whoAmI: { id: member.userId },
    });
  });

  test('P-8 an unknown address and a wrong password get the same answer', async () => {
    const wrong = await stranger().answer(LOGIN, {
      email: backend.people.member.email,
      password: 'wrong password',
    });
    const unknown = await stranger().answer(LOGIN, {
      email: 'nobody@nowhere.example',
      password: 'wrong password',
    });
    expect(wrong).toEqual(unknown);
    expect(wrong.errors?.[0]?.extensions).toEqual({ code: 'UNAUTHENTICATED' });
  });

  test('P-8 an unknown address takes the same work: one look at a hash, real or nobody’s', async () => {
    const { secrets } = backend.parts;
    const looks: (string | null)[] = [];
    const verifyPassword = (password: string, hash: string | null) => {
      looks.push(hash);
      return secrets.verifyPassword(password, hash);
    };
    const watched = await openBackend({ secrets: { ...secrets, verifyPassword } });
    for (const email of [watched.people.member.email, 'nobody@nowhere.example']) {
      await watched.people.nobody.refusal(LOGIN, { email, password: 'wrong password' });
    }
    expect(looks).toEqual([expect.any(String), null]);
    await watched.close();
  }, 60_000);

  test('P-8 the eleventh attempt on an account within a quarter of an hour is RATE_LIMITED', async () => {
    const person = await backend.person(backend.companies.acme);
    const wrong = { email: person.email, password: 'wrong password' };
    for (let attempt = 0; attempt < 10; attempt += 1) {
      expect((await stranger().refusal(LOGIN, wrong)).extensions.code).toBe('UNAUTHENTICATED');
    }
    const refused = await stranger().refusal(LOGIN, { ...wrong, password: PASSWORD });
    expect(refused.extensions).toEqual({ code: 'RATE_LIMITED', retryAfterSeconds: 900 });
    await backend.clock.advance(15 * 60_000);
    await stranger().ask(LOGIN, { ...wrong, password: PASSWORD });
  });

  test('P-8 the hundred-and-first attempt from an address is RATE_LIMITED, whatever the account', async () => {
    const one = stranger(null, '203.0.113.9');
    for (let attempt = 0; attempt < 100; attempt += 1) {
      await one.refusal(LOGIN, { email: `p${attempt}@people.example`, password: 'wrong password' });
    }
    const refused = await one.refusal(LOGIN, { email: 'p@people.example', password: 'wrong password' });
    expect(refused.extensions.code).toBe('RATE_LIMITED');
  });

  test('P-8 whoever gets in does not use up their own attempts', async () => {
    const person = await backend.person(backend.companies.acme);
    for (let attempt = 0; attempt < 25; attempt += 1) {
      await stranger().ask(LOGIN, { email: person.email, password: PASSWORD });
    }
  });

  test('P-8 while shared state is away attempts are still counted, and nobody is locked out', async () => {
    const away = () => Promise.reject(Object.assign(new Error('away'), { name: 'SharedStateFailure' }));
    const { sharedState } = backend.parts;
    const broken = await openBackend({ sharedState: { ...sharedState, reserve: away, settle: away } });
    const { member, nobody } = broken.people;
    const wrong = { email: member.email, password: 'wrong password' };
    await nobody.ask(LOGIN, { ...wrong, password: PASSWORD });
    for (let attempt = 0; attempt < 10; attempt += 1) await nobody.refusal(LOGIN, wrong);
    expect((await nobody.refusal(LOGIN, wrong)).extensions.code).toBe('RATE_LIMITED');
    await broken.close();
  }, 60_000);
});

describe('tokens', () => {
  const claims = () => {
    const iat = Math.floor(backend.clock.now() / 1000);
    return { email: backend.people.member.email, sub: backend.people.member.userId, iat, exp: iat + 600 };
  };
  const code = async (token: string) =>
    (await stranger(token).answer('{ whoAmI { id } }')).errors?.[0]?.extensions.code ?? 'none';
  const signed = (payload: object, secret = JWT_SECRET, alg = 'HS256') =>
    new SignJWT({ ...payload }).setProtectedHeader({ alg }).sign(new TextEncoder().encode(secret));
  const part = (value: object) =>
    new TextEncoder().encode(JSON.stringify(value)).toBase64({ alphabet: 'base64url', omitPadding: true });

  test('P-8 a token of ours, made by whoever has the secret, opens', async () => {
    expect(await code(await signed(claims()))).toBe('none');
  });

  test('P-8 forged, expired and half tokens are as none', async () => {
    const whole = await signed(claims());
    const forgeries = [
      await signed(claims(), 'another secret, also of forty characters'),
      await signed(claims(), JWT_SECRET, 'HS512'),
      await signed({ ...claims(), exp: claims().iat - 1 }),
      await signed({ ...claims(), sub: undefined }),
      await signed({ ...claims(), sub: "' or 1=1 --" }),
      await signed({ ...claims(), sub: '019a0000-0000-7000-8000-000000000000' }),
      `${part({ alg: 'none', typ: 'JWT' })}.${part(claims())}.`,
      whole.slice(0, -2),
      `${whole.split('.').slice(0, 2).join('.')}.`,
      'x'.repeat(10_000),
      'null',
    ];
    for (const forgery of forgeries) expect(await code(forgery)).toBe('UNAUTHENTICATED');
    expect(await stranger('garbage').ask('{ __typename }')).toEqual({ __typename: 'Query' });
  });
});
