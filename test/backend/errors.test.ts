import { beforeAll, describe, expect, test } from 'bun:test';
import { useMemoryDatabase } from '../setup/use-memory-database.ts';
import { type BackendUnderTest, openBackend } from './backend-under-test.ts';

let backend: BackendUnderTest;
const outage = { isAway: false };
const real = useMemoryDatabase();
beforeAll(async () => {
  const away = () => Promise.reject(new Error('connection to db-7.internal refused for user turnpike'));
  backend = await openBackend({
    database: {
      ...real,
      query: (text, values) => (outage.isAway ? away() : real.query(text, values)),
      transaction: (work) => (outage.isAway ? away() : real.transaction(work)),
    },
  });
});

describe('errors', () => {
  test('what nobody foresaw is told to the log, and to the client by its request id alone', async () => {
    const { token } = backend.people.admin;
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${token}`,
      'x-request-id': 'mine-7',
    };
    const body = JSON.stringify({ query: '{ company { id } }' });
    outage.isAway = true;
    const answer = await backend.fetch(
      new Request('http://backend.test/graphql', { method: 'POST', headers, body }),
    );
    outage.isAway = false;
    const shown = await answer.text();
    expect(JSON.parse(shown)).toMatchObject({
      errors: [{ extensions: { code: 'INTERNAL_SERVER_ERROR', requestId: 'mine-7' } }],
    });
    expect(shown).toContain('Quote the request id mine-7');
    expect(shown).not.toContain('db-7');
    expect(shown).not.toContain('stack');
    const logged = backend.entries.filter(({ level }) => level === 'error');
    expect(logged).toMatchObject([{ context: { requestId: 'mine-7', path: 'company' } }]);
    expect(String(logged[0]?.context.error)).toContain('db-7');
  });

  test('variables of the wrong type are BAD_USER_INPUT, shown short', async () => {
    const { nobody } = backend.people;
    const login = 'mutation($email: String!) { login(email: $email, password: "x") { expiresAt } }';
    for (const variables of [
      {},
      { email: 1 },
      { email: null },
      { email: [] },
      { email: { a: 'x'.repeat(9_000) } },
    ]) {
      const { errors } = await nobody.answer(login, variables);
      expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['BAD_USER_INPUT']);
      expect(errors?.[0]?.message.length).toBeLessThanOrEqual(500);
    }
    const dated = 'mutation($at: DateTime) { createApiKey(input: { name: "k", expiresAt: $at }) { rawKey } }';
    for (const at of ['tomorrow', '2031-13-01', 5, '2031-01-01T00:00:00', {}]) {
      const { errors } = await backend.people.admin.answer(dated, { at });
      expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['BAD_USER_INPUT']);
    }
  });

  test('bodies that are no request are refused with a code', async () => {
    const bodies = [
      '',
      '{',
      'null',
      '"x"',
      '[]',
      '{}',
      '{"query":1}',
      '{"query":"{ a"}',
      '{"query":"{ __typename }","variables":"x"}',
      '{"query":"{ __typename }","more":1}',
      '\u0000',
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

  test('a refused change leaves nothing behind', async () => {
    const counts = () =>
      backend.database.query(
        'select (select count(*) from companies) as c, (select count(*) from audit_log) as a',
      );
    const before = await counts();
    const input = { companyName: 'Twice', email: backend.people.member.email, password: 'a long password' };
    const signUp = 'mutation($input: SignUpInput!) { signUp(input: $input) { expiresAt } }';
    expect((await backend.people.nobody.refusal(signUp, { input })).extensions.code).toBe('CONFLICT');
    expect(await counts()).toEqual(before);
  });
});
