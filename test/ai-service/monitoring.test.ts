import { beforeAll, describe, expect, test } from 'bun:test';
import { Hono } from 'hono';
import { addMonitoring } from '../../src/ai-service/monitoring.ts';
import type { ServiceVariables } from '../../src/http/service-app.ts';
import { useMemoryDatabase } from '../setup/use-database.ts';

const database = useMemoryDatabase();
const app = new Hono<ServiceVariables>();

beforeAll(async () => {
  addMonitoring(app, database);
  await database.query(`insert into log_entries (timestamp, level, message, context)
    select timestamptz '2026-01-01 00:00:00Z' + n * interval '1 second', case n % 2 when 0 then 'info' else 'error' end,
      'entry ' || n, jsonb_build_object('requestId', 'req_' || n) ||
        case when n > 8 then jsonb_build_object('service', 'gateway', 'companyId', 'company-' || n)
          when n > 6 then jsonb_build_object('service', 'provider.example') else '{}' end
      from generate_series(1, 10) as n`);
});

async function ask(path: string) {
  const response = await app.request(path);
  return { status: response.status, body: await response.json() };
}

function messages(body: { entries: { message: string }[] }): string[] {
  return body.entries.map((entry) => entry.message);
}

describe('A-8 the log viewer', () => {
  test('A-8 filters by level, text, request, service, company and time', async () => {
    const found = async (query: string) => messages((await ask(`/monitoring/app-logs?${query}`)).body);
    expect(await found('contains=ENTRY 1&limit=1')).toEqual(['entry 10']);
    expect(await found('request_id=req_3')).toEqual(['entry 3']);
    expect(await found('from=2026-01-01T00:00:03Z&to=2026-01-01T00:00:05Z')).toEqual(['entry 4', 'entry 3']);
    expect(await found('service=gateway&level=error')).toEqual(['entry 9']);
    // Lines about an external service are of no service of ours.
    expect(await found('service=shared&limit=3')).toEqual(['entry 8', 'entry 7', 'entry 6']);
    expect(await found('company_id=company-10')).toEqual(['entry 10']);
    for (const query of ['contains=%00', 'contains=%25_%5C', 'contains=%ED%A0%80']) {
      expect([query, (await ask(`/monitoring/app-logs?${query}`)).status]).toEqual([query, 200]);
    }
  });

  test('A-8 /errors shows errors alone, with any other filter', async () => {
    const first = await ask('/monitoring/errors?level=debug&limit=2');
    expect(messages(first.body)).toEqual(['entry 9', 'entry 7']);
    const after = `after=${first.body.next_cursor}`;
    const rest = await ask(`/monitoring/errors?level=debug&limit=3&${after}`);
    expect([messages(rest.body), rest.body.next_cursor]).toEqual([['entry 5', 'entry 3', 'entry 1'], null]);
    expect(first.body.entries[0]).toEqual({
      timestamp: '2026-01-01T00:00:09.000Z',
      level: 'error',
      message: 'entry 9',
      context: { requestId: 'req_9', service: 'gateway', companyId: 'company-9' },
    });
  });

  test('a wrong query is 400 in the envelope and names the parameter', async () => {
    for (const [query, param] of [
      ['level=loud', 'level'],
      ['limit=501', 'limit'],
      ['from=2026-02-30T00:00:00Z', 'from'],
      ['after=nonsense', 'after'],
      [`contains=${'x'.repeat(201)}`, 'contains'],
    ]) {
      const { status, body } = await ask(`/monitoring/app-logs?${query}`);
      expect(status).toBe(400);
      expect(body.error).toMatchObject({ type: 'invalid_request_error', param });
    }
    expect((await ask('/monitoring/app-logs?contians=x')).status).toBe(400);
  });
});
