import { beforeAll, describe, expect, test } from 'bun:test';
import { z } from 'zod';
import { BASE_PATH, MCP_PATH, routeNames } from '../../src/gateway/admission/routes.ts';
import { GATEWAY_ROUTES } from '../../src/gateway/api-docs.ts';
import { docsFiles } from '../../src/start/wiring/open-server.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway } from './gateway-under-test.ts';
import { chatAnswer } from './scripted-upstream.ts';

let rawKey: string;
const gateway = useResource(() => openGateway({ embeddedAllowed: true }));
beforeAll(async () => {
  const data = [{ object: 'embedding', index: 0, embedding: [1] }];
  const vectors = { object: 'list', model: 'x', data, usage: { prompt_tokens: 3, total_tokens: 3 } };
  const response = { id: 'resp_1', object: 'response', model: 'x', output: [], usage: null };
  const answers: Record<string, object> = {
    ...{ '/v1/embeddings': vectors, '/v1/responses': response },
    '/v1/responses/input_tokens': { object: 'response.input_tokens', input_tokens: 3 },
    '/v1/responses/compact': { ...response, object: 'response.compaction' },
  };
  gateway.upstream.answer(({ path }) => {
    if (path.endsWith('/input_items')) return Response.json({ object: 'list', data: [], has_more: false });
    return Response.json(answers[path.replace('/resp_1', '')] ?? chatAnswer());
  });
  const scopes = ['inference:chat', 'inference:parse', 'usage:read', 'jobs:read'];
  rawKey = (await gateway.mint({ scopes })).rawKey;
});

describe('A-5 the documents of the gateway', () => {
  test('A-5 every route of the table is described', () => {
    const described = GATEWAY_ROUTES.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    const routes = routeNames().map(({ method, path }) => `${method} ${BASE_PATH}${path}`);
    expect(routes.filter((route) => !described.includes(route))).toEqual([]);
  });

  for (const { method, path, body, answers } of GATEWAY_ROUTES) {
    test(`A-5 ${method} ${path} answers as its document says`, async () => {
      const schema = answers[0]?.schema;
      const place = path.replace('{model}', 'svc/chat-default').replace('{response}', 'resp_1');
      const address = new URL(place, gateway.url).href;
      const headers = { authorization: `Bearer ${rawKey}`, 'content-type': 'application/json' };
      const init = body === undefined ? {} : { body: JSON.stringify(body.example) };
      const response = await fetch(address, { method: method.toUpperCase(), headers, ...init });
      const text = await response.text();
      const answer = answers.find(({ status }) => status === response.status);
      if (answer === undefined) throw new Error(`${response.status} is not described: ${text}`);
      const described = response.status === 200 ? schema : answer.schema;
      if (described !== undefined) {
        const document = z.fromJSONSchema(
          z.toJSONSchema(described) as Parameters<typeof z.fromJSONSchema>[0],
        );
        expect(document.safeParse(JSON.parse(text)).error?.issues ?? []).toEqual([]);
      }
      if (body === undefined && path !== '/healthz') expect(response.status).toBe(200);
    });
  }

  test('A-5 G-9 the MCP tools are described: the example lists them, and each refusal is in the document', async () => {
    const described = GATEWAY_ROUTES.find(({ path }) => path === MCP_PATH);
    const address = new URL(MCP_PATH, gateway.url).href;
    const statuses = new Set(described?.answers.map(({ status }) => status));
    async function ask(method: string, body: unknown, key = rawKey) {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const init = method === 'GET' ? {} : { body: JSON.stringify(body) };
      const response = await fetch(address, { method, headers, ...init });
      return { status: response.status, text: await response.text() };
    }
    const listed = await ask('POST', described?.body?.example);
    expect(JSON.parse(listed.text).result.tools.length).toBe(6);
    const refusals = [
      await ask('GET', null),
      await ask('POST', { jsonrpc: '2.0', method: 'notifications/initialized' }),
      await ask('POST', 'no message'),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([405, 202, 400]);
    expect(refusals.every(({ status }) => statuses.has(status))).toBe(true);
    expect((await ask('POST', described?.body?.example, 'tpk_wrong')).status).toBe(401);
  });

  test('A-5 the files of the page are complete in this package', async () => {
    const { style, script } = docsFiles();
    expect((await style.text()).length).toBeGreaterThan(100_000);
    expect(await script.text()).toContain('SwaggerUIBundle');
  });
});
