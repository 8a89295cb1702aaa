import { describe, expect, test } from 'bun:test';
import { getIntrospectionQuery } from 'graphql';
import { QUERY_LIMITS } from '../../src/backend/graphql/query-limits.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBackend } from './backend-under-test.ts';

const backend = useResource(() => openBackend());

const codes = async (query: string) =>
  (await backend.people.admin.answer(query)).errors?.map(({ extensions }) => extensions.code) ?? [];
const messages = async (query: string) =>
  (await backend.people.admin.answer(query)).errors?.map(({ message }) => message).join(' ') ?? '';

describe('what a query may be', () => {
  test('P-5 a query that names an unknown field fails validation, and nothing runs', async () => {
    const before = await backend.people.admin.ask('{ company { name } }');
    const query = 'mutation { updateCompany(name: "Changed") { name secretField } }';
    expect(await codes(query)).toEqual(['GRAPHQL_VALIDATION_FAILED']);
    expect((await backend.people.admin.answer(query)).data).toBeUndefined();
    expect(await backend.people.admin.ask('{ company { name } }')).toEqual(before);
  });

  test('P-4 the whole introspection query passes, without a token', async () => {
    for (const query of [
      getIntrospectionQuery(),
      getIntrospectionQuery({ oneOf: true, inputValueDeprecation: true }),
    ]) {
      expect(await backend.people.nobody.ask(query)).toHaveProperty('__schema.queryType.name', 'Query');
    }
  });

  test('not deeper than the limit, through fragments too', async () => {
    const nested = (levels: number) => `${'apiKey { '.repeat(levels)}id${' }'.repeat(levels)}`;
    const mutation = (levels: number) =>
      `mutation { createApiKey(input: { name: "k" }) { ${nested(levels)} } }`;
    expect(await messages(mutation(QUERY_LIMITS.depth))).toContain('levels deep');
    expect(await messages('{ apiKeys { ...a } } fragment a on ApiKey { id createdBy { id } }')).toBe('');
    const fragments = `fragment a on ApiKey { ${nested(QUERY_LIMITS.depth)} }`;
    expect(await messages(`{ apiKeys { ...a } } ${fragments}`)).toContain('levels deep');
  });

  test('fragments that spread each other again and again are judged in no time', async () => {
    const count = 60;
    const fragments = Array.from({ length: count }, (_, n) =>
      n === count - 1
        ? `fragment f${n} on Member { id email role }`
        : `fragment f${n} on Member { ...f${n + 1} ... on Member { ...f${n + 1} } }`,
    );
    const startedAt = performance.now();
    expect(await messages(`{ members { nodes { ...f0 } } } ${fragments.join(' ')}`)).toContain('costs');
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    const cycle = 'fragment a on Member { ...b } fragment b on Member { ...a }';
    expect(await codes(`{ members { nodes { ...a } } } ${cycle}`)).toContain('GRAPHQL_VALIDATION_FAILED');
  });

  test('not dearer than the limit: pages multiply', async () => {
    const page = (first: string) => `auditLog(first: ${first}) { nodes { id action objectId requestId } }`;
    const many = Array.from({ length: 20 }, (_, n) => `a${n}: ${page('100')}`).join(' ');
    expect(await messages(`{ ${many} }`)).toContain('costs');
    expect(await messages(`{ ${page('100')} }`)).toBe('');
    const byVariable = Array.from({ length: 20 }, (_, n) => `a${n}: ${page('$n')}`).join(' ');
    expect(await messages(`query($n: Int = 1) { ${byVariable} }`)).toContain('costs');
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
