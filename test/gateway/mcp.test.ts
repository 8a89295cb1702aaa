import { describe, expect, test } from 'bun:test';
import { createJob } from '../../src/domain/jobs/job-changes.ts';
import type { Scope } from '../../src/domain/keys/api-key.ts';
import { revokeKey } from '../../src/domain/keys/key-lifecycle.ts';
import type { KeyToMint } from '../../src/domain/keys/mint-key.ts';
import { CV_TEXT, POSTING_TEXT } from '../ai-service/workers-under-test.ts';
import { startForwardingProxy } from '../mcp/forwarding-proxy.ts';
import { callTool, ERAS, type Era, openClient } from '../mcp/mcp-client.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer, chunk, done, openStream, streamOf, USAGE, usageChunk } from './scripted-upstream.ts';

const ALL: Scope[] = ['inference:chat', 'inference:parse', 'usage:read', 'jobs:read'];
const CHAT = { model: 'svc/chat-default', prompt: 'Hi' };
const CONSOLE = 'https://console.example.org';

interface Sent {
  readonly rawKey?: string;
  readonly headers?: Record<string, string>;
  readonly url?: string;
}

const message = (method: string, params: object = {}, id = 1) => ({ jsonrpc: '2.0', id, method, params });
const toolCall = (name: string, id = 1) => message('tools/call', { name, arguments: {} }, id);

const gateway = useResource(() => openGateway());
const second = useResource(() => openGateway({ ...gateway.parts, isSecond: true }));

async function open(era: Era, wanted: Partial<KeyToMint> = {}, url = gateway.url) {
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  const minted = await gateway.mint(wanted);
  return { ...minted, client: await openClient(url, minted.rawKey, era) };
}

/** A plain request, as curl sends it. */
const send = (what: unknown, { rawKey = '', headers = {}, url = gateway.url }: Sent = {}) =>
  post(`${url}/mcp`, rawKey, what, { headers });

describe.each([...ERAS])('the tools, for a client of %s', (era) => {
  test('G-43 G-21 lists the tools of its key’s scopes, in one order, with descriptions', async () => {
    const expected: [Partial<KeyToMint>, readonly string[]][] = [
      [{ scopes: ['usage:read'] }, ['get_usage']],
      [{ scopes: ALL }, ['chat', 'list_models', 'get_usage', 'list_jobs', 'parse_cv', 'parse_jd']],
      [{}, ['chat', 'list_models', 'get_usage', 'parse_cv', 'parse_jd']],
    ];
    for (const [wanted, names] of expected) {
      const { client } = await open(era, wanted);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual([...names]);
      for (const tool of tools) {
        expect(tool.title).toBeTruthy();
        expect(tool.description).toBeTruthy();
        expect(tool.annotations?.destructiveHint).toBe(false);
        // G-45: an output with nothing but the envelope fits the schema.
        expect(tool.outputSchema?.required).toBeUndefined();
        expect(tool.outputSchema?.properties).toHaveProperty('error');
      }
      await client.close();
    }
  });

  test('G-44 chat takes prompt or messages and is charged as the same call over REST', async () => {
    const { client, rawKey, id } = await open(era);
    const messages = [{ role: 'user', content: 'Hi' }];
    const answered = await callTool(client, 'chat', { ...CHAT, temperature: 0, max_tokens: 5 });
    const sent = JSON.parse(new TextDecoder().decode(gateway.upstream.received.at(-1)?.body));
    expect(sent).toEqual({ model: 'provider-model-x', messages, temperature: 0, max_tokens: 5 });
    expect(answered).toEqual({
      isError: false,
      text: 'Hello.',
      body: { model: 'svc/chat-default', text: 'Hello.', finish_reason: 'stop', usage: USAGE },
    });
    const asked = { model: CHAT.model, messages, temperature: 0, max_tokens: 5 };
    await callTool(client, 'chat', asked);
    await (await post(`${gateway.url}/chat/completions`, rawKey, asked)).text();
    const rows = await gateway.calls(id, 3);
    expect(rows.map(({ over_mcp }) => over_mcp)).toEqual([true, true, null]);
    const booked = ['endpoint', 'outcome', 'alias', 'prompt_tokens', 'completion_tokens', 'charge_micro'];
    const same = [...booked, 'estimated_tokens', 'streamed', 'http_status'];
    const books = rows.map((row) => same.map((column) => row[column]));
    expect(books).toEqual([books[2], books[2], books[2]] as never);
    expect(rows[2]?.charge_micro).toBeGreaterThan(0n);
    for (const row of rows) expect(await gateway.credits.chargesOf(row.id)).toHaveLength(1);
    await client.close();
  });

  test('G-44 chat sends progress where it is requested, and the call is charged once', async () => {
    const { client, id } = await open(era);
    const stream = openStream();
    gateway.upstream.answer(() => stream.response);
    const notifications: { progress: number; message?: string | undefined }[] = [];
    const first = Promise.withResolvers<void>();
    const onprogress = ({ progress, message }: { progress: number; message?: string | undefined }) => {
      notifications.push({ progress, message });
      first.resolve();
    };
    const answering = callTool(client, 'chat', CHAT, { onprogress });
    stream.send(chunk('Good '));
    // Progress is sent before the model has finished.
    await first.promise;
    expect(notifications).toEqual([{ progress: 5, message: 'Good ' }]);
    stream.send(chunk('morning.') + usageChunk + done);
    stream.end();
    const { text, body, isError } = await answering;
    expect([text, isError, body.usage]).toEqual(['Good morning.', false, USAGE]);
    expect(notifications.map(({ message }) => message).join('')).toBe('Good morning.');
    expect(notifications.at(-1)?.progress).toBe(13);
    const [row] = await gateway.calls(id, 1);
    expect(row).toMatchObject({ outcome: 'SUCCEEDED', streamed: true, prompt_tokens: 7n, over_mcp: true });
    await client.close();
  });

  test('G-31 G-44 a stream that breaks off is a failed result and not charged', async () => {
    const { client, id } = await open(era, { scopes: ALL });
    gateway.upstream.answer(() => streamOf(chunk('Half')));
    const result = await callTool(client, 'chat', CHAT, { onprogress: () => {} });
    expect(result.isError).toBe(true);
    expect(result.body.error?.code).toBe('LLM_GATEWAY_UNAVAILABLE');
    const [row] = await gateway.calls(id, 1);
    expect(row).toMatchObject({ outcome: 'FAILED', charge_micro: 0n });
    await client.close();
  });

  test('G-43 list_models, get_usage and list_jobs return what their routes return', async () => {
    const { client, rawKey } = await open(era, { scopes: ALL });
    const { database, clock, secrets } = gateway.parts;
    const jobQueue = { enqueue: async () => null };
    for (const title of ['Welder', 'Turner', 'Miller']) {
      const job = { companyId: gateway.companyId, createdBy: null, fields: { title } };
      await database.transaction((within) => createJob(within, { clock, secrets, jobQueue }, job));
    }
    const rest = async (path: string) => {
      const response = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${rawKey}` } });
      return (await response.json()) as Record<string, unknown>;
    };
    const models = await callTool(client, 'list_models');
    expect(models.body).toEqual(await rest('/models'));
    expect(models.text.split('\n')).toContain('svc/chat-default');
    const january = { from: '2026-01-01', to: '2026-01-31' };
    const usage = await callTool(client, 'get_usage', { ...january, group_by: ['model', 'day'] });
    const { limits: _, ...same } = await rest('/usage?from=2026-01-01&to=2026-01-31&group_by=model,day');
    expect(usage.body).toMatchObject(same);
    expect(JSON.parse(usage.text)).toEqual(usage.body);
    const page = await callTool(client, 'list_jobs', { limit: 2 });
    expect(page.body).toEqual(await rest('/jobs?limit=2'));
    const next = await callTool(client, 'list_jobs', { limit: 2, after: page.body.next_cursor });
    expect(next.body).toEqual(await rest(`/jobs?limit=2&after=${page.body.next_cursor}`));
    expect((next.body.data as unknown[]).length).toBeGreaterThan(0);
    await client.close();
  });

  test('G-7 G-8 G-43 parse_cv and parse_jd read a text or a file in base64, and are charged once', async () => {
    const { client, id } = await open(era, { scopes: ALL });
    const profile = {
      document_kind: 'cv',
      basics: { name: 'Ada Byron' },
      work: [],
      education: [],
      skills: [],
    };
    const said = { role: 'assistant', content: JSON.stringify(profile) };
    gateway.upstream.answer(() => Response.json(chatAnswer({ choices: [{ index: 0, message: said }] })));
    const cv = await callTool(client, 'parse_cv', { text: CV_TEXT });
    const parsed = { object: 'parsed_cv', model: 'svc/extract-default' };
    expect(cv).toMatchObject({ isError: false, body: parsed });
    const file = { name: 'posting.txt', content_base64: new TextEncoder().encode(POSTING_TEXT).toBase64() };
    const posting = await callTool(client, 'parse_jd', { file });
    expect(posting).toMatchObject({ isError: false, body: { object: 'parsed_jd' } });
    const rows = await gateway.calls(id, 2);
    expect(rows.map(({ endpoint }) => endpoint)).toEqual(['parse/cv', 'parse/jd']);
    expect(await gateway.credits.chargesOf(rows[0]?.id)).toHaveLength(1);
    await client.close();
  });
});

describe.each([...ERAS])('refusals, for a client of %s', (era) => {
  test('G-45 a tool outside the scopes is 403 over HTTP, with the envelope and the scope, and recorded', async () => {
    const { client, id, rawKey } = await open(era, { scopes: ['inference:chat'] });
    const error = await client.callTool({ name: 'list_jobs', arguments: {} }).catch((caught) => caught);
    expect(String(error)).toContain('jobs:read');
    const response = await send(toolCall('list_jobs'), { rawKey });
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer error="insufficient_scope", scope="jobs:read"',
    );
    expect(await refusalOf(response)).toMatchObject({ status: 403, code: 'LLM_SCOPE_DENIED' });
    const [row] = await gateway.calls(id, 1);
    const refused = { outcome: 'REFUSED', reason: 'LLM_SCOPE_DENIED', over_mcp: true };
    expect(row).toMatchObject({ endpoint: 'jobs', ...refused });
    await client.close();
  });

  test('G-45 invalid arguments are failed results that name the argument', async () => {
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

  test('G-40 neither the handshake nor the list counts against the limits of the key', async () => {
    const { client } = await open(era, { requestsPerMinute: 1 });
    await client.listTools();
    expect((await callTool(client, 'list_models')).isError).toBe(false);
    expect((await callTool(client, 'list_models')).text).toContain('Retry after');
    await client.close();
  });
});

test('G-45 G-25 without a live key the answer is 401 with the envelope and a challenge', async () => {
  for (const body of [message('initialize'), message('tools/list'), toolCall('chat'), 'no json']) {
    const response = await send(body, { rawKey: `tpk_${'0'.repeat(49)}` });
    expect(response.headers.get('www-authenticate')).toStartWith('Bearer');
    expect(await refusalOf(response)).toMatchObject({ status: 401, type: 'authentication_error' });
  }
});

test('G-10 methods other than POST are 405, with or without a key', async () => {
  const { rawKey } = await gateway.mint();
  for (const authorization of ['', `Bearer ${rawKey}`]) {
    const response = await fetch(`${gateway.url}/mcp`, { method: 'DELETE', headers: { authorization } });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  }
});

test('G-34 G-9 a client that accepts only JSON gets JSON, and protocol errors keep their form', async () => {
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

test('G-9 requests of a foreign origin are refused, and on loopback of a foreign host', async () => {
  const { rawKey } = await gateway.mint();
  const beside = await openGateway({
    ...gateway.parts,
    isSecond: true,
    origins: [CONSOLE],
    mcp: { checksHost: true },
  });
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
  const beside = await openGateway({ ...gateway.parts, isSecond: true, addressRequestsPerMinute: 5 });
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

test('G-9 a batch whose requests share an id runs nothing', async () => {
  const { rawKey } = await gateway.mint();
  const before = gateway.upstream.received.length;
  const chat = message('tools/call', { name: 'chat', arguments: CHAT });
  const answered = await send([chat, chat], { rawKey });
  expect(answered.status).toBe(400);
  expect(await answered.json()).toMatchObject({ error: { code: -32600 }, id: null });
  expect(gateway.upstream.received).toHaveLength(before);
  // 1 and "1" are different ids.
  const different = await send([message('ping'), { ...message('ping'), id: '1' }], { rawKey });
  expect(await different.json()).toHaveLength(2);
});

test('G-9 a batch that cancels its own request is answered', async () => {
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  const { rawKey } = await gateway.mint();
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  const answered = await send([toolCall('list_models'), cancelled], { rawKey });
  expect(JSON.stringify(await answered.json())).toContain('svc/chat-default');
});

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

describe.each([...ERAS])('calls that a client of %s cancels', (era) => {
  test('G-44 G-31 that cancels a chat stops the provider, and the call is failed and not charged', async () => {
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

  test('G-44 G-31 that disconnects stops the provider too', async () => {
    const { client, id } = await open(era);
    const { ended, left } = await startEndless(client, new AbortController().signal);
    await client.close();
    await left;
    await ended;
    const [row] = await gateway.calls(id, 1);
    expect(row).toMatchObject({ outcome: 'FAILED', reason: 'client-left', charge_micro: 0n });
  });

  test('G-9 two gateways answer one client in turn', async () => {
    const proxy = startForwardingProxy([gateway.url, second.url]);
    const { client, id } = await open(era, {}, proxy.url);
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

test('G-44 G-31 a client that accepts only JSON and disconnects stops the provider', async () => {
  const { rawKey, id } = await gateway.mint();
  const closed = Promise.withResolvers<void>();
  const leave = new AbortController();
  gateway.upstream.answer(async (received) => {
    leave.abort();
    await received.closed;
    closed.resolve();
    return Response.json(chatAnswer());
  });
  const called = message('tools/call', { name: 'chat', arguments: CHAT });
  await post(`${gateway.url}/mcp`, rawKey, called, { signal: leave.signal }).catch(() => {});
  await closed.promise;
  const [row] = await gateway.calls(id, 1);
  expect(row).toMatchObject({ outcome: 'FAILED', reason: 'client-left', charge_micro: 0n });
});

test('G-44 a session or key cannot cancel the call of another one', async () => {
  const { client, rawKey } = await open('2025');
  const stop = new AbortController();
  const { ended, left } = await startEndless(client, stop.signal);
  const strange = await gateway.mint();
  const tries = [
    { rawKey: strange.rawKey, headers: { 'mcp-session-id': client.transport?.sessionId ?? '' } },
    { rawKey, headers: { 'mcp-session-id': 'another' } },
    { rawKey },
  ];
  for (const tried of tries) {
    for (const requestId of [0, 1, 2, 3]) {
      const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } };
      expect((await send(cancelled, tried)).status).toBe(202);
    }
  }
  let hasLeft = false;
  void left.then(() => {
    hasLeft = true;
  });
  expect((await send(toolCall('list_models'), { rawKey })).status).toBe(200);
  expect(hasLeft).toBe(false);
  stop.abort('enough');
  await left;
  await ended;
  await client.close();
});
