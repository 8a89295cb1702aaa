import { describe, expect, test } from 'bun:test';
import { z } from 'zod';
import { BACKEND_ROUTES, backendDocument } from '../../src/backend/api-docs.ts';
import { createBackend } from '../../src/backend/server.ts';
import { storeProcessReport } from '../../src/domain/processes/service-processes.ts';
import { DOCS_PATHS } from '../../src/http/openapi.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBackend } from './backend-under-test.ts';

const TOKEN = 'an-internal-token-of-some-length';
const up = { status: 'up', latencyMs: 1 } as const;
let database: { status: 'up' | 'down'; latencyMs: number } = up;
const files = { style: new Blob(['a{}']), script: new Blob(['1']) };
const backend = useResource(() =>
  openBackend({
    ...{ docsFiles: files, internalTokens: [TOKEN] },
    dependencies: async () => ({ database, cache: up }),
  }),
);

type Schema = Parameters<typeof z.fromJSONSchema>[0];
interface Operation {
  readonly security?: readonly unknown[];
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { content: { 'application/json': { schema: Schema; example: unknown } } };
  readonly responses: Record<string, { content: Record<string, { schema: Schema; example?: unknown }> }>;
}
const document = backendDocument() as { readonly paths: Record<string, Record<string, Operation>> };

async function get(path: string, headers: Record<string, string> = {}) {
  const response = await backend.fetch(new Request(`https://console.example${path}`, { headers }));
  return { response, status: response.status, text: await response.text() };
}

async function operations() {
  const { status, text } = await get('/operations', { authorization: `Bearer ${TOKEN}` });
  const schema = document.paths['/operations']?.get?.responses[200]?.content['application/json']?.schema;
  const body = JSON.parse(text);
  expect([status, z.fromJSONSchema(schema as Schema).safeParse(body).success]).toEqual([200, true]);
  return body;
}

describe('the documents of the backend', () => {
  test('have every REST route that the backend has, and no other', () => {
    const { routes } = createBackend(backend.parts);
    const own = /^\/(?:session|assets|docs|openapi\.json)|\*$/;
    const served = routes
      .filter(({ method, path }) => (method === 'GET' || method === 'POST') && !own.test(path))
      .map(({ method, path }) => `${method} ${path}`);
    const described = BACKEND_ROUTES.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    // GraphQL by GET is for caches and links; /metrics is put in front of the service when it starts.
    expect([...new Set([...served, 'GET /metrics'])].sort()).toEqual([...described, 'GET /graphql'].sort());
  });

  test('have examples that match their schemas, and name the header of the signature', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const { requestBody, responses } of Object.values(methods)) {
        const described = [requestBody, ...Object.values(responses)].flatMap((one) =>
          Object.values(one?.content ?? {}),
        );
        for (const { schema, example } of described) {
          if (example === undefined) continue;
          expect([path, z.fromJSONSchema(schema).safeParse(example).success]).toEqual([path, true]);
        }
      }
    }
    const parameters = document.paths['/payments/webhook']?.post?.parameters;
    expect(parameters).toMatchObject([{ name: 'stripe-signature', in: 'header', required: true }]);
  });

  test('the page needs no token, loads nothing from other hosts, and is not hidden by the console', async () => {
    for (const path of DOCS_PATHS)
      expect([path, (await get(path, { accept: 'text/html' })).status]).toEqual([path, 200]);
    const { text, response } = await get('/docs');
    expect(text).not.toMatch(/https?:\/\/|<script>/);
    expect(response.headers.get('content-security-policy')).toContain("script-src 'self';");
    expect(JSON.parse((await get('/openapi.json')).text)).toEqual(JSON.parse(JSON.stringify(document)));
  });
});

describe('GET /operations', () => {
  test('needs the internal token, and does not exist without one', async () => {
    expect((await get('/operations')).status).toBe(401);
    expect((await get('/operations', { authorization: 'Bearer wrong' })).status).toBe(401);
    const { token } = backend.people.superAdmin;
    expect((await get('/operations', { authorization: `Bearer ${token}` })).status).toBe(401);
    const without = createBackend({ ...backend.parts, internalTokens: [] });
    const answered = await without.fetch(new Request('https://console.example/operations'));
    expect(answered.status).toBe(404);
  });

  test('shows dependencies, processes, payment events and queues, and problems', async () => {
    const empty = await operations();
    expect([empty.status, empty.services[0]]).toEqual([
      'degraded',
      { service: 'gateway', processes: 0, ready: 0, stale: 0, versions: [] },
    ]);
    const startedAt = new Date(backend.clock.now());
    const report = {
      ...{ parts: [], cpuSeconds: 1, residentBytes: 1, eventLoopDelayMs: 1 },
      ...{ workers: null, breakers: {}, jobRates: {} },
    };
    for (const [id, service] of [
      ['019a0000-0000-7000-8000-000000000001', 'gateway'],
      ['019a0000-0000-7000-8000-000000000002', 'backend'],
      ['019a0000-0000-7000-8000-000000000003', 'ai-service'],
    ] as const) {
      const name = { id, services: [service], host: 'h', pid: 1, version: '0.1.0', startedAt };
      await storeProcessReport(backend.database, name, report, backend.clock.now());
    }
    const whole = await operations();
    expect(whole).toMatchObject({
      status: 'ok',
      dependencies: { database: { status: 'up', latency_ms: 1 }, cache: { status: 'up' } },
      payment_events: { received: 0, deferred: 0, failed: 0, oldest_received_at: null },
    });
    expect(whole.services.map(({ ready }: { ready: number }) => ready)).toEqual([1, 1, 1]);
    await backend.clock.advance(30_000);
    expect((await operations()).services[0]).toMatchObject({ processes: 0, ready: 0, stale: 1 });
    database = { status: 'down', latencyMs: 2_000 };
    expect(await operations()).toMatchObject({
      status: 'degraded',
      services: null,
      payment_events: null,
      queues: null,
    });
    database = up;
  });
});
