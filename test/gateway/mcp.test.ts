import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createJob } from '../../src/domain/jobs/job-changes.ts';
import type { Scope } from '../../src/domain/keys/api-key.ts';
import { revokeKey } from '../../src/domain/keys/key-lifecycle.ts';
import type { KeyToMint } from '../../src/domain/keys/mint-key.ts';
import { CV_TEXT, POSTING_TEXT } from '../ai-service/workers-under-test.ts';
import { until } from '../doubles/until.ts';
import { startForwardingProxy } from '../mcp/forwarding-proxy.ts';
import { openGatewayBeside } from '../mcp/gateway-beside.ts';
import { callTool, ERAS, type Era, openClient } from '../mcp/mcp-client.ts';
import { useResource } from '../setup/use-resource.ts';
import { type GatewayUnderTest, openGateway, refusalOf } from './gateway-under-test.ts';
import { chatAnswer, chunk, done, openStream, streamOf, USAGE, usageChunk } from './scripted-upstream.ts';

const ALL: readonly Scope[] = ['inference:chat', 'inference:parse', 'usage:read', 'jobs:read'];
const PRICED = { model: 'svc/chat-default' };
const CHAT = { model: 'svc/chat-default', prompt: 'Hi' };
const CONSOLE = 'https://console.example.org';

interface Sent {
  readonly rawKey?: string;
  readonly headers?: Record<string, string>;
  readonly url?: string;
}

const message = (method: string, params: object = {}, id = 1) => ({ jsonrpc: '2.0', id, method, params });
const toolCall = (name: string, id = 1) => message('tools/call', { name, arguments: {} }, id);

describe('the tools over MCP', () => {
  const gateway = useResource(() => openGateway());

  async function open(era: Era, scopes: readonly Scope[] | undefined = ALL) {
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    const minted = await gateway.mint(scopes === undefined ? {} : { scopes: [...scopes] });
    return { ...minted, client: await openClient(gateway.url, minted.rawKey, era) };
  }

  const sent = () =>
    JSON.parse(new TextDecoder().decode(gateway.upstream.received.at(-1)?.body)) as Record<string, unknown>;

  describe.each([...ERAS])('a client of %s', (era) => {
    test('G-43 G-21 lists the tools of its key’s scopes, in one order, with descriptions', async () => {
      const expected: [readonly Scope[] | undefined, readonly string[]][] = [
        [['inference:chat'], ['chat', 'list_models']],
        [['usage:read'], ['get_usage']],
        [['jobs:read'], ['list_jobs']],
        [['inference:parse'], ['parse_cv', 'parse_jd']],
        [ALL, ['chat', 'list_models', 'get_usage', 'list_jobs', 'parse_cv', 'parse_jd']],
      ];
      for (const [scopes, names] of expected) {
        const { client } = await open(era, scopes);
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
      const usual = await gateway.mint();
      const client = await openClient(gateway.url, usual.rawKey, era);
      const names = (await client.listTools()).tools.map(({ name }) => name);
      expect(names).toEqual(['chat', 'list_models', 'get_usage', 'parse_cv', 'parse_jd']);
      await client.close();
    });

    test('G-44 chat takes prompt or messages and is charged as the same call over REST', async () => {
      const { client, rawKey, id } = await open(era);
      const messages = [{ role: 'user', content: 'Hi' }];
      const answered = await callTool(client, 'chat', {
        ...PRICED,
        prompt: 'Hi',
        temperature: 0,
        max_tokens: 5,
      });
      expect(sent()).toEqual({ model: 'provider-model-x', messages, temperature: 0, max_tokens: 5 });
      expect(answered).toEqual({
        isError: false,
        text: 'Hello.',
        body: { model: 'svc/chat-default', text: 'Hello.', finish_reason: 'stop', usage: USAGE },
      });
      const asked = { ...PRICED, messages, temperature: 0, max_tokens: 5 };
      await callTool(client, 'chat', asked);
      const url = `${gateway.url}/chat/completions`;
      const headers = { authorization: `Bearer ${rawKey}`, 'content-type': 'application/json' };
      await (await fetch(url, { method: 'POST', headers, body: JSON.stringify(asked) })).text();
      const rows = await gateway.calls(id, 3);
      expect(rows.map(({ over_mcp }) => over_mcp)).toEqual([true, true, null]);
      const books = rows.map((row) => ({
        row: [
          row.endpoint,
          row.outcome,
          row.alias,
          row.prompt_tokens,
          row.completion_tokens,
          row.charge_micro,
        ],
        limits: [row.estimated_tokens, row.streamed, row.http_status],
      }));
      expect(books[0]).toEqual(books[2] as never);
      expect(books[1]).toEqual(books[2] as never);
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
      const onprogress = (progress: { progress: number; message?: string | undefined }) => {
        notifications.push({ progress: progress.progress, message: progress.message });
        first.resolve();
      };
      const answering = callTool(client, 'chat', { ...PRICED, prompt: 'Hi' }, { onprogress });
      stream.send(chunk('Good '));
      // Progress is sent before the model has finished.
      await first.promise;
      expect(notifications).toEqual([{ progress: 5, message: 'Good ' }]);
      stream.send(chunk('morning.') + usageChunk + done);
      stream.end();
      const { text, body, isError } = await answering;
      expect({ text, isError, usage: body.usage }).toEqual({
        text: 'Good morning.',
        isError: false,
        usage: USAGE,
      });
      expect(notifications.map(({ message }) => message).join('')).toBe('Good morning.');
      expect(notifications.at(-1)?.progress).toBe(13);
      const [row] = await gateway.calls(id, 1);
      expect(row).toMatchObject({ outcome: 'SUCCEEDED', streamed: true, prompt_tokens: 7n, over_mcp: true });
      await client.close();
    });

    test('G-31 G-44 a stream that breaks off is a failed result and not charged', async () => {
      const { client, id } = await open(era);
      gateway.upstream.answer(() => streamOf(chunk('Half')));
      const result = await callTool(client, 'chat', { ...PRICED, prompt: 'Hi' }, { onprogress: () => {} });
      expect(result.isError).toBe(true);
      expect(result.body.error?.code).toBe('LLM_GATEWAY_UNAVAILABLE');
      const [row] = await gateway.calls(id, 1);
      expect(row).toMatchObject({ outcome: 'FAILED', charge_micro: 0n });
      await client.close();
    });

    test('G-43 list_models, get_usage and list_jobs return what their routes return', async () => {
      const { client, rawKey } = await open(era);
      const { database, clock, secrets } = gateway.parts;
      const jobQueue = { enqueue: async () => null };
      for (const title of ['Welder', 'Turner', 'Miller']) {
        await database.transaction((transaction) =>
          createJob(
            transaction,
            { clock, secrets, jobQueue },
            { companyId: gateway.companyId, createdBy: null, fields: { title } },
          ),
        );
      }
      const rest = async (path: string) => {
        const response = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${rawKey}` } });
        return (await response.json()) as Record<string, unknown>;
      };
      const models = await callTool(client, 'list_models');
      expect(models.body).toEqual(await rest('/models'));
      expect(models.text.split('\n')).toContain('svc/chat-default');
      const usage = await callTool(client, 'get_usage', {
        from: '2026-01-01',
        to: '2026-01-31',
        group_by: ['model', 'day'],
      });
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
      const { client, id } = await open(era);
      const answering = (content: unknown) => () =>
        Response.json(
          chatAnswer({
            choices: [{ index: 0, message: { role: 'assistant', content: JSON.stringify(content) } }],
          }),
        );
      gateway.upstream.answer(
        answering({
          document_kind: 'cv',
          basics: { name: 'Ada Byron' },
          work: [],
          education: [],
          skills: [],
        }),
      );
      const cv = await callTool(client, 'parse_cv', { text: CV_TEXT });
      expect(cv).toMatchObject({
        isError: false,
        body: { object: 'parsed_cv', model: 'svc/extract-default' },
      });
      const file = { name: 'posting.txt', content_base64: new TextEncoder().encode(POSTING_TEXT).toBase64() };
      const posting = await callTool(client, 'parse_jd', { file });
      expect(posting).toMatchObject({ isError: false, body: { object: 'parsed_jd' } });
      const rows = await gateway.calls(id, 2);
      expect(rows.map(({ endpoint }) => endpoint)).toEqual(['parse/cv', 'parse/jd']);
      expect(await gateway.credits.chargesOf(rows[0]?.id)).toHaveLength(1);
      await client.close();
    });
  });
});

describe('refusals over MCP', () => {
  let gateway: GatewayUnderTest;
  let poor: GatewayUnderTest;

  beforeAll(async () => {
    gateway = await openGateway();
    poor = await openGateway({ balanceMicro: 0n });
  });
  afterAll(async () => {
    await gateway.close();
    await poor.close();
  });

  async function open(era: Era, wanted: Partial<KeyToMint> = {}, at = gateway) {
    at.upstream.answer(() => Response.json(chatAnswer()));
    const minted = await at.mint(wanted);
    return { ...minted, client: await openClient(at.url, minted.rawKey, era) };
  }

  /** A plain request, as curl sends it. */
  function send(
    body: unknown,
    { rawKey = '', headers = {}, url = gateway.url }: Sent = {},
  ): Promise<Response> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const all = { authorization: `Bearer ${rawKey}`, 'content-type': 'application/json', ...headers };
    return fetch(`${url}/mcp`, { method: 'POST', headers: all, body: text });
  }

  describe.each([...ERAS])('a client of %s', (era) => {
    test('G-45 a tool outside the scopes is 403 over HTTP, with the envelope and the scope, and recorded', async () => {
      const { client, id, rawKey } = await open(era, { scopes: ['inference:chat'] });
      const error = await client.callTool({ name: 'list_jobs', arguments: {} }).catch((caught) => caught);
      expect(String(error)).toContain('jobs:read');
      const response = await send(toolCall('list_jobs'), { rawKey });
      expect(response.headers.get('www-authenticate')).toBe(
        'Bearer error="insufficient_scope", scope="jobs:read"',
      );
      expect(await refusalOf(response)).toMatchObject({ status: 403, code: 'LLM_SCOPE_DENIED' });
      const rows = await gateway.calls(id, 1);
      expect(rows[0]).toMatchObject({
        endpoint: 'jobs',
        outcome: 'REFUSED',
        reason: 'LLM_SCOPE_DENIED',
        over_mcp: true,
      });
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
      expect(foreign.text).toContain('the MCP tool list_models');
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
        expect([isError, body.error?.type, body.error?.param]).toEqual([
          true,
          'invalid_request_error',
          param,
        ]);
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

  test('G-45 G-25 without a live key the answer is 401 with the envelope and a challenge', async () => {
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
    const large = await send(
      JSON.stringify(message('ping', { _meta: { filler: 'x'.repeat(1024 * 1024) } })),
      {
        rawKey,
      },
    );
    expect(await refusalOf(large)).toMatchObject({ status: 413 });
  });

  test('G-9 requests of a foreign origin are refused, and on loopback of a foreign host', async () => {
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
});

describe('calls that an MCP client cancels', () => {
  let gateway: GatewayUnderTest;
  let beside: Awaited<ReturnType<typeof openGatewayBeside>>;
  let other: typeof beside;

  beforeAll(async () => {
    gateway = await openGateway();
    beside = await openGatewayBeside(gateway);
    other = await openGatewayBeside(gateway);
  });
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
      const ended = callTool(client, 'chat', CHAT, { signal: cancel.signal }).catch(
        (error: unknown) => error,
      );
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

  test('G-44 G-31 a client that accepts only JSON and disconnects stops the provider', async () => {
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

  test('G-44 a cancellation by a client of 2025 at one gateway stops the call at the other', async () => {
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

  test('G-44 a session or key cannot cancel the call of another one', async () => {
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
});
