import { describe, expect, test } from 'bun:test';
import { getIntrospectionQuery } from 'graphql';
import { QUERY_LIMITS } from '../../src/backend/graphql/query-limits.ts';
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
/** The type of a field and, where it is a list, that of its items. */
const nested = (levels: number): string => {
  const inner = levels === 0 ? 'name' : nested(levels - 1);
  return `fields { type { ${inner} ofType { ${inner} ofType { ofType { ${inner} } } } } }`;
};
const many = (count: number, field: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => field(n));
/** Each fragment spreads the next one twice. */
const doubled = (levels: number) =>
  many(levels, (n) => {
    const next = n === levels - 1 ? '{ name }' : `{ ...F${n + 1} }`;
    return `fragment F${n} on __Type { a: ofType ${next} b: ofType ${next} fields { type ${next} } }`;
  }).join(' ');

describe('introspection without a token', () => {
  test.each([
    ['under 25 names', `{ ${many(25, (n) => `a${n}: __schema { ${types} }`).join(' ')} }`],
    ['under 300 names', `{ __schema { types { ${many(300, (n) => `a${n}: description`).join(' ')} } } }`],
    ['of many types', `{ ${many(25, (n) => `a${n}: __type(name: "Mutation") { ${nested(1)} }`).join(' ')} }`],
    ['doubled by fragments', `{ __schema { types { ...F0 } } } ${doubled(25)}`],
  ])('%s stops at its limit', async (_, query) => {
    const { text, cpuMs } = await costOf(query);
    expect(text).toContain('The introspection reads more than');
    expect(JSON.parse(text)).toMatchObject({ errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] });
    expect(text.length).toBeLessThan(500);
    expect(cpuMs).toBeLessThan(MOST_CPU_MS);
  });

  test('of types nested deeper than those of the schema is cheap', async () => {
    const { text, cpuMs } = await costOf(`{ __schema { types { ${nested(3)} } } }`);
    expect(text).toStartWith('{"data"');
    expect(cpuMs).toBeLessThan(MOST_CPU_MS);
  });

  test('under a thousand names is not parsed', async () => {
    const { text, cpuMs } = await costOf(`{ ${many(1_000, (n) => `a${n}:__schema{a}`).join(' ')} }`);
    expect(text).toContain('tokens');
    expect(cpuMs).toBeLessThan(MOST_CPU_MS);
  });

  test('P-4 tools that read the whole schema cost little', async () => {
    const { text, cpuMs } = await costOf(
      getIntrospectionQuery({ inputValueDeprecation: true, typeDepth: 15 }),
    );
    expect(text.length).toBeGreaterThan(300_000);
    expect(cpuMs).toBeLessThan(MOST_CPU_MS);
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
