import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  buildClientSchema,
  executeSync,
  getIntrospectionQuery,
  type IntrospectionQuery,
  lexicographicSortSchema,
  printSchema,
} from 'graphql';
import { parseQuery } from '../../src/backend/graphql/query-limits.ts';
import { createSchema } from '../../src/backend/graphql/schema.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBackend } from './backend-under-test.ts';

const backend = useResource(() => openBackend());
const schema = createSchema();
const FOLDER = join(import.meta.dir, '../recorded/introspection');

/** What tools send, as recorded, and the variants of graphql-js that they are built on. */
const sent = new Map<string, string>();
for (const file of readdirSync(FOLDER)) sent.set(file, await Bun.file(join(FOLDER, file)).text());
const EVERYTHING = {
  ...{ descriptions: true, specifiedByUrl: true, directiveIsRepeatable: true, schemaDescription: true },
  ...{ inputValueDeprecation: true, experimentalDirectiveDeprecation: true, oneOf: true },
};
sent.set('graphql-js 16, all options', getIntrospectionQuery({ ...EVERYTHING, typeDepth: 15 }));
sent.set('graphql-js 16, no option', getIntrospectionQuery({ descriptions: false }));
sent.set('every fragment written out', inlined(getIntrospectionQuery({ descriptions: false, typeDepth: 7 })));

/** As the executor of graphql-js answers it. */
function expected(query: string, variableValues: Record<string, unknown> = {}) {
  const result = executeSync({ schema, document: parseQuery(query), variableValues });
  return JSON.parse(JSON.stringify(result.data)) as IntrospectionQuery;
}

function inlined(query: string): string {
  const fragments = new Map<string, string>();
  const operation = query.replaceAll(/fragment (\w+) on \w+ (\{[\s\S]*?\n {4}\})/g, (_, name, body) => {
    fragments.set(name, body.slice(1, -1));
    return '';
  });
  let written = operation;
  while (written.includes('...')) {
    written = written.replaceAll(/\.\.\.(\w+)/g, (_, name) => fragments.get(name) ?? '');
  }
  return written;
}

describe('introspection of tools', () => {
  test.each([...sent])('P-4 %s is answered in full', async (_, query) => {
    const data = await backend.people.anonymous.ask<IntrospectionQuery>(query);
    expect(data).toEqual(expected(query));
    expect(JSON.stringify(data)).toBe(JSON.stringify(expected(query)));
    if (!query.includes('directives {') && !query.includes('directives(')) return;
    const built = buildClientSchema(data);
    const isWhole = query.includes('description') && query.includes('isOneOf');
    if (isWhole) expect(printed(built)).toBe(printed(schema));
    else expect(Object.keys(built.getTypeMap()).sort()).toEqual(Object.keys(schema.getTypeMap()).sort());
  });

  test('P-4 the schema has only what schema builders of October 2021 know', async () => {
    const { __schema: found } = await backend.people.anonymous.ask<IntrospectionQuery>(
      getIntrospectionQuery(EVERYTHING),
    );
    const locations: readonly string[] = found.directives.flatMap((directive) => directive.locations);
    for (const location of locations) expect(KNOWN_LOCATIONS).toContain(location);
    expect(locations).toContain('ENUM_VALUE');
    for (const { kind } of found.types) expect(KNOWN_KINDS).toContain(kind);
  });
});

describe('introspection of any shape', () => {
  test.each([
    [
      'aliases',
      `{ ${Array.from({ length: 40 }, (_, n) => `a${n}: __type(name: "Talent") { kind }`).join(' ')} }`,
    ],
    [
      'one name of two fragments',
      '{ ...A ...B } fragment A on Query { __schema { queryType { name } } } fragment B on Query { __schema { queryType { kind } } }',
    ],
    [
      'conditions',
      '{ __schema { types { name @skip(if: true) kind ... on __Type @include(if: false) { name } } } }',
    ],
    [
      'nested types',
      '{ __schema { queryType { fields { type { fields { type { fields { name } } } } } } } }',
    ],
    [
      'deep `ofType`',
      `{ __type(name: "Query") { fields { type { ${'ofType { '.repeat(60)} name ${'} '.repeat(60)} } } } }`,
    ],
    ['an unknown type', '{ __type(name: "Nothing") { name } __typename }'],
  ])('%s', async (_, query) => {
    expect(JSON.stringify(await backend.people.anonymous.ask(query))).toBe(JSON.stringify(expected(query)));
  });

  test('with variables', async () => {
    const query =
      'query($name: String!, $all: Boolean) { __type(name: $name) { fields(includeDeprecated: $all) { name } } }';
    for (const all of [true, false, undefined]) {
      const variables = { name: 'Plan', all };
      expect(await backend.people.anonymous.ask<object>(query, variables)).toEqual(
        expected(query, variables),
      );
    }
    expect((await backend.people.anonymous.refusal(query, {})).extensions.code).toBe('BAD_USER_INPUT');
  });

  test('beside data, in the order of the query', async () => {
    const { admin } = backend.people;
    const query = '{ kind: __typename a: __schema { queryType { name } } company { name } whoAmI { email } }';
    const { data } = await admin.answer(query);
    expect(Object.keys(data ?? {})).toEqual(['kind', 'a', 'company', 'whoAmI']);
    expect(data).toMatchObject({ a: { queryType: { name: 'Query' } }, whoAmI: { email: admin.email } });
  });
});

function printed(one: typeof schema): string {
  return printSchema(lexicographicSortSchema(one));
}

/** As in graphql-js 15 and 16.0, and in graphql-core 3.2. */
const KNOWN_LOCATIONS: readonly string[] = [
  ...['QUERY', 'MUTATION', 'SUBSCRIPTION', 'FIELD', 'FRAGMENT_DEFINITION', 'FRAGMENT_SPREAD'],
  ...['INLINE_FRAGMENT', 'VARIABLE_DEFINITION', 'SCHEMA', 'SCALAR', 'OBJECT', 'FIELD_DEFINITION'],
  ...[
    'ARGUMENT_DEFINITION',
    'INTERFACE',
    'UNION',
    'ENUM',
    'ENUM_VALUE',
    'INPUT_OBJECT',
    'INPUT_FIELD_DEFINITION',
  ],
];
const KNOWN_KINDS: readonly string[] = [
  'SCALAR',
  'OBJECT',
  'INTERFACE',
  'UNION',
  'ENUM',
  'INPUT_OBJECT',
  'LIST',
  'NON_NULL',
];
