import { describe, expect, test } from 'bun:test';
import { useResource } from '../setup/use-resource.ts';
import { openBackend } from './backend-under-test.ts';

const backend = useResource(() => openBackend());

const ask = <Data>(query: string) => backend.people.superAdmin.ask<Data>(query);
const refusal = async (query: string) => (await backend.people.superAdmin.refusal(query)).extensions.code;
const now = () => new Date(backend.clock.now());

describe('AI operations and errors', () => {
  async function addCall(endpoint: string, outcome: string, durationMs: number, agoMs: number) {
    const startedAt = new Date(backend.clock.now() - agoMs);
    const hex = startedAt.getTime().toString(16).padStart(12, '0');
    const id = `${hex.slice(0, 8)}-${hex.slice(8)}${backend.parts.secrets.newId().slice(13)}`;
    await backend.database.query(
      `insert into calls (id, company_id, request_id, endpoint, outcome, http_status, streamed, estimated_tokens,
         started_at, duration_ms) values ($1, $2, 'req_7', $3, $4, 200, false, 0, $5, $6)`,
      [id, backend.companies.acme, endpoint, outcome, startedAt, durationMs],
    );
  }

  test('A-8 operations are listed by kind, outcome and time, and counted with percentiles', async () => {
    for (const durationMs of [100, 200, 300]) await addCall('parse/cv', 'SUCCEEDED', durationMs, 1_000);
    await addCall('chat/completions', 'FAILED', 50, 5 * 3_600_000);
    type List = { aiOperations: { nodes: { kind: string; durationMs: number }[] } };
    const kinds = async (args: string) => {
      const { aiOperations } = await ask<List>(
        `{ aiOperations${args} { nodes { kind durationMs requestId } } }`,
      );
      return aiOperations.nodes.map(({ kind }) => kind);
    };
    expect(await kinds('')).toEqual(['parse/cv', 'parse/cv', 'parse/cv', 'chat/completions']);
    expect(await kinds('(hours: 2)')).toEqual(['parse/cv', 'parse/cv', 'parse/cv']);
    expect(await kinds('(outcome: FAILED)')).toEqual(['chat/completions']);
    expect(await kinds('(kind: "parse/cv", first: 1)')).toEqual(['parse/cv']);
    const before = new Date(backend.clock.now() - 3_600_000).toISOString();
    expect(await kinds(`(to: "${before}")`)).toEqual(['chat/completions']);
    expect(await ask('{ aiOperationStats(hours: 6) { kind outcome count p50Ms p95Ms p99Ms } }')).toEqual({
      aiOperationStats: [
        { kind: 'chat/completions', outcome: 'FAILED', count: 1, p50Ms: 50, p95Ms: 50, p99Ms: 50 },
        { kind: 'parse/cv', outcome: 'SUCCEEDED', count: 3, p50Ms: 200, p95Ms: 290, p99Ms: 298 },
      ],
    });
    for (const args of [
      'hours: 0',
      'hours: 169',
      'from: "2001-01-01"',
      'from: "2901-01-01"',
      'to: "1970-01-01"',
    ]) {
      expect(await refusal(`{ aiOperations(${args}) { nodes { id } } }`)).toBe('BAD_USER_INPUT');
    }
  });

  test('A-8 errors are grouped by service and message, with their count, last time and a request id', async () => {
    const line = async (level: string, message: string, context: object, agoMs: number) =>
      await backend.database.query(
        'insert into log_entries (timestamp, level, message, context) values ($1, $2, $3, $4)',
        [new Date(backend.clock.now() - agoMs), level, message, { ...context }],
      );
    await line(
      'error',
      'it broke',
      { service: 'gateway', requestId: 'req_1', error: { message: 'old' } },
      9_000,
    );
    await line(
      'error',
      'it broke',
      { service: 'gateway', requestId: 'req_2', error: { message: 'new' } },
      5_000,
    );
    await line('error', 'it broke', { service: 'backend' }, 7_000);
    // The word has another meaning here: a provider's host is no service of ours.
    await line('warn', 'it creaked', { service: 'models.example' }, 1_000);
    await line('error', 'it broke', { service: 'gateway' }, 30 * 3_600_000);
    const group = { service: 'gateway', message: 'it broke', count: 2, sampleRequestId: 'req_2' };
    const fields = '{ service message count lastSeenAt sampleRequestId sampleReason }';
    expect(await ask(`{ errorGroups ${fields} }`)).toMatchObject({
      errorGroups: [
        { ...group, sampleReason: 'new', lastSeenAt: new Date(now().getTime() - 5_000).toISOString() },
        { service: 'backend', count: 1, sampleRequestId: null, sampleReason: null },
      ],
    });
    expect(await ask(`{ errorGroups(hours: 48, level: ERROR) ${fields} }`)).toMatchObject({
      errorGroups: [{ ...group, count: 3 }, { count: 1 }],
    });
    expect(await ask(`{ errorGroups(level: WARN) ${fields} }`)).toMatchObject({
      errorGroups: [{ service: '', message: 'it creaked' }],
    });
    expect(await refusal(`{ errorGroups(level: INFO) ${fields} }`)).toBe('BAD_USER_INPUT');
    const found = `{ logEntries(minLevel: ERROR, contains: "BROKE", first: 1) {
      nodes { message context } pageInfo { hasNextPage endCursor } } }`;
    expect(await ask(found)).toMatchObject({
      logEntries: { nodes: [{ context: { requestId: 'req_2' } }], pageInfo: { hasNextPage: true } },
    });
    expect(await ask('{ logEntries(requestId: "req_1") { nodes { message } } }')).toEqual({
      logEntries: { nodes: [{ message: 'it broke' }] },
    });
  });
});

describe('companies', () => {
  test('G-29 G-32 each is shown with its balance and whether its calls are answered', async () => {
    const adjust = (id: string, credits: number) =>
      ask(`mutation { adjustCredits(companyId: "${id}", credits: ${credits}, reason: "x",
        idempotencyKey: "${backend.parts.secrets.newId()}") { id } }`);
    const [rich, poor, line, owing] = [
      await backend.company('Rich'),
      await backend.company('Poor'),
      await backend.company('Line'),
      await backend.company('Owing'),
    ];
    await adjust(rich, 12.5);
    for (const [id, limit] of [
      [line, 'null'],
      [owing, '5'],
    ]) {
      await ask(
        `mutation { setCompanyBilling(companyId: "${id}", billingMode: POSTPAID, creditLimit: ${limit}) { id } }`,
      );
    }
    await adjust(line, -3);
    await backend.database.query(
      `insert into invoices (id, company_id, kind, status, amount_minor, currency, due_at)
       values ($1, $2, 'MANUAL', 'OPEN', 1, 'usd', $3)`,
      [backend.parts.secrets.newId(), owing, new Date(now().getTime() - 1)],
    );
    type Company = { id: string; standing: string; balance: { credits: number } };
    const { companies } = await ask<{ companies: { nodes: Company[] } }>(
      '{ companies(first: 100) { nodes { id standing balance { credits } } } }',
    );
    const shown = (id: string) => companies.nodes.find((company) => company.id === id);
    expect(shown(rich)).toMatchObject({ standing: 'GOOD', balance: { credits: 12.5 } });
    expect(shown(poor)).toMatchObject({ standing: 'OUT_OF_CREDITS', balance: { credits: 0 } });
    expect(shown(line)).toMatchObject({ standing: 'GOOD', balance: { credits: -3 } });
    expect(shown(owing)).toMatchObject({ standing: 'OVERDUE' });
    await adjust(owing, -5);
    await backend.database.query("update invoices set status = 'PAID' where company_id = $1", [owing]);
    const again = await ask<{ companies: { nodes: Company[] } }>(
      '{ companies(first: 100) { nodes { id standing } } }',
    );
    expect(again.companies.nodes.find(({ id }) => id === owing)?.standing).toBe('OUT_OF_CREDITS');
  });
});
