import { describe, expect, test } from 'bun:test';
import { executeSync, getIntrospectionQuery, parse } from 'graphql';
import { QUERY_LIMITS } from '../../src/backend/graphql/query-limits.ts';
import { createSchema } from '../../src/backend/graphql/schema.ts';
import { openBackend } from '../backend/backend-under-test.ts';
import { openLiveLogs } from '../backend/live-logs-under-test.ts';
import { initOf, openRawSocket } from '../backend/raw-socket.ts';
import { useResource } from '../setup/use-resource.ts';

const backend = useResource(() => openBackend());
/** Generous: before, each of the queries took 70 to 150 ms, warm, on a machine with nothing else to do. */
const MOST_CPU_MS = 50;

async function answerOf(query: string) {
  const before = process.cpuUsage();
  const body = JSON.stringify({ query });
  const headers = { 'content-type': 'application/json' };
  const url = 'http://backend.test/graphql';
  const response = await backend.fetch(new Request(url, { method: 'POST', headers, body }));
  const text = await response.text();
  const { user, system } = process.cpuUsage(before);
  return { text, cpuMs: (user + system) / 1_000 };
}

/** The cheapest of five: what else runs in this process meanwhile is not the query's. */
async function costOf(query: string) {
  const texts: string[] = [];
  let cpuMs = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < 5; turn += 1) {
    // Another text each time, so that nothing of the one before is reused.
    const answer = await answerOf(`${query} #${turn}`);
    texts.push(answer.text);
    cpuMs = Math.min(cpuMs, answer.cpuMs);
  }
  return { text: texts[0] ?? '', cpuMs };
}

const types = 'types { name description fields { name description args { name type { name } } } }';
const nested = (levels: number): string =>
  levels === 0 ? 'name' : `fields { type { ${nested(levels - 1)} } }`;

describe('introspection without a token', () => {
  test.each([
    ['under 25 names', `{ ${Array.from({ length: 25 }, (_, n) => `a${n}: __schema { ...S }`).join(' ')} }`],
    ['nested', `{ __schema { types { ${nested(2)} } } } fragment S on __Schema { ${types} }`],
    [
      'of many types',
      `{ ${Array.from({ length: 25 }, (_, n) => `a${n}: __type(name: "Mutation") { ...T }`)} }`,
    ],
  ])('%s is priced before it runs', async (_, query) => {
    const fragments = query.includes('...T')
      ? ' fragment T on __Type { fields { name args { name type { name fields { name } } } } }'
      : query.includes('...S')
        ? ` fragment S on __Schema { ${types} }`
        : '';
    const { text, cpuMs } = await costOf(query + fragments);
    expect(text).toContain('The query costs');
    expect(text.length).toBeLessThan(500);
    expect(cpuMs).toBeLessThan(MOST_CPU_MS);
  });

  test('P-4 introspection in every variant that tools send is executed, at a fraction of the price', async () => {
    const schema = createSchema();
    const flags = ['descriptions', 'specifiedByUrl', 'directiveIsRepeatable'];
    const names = [...flags, 'schemaDescription', 'inputValueDeprecation', 'oneOf'];
    // None of them, all, each alone, and all but each.
    const single = [1, 2, 4, 8, 16, 32];
    for (const bits of [0, 63, ...single, ...single.map((bit) => 63 - bit)]) {
      const options = Object.fromEntries(names.map((name, at) => [name, (bits & (1 << at)) > 0]));
      const query = getIntrospectionQuery(options);
      const expected = executeSync({ schema, document: parse(query) });
      expect(JSON.parse((await answerOf(query)).text)).toEqual(JSON.parse(JSON.stringify(expected)));
    }
    expect((await costOf(getIntrospectionQuery())).cpuMs).toBeLessThan(MOST_CPU_MS);
  });

  test('P-4 small introspection queries of other tools are answered too', async () => {
    for (const query of [
      '{ __schema { queryType { name fields { name } } } }',
      '{ __type(name: "Talent") { fields { name type { name kind ofType { name } } } } }',
      'query Q { __schema { ... on __Schema { types { ...N } } } } fragment N on __Type { kind name }',
      '{ __typename }',
    ]) {
      const { text } = await answerOf(query);
      expect(JSON.parse(text)).toEqual(
        JSON.parse(JSON.stringify(executeSync({ schema: createSchema(), document: parse(query) }))),
      );
    }
  });

  test('an invalid query that looks like it is refused like any other', async () => {
    for (const query of [
      '{ __schema }',
      '{ __schema { types { name(includeDeprecated: true) } } }',
      '{ __schema { types { name } } } fragment Unused on __Type { name }',
      '{ __schema { types { ...A } } } fragment A on __Type { ...B } fragment B on __Type { ...A }',
    ]) {
      expect((await answerOf(query)).text).toContain('GRAPHQL_VALIDATION_FAILED');
    }
  });
});

describe('a query', () => {
  test.each([
    ['the same field 320 times', `{ ${'company { id name } '.repeat(320)} }`],
    ['900 unknown fields', `{ ${Array.from({ length: 900 }, (_, n) => `compani${n}`).join(' ')} }`],
    ['nested values', `{ auditLog(first: ${'['.repeat(900)}1${']'.repeat(900)}) { nodes { id } } }`],
  ])('with %s is refused at once', async (_, query) => {
    const { text, cpuMs } = await costOf(query);
    expect(JSON.parse(text)).not.toHaveProperty('data');
    expect(text.length).toBeLessThan(5_000);
    expect(cpuMs).toBeLessThan(MOST_CPU_MS);
  });

  test('lists cost their maximum length, long texts their size', async () => {
    const { admin } = backend.people;
    for (const query of [
      '{ talents(first: 100) { nodes { text } } }',
      'query($n: Int) { talents(first: $n) { nodes { text } } }',
      `{ ${Array.from({ length: 9 }, (_, n) => `a${n}: talents(first: 100) { nodes { profile } }`).join(' ')} }`,
    ]) {
      expect((await admin.refusal(query)).message).toStartWith('The query costs');
    }
    for (const query of ['{ talents(first: 100) { nodes { id name headline profile } } }']) {
      expect((await admin.answer(query)).errors).toBeUndefined();
    }
  });

  test('mutations in fragments count: a list of them does not run', async () => {
    const { admin } = backend.people;
    const names = Array.from({ length: 29 }, (_, n) => `a${n}: updateCompany(name: "Renamed ${n}") { name }`);
    const before = await admin.ask('{ company { name } }');
    for (const query of [
      `mutation { ...All } fragment All on Mutation { ${names.join(' ')} }`,
      `mutation { ... on Mutation { ${names.join(' ')} } }`,
      `mutation { ${names.slice(0, 3).join(' ')} ...More } fragment More on Mutation { ${names.slice(3, 6).join(' ')} }`,
    ]) {
      expect((await admin.refusal(query)).message).toContain(`at most ${QUERY_LIMITS.mutations} mutations`);
    }
    expect(await admin.ask('{ company { name } }')).toEqual(before);
  });
});

describe('an answer', () => {
  const small = useResource(() => openBackend({ maxAnswerBytes: 200_000 }));

  test('ends at its bound, with one error that says what to do, and the rest is not read', async () => {
    const { admin } = small.people;
    const summary = 'x'.repeat(50_000);
    for (let talent = 0; talent < 6; talent += 1) {
      const profile = { basics: { name: `Person ${talent}`, summary } };
      await admin.ask('mutation($profile: JSON!) { createTalent(input: { profile: $profile }) { id } }', {
        profile,
      });
    }
    const { data, errors } = await admin.answer('{ talents(first: 6) { nodes { profile } } }');
    expect(data).toBeNull();
    expect(errors).toHaveLength(1);
    expect(errors?.[0]).toMatchObject({ extensions: { code: 'ANSWER_TOO_LARGE' } });
    expect(errors?.[0]?.message).toContain('Request fewer fields or shorter pages');
  });
});

describe('over a WebSocket', () => {
  const live = useResource(() => openLiveLogs());

  test('the same limits apply, and only subscriptions run', async () => {
    const socket = openRawSocket(live);
    await socket.send(initOf(live));
    await socket.has('connection_ack');
    const queries = [
      `{ ${Array.from({ length: 25 }, (_, n) => `a${n}: __schema { types { fields { name } } }`).join(' ')} }`,
      `subscription { ${'logStream { message } '.repeat(320)} }`,
      getIntrospectionQuery(),
    ];
    for (const [at, query] of queries.entries()) {
      await socket.send({ type: 'subscribe', id: String(at), payload: { query } });
    }
    await socket.has('error', queries.length);
    socket.close();
  });
});
