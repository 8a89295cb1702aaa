import { beforeAll, describe, expect, test } from 'bun:test';
import { z } from 'zod';
import { AI_SERVICE_ROUTES, aiServiceDocument } from '../../src/ai-service/api-docs.ts';
import { DOCS_PATHS } from '../../src/http/openapi.ts';
import { useResource } from '../setup/use-resource.ts';
import { openAiService } from './ai-service-under-test.ts';

type Schema = Parameters<typeof z.fromJSONSchema>[0];
interface DescribedContent {
  readonly schema: Schema;
  readonly example?: unknown;
  readonly examples?: Record<string, { value: unknown }>;
}
interface Operation {
  readonly security?: readonly unknown[];
  readonly requestBody?: { content: { 'application/json': { schema: Schema; example: unknown } } };
  readonly responses: Record<string, { content: Record<string, DescribedContent> }>;
}
interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { schemas: { Error: Schema } };
}

const document = aiServiceDocument() as unknown as Document;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);
let meetingId = '';
const service = useResource(() => openAiService());
beforeAll(async () => {
  const { database, companyId, clock } = service;
  meetingId = '019a6f0e-0000-7000-8000-000000000001';
  await database.query(`insert into rooms (room, company_id, announced_at) values ('docs', $1, $2)`, [
    companyId,
    new Date(clock.now()),
  ]);
  await database.query(
    `insert into meetings (id, room, company_id, origin, announced_at, created_at, updated_at)
     values ($1, 'docs', $2, 'announced', $3, $3, $3)`,
    [meetingId, companyId, new Date(clock.now())],
  );
});

function validated(operation: Operation, status: number, body: unknown): boolean {
  const described = operation.responses[status]?.content['application/json']?.schema;
  if (described === undefined) throw new Error(`${status} is not in the document`);
  const isError = typeof described === 'object' && described !== null && '$ref' in described;
  return z.fromJSONSchema(isError ? document.components.schemas.Error : described).safeParse(body).success;
}

/** The examples are of a day of their own: their times are brought near the test's clock. */
function nowadays(value: unknown): unknown {
  const now = service.clock.now();
  const text = JSON.stringify(value)
    .replaceAll('2026-11-15T09:00:00Z', new Date(now).toISOString())
    .replace(/179473(\d{4})/g, (digits) => String(now / 1_000 + Number(digits) - 1_794_733_200));
  return JSON.parse(text);
}

describe('A-5 the documents of the AI service', () => {
  test('A-5 have every route that the service has, and no other', () => {
    const served = service.app.routes
      .filter(({ method, path }) => method !== 'ALL' && !DOCS_PATHS.some((docs) => docs === path))
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
    const described = AI_SERVICE_ROUTES.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect([...new Set(served)].sort()).toEqual(described.toSorted());
    expect(document.openapi).toBe('3.1.0');
  });

  for (const { path, method, operation } of operations) {
    test(`A-5 ${method} ${path} answers as its document says, by its own example`, async () => {
      const request = operation.requestBody?.content['application/json'];
      if (request !== undefined) {
        expect(z.fromJSONSchema(request.schema).safeParse(request.example).success).toBe(true);
      }
      const asked = { method: method.toUpperCase(), body: request && nowadays(request.example) };
      const answered = await service.ask(path.replace('{id}', meetingId), asked);
      expect([200, 202]).toContain(answered.status);
      if (path !== '/metrics') expect(validated(operation, answered.status, answered.body)).toBe(true);
      for (const [status, { content }] of Object.entries(operation.responses)) {
        const { example, examples = {} } = content['application/json'] ?? {};
        const shown = [example, ...Object.values(examples).map(({ value }) => value)];
        for (const one of shown.filter((value) => value !== undefined)) {
          expect(validated(operation, Number(status), one)).toBe(true);
        }
      }
      if (operation.security === undefined) return;
      const unknown = await service.ask(path.replace('{id}', meetingId), { ...asked, token: 'wrong' });
      expect(unknown.status).toBe(401);
      expect(validated(operation, 401, unknown.body)).toBe(true);
      if (request === undefined) return;
      const wrong = await service.ask(path.replace('{id}', meetingId), { ...asked, body: { no: 'sense' } });
      expect(wrong.status).toBe(400);
      expect(validated(operation, 400, wrong.body)).toBe(true);
    });
  }

  test('A-2 both forms of readiness are in the document, each with its example, and answer as it says', async () => {
    const operation = document.paths['/health/ready']?.get;
    const content = operation?.responses[200]?.content['application/json'];
    expect(Object.keys(content?.examples ?? {})).toEqual(['components', 'flat']);
    for (const query of ['', '?form=flat']) {
      service.state.journal = { status: 'degraded', latencyMs: 1, figures: { set_aside: 2 } };
      const { status, body } = await service.ask(`/health/ready${query}`);
      if (operation !== undefined) expect(validated(operation, status, body)).toBe(true);
      expect(typeof body.components.database).toBe(query === '' ? 'object' : 'string');
      expect(body.components.document_worker).toBe('stopped');
    }
    const flat = content?.examples?.flat?.value as { components: Record<string, string> };
    const wrong = { ...flat, components: { ...flat.components, email_worker: 'running' } };
    if (operation !== undefined) expect(validated(operation, 200, wrong)).toBe(false);
  });

  test('A-5 the page needs no token, loads nothing from other hosts, and runs only its own script', async () => {
    for (const path of DOCS_PATHS) expect((await service.ask(path, { token: 'none' })).status).toBe(200);
    const { text, response } = await service.ask('/docs');
    expect(text).not.toMatch(/https?:\/\//);
    expect(text).not.toMatch(/<script>/);
    expect(response.headers.get('content-security-policy')).toContain("script-src 'self';");
    expect((await service.ask('/openapi.json')).body).toEqual(JSON.parse(JSON.stringify(document)));
  });
});
