import { expect, test } from 'bun:test';
import { useSystem } from '../setup/use-system.ts';

const running = useSystem();
const EVIL = ['https://evil.example', 'null', 'http://127.0.0.1.evil.example'];

/** What a browser lets a page of another origin send without asking first: no JSON, no header of its own. */
const SIMPLE_TYPES = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'];

test('P-8 a page of another origin reads no response, and requests it may send without a preflight change nothing', async () => {
  const { backend_url, gateway_url, full_key, company_admin } = running.demo;
  const query = JSON.stringify({ query: '{ plans { id } }' });
  for (const origin of EVIL) {
    for (const type of SIMPLE_TYPES) {
      const sent = await fetch(`${backend_url}/graphql`, {
        method: 'POST',
        body: query,
        headers: { origin, 'content-type': type },
      });
      expect([type, sent.status]).toEqual([type, 415]);
      const login = await fetch(`${backend_url}/session/login`, {
        method: 'POST',
        body: JSON.stringify(company_admin),
        headers: { origin, 'content-type': type, 'sec-fetch-site': 'cross-site' },
      });
      expect([login.status, login.headers.get('set-cookie')]).toEqual([400, null]);
    }
    for (const url of [
      `${backend_url}/graphql`,
      `${gateway_url}/models`,
      `${gateway_url}/chat/completions`,
    ]) {
      const preflight = await fetch(url, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization',
        },
      });
      expect(preflight.headers.get('access-control-allow-origin')).toBeNull();
    }
    const read = await fetch(`${gateway_url}/models`, {
      headers: { origin, authorization: `Bearer ${full_key}` },
    });
    expect(read.headers.get('access-control-allow-origin')).toBeNull();
  }
});

test('P-13 G-9 a page of another origin opens no socket and no MCP session, nor does a name rebound to loopback', async () => {
  const { backend_url, gateway_url, full_key } = running.demo;
  const upgrade = {
    upgrade: 'websocket',
    connection: 'Upgrade',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-protocol': 'graphql-transport-ws',
  };
  const mcp = (headers: Record<string, string>) =>
    fetch(`${new URL(gateway_url).origin}/llm/v1/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${full_key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    });
  for (const origin of EVIL) {
    expect((await fetch(`${backend_url}/graphql`, { headers: { ...upgrade, origin } })).status).toBe(403);
    expect((await mcp({ origin })).status).toBe(403);
  }
  expect((await mcp({ host: 'evil.example' })).status).toBe(403);
  expect((await mcp({})).status).toBe(200);
});
