import { describe, expect, spyOn, test } from 'bun:test';
import { isNestedTooDeep, isValueTooDeep, MOST_LEVELS, readJson } from '../../src/http/read-json.ts';
import { openAiService, TOKEN } from '../ai-service/ai-service-under-test.ts';
import { openBackend } from '../backend/backend-under-test.ts';
import { openLiveLogs } from '../backend/live-logs-under-test.ts';
import { initOf, openRawSocket } from '../backend/raw-socket.ts';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { useResource } from '../setup/use-resource.ts';

const LEVELS = 50_000;
const deep = `${'['.repeat(LEVELS)}${']'.repeat(LEVELS)}`;

/** Serializing so many levels takes 4 seconds, in which the process does nothing else. */
async function unserialized<Result>(work: () => Promise<Result>): Promise<Result> {
  const stringify = spyOn(JSON, 'stringify');
  try {
    const result = await work();
    expect(stringify.mock.calls.filter(([value]) => isValueTooDeep(value)).length).toBe(0);
    return result;
  } finally {
    stringify.mockRestore();
  }
}

describe('50,000 nested arrays', () => {
  const gateway = useResource(() => openGateway({ embeddedAllowed: true }));
  const backend = useResource(() => openBackend());
  const live = useResource(() => openLiveLogs());
  const aiService = useResource(() => openAiService());

  test('G-9 in an MCP message are a parse error', async () => {
    const { rawKey } = await gateway.mint();
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chat","arguments":{"model":"svc/chat-default","messages":${deep}}}}`;
    const headers = { accept: 'application/json, text/event-stream' };
    const answer = await unserialized(() => post(`${gateway.url}/mcp`, rawKey, body, { headers }));
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      error: { code: -32700, message: expect.stringContaining('nested') },
    });
  });

  test.each([
    ['G-7 in a document to parse are a 400', '/parse/cv', `{"text":"x","more":${deep}}`, 400],
    [
      'G-12 in a model call are passed on unchanged',
      '/chat/completions',
      `{"model":"svc/chat-default","messages":[],"metadata":${deep}}`,
      200,
    ],
  ])('%s', async (_, path, body, status) => {
    const { rawKey } = await gateway.mint();
    const answer = await unserialized(() => post(`${gateway.url}${path}`, rawKey, body));
    expect([answer.status, (await answer.text()).includes('nested')]).toEqual([status, status === 400]);
  });

  test('in a call that is translated are a 400 at once, and do not count against the provider', async () => {
    const { rawKey } = await gateway.mint();
    const { upstream } = gateway;
    const before = upstream.received.length;
    const body = (tool: string) =>
      `{"model":"svc/chat-default","max_tokens":1,"messages":[{"role":"user","content":"Hi"}],"tools":[${tool}]}`;
    const messages = body(`{"name":"f","input_schema":{"type":"object","a":${deep}}}`);
    const chat = body(
      `{"type":"function","function":{"name":"f","parameters":{"type":"object","a":${deep}}}}`,
    );
    const sent = [
      ['compatible', '/messages', messages],
      ['compatible', '/messages/count_tokens', messages],
      ['anthropic', '/chat/completions', chat],
    ] as const;
    for (const [provider, path, request] of sent) {
      await gateway.aimAtProvider('svc/chat-default', { provider }, upstream);
      for (const _ of [1, 2, 3, 4, 5, 6]) {
        const answer = await unserialized(() => post(`${gateway.url}${path}`, rawKey, request));
        expect(answer.status).toBe(400);
        expect(await answer.text()).toContain('levels');
      }
    }
    expect(upstream.received.length).toBe(before);
    await gateway.aimAt('svc/chat-default', upstream);
    expect((await post(`${gateway.url}/chat/completions`, rawKey, chat)).status).toBe(200);
  });

  test('as a profile, in variables, in a query or in an address, are refused', async () => {
    const { token } = backend.people.admin;
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const url = 'http://backend.test/graphql';
    const send = (body: string) => backend.fetch(new Request(url, { method: 'POST', headers, body }));
    const create = 'mutation($profile: JSON!) { createTalent(input: { profile: $profile }) { id } }';
    const inVariables = await unserialized(() =>
      send(`{"query":"${create}","variables":{"profile":${deep}}}`),
    );
    expect(inVariables.status).toBe(400);
    expect(await inVariables.text()).toContain('nested');
    const literal = `${'['.repeat(500)}${']'.repeat(500)}`;
    const inQuery = await unserialized(() =>
      send(JSON.stringify({ query: `mutation { createTalent(input: { profile: ${literal} }) { id } }` })),
    );
    expect(await inQuery.text()).toContain('nested');
  });

  test.each([
    ['a session of the console', '/session/login', `{"email":${deep}}`],
    ['a payment event', '/payments/webhook', `{"id":"evt_1","type":"x","data":{"object":${deep}}}`],
  ])('in %s are refused, and not redelivered', async (_, path, body) => {
    const headers = {
      ...{ 'content-type': 'application/json', origin: 'https://console.example' },
      'stripe-signature': 't=1,v1=00',
    };
    const request = new Request(`http://backend.test${path}`, { method: 'POST', headers, body });
    expect((await unserialized(() => backend.fetch(request))).status).toBe(400);
  });

  test('over a WebSocket close it', async () => {
    const socket = openRawSocket(live);
    await socket.send(initOf(live));
    await socket.has('connection_ack');
    const nested = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    await socket.send(
      `{"type":"subscribe","id":"1","payload":{"query":"subscription { logStream { message } }","variables":{"x":${nested}}}}`,
    );
    expect((await socket.closed).code).toBe(4400);
  });

  test('in an event of the meeting server are refused', async () => {
    const event = { event: 'room_created', room: 'a', timestamp: '2026-01-01T00:00:00Z', more: 'here' };
    const body = JSON.stringify(event).replace('"here"', deep);
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const request = { method: 'POST', headers, body };
    const answer = await unserialized(async () => aiService.app.request('/api/events/room/created', request));
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('nested')]);
  });

  test('G-44 in the answer of a provider end the tool call as a failure', async () => {
    const { rawKey } = await gateway.mint();
    const usage = '{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}';
    const chat = `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","more":${deep}},"finish_reason":"stop"}],"usage":${usage}}`;
    gateway.upstream.answer(() => new Response(chat, { headers: { 'content-type': 'application/json' } }));
    const call = { name: 'chat', arguments: { model: 'svc/chat-default', prompt: 'Hi' } };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call };
    const headers = { accept: 'application/json, text/event-stream' };
    const answer = await unserialized(() => post(`${gateway.url}/mcp`, rawKey, body, { headers }));
    expect(await answer.json()).toMatchObject({ result: { isError: true } });
  });
});

describe('the bound', () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`;

  test('is counted outside strings alone, whatever they contain', () => {
    expect(readJson(bytes(nested(MOST_LEVELS)))).toEqual({
      outcome: 'read',
      value: JSON.parse(nested(MOST_LEVELS)),
    });
    expect(readJson(bytes(nested(MOST_LEVELS + 2)))).toEqual({ outcome: 'too-deep' });
    const text = `${'['.repeat(500)}"\\\\\\"${'{'.repeat(500)}`;
    expect(readJson(bytes(JSON.stringify({ text })))).toEqual({ outcome: 'read', value: { text } });
    for (const broken of ['', '"', '"\\', '{"a', '[1', '}'.repeat(100), '\xff']) {
      expect(readJson(new Uint8Array([...broken].map((one) => one.charCodeAt(0)))).outcome).toBe('not-json');
    }
    expect(isNestedTooDeep(bytes(`"\\"${'['.repeat(100)}`))).toBe(false);
  });

  test('applies to values that were built', () => {
    expect(isValueTooDeep(JSON.parse(nested(MOST_LEVELS)))).toBe(false);
    expect(isValueTooDeep(JSON.parse(nested(MOST_LEVELS + 2)))).toBe(true);
    expect(isValueTooDeep(JSON.parse(deep))).toBe(true);
    for (const value of [null, 1, 'x', [], {}]) expect(isValueTooDeep(value)).toBe(false);
  });
});
