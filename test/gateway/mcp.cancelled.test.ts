import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startForwardingProxy } from '../mcp/forwarding-proxy.ts';
import { openGatewayBeside } from '../mcp/gateway-beside.ts';
import { callTool, ERAS, type Era, openClient } from '../mcp/mcp-client.ts';
import { type GatewayUnderTest, openGateway } from './gateway-under-test.ts';
import { chatAnswer, chunk, openStream } from './scripted-upstream.ts';

let gateway: GatewayUnderTest;
let beside: Awaited<ReturnType<typeof openGatewayBeside>>;
let other: typeof beside;
const CHAT = { model: 'svc/chat-default', prompt: 'Hi' };

beforeAll(async () => {
  gateway = await openGateway();
  beside = await openGatewayBeside(gateway);
  other = await openGatewayBeside(gateway);
}, 60_000);
afterAll(async () => {
  await beside.close();
  await other.close();
  await gateway.close();
});

async function open(era: Era, url = beside.url) {
  const minted = await gateway.mint();
  return { ...minted, client: await openClient(url, minted.rawKey, era) };
}

/** A chat call that the provider has begun to answer and does not end. */
async function startEndless(client: Awaited<ReturnType<typeof openClient>>, cancelled: AbortSignal) {
  const stream = openStream();
  gateway.upstream.answer(() => stream.response);
  const begun = Promise.withResolvers<void>();
  const options = { signal: cancelled, onprogress: () => begun.resolve() };
  const ended = callTool(client, 'chat', CHAT, options).catch((error: unknown) => error);
  stream.send(chunk('Once '));
  await begun.promise;
  return { ended, left: stream.left };
}

describe.each([...ERAS])('a client of %s', (era) => {
  test('G-44 G-31 that cancels a chat stops the provider, and the call is failed and free', async () => {
    const { client, id } = await open(era);
    const cancel = new AbortController();
    const { ended, left } = await startEndless(client, cancel.signal);
    cancel.abort('enough');
    await left;
    expect(await ended).toBeInstanceOf(Error);
    const [row] = await gateway.calls(id, 1);
    expect(row).toMatchObject({ outcome: 'FAILED', reason: 'client-left', charge_micro: 0n });
    await client.close();
  });

  test('G-44 G-31 that leaves stops the provider too', async () => {
    const { client, id } = await open(era);
    const { ended, left } = await startEndless(client, new AbortController().signal);
    await client.close();
    await left;
    await ended;
    const [row] = await gateway.calls(id, 1);
    expect(row).toMatchObject({ outcome: 'FAILED', reason: 'client-left', charge_micro: 0n });
  });

  test('G-44 that cancels a chat without progress stops the provider as well', async () => {
    const { client, id } = await open(era);
    const asked = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    gateway.upstream.answer(async (received) => {
      asked.resolve();
      void received.closed.then(() => closed.resolve());
      await received.closed;
      return Response.json(chatAnswer());
    });
    const cancel = new AbortController();
    const ended = callTool(client, 'chat', CHAT, { signal: cancel.signal }).catch((error: unknown) => error);
    await asked.promise;
    cancel.abort('enough');
    await closed.promise;
    expect(await ended).toBeInstanceOf(Error);
    const [row] = await gateway.calls(id, 1);
    expect(row).toMatchObject({ outcome: 'FAILED', reason: 'client-left', charge_micro: 0n });
    await client.close();
  });

  test('G-9 two gateways answer one client in turn', async () => {
    const proxy = startForwardingProxy([beside.url, other.url]);
    const { client, id } = await open(era, proxy.url);
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    for (let call = 0; call < 4; call += 1) {
      expect((await callTool(client, 'chat', CHAT)).text).toBe('Hello.');
      expect((await callTool(client, 'list_models')).isError).toBe(false);
    }
    expect(new Set(proxy.served).size).toBe(2);
    const rows = await gateway.calls(id, 8);
    expect(rows.filter(({ charge_micro: charge }) => charge === 26n)).toHaveLength(4);
    await client.close();
    proxy.close();
  });
});

test('G-44 G-31 a client that takes only JSON and leaves stops the provider', async () => {
  const { rawKey, id } = await gateway.mint();
  const asked = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  gateway.upstream.answer(async (received) => {
    asked.resolve();
    await received.closed;
    closed.resolve();
    return Response.json(chatAnswer());
  });
  const leave = new AbortController();
  const params = { name: 'chat', arguments: CHAT };
  const sending = fetch(`${beside.url}/mcp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${rawKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    signal: leave.signal,
  }).catch((error: unknown) => error);
  await asked.promise;
  leave.abort();
  await closed.promise;
  await sending;
  const [row] = await gateway.calls(id, 1);
  expect(row).toMatchObject({ outcome: 'FAILED', reason: 'client-left', charge_micro: 0n });
});

test('G-44 what a client of 2025 cancels at one gateway stops at the other', async () => {
  // With two in turn the message that cancels never comes where the call is.
  const proxy = startForwardingProxy([beside.url, other.url]);
  const { client, id } = await open('2025', proxy.url);
  const cancel = new AbortController();
  const { ended, left } = await startEndless(client, cancel.signal);
  const called = proxy.served.at(-1);
  cancel.abort('enough');
  await left;
  await ended;
  expect(proxy.served.at(-1)).not.toBe(called);
  const [row] = await gateway.calls(id, 1);
  expect(row).toMatchObject({ outcome: 'FAILED', reason: 'client-left', charge_micro: 0n });
  await client.close();
  proxy.close();
});

test('G-44 nobody cancels the call of another session or of another key', async () => {
  const { client, rawKey } = await open('2025');
  const stop = new AbortController();
  const { ended, left } = await startEndless(client, stop.signal);
  const strange = await gateway.mint();
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  const sessionId = client.transport?.sessionId ?? '';
  const tries = [
    { authorization: `Bearer ${strange.rawKey}`, 'mcp-session-id': sessionId },
    { authorization: `Bearer ${rawKey}`, 'mcp-session-id': 'another' },
    { authorization: `Bearer ${rawKey}` },
  ];
  for (const tried of tries) {
    const headers = { 'content-type': 'application/json', ...tried } as Record<string, string>;
    for (const requestId of [0, 1, 2, 3]) {
      const body = JSON.stringify({ ...cancelled, params: { requestId } });
      expect((await fetch(`${beside.url}/mcp`, { method: 'POST', headers, body })).status).toBe(202);
    }
  }
  let hasLeft = false;
  void left.then(() => {
    hasLeft = true;
  });
  expect(
    (await fetch(`${beside.url}/models`, { headers: { authorization: `Bearer ${rawKey}` } })).status,
  ).toBe(200);
  expect(hasLeft).toBe(false);
  stop.abort('enough');
  await left;
  await ended;
  await client.close();
});
