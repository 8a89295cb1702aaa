import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { revokeKey } from '../../src/domain/keys/key-lifecycle.ts';
import type { KeyToMint } from '../../src/domain/keys/mint-key.ts';
import { until } from '../doubles/until.ts';
import { openGatewayBeside } from '../mcp/gateway-beside.ts';
import { callTool, ERAS, type Era, openClient } from '../mcp/mcp-client.ts';
import { type GatewayUnderTest, openGateway, refusalOf } from './gateway-under-test.ts';
import { chatAnswer } from './scripted-upstream.ts';

let gateway: GatewayUnderTest;
let poor: GatewayUnderTest;
const CHAT = { model: 'svc/chat-default', prompt: 'Hi' };
const CONSOLE = 'https://console.example.org';

beforeAll(async () => {
  gateway = await openGateway();
  poor = await openGateway({ balanceMicro: 0n });
}, 60_000);
afterAll(async () => {
  await gateway.close();
  await poor.close();
});

async function open(era: Era, wanted: Partial<KeyToMint> = {}, at = gateway) {
  at.upstream.answer(() => Response.json(chatAnswer()));
  const minted = await at.mint(wanted);
  return { ...minted, client: await openClient(at.url, minted.rawKey, era) };
}

interface Sent {
  readonly rawKey?: string;
  readonly headers?: Record<string, string>;
  readonly url?: string;
}

/** A plain request, as curl sends it. */
function send(body: unknown, { rawKey = '', headers = {}, url = gateway.url }: Sent = {}): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const all = { authorization: `Bearer ${rawKey}`, 'content-type': 'application/json', ...headers };
  return fetch(`${url}/mcp`, { method: 'POST', headers: all, body: text });
}

const message = (method: string, params: object = {}, id = 1) => ({ jsonrpc: '2.0', id, method, params });
const toolCall = (name: string, id = 1) => message('tools/call', { name, arguments: {} }, id);

describe.each([...ERAS])('a client of %s', (era) => {
  test('G-45 a tool outside of the scopes is 403 over HTTP, with the envelope and the scope, and written down', async () => {
    const { client, id, rawKey } = await open(era, { scopes: ['inference:chat'] });
    const error = await client.callTool({ name: 'list_jobs', arguments: {} }).catch((caught) => caught);
    expect(String(error)).toContain('jobs:read');
    const response = await send(toolCall('list_jobs'), { rawKey });
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer error="insufficient_scope", scope="jobs:read"',
    );
    expect(await refusalOf(response)).toMatchObject({ status: 403, code: 'LLM_SCOPE_DENIED' });
    const rows = await gateway.calls(id, 1);
    expect(rows[0]).toMatchObject({ endpoint: 'jobs', outcome: 'REFUSED', reason: 'LLM_SCOPE_DENIED' });
    await client.close();
  });

  test('G-45 G-36 no credits, a foreign model, a limit and a broken provider are failed results with the envelope', async () => {
    const broke = await open(era, {}, poor);
    const unpaid = await callTool(broke.client, 'chat', CHAT);
    expect(unpaid).toMatchObject({ isError: true, body: { error: { code: 'INSUFFICIENT_CREDITS' } } });
    expect(unpaid.text).toContain(unpaid.body.error?.message ?? 'nothing');
    await broke.client.close();

    const narrow = await open(era, { models: ['svc/chat-cheap'], requestsPerMinute: 1 });
    const foreign = await callTool(narrow.client, 'chat', CHAT);
    expect(foreign).toMatchObject({
      isError: true,
      body: { error: { code: 'LLM_MODEL_NOT_ALLOWED', param: 'model' } },
    });
    // Neither the handshake, nor the list, nor a refused call has used the one request there is.
    await narrow.client.listTools();
    expect((await callTool(narrow.client, 'list_models')).isError).toBe(false);
    const limited = await callTool(narrow.client, 'list_models');
    expect(limited).toMatchObject({ isError: true, body: { error: { type: 'rate_limit_error' } } });
    expect(limited.text).toContain('Retry after');
    await narrow.client.close();

    const { client } = await open(era);
    gateway.upstream.answer(() => new Response('no', { status: 500 }));
    const down = await callTool(client, 'chat', CHAT);
    expect(down).toMatchObject({ isError: true, body: { error: { code: 'LLM_GATEWAY_UNAVAILABLE' } } });
    await client.close();
  });

  test('G-45 arguments that cannot be taken are failed results that name the argument', async () => {
    const { client } = await open(era);
    const wrong: [string, object, string][] = [
      ['chat', { model: 'svc/chat-default' }, 'messages'],
      ['chat', { ...CHAT, messages: [{ role: 'user', content: 'x' }] }, 'prompt'],
      ['chat', { ...CHAT, tools: [] }, 'tools'],
      ['chat', { prompt: 'Hi' }, 'model'],
      ['get_usage', { from: 'yesterday' }, 'from'],
      ['parse_cv', {}, 'text'],
      ['parse_cv', { file: { name: 'a.pdf', content_base64: '?' } }, 'file.content_base64'],
    ];
    for (const [name, given, param] of wrong) {
      const { isError, body } = await callTool(client, name, given as Record<string, unknown>);
      expect([isError, body.error?.type, body.error?.param]).toEqual([true, 'invalid_request_error', param]);
    }
    await client.close();
  });

  test('G-9 G-23 a key that is revoked loses the tools with the next request', async () => {
    const { client, id } = await open(era);
    expect((await callTool(client, 'list_models')).isError).toBe(false);
    await revokeKey(gateway.parts, { companyId: gateway.companyId, keyId: id });
    const error = await client.callTool({ name: 'list_models', arguments: {} }).catch((caught) => caught);
    expect(String(error)).toContain('authentication_error');
    await client.close();
  });
});

test('G-9 G-45 a key that loses a scope loses its tools, and keeps the others', async () => {
  const { client, id } = await open('2026', { scopes: ['inference:chat', 'usage:read'] });
  expect((await callTool(client, 'get_usage')).isError).toBe(false);
  const { database } = gateway.parts;
  await database.query(`update api_keys set scopes = array['inference:chat'] where id = $1`, [id]);
  // As soon as the gateway has looked at the key again, which it does every second.
  await until(async () => (await client.listTools()).tools.length === 2);
  const error = await client.callTool({ name: 'get_usage', arguments: {} }).catch((caught) => caught);
  expect(String(error)).toContain('usage:read');
  expect((await callTool(client, 'list_models')).isError).toBe(false);
  await client.close();
});

test('G-45 G-25 without a live key there is nothing but 401 with the envelope and a challenge', async () => {
  for (const body of [message('initialize'), message('tools/list'), toolCall('chat'), 'no json']) {
    const response = await send(body, { rawKey: `tpk_${'0'.repeat(49)}` });
    expect(response.headers.get('www-authenticate')).toStartWith('Bearer');
    expect(await refusalOf(response)).toMatchObject({ status: 401, type: 'authentication_error' });
  }
});

test('G-10 methods other than POST are 405, with or without a key', async () => {
  const { rawKey } = await gateway.mint();
  for (const method of ['GET', 'DELETE', 'PUT']) {
    for (const authorization of ['', `Bearer ${rawKey}`]) {
      const response = await fetch(`${gateway.url}/mcp`, { method, headers: { authorization } });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    }
  }
});

test('G-34 G-9 a client that takes only JSON gets JSON, and failures of the protocol keep its form', async () => {
  const { rawKey } = await gateway.mint();
  for (const accept of ['application/json', '*/*']) {
    const response = await send(toolCall('list_models'), { rawKey, headers: { accept } });
    expect(response.headers.get('content-type')).toStartWith('application/json');
    const { result } = (await response.json()) as { result: { structuredContent: { object: string } } };
    expect(result.structuredContent.object).toBe('list');
  }
  const broken = await send('{', { rawKey });
  expect([broken.status, ((await broken.json()) as { error: object }).error]).toMatchObject([
    400,
    { code: -32700 },
  ]);
  const unknown = await send(toolCall('no_such_tool'), { rawKey });
  expect(((await unknown.json()) as { error: object }).error).toMatchObject({ code: -32602 });
  const large = await send(JSON.stringify(message('ping', { _meta: { filler: 'x'.repeat(1024 * 1024) } })), {
    rawKey,
  });
  expect(await refusalOf(large)).toMatchObject({ status: 413 });
});

test('G-9 pages of a foreign origin are kept out, and on loopback a foreign host', async () => {
  const { rawKey } = await gateway.mint();
  const beside = await openGatewayBeside(gateway, { consoleOrigin: CONSOLE, mcp: { checksHost: true } });
  const status = async (headers: Record<string, string>) =>
    (await send(message('ping'), { rawKey, headers, url: beside.url })).status;
  expect(await status({})).toBe(200);
  expect(await status({ origin: CONSOLE })).toBe(200);
  expect(await status({ origin: 'http://localhost:6274' })).toBe(200);
  expect(await status({ origin: 'https://evil.example.org' })).toBe(403);
  expect(await status({ origin: 'null' })).toBe(403);
  expect(await status({ host: 'evil.example.org' })).toBe(403);
  await beside.close();
});

test('G-39 every request counts once against its address, a batch once for each call in it', async () => {
  const { rawKey } = await gateway.mint();
  const beside = await openGatewayBeside(gateway, { addressRequestsPerMinute: 5 });
  const { url } = beside;
  expect((await send(toolCall('list_models'), { rawKey, url })).status).toBe(200);
  expect((await send(message('ping'), { rawKey, url })).status).toBe(200);
  const batch = [toolCall('list_models', 1), toolCall('list_models', 2)];
  const answers = (await (await send(batch, { rawKey, url })).json()) as readonly object[];
  expect(answers).toHaveLength(2);
  expect((await send(message('ping'), { rawKey, url })).status).toBe(200);
  const over = await send(toolCall('list_models'), { rawKey, url });
  expect(await refusalOf(over)).toMatchObject({ status: 429, type: 'rate_limit_error' });
  await beside.close();
});
