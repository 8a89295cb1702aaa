import { beforeEach, describe, expect, test } from 'bun:test';
import { SignJWT, UnsecuredJWT } from 'jose';
import { createOidcTransport } from '../../src/adapters/oidc-transport/http-transport.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createOidc } from '../../src/domain/accounts/oidc.ts';
import type { OidcRules } from '../../src/domain/accounts/oidc-accounts.ts';
import { openBackend, PASSWORD } from '../backend/backend-under-test.ts';
import { graphqlClient } from '../backend/graphql-client.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  createScriptedProvider,
  ISSUER,
} from '../doubles/scripted-oidc-provider.ts';
import { useResource } from '../setup/use-resource.ts';

const ORIGIN = 'https://console.example';

const SETTINGS = {
  ...{ issuer: ISSUER, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, roleClaim: 'groups' },
  redirectUri: `${ORIGIN}/session/oidc/callback`,
};

async function openWorld() {
  const clock = createManualClock();
  const provider = await createScriptedProvider(clock);
  const rules: { -readonly [Name in keyof OidcRules]: OidcRules[Name] } = {
    domains: {},
    roles: {},
    signUpMode: 'open',
  };
  const oidc = createOidc({
    ...{ settings: SETTINGS, transport: provider.transport, clock, secrets: createSystemSecrets() },
  });
  const backend = await openBackend({ oidc: { oidc, rules, name: 'Example' } });
  let visitors = 0;
  // Each from an address of its own, so that attempts are not counted together.
  const get = async (path: string, cookie = '') => {
    visitors += 1;
    const address = `198.51.${visitors >> 8}.${visitors & 255}`;
    return await backend.fetch(new Request(`${ORIGIN}${path}`, { headers: { cookie } }), address);
  };
  const begin = async () => {
    const { headers } = await get('/session/oidc');
    const set = headers.get('set-cookie') ?? '';
    return { location: headers.get('location') ?? '', cookie: set.split(';')[0] ?? '', set };
  };
  const finish = async (query: Record<string, string>, cookie: string) => {
    const answer = await get(`/session/oidc/callback?${new URLSearchParams(query)}`, cookie);
    const refresh =
      answer.headers.getSetCookie().find((one) => one.startsWith('__Host-turnpike_refresh=')) ?? null;
    return { status: answer.status, location: answer.headers.get('location'), refresh };
  };
  return {
    ...{ backend, provider, rules, clock, begin, finish, get },
    /** The whole way of an honest browser: the code of the refusal, or the session's cookie. */
    async signIn(more: Record<string, string> = {}) {
      const { location, cookie } = await begin();
      return await finish({ ...provider.authorize(location), ...more }, cookie);
    },
    close: () => backend.close(),
  };
}

const world = useResource(openWorld);
const HOME = `${ORIGIN}/`;
const refused = (code: string) => ({ status: 303, location: `${HOME}?sign-in=${code}`, refresh: null });

beforeEach(async () => {
  Object.assign(world.provider.script, { claims: {}, idToken: null, metadata: {} });
  const { acme } = world.backend.companies;
  Object.assign(world.rules, {
    domains: { 'acme.example': acme, 'people.example': null },
    roles: {},
    signUpMode: 'open',
  });
});

async function whoIs(refresh: string | null): Promise<Record<string, unknown>> {
  const headers = {
    ...{ 'content-type': 'application/json', origin: ORIGIN, 'sec-fetch-site': 'same-origin' },
    cookie: refresh?.split(';')[0] ?? '',
  };
  const request = new Request(`${ORIGIN}/session/refresh`, { method: 'POST', headers, body: '{}' });
  const answer = (await (await world.backend.fetch(request)).json()) as {
    data: { session: { accessToken: string } | null };
  };
  const token = answer.data.session?.accessToken ?? null;
  const { whoAmI } = await graphqlClient(world.backend.fetch, token).ask<{ whoAmI: Record<string, unknown> }>(
    '{ whoAmI { id email role isSuperAdmin companyId } }',
  );
  return whoAmI;
}

describe('sign-in by OIDC', () => {
  test('begins with PKCE, state and nonce in a cookie of this browser, and ends in a session of the console', async () => {
    const { location, set } = await world.begin();
    const url = new URL(location);
    expect(url.origin + url.pathname).toBe(`${ISSUER}/authorize`);
    for (const name of ['state', 'nonce', 'code_challenge'])
      expect(url.searchParams.get(name)).toHaveLength(43);
    expect(url.searchParams.get('redirect_uri')).toBe(`${ORIGIN}/session/oidc/callback`);
    const words = ['__Host-turnpike_sign_in=', 'HttpOnly', 'Secure', 'SameSite=Lax', 'Path=/', 'Max-Age=600'];
    for (const word of words) expect(set).toContain(word);
    expect(location).not.toContain(set.split('.')[2] ?? 'x');
    const first = await world.signIn();
    expect(first).toMatchObject({ status: 303, location: HOME });
    const ada = await whoIs(first.refresh);
    expect(ada).toMatchObject({ email: 'ada@acme.example', role: 'MEMBER', isSuperAdmin: false });
    expect(ada.companyId).toBe(world.backend.companies.acme);
    expect((await whoIs((await world.signIn()).refresh)).id).toBe(ada.id as string);
    const entries = await world.backend.database.query<{ action: string }>(
      `select action from audit_log where actor_id = $1 order by id`,
      [String(ada.id)],
    );
    expect(entries.map(({ action }) => action)).toEqual([
      ...['member.joined', 'identity.linked', 'session.started', 'session.started'],
    ]);
  });

  test('a callback that another browser began, or that has no cookie, is rejected: no login into another account', async () => {
    const attacker = await world.begin();
    const stolen = world.provider.authorize(attacker.location);
    expect(await world.finish(stolen, '')).toEqual(refused('failed'));
    const victim = await world.begin();
    expect(await world.finish(stolen, victim.cookie)).toEqual(refused('failed'));
    expect(await world.finish({ ...stolen, state: '' }, attacker.cookie)).toEqual(refused('failed'));
    // The right state with a code of another sign-in: its verifier and nonce do not fit.
    const own = world.provider.authorize(victim.location);
    const other = world.provider.authorize((await world.begin()).location);
    expect(await world.finish({ state: own.state, code: other.code }, victim.cookie)).toEqual(
      refused('failed'),
    );
  });

  test('the same callback a second time is refused, and so is one after ten minutes', async () => {
    const { location, cookie } = await world.begin();
    const answer = world.provider.authorize(location);
    expect((await world.finish(answer, cookie)).refresh).not.toBeNull();
    expect(await world.finish(answer, cookie)).toEqual(refused('failed'));
    const late = await world.begin();
    const lateAnswer = world.provider.authorize(late.location);
    await world.clock.advance(10 * 60_000 + 1);
    expect(await world.finish(lateAnswer, late.cookie)).toEqual(refused('failed'));
  });

  test('a callback of another provider (mix-up) is refused', async () => {
    expect(await world.signIn({ iss: 'https://evil.example' })).toEqual(refused('failed'));
    expect((await world.signIn({ iss: ISSUER })).refresh).not.toBeNull();
    const { location, cookie } = await world.begin();
    const error = { error: 'access_denied', state: world.provider.authorize(location).state };
    expect(await world.finish(error, cookie)).toEqual(refused('failed'));
  });

  test('redirects to no other address, whatever the request contains', async () => {
    const begun = await world.get('/session/oidc?return_to=https://evil.example&next=//evil.example');
    expect(new URL(begun.headers.get('location') ?? '').host).toBe('login.example');
    const back = await world.signIn({ return_to: 'https://evil.example', next: '//evil.example' });
    expect(back.location).toBe(HOME);
  });
});

describe('an ID token is refused', () => {
  const now = () => Math.floor(world.clock.now() / 1_000);
  const forged: readonly [string, () => object][] = [
    ['of another issuer', () => ({ iss: 'https://evil.example' })],
    ['for another client', () => ({ aud: 'other-client' })],
    ['for several clients without azp', () => ({ aud: [CLIENT_ID, 'other'] })],
    ['issued to another client', () => ({ azp: 'other-client' })],
    ['with another nonce', () => ({ nonce: 'replayed' })],
    ['without a nonce', () => ({ nonce: undefined })],
    ['expired', () => ({ exp: now() - 61 })],
    ['of the future', () => ({ iat: now() + 120, exp: now() + 400 })],
    ['issued long ago', () => ({ iat: now() - 3_600 })],
    ['without a subject', () => ({ sub: undefined })],
  ];
  test.each(forged)('%s', async (_, claims) => {
    world.provider.script.claims = claims() as never;
    expect(await world.signIn()).toEqual(refused('failed'));
  });

  test('unsigned, signed with our secret, with a foreign key, altered, or no token at all', async () => {
    const { script, sign } = world.provider;
    const stranger = await createScriptedProvider(world.clock);
    const secret = new TextEncoder().encode(CLIENT_SECRET.padEnd(32, '.'));
    for (const idToken of [
      (claims: object) => new UnsecuredJWT(claims as never).encode(),
      (claims: object) => new SignJWT(claims as never).setProtectedHeader({ alg: 'HS256' }).sign(secret),
      (claims: object) => stranger.sign(claims as never),
      async (claims: object) => {
        const [head, , mark] = (await sign(claims as never)).split('.');
        const body = btoa(JSON.stringify({ ...claims, email: 'boss@acme.example' })).replaceAll('=', '');
        return `${head}.${body}.${mark}`;
      },
      () => 'not.a.token',
      () => 'x'.repeat(40_000),
    ]) {
      script.idToken = idToken;
      expect(await world.signIn()).toEqual(refused('failed'));
    }
  });

  test('without an address, or with one that the provider has not verified', async () => {
    const claims = [
      { email_verified: 'true' },
      { email_verified: undefined },
      { email: undefined },
      { email: 'no address' },
    ];
    for (const one of claims) {
      world.provider.script.claims = one as never;
      expect(await world.signIn()).toEqual(refused('unverified'));
    }
  });

  test('rotated keys are read again, and a flood of unknown keys does not flood the provider', async () => {
    await world.clock.advance(60_000);
    await world.provider.rotate();
    expect((await world.signIn()).refresh).not.toBeNull();
    const reads = world.provider.jwksReads();
    const stranger = await createScriptedProvider(world.clock);
    await stranger.rotate();
    world.provider.script.idToken = (claims) => stranger.sign(claims);
    for (const _ of [1, 2, 3, 4, 5]) expect(await world.signIn()).toEqual(refused('failed'));
    expect(world.provider.jwksReads() - reads).toBeLessThanOrEqual(1);
  });
});

describe('accounts', () => {
  const as = (claims: object) => {
    world.provider.script.claims = claims as never;
    return world.signIn();
  };

  test('a domain that is not mapped cannot sign in, not even as an existing account or by another spelling', async () => {
    const { superAdmin } = world.backend.people;
    world.rules.domains = { 'acme.example': world.backend.companies.acme };
    for (const email of [superAdmin.email, 'x@acme.example.evil.example', 'x@sub.acme.example']) {
      expect(await as({ sub: `s-${email}`, email })).toEqual(refused('domain'));
    }
  });

  test('an existing account is linked by its verified address, and to one identity only', async () => {
    const { member } = world.backend.people;
    const first = await as({ sub: 'of-member', email: member.email.toUpperCase() });
    expect((await whoIs(first.refresh)).id).toBe(member.userId);
    // The provider gave the address to another person.
    expect(await as({ sub: 'successor', email: member.email })).toEqual(refused('linked'));
    // The person has another address now: the identity is the subject.
    const renamed = await as({ sub: 'of-member', email: 'married@acme.example' });
    expect((await whoIs(renamed.refresh)).id).toBe(member.userId);
  });

  test('an account that a stranger created with the address before is not taken over', async () => {
    const email = 'victim@acme.example';
    await graphqlClient(world.backend.fetch, null).ask(
      `mutation($email: String!) { signUp(input: { companyName: "Trap", email: $email, password: "${PASSWORD}" }) { accessToken } }`,
      { email },
    );
    expect(await as({ sub: 'victim', email })).toEqual(refused('unproven'));
  });

  test('SIGN_UP controls new accounts: closed creates none, invited those with an invitation', async () => {
    const { admin } = world.backend.people;
    world.rules.signUpMode = 'closed';
    expect(await as({ sub: 'new-1', email: 'new-1@acme.example' })).toEqual(refused('closed'));
    world.rules.signUpMode = 'invited';
    expect(await as({ sub: 'new-1', email: 'new-1@acme.example' })).toEqual(refused('closed'));
    await admin.ask('mutation { inviteMember(email: "new-1@acme.example", role: COMPANY_ADMIN) { id } }');
    const joined = await as({ sub: 'new-1', email: 'new-1@acme.example' });
    expect(await whoIs(joined.refresh)).toMatchObject({ role: 'COMPANY_ADMIN', companyId: admin.companyId });
    expect(await admin.ask('{ invitations { nodes { email } } }')).toEqual({ invitations: { nodes: [] } });
    world.rules.signUpMode = 'open';
    expect(await as({ sub: 'new-2', email: 'new-2@people.example' })).toEqual(refused('unknown'));
  });

  test('new accounts respect the company’s ceiling of members', async () => {
    const { superAdmin, admin } = world.backend.people;
    world.rules.domains = { 'acme.example': world.backend.companies.acme };
    const { members } = await admin.ask<{ members: { nodes: object[] } }>(
      '{ members(first: 100) { nodes { email } } }',
    );
    const set = (most: number | null) =>
      superAdmin.ask(
        'mutation($id: ID!, $input: CeilingsInput!) { setCompanyCeilings(companyId: $id, input: $input) { id } }',
        { id: admin.companyId, input: { members: most } },
      );
    await set(members.nodes.length + 1);
    const fits = await as({ sub: 'fits', email: 'fits@acme.example' });
    expect((await whoIs(fits.refresh)).companyId).toBe(admin.companyId);
    expect(await as({ sub: 'late', email: 'late@acme.example' })).toEqual(refused('full'));
    await set(null);
  });

  test('roles are taken from the mapped claim, in the mapped company; super admin only where that is mapped', async () => {
    world.rules.roles = { boss: 'COMPANY_ADMIN', staff: 'MEMBER' };
    const bob = { sub: 'bob', email: 'bob@acme.example' };
    const role = async (groups: unknown) => await whoIs((await as({ ...bob, groups })).refresh);
    expect(await role(['boss', 'SUPER_ADMIN', 'superadmin'])).toMatchObject({
      role: 'COMPANY_ADMIN',
      isSuperAdmin: false,
    });
    expect(await role('staff')).toMatchObject({ role: 'MEMBER', isSuperAdmin: false });
    expect(await role({ toString: 'boss' })).toMatchObject({ role: 'MEMBER' });
    expect(await role(['__proto__', 'constructor'])).toMatchObject({ role: 'MEMBER' });
    world.rules.roles = { ...world.rules.roles, operators: 'SUPER_ADMIN' };
    expect(await role(['operators'])).toMatchObject({ isSuperAdmin: true });
    expect(await role(['staff'])).toMatchObject({ isSuperAdmin: false });
    // Of an account in another company the claim decides nothing.
    const { otherAdmin } = world.backend.people;
    world.rules.domains = { 'people.example': world.backend.companies.acme };
    const other = await whoIs(
      (await as({ sub: 'other', email: otherAdmin.email, groups: ['staff'] })).refresh,
    );
    expect(other).toMatchObject({ role: 'COMPANY_ADMIN', companyId: world.backend.companies.other });
  });

  test('a removed user signs in as a new user or not at all', async () => {
    const { admin } = world.backend.people;
    const eve = { sub: 'eve', email: 'eve@acme.example' };
    const { id } = await whoIs((await as(eve)).refresh);
    await admin.ask('mutation($id: ID!) { removeMember(userId: $id) }', { id });
    world.rules.signUpMode = 'invited';
    expect(await as(eve)).toEqual(refused('closed'));
  });

  test('who was removed from the company of the domain comes back by an invitation alone', async () => {
    const { admin } = world.backend.people;
    const remove = (id: unknown) => admin.ask('mutation($id: ID!) { removeMember(userId: $id) }', { id });
    const fay = { sub: 'fay', email: 'fay@acme.example' };
    const { id } = await whoIs((await as(fay)).refresh);
    await remove(id);
    expect(await as(fay)).toEqual(refused('closed'));
    // Nor with another address of the same identity.
    expect(await as({ ...fay, email: 'fay.new@acme.example' })).toEqual(refused('closed'));
    // Another person, who has the address now.
    const successor = await whoIs((await as({ sub: 'fay-2', email: fay.email })).refresh);
    expect(successor).toMatchObject({ companyId: admin.companyId, role: 'MEMBER' });
    await remove(successor.id);
    // Removed before the first sign-in by OIDC.
    const gus = await world.backend.person(admin.companyId);
    await remove(gus.userId);
    world.rules.domains = { ...world.rules.domains, 'people.example': admin.companyId };
    expect(await as({ sub: 'gus', email: gus.email })).toEqual(refused('closed'));
    await admin.ask('mutation { inviteMember(email: "fay@acme.example") { id } }');
    const back = await whoIs((await as(fay)).refresh);
    expect(back).toMatchObject({ companyId: admin.companyId, email: fay.email });
    expect(back.id).not.toBe(id);
  });

  test('an invitation of another company does not take a person away from the company of their domain', async () => {
    const { admin, otherAdmin } = world.backend.people;
    const invite = 'mutation($email: String!) { inviteMember(email: $email, role: COMPANY_ADMIN) { id } }';
    const hal = { sub: 'hal', email: 'hal@acme.example' };
    await admin.ask(invite, { email: hal.email });
    await otherAdmin.ask(invite, { email: hal.email });
    expect(await whoIs((await as(hal)).refresh)).toMatchObject({ companyId: admin.companyId });
    const ida = { sub: 'ida', email: 'ida@acme.example' };
    await otherAdmin.ask(invite, { email: ida.email });
    expect(await whoIs((await as(ida)).refresh)).toMatchObject({
      companyId: admin.companyId,
      role: 'MEMBER',
    });
    // Of a domain without a company: the only invitation counts, and of two neither.
    const joe = { sub: 'joe', email: 'joe@people.example' };
    await otherAdmin.ask(invite, { email: joe.email });
    await admin.ask(invite, { email: joe.email });
    expect(await as(joe)).toEqual(refused('unknown'));
    const kim = { sub: 'kim', email: 'kim@people.example' };
    await otherAdmin.ask(invite, { email: kim.email });
    expect(await whoIs((await as(kim)).refresh)).toMatchObject({ companyId: otherAdmin.companyId });
  });
});

test('guessed callbacks are counted by address', async () => {
  const guess = () =>
    world.backend.fetch(new Request(`${ORIGIN}/session/oidc/callback?code=x&state=y`), '203.0.113.7');
  for (let count = 0; count < 100; count += 1) await guess();
  expect((await guess()).headers.get('location')).toBe(`${HOME}?sign-in=busy`);
});

describe('the requests to the provider', () => {
  test.each([
    ['the issuer', false],
    ['a host that a document names, at its approved address', true],
  ])('to %s follow no redirect and bound the response', async (_, isNamed) => {
    const seen: string[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const { pathname } = new URL(request.url);
        seen.push(`${request.method} ${pathname} ${await request.text()}`);
        if (pathname === '/moved') return Response.redirect('/elsewhere', 307);
        if (pathname === '/huge') return new Response('x'.repeat(2_000_000));
        return Response.json({ fine: true });
      },
    });
    // No resolver has an address of this name.
    const base = `http://${isNamed ? 'keys.invalid' : '127.0.0.1'}:${server.port}`;
    const approveHost = (host: string) =>
      host === 'keys.invalid'
        ? ({ outcome: 'approved', addresses: ['127.0.0.1'] } as const)
        : ({ outcome: 'inside', problem: 'inside the network' } as const);
    const parts = { issuer: isNamed ? 'https://login.example' : base, approveHost };
    const transport = createOidcTransport({ ...parts, usesProxy: null });
    expect(await transport.getJson(`${base}/fine`)).toEqual({ fine: true });
    const answer = { status: 200, body: { fine: true } };
    expect(await transport.postForm(`${base}/token`, { code: 'c d' }, {})).toEqual(answer);
    expect(seen).toEqual(['GET /fine ', 'POST /token code=c+d']);
    await expect(transport.getJson(`${base}/moved`)).rejects.toThrow();
    await expect(transport.postForm(`${base}/moved`, { code: 'c' }, {})).rejects.toThrow();
    await expect(transport.getJson(`${base}/huge`)).rejects.toThrow('too many bytes');
    await expect(transport.getJson('http://169.254.169.254/latest')).rejects.toThrow('inside the network');
    expect(seen.filter((request) => request.includes('elsewhere'))).toEqual([]);
    const proxied = createOidcTransport({ ...parts, usesProxy: () => true });
    const before = seen.length;
    if (isNamed) await expect(proxied.getJson(`${base}/keys`)).rejects.toThrow();
    expect(seen).toHaveLength(before);
    await server.stop(true);
  });

  test('a discovery document of another issuer, or without TLS, is not used', async () => {
    for (const metadata of [
      { issuer: 'https://evil.example' },
      { token_endpoint: 'http://login.example/token' },
      { jwks_uri: 'not a url' },
    ]) {
      const clock = createManualClock();
      const provider = await createScriptedProvider(clock);
      provider.script.metadata = metadata;
      const settings = { ...SETTINGS, clientSecret: null, roleClaim: null };
      const secrets = createSystemSecrets();
      const oidc = createOidc({ settings, transport: provider.transport, clock, secrets });
      await expect(oidc.begin()).rejects.toThrow();
    }
  });
});
