import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { serverAudits } from 'graphql-http';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { QUERY_LIMITS } from '../../src/backend/graphql/query-limits.ts';
import { type Listening, listen } from '../../src/http/listen.ts';
import { cpuMsOf } from '../doubles/cpu-time.ts';
import { useDatabase } from '../setup/use-database.ts';
import { useResource } from '../setup/use-resource.ts';
import { type BackendUnderTest, openBackend } from './backend-under-test.ts';

describe('GraphQL', () => {
  const backend = useResource(() => openBackend());

  test('P-7 whoAmI returns id, email and isSuperAdmin', async () => {
    const { superAdmin, member } = backend.people;
    const query = '{ whoAmI { id email isSuperAdmin } }';
    expect(await member.ask(query)).toEqual({
      whoAmI: { id: member.userId, email: member.email, isSuperAdmin: false },
    });
    expect(await superAdmin.ask(query)).toMatchObject({ whoAmI: { isSuperAdmin: true } });
  });
});

describe('limits of a query', () => {
  const backend = useResource(() => openBackend());

  const codes = async (query: string) =>
    (await backend.people.admin.answer(query)).errors?.map(({ extensions }) => extensions.code) ?? [];
  const messages = async (query: string) =>
    (await backend.people.admin.answer(query)).errors?.map(({ message }) => message).join(' ') ?? '';

  test('not deeper than the limit, through fragments too', async () => {
    const nested = (levels: number) => `${'apiKey { '.repeat(levels)}id${' }'.repeat(levels)}`;
    const mutation = (levels: number) =>
      `mutation { createApiKey(input: { name: "k" }) { ${nested(levels)} } }`;
    expect(await messages(mutation(QUERY_LIMITS.depth))).toContain('levels deep');
    expect(await messages('{ apiKeys { ...a } } fragment a on ApiKey { id createdBy { id } }')).toBe('');
    const fragments = `fragment a on ApiKey { ${nested(QUERY_LIMITS.depth)} }`;
    expect(await messages(`{ apiKeys { ...a } } ${fragments}`)).toContain('levels deep');
  });

  test('fragments that spread each other repeatedly are checked quickly', async () => {
    const count = 60;
    const fragments = Array.from({ length: count }, (_, n) =>
      n === count - 1
        ? `fragment f${n} on Member { id email role }`
        : `fragment f${n} on Member { ...f${n + 1} ... on Member { ...f${n + 1} } }`,
    );
    const query = `{ members { nodes { ...f0 } } } ${fragments.join(' ')}`;
    const cpuMs = await cpuMsOf(async () => expect(await messages(query)).toContain('costs'));
    expect(cpuMs).toBeLessThan(5_000);
    const cycle = 'fragment a on Member { ...b } fragment b on Member { ...a }';
    expect(await codes(`{ members { nodes { ...a } } } ${cycle}`)).toContain('GRAPHQL_VALIDATION_FAILED');
  });

  test('not with more aliases, directives, tokens or mutations than the limits', async () => {
    const aliases = Array.from({ length: QUERY_LIMITS.aliases + 1 }, (_, n) => `a${n}: __typename`).join(' ');
    expect(await messages(`{ ${aliases} }`)).toContain('aliases');
    const directives = '@include(if: true) '.repeat(QUERY_LIMITS.directives + 1);
    expect(await messages(`{ __typename ${directives} }`)).toContain('directives');
    expect(await messages(`{ ${'a '.repeat(QUERY_LIMITS.tokens)} }`)).toContain('tokens');
    const logins = Array.from(
      { length: QUERY_LIMITS.mutations + 1 },
      (_, n) => `a${n}: login(email: "a@b.cd", password: "x") { expiresAt }`,
    );
    expect(await messages(`mutation { ${logins.join(' ')} }`)).toContain('mutations');
    expect(await messages(`{ __typename } # ${'x'.repeat(20_000)}`)).toContain('characters');
  });

  test('not several in a row: a batch is refused, and none of it runs', async () => {
    const before = await backend.people.admin.ask('{ company { name } }');
    const rename = { query: 'mutation { updateCompany(name: "Batch") { name } }' };
    const { token } = backend.people.admin;
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const body = JSON.stringify([rename, rename]);
    const answer = await backend.fetch(
      new Request('http://backend.test/graphql', { method: 'POST', headers, body }),
    );
    expect(answer.status).toBe(400);
    expect(await answer.json()).toHaveProperty('errors.0.extensions.code');
    expect(await backend.people.admin.ask('{ company { name } }')).toEqual(before);
  });
});

describe('errors', () => {
  let backend: BackendUnderTest;
  const outage = { isUnavailable: false, reason: 'unavailable' };
  const real = useDatabase();
  beforeAll(async () => {
    const away = () => {
      const error = new Error('connection to db-7.internal refused for user turnpike');
      return Promise.reject(Object.assign(error, { name: 'DatabaseFailure', reason: outage.reason }));
    };
    backend = await openBackend({
      database: {
        ...real,
        query: (text, values) => (outage.isUnavailable ? away() : real.query(text, values)),
        transaction: (work) => (outage.isUnavailable ? away() : real.transaction(work)),
      },
    });
  });

  test('an unexpected error is logged, and the client gets only its request id', async () => {
    const { token } = backend.people.admin;
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${token}`,
      'x-request-id': 'mine-7',
    };
    const body = JSON.stringify({ query: '{ company { id } }' });
    outage.isUnavailable = true;
    const answer = await backend.fetch(
      new Request('http://backend.test/graphql', { method: 'POST', headers, body }),
    );
    outage.isUnavailable = false;
    const shown = await answer.text();
    expect(JSON.parse(shown)).toMatchObject({
      errors: [{ extensions: { code: 'INTERNAL_SERVER_ERROR', requestId: 'mine-7' } }],
    });
    expect(shown).toContain('The service is unavailable right now.');
    expect(shown).toContain('Quote the request id mine-7');
    expect(shown).not.toContain('db-7');
    expect(shown).not.toContain('stack');
    const logged = backend.entries.filter(({ level }) => level === 'error');
    expect(logged).toMatchObject([{ context: { requestId: 'mine-7', path: 'company' } }]);
    expect(String(logged[0]?.context.error)).toContain('db-7');
  });

  test('where no connection to the database is free, the client is asked to try again', async () => {
    outage.reason = 'busy';
    outage.isUnavailable = true;
    const { message, extensions } = await backend.people.admin.refusal('{ company { id } }');
    outage.isUnavailable = false;
    outage.reason = 'unavailable';
    expect(extensions.code).toBe('INTERNAL_SERVER_ERROR');
    expect(message).toStartWith('The service is busy right now. Try again shortly.');
    expect(message).not.toContain('db-7');
  });

  test('variables of the wrong type are BAD_USER_INPUT, with the value shortened', async () => {
    const { anonymous } = backend.people;
    const login = 'mutation($email: String!) { login(email: $email, password: "x") { expiresAt } }';
    for (const variables of [{}, { email: null }, { email: { a: 'x'.repeat(9_000) } }]) {
      const { errors } = await anonymous.answer(login, variables);
      expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['BAD_USER_INPUT']);
      expect(errors?.[0]?.message.length).toBeLessThanOrEqual(500);
    }
    const dated = 'mutation($at: DateTime) { createApiKey(input: { name: "k", expiresAt: $at }) { rawKey } }';
    for (const at of ['tomorrow', 5, '2031-01-01T00:00:00']) {
      const { errors } = await backend.people.admin.answer(dated, { at });
      expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['BAD_USER_INPUT']);
    }
  });

  test('bodies that are not a request are refused with a code', async () => {
    const bodies = [
      '',
      'null',
      '[]',
      '{"query":1}',
      '{"query":"{ a"}',
      '{"query":"{ __typename }","more":1}',
    ];
    for (const body of bodies) {
      const headers = { 'content-type': 'application/json' };
      const request = new Request('http://backend.test/graphql', { method: 'POST', headers, body });
      const answer = await backend.fetch(request);
      expect([200, 400]).toContain(answer.status);
      const { errors, data } = (await answer.json()) as {
        errors: { extensions: { code: string } }[];
        data?: unknown;
      };
      expect(errors[0]?.extensions.code).toBeString();
      expect(errors[0]?.extensions.code).not.toBe('INTERNAL_SERVER_ERROR');
      expect(data).toBeUndefined();
    }
  });
});

describe('GraphQL over HTTP, on a real socket', () => {
  let backend: BackendUnderTest;
  let listening: Listening;
  let url: string;

  beforeAll(async () => {
    backend = await openBackend();
    const clock = createSystemClock();
    const network = { hostname: '127.0.0.1', port: 0, reusePort: false };
    const { log, secrets } = backend.parts;
    listening = listen({ name: 'backend', fetch: backend.app.fetch, ...network, clock, secrets, log });
    url = `${listening.url}/graphql`;
  });
  afterAll(async () => {
    await listening.drain(0);
    await backend.close();
  });

  function post(body: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });
  }

  const audits = serverAudits({ url: () => url });

  test('P-4 there are 61 audits of the specification', () => {
    expect(audits).toHaveLength(61);
  });
  for (const audit of audits) {
    test(`P-4 ${audit.name}`, async () => {
      const result = await audit.fn();
      expect({ status: result.status, reason: 'reason' in result ? result.reason : null }).toEqual({
        status: 'ok',
        reason: null,
      });
    });
  }

  test('every response has a request id and is not cached', async () => {
    const answer = await post('{"query":"{ __typename }"}', { 'x-request-id': 'mine-1' });
    expect(answer.headers.get('x-request-id')).toBe('mine-1');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('a request that a page of another origin can send without a preflight is refused, unread', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const answer = await post('{"query":"{ __typename }"}', { 'content-type': type });
      expect(answer.status).toBe(415);
      expect(await answer.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] });
    }
  });

  test('only the console’s own origin may read answers', async () => {
    const own = { origin: 'https://console.example' };
    const allowed = await post('{"query":"{ __typename }"}', own);
    expect(allowed.headers.get('access-control-allow-origin')).toBe(own.origin);
    const asked = await fetch(url, { method: 'OPTIONS', headers: own });
    expect(asked.status).toBe(204);
    expect(asked.headers.get('access-control-allow-headers')).toContain('authorization');
    for (const origin of ['https://evil.example', 'https://console.example.evil.example', 'null']) {
      const foreign = await post('{"query":"{ __typename }"}', { origin });
      expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
      const preflight = await fetch(url, { method: 'OPTIONS', headers: { origin } });
      expect(preflight.headers.get('access-control-allow-headers')).toBeNull();
    }
  });

  test('a browser gets no page', async () => {
    const answer = await fetch(url, { headers: { accept: 'text/html' } });
    expect(answer.headers.get('content-type') ?? '').not.toContain('html');
    expect(await answer.text()).not.toContain('<');
  });

  test('a body that is too large, declared or not, is refused', async () => {
    const large = JSON.stringify({ query: `{ __typename } # ${'x'.repeat(300_000)}` });
    expect((await post(large)).status).toBe(413);
    const chunks = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(large));
        controller.close();
      },
    });
    const headers = { 'content-type': 'application/json' };
    const streamed = await fetch(url, { method: 'POST', headers, body: chunks });
    expect(streamed.status).toBe(413);
  });
});
