import { describe, expect, test } from 'bun:test';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer } from './scripted-upstream.ts';

const APP = 'https://app.example';
const gateway = useResource(() => openGateway({ origins: [APP] }));
const CHAT = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'Hi' }] };

test.each(['/chat/completions/', '/chat/completions//', '/chat/completions/?x=1'])(
  'a slash at the end of a route does not matter: %s',
  async (path) => {
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    const { rawKey } = await gateway.mint();
    expect((await post(`${gateway.url}${path}`, rawKey, CHAT)).status).toBe(200);
    const headers = { authorization: `Bearer ${rawKey}` };
    for (const read of ['/models/', '/models/svc/chat-default/', '/usage/']) {
      expect((await fetch(`${gateway.url}${read}`, { headers })).status).toBe(200);
    }
  },
);

test('G-11 the key may be in api-key, as Azure’s clients send it, on every route and over MCP', async () => {
  const { rawKey } = await gateway.mint();
  const headers = { 'api-key': rawKey, 'content-type': 'application/json' };
  for (const path of ['/models', '/usage']) {
    expect((await fetch(`${gateway.url}${path}`, { headers })).status).toBe(200);
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });
  const accept = { accept: 'application/json, text/event-stream' };
  const listed = await fetch(`${gateway.url}/mcp`, {
    method: 'POST',
    headers: { ...headers, ...accept },
    body,
  });
  expect(await listed.text()).toContain('list_models');
  const both = { ...headers, authorization: 'Bearer tpk_wrong' };
  expect((await fetch(`${gateway.url}/models`, { headers: both })).status).toBe(401);
});

describe('a page of CORS_ORIGINS', () => {
  const preflight = (url: string, origin = APP) =>
    fetch(url, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } });

  test('may call every route and MCP, and reads refusals too', async () => {
    const { rawKey } = await gateway.mint();
    for (const path of ['/chat/completions', '/messages', '/mcp']) {
      const asked = await preflight(`${gateway.url}${path}`);
      expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([204, APP]);
      expect(asked.headers.get('x-request-id')).toStartWith('req_');
    }
    for (const [path, status] of [
      ['/models', 200],
      ['/nothing', 404],
    ] as const) {
      const headers = { authorization: `Bearer ${rawKey}`, origin: APP };
      const answered = await fetch(`${gateway.url}${path}`, { headers });
      expect([answered.status, answered.headers.get('access-control-allow-origin')]).toEqual([status, APP]);
      expect(answered.headers.get('access-control-expose-headers')).toContain('x-ratelimit-limit-requests');
    }
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    expect((await post(`${gateway.url}/mcp`, rawKey, list, { headers: { origin: APP } })).status).not.toBe(
      403,
    );
    expect((await preflight(`${gateway.url}/models`, 'https://evil.example')).status).toBe(404);
  });

  test('G-39 asks as one request of its address', async () => {
    const beside = await openGateway({
      ...{ ...gateway.parts, isSecond: true, origins: [APP], addressRequestsPerMinute: 2 },
    });
    const url = `${beside.url}/models`;
    expect([(await preflight(url)).status, (await preflight(url)).status]).toEqual([204, 204]);
    const over = await preflight(url);
    expect(over.headers.get('access-control-allow-origin')).toBe(APP);
    expect(await refusalOf(over)).toMatchObject({ status: 429, type: 'rate_limit_error' });
    await beside.close();
  });
});
