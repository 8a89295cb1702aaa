import { beforeAll, describe, expect, test } from 'bun:test';
import { SCOPES, type Scope } from '../../src/domain/keys/api-key.ts';
import { revokeKey } from '../../src/domain/keys/key-lifecycle.ts';
import { REFUSALS, type RefusalName } from '../../src/gateway/admission/refusals.ts';
import { routeNames } from '../../src/gateway/admission/routes.ts';
import { createSettableClock } from '../doubles/settable-clock.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { loseCredits, oweMoney } from './credits-under-test.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';

const good = { model: 'svc/chat-default', messages: [] };

const BODY_TIMEOUT_MS = 60_000;
const EXPIRES_AFTER_MS = 30_000;

const chat = 'inference:chat';
/** Which scope opens what, written down a second time; null where any key is let in and its tools are checked. */
const SCOPE_OF_ROUTE: Readonly<Record<string, Scope | null>> = {
  'POST /chat/completions': chat,
  'POST /completions': chat,
  'POST /embeddings': chat,
  'POST /responses': chat,
  'POST /responses/input_tokens': chat,
  'POST /responses/compact': chat,
  'GET /responses/resp_x': chat,
  'DELETE /responses/resp_x': chat,
  'GET /responses/resp_x/input_items': chat,
  'POST /messages': chat,
  'POST /messages/count_tokens': chat,
  'POST /parse/cv': 'inference:parse',
  'POST /parse/jd': 'inference:parse',
  'GET /models': chat,
  'GET /models/svc/chat-default': chat,
  'GET /usage': 'usage:read',
  'GET /usage/calls': 'usage:read',
  'GET /jobs': 'jobs:read',
  'POST /mcp': null,
};

let rawKey: string;
let chatUrl: string;

const clock = createSettableClock();
const gateway = useResource(() =>
  openGateway({ clock, maxBodyBytes: 10_000, bodyTimeoutMs: BODY_TIMEOUT_MS, unpricedFields: 'refuse' }),
);
beforeAll(async () => {
  ({ rawKey } = await gateway.mint());
  chatUrl = `${gateway.url}/chat/completions`;
});

test('every refusal of a known key has a text in the console, and every code a test over MCP', async () => {
  const page = await Bun.file('console/pages/usage/failures.tsx').text();
  const overMcp = await Bun.file('test/mcp/every-refusal.test.ts').text();
  // Without a key there is no row to show, and a scope that is missing is an HTTP error over MCP.
  const names = Object.keys(REFUSALS).filter((name) => name !== 'unauthenticated') as RefusalName[];
  expect(names.filter((name) => !page.includes(`\n  ${REFUSALS[name].code ?? name}: '`))).toEqual([]);
  const coded = names.filter((name) => REFUSALS[name].code !== null && name !== 'scopeDenied');
  expect(coded.filter((name) => !overMcp.includes(`'${REFUSALS[name].code}'`))).toEqual([]);
});

describe('401', () => {
  test('G-25 G-11 G-23 G-24 missing, unknown, malformed, revoked and expired keys get the same answer', async () => {
    const revoked = await gateway.mint();
    await revokeKey(gateway.parts, { companyId: gateway.companyId, keyId: revoked.id });
    const expiring = await gateway.mint({ expiresAt: new Date(clock.now() + EXPIRES_AFTER_MS) });
    clock.setAhead(EXPIRES_AFTER_MS);
    const unknown = `tpk_${'0'.repeat(49)}`;
    const bodies = new Set<string>();
    const keys = ['', 'nonsense', unknown, revoked.rawKey, expiring.rawKey];
    for (const authorization of ['', 'Basic x', ...keys.map((key) => `Bearer ${key}`)]) {
      const headers = { authorization, 'x-request-id': 'same' };
      const response = await post(chatUrl, '', good, { headers });
      expect(response.status).toBe(401);
      expect([...response.headers.keys()].some((name) => name.startsWith('x-ratelimit'))).toBe(false);
      bodies.add(await response.text());
    }
    expect(bodies.size).toBe(1);
  });

  test('G-23 a key that is revoked while the body of a call arrives is refused', async () => {
    const { rawKey: doomed, id } = await gateway.mint();
    const before = gateway.upstream.received.length;
    const ends = Promise.withResolvers<void>();
    const text = JSON.stringify(good);
    const slow = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode(text.slice(0, 10)));
        await ends.promise;
        controller.enqueue(new TextEncoder().encode(text.slice(10)));
        controller.close();
      },
    });
    const headers = { authorization: `Bearer ${doomed}`, 'content-type': 'application/json' };
    const calling = fetch(chatUrl, { method: 'POST', body: slow, headers });
    // The key was found before the body is waited for.
    await until(() => clock.pending(BODY_TIMEOUT_MS) === 1);
    await revokeKey(gateway.parts, { companyId: gateway.companyId, keyId: id });
    // A key is looked up again only where the body took its time.
    clock.setAhead(1_000);
    ends.resolve();
    expect((await refusalOf(calling)).status).toBe(401);
    expect(gateway.upstream.received).toHaveLength(before);
  });
});

describe('403, 404', () => {
  test('G-11 G-26 every route needs a live key with its scope; a new route needs a row', async () => {
    const doomed = await gateway.mint();
    await revokeKey(gateway.parts, { companyId: gateway.companyId, keyId: doomed.id });
    const narrow: Record<string, string> = {};
    for (const scope of SCOPES) narrow[scope] = (await gateway.mint({ scopes: [scope] })).rawKey;
    const names = routeNames().map(({ method, path }) => `${method} ${path}`);
    expect(Object.keys(SCOPE_OF_ROUTE)).toEqual(expect.arrayContaining(names));
    for (const [name, needed] of Object.entries(SCOPE_OF_ROUTE)) {
      const [method = '', path] = name.split(' ');
      const call = async (key: string) => {
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
        const init = { method, headers, ...(method === 'POST' ? { body: '{}' } : {}) };
        const response = await fetch(`${gateway.url}${path}`, init);
        return { status: response.status, text: await response.text() };
      };
      for (const key of ['', 'x', doomed.rawKey])
        expect([name, (await call(key)).status]).toEqual([name, 401]);
      for (const scope of SCOPES) {
        const { status, text } = await call(narrow[scope] ?? '');
        const isDenied = status === 403 && text.includes(needed ?? 'no scope');
        expect([name, scope, isDenied]).toEqual([name, scope, needed !== null && needed !== scope]);
        if (!isDenied) expect([401, 403]).not.toContain(status);
      }
    }
  });
});

test('G-4 HEAD is answered as GET, without the body, and is 404 where there is no GET', async () => {
  const send = async (method: string, path: string, headers: Record<string, string>) => {
    const { status, headers: answered, body } = await fetch(`${gateway.url}${path}`, { method, headers });
    const text = body === null ? '' : await new Response(body).text();
    return { status, type: answered.get('content-type'), text };
  };
  const authorization = `Bearer ${rawKey}`;
  for (const path of ['/models', '/models/svc/chat-default', '/usage', '/usage/calls?format=csv']) {
    for (const headers of [{}, { authorization }]) {
      const got = await send('GET', path, headers as Record<string, string>);
      const head = await send('HEAD', path, headers as Record<string, string>);
      expect(got.text).not.toBe('');
      expect(head).toEqual({ ...got, text: '' });
    }
  }
  expect((await send('HEAD', '/chat/completions', { authorization })).status).toBe(404);
});

describe('400, 408, 413', () => {
  test('G-36 G-13 malformed bodies name the field, and nothing reaches the upstream', async () => {
    const before = gateway.upstream.received.length;
    const bad: [string | Uint8Array, string | null][] = [
      ['', null],
      ['{', null],
      [new Uint8Array([0x7b, 0xff, 0x7d]), null],
      ['{"messages":[]}', 'model'],
      ['{"model":"svc/chat-default","mod\\u0065l":"x"}', 'model'],
      ['{"model":"svc/chat-default","stream":"yes"}', 'stream'],
    ];
    for (const [body, param] of bad) {
      const refused = await refusalOf(post(chatUrl, rawKey, body));
      expect(refused).toMatchObject({ status: 400, type: 'invalid_request_error', param });
    }
    expect(gateway.upstream.received.length).toBe(before);
  });

  test('an alias of the wrong kind for the endpoint is named in the error', async () => {
    const chat = await refusalOf(post(chatUrl, rawKey, { ...good, model: 'svc/embed-default' }));
    expect(chat).toMatchObject({ status: 400, param: 'model' });
    expect(chat.message).toContain('embed');
    const sent = { model: 'svc/chat-default', input: 'x' };
    expect((await refusalOf(post(`${gateway.url}/embeddings`, rawKey, sent))).status).toBe(400);
  });

  test('a body of another type gets an error that names the accepted one', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const refused = await refusalOf(post(chatUrl, rawKey, good, { headers }));
    expect(refused).toMatchObject({ status: 400, message: 'Send the body as application/json.' });
  });
});

describe('routes of the other wires', () => {
  const asked = { model: 'svc/chat-default', input: 'x', messages: [], max_tokens: 1 };

  /** Status, type and code, after the shape of the route was checked. */
  async function refused(path: string, response: Response | Promise<Response>): Promise<string> {
    const answered = await response;
    const requestId = answered.headers.get('x-request-id');
    const said = (await answered.clone().json()) as { error: Record<string, unknown>; request_id: string };
    if (path.startsWith('/messages')) {
      expect(Object.keys(said)).toEqual(['type', 'error', 'request_id']);
      expect(said).toMatchObject({ type: 'error', request_id: requestId });
      expect(answered.headers.get('request-id')).toBe(requestId);
    } else await refusalOf(answered);
    const { type, code, message } = said.error;
    expect(message).toBeString();
    return `${answered.status} ${type} ${code}`;
  }

  const PATHS = ['/responses', '/responses/compact', '/messages', '/messages/count_tokens'];

  describe.each(['/chat/completions', ...PATHS])('%s', (path) => {
    const ask = (key: string, body: unknown = asked, init: RequestInit = {}) =>
      refused(path, post(`${gateway.url}${path}`, key, body, init));

    test('401, 403, 404 and 429 have the error shape of the route', async () => {
      expect(await ask('nonsense')).toBe('401 authentication_error null');
      const scoped = await gateway.mint({ scopes: ['usage:read'] });
      expect(await ask(scoped.rawKey)).toBe('403 permission_error LLM_SCOPE_DENIED');
      const narrow = await gateway.mint({ models: ['svc/chat-cheap'] });
      // G-27: Claude Code reads a 403 as a failed login. Models that do not exist are answered alike.
      const hidden = path.startsWith('/messages') ? '404 not_found_error' : '403 permission_error';
      expect(await ask(narrow.rawKey)).toBe(`${hidden} LLM_MODEL_NOT_ALLOWED`);
      expect(await ask(rawKey, { ...asked, model: 'svc/none' })).toBe(`${hidden} LLM_MODEL_NOT_ALLOWED`);
      for (const [method, more] of [
        ['GET', ''],
        ['POST', '/nothing'],
      ] as const) {
        const headers = { authorization: `Bearer ${rawKey}` };
        const gone = await refused(path, fetch(`${gateway.url}${path}${more}`, { method, headers }));
        expect(gone).toStartWith('404 not_found_error');
      }
      const limited = await gateway.mint({ requestsPerMinute: 1 });
      gateway.upstream.answer(() => Response.json({}, { status: 503 }));
      await post(`${gateway.url}${path}`, limited.rawKey, asked);
      expect(await ask(limited.rawKey)).toBe('429 rate_limit_error null');
    });

    test('400 for what cannot be read, and for the wrong kind of model', async () => {
      const before = gateway.upstream.received.length;
      const bad = '400 invalid_request_error null';
      expect(await ask(rawKey, '{')).toBe(bad);
      expect(await ask(rawKey, { ...asked, model: 'svc/embed-default' })).toBe(bad);
      expect(await ask(rawKey, JSON.stringify(asked).replace('{', '{"Stream":true,'))).toBe(bad);
      expect(await ask(rawKey, asked, { headers: { 'content-type': 'text/plain' } })).toBe(bad);
      expect(await ask(rawKey, asked, { headers: { 'idempotency-key': '\u00e4' } })).toBe(bad);
      expect(gateway.upstream.received.length).toBe(before);
    });

    test('408, 413 and 415', async () => {
      const slow = new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{')),
      });
      const headers = { authorization: `Bearer ${rawKey}`, 'content-type': 'application/json' };
      const late = fetch(`${gateway.url}${path}`, { method: 'POST', body: slow, headers });
      await until(() => clock.pending(BODY_TIMEOUT_MS) === 1);
      clock.setAhead(BODY_TIMEOUT_MS);
      expect(await refused(path, late)).toBe('408 invalid_request_error null');
      const isMessages = path.startsWith('/messages');
      expect(await ask(rawKey, { ...asked, x: 'x'.repeat(20_000) })).toBe(
        `413 ${isMessages ? 'request_too_large' : 'invalid_request_error'} null`,
      );
      const encoded = { headers: { 'content-encoding': 'zstd+x' } };
      expect(await ask(rawKey, asked, encoded)).toBe('415 invalid_request_error null');
    });
  });

  test('hosted tools, stored files, background responses and continuations are refused with advice', async () => {
    const stored = { role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] };
    const url = `${gateway.url}/responses`;
    for (const [more, param, status] of [
      [{ background: true }, 'background', 400],
      [{ previous_response_id: 'resp_1' }, 'previous_response_id', 404],
      [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input', 404],
      [{ conversation: 'conv_1' }, 'conversation', 400],
      [{ input: [stored] }, 'input', 400],
      [{ tools: [{ type: 'web_search_preview' }] }, 'tools[0].type', 400],
    ] as const) {
      const said = await refusalOf(post(url, rawKey, { ...asked, ...more }));
      expect(said).toMatchObject({ status, param });
    }
  });
});

test.each(['/parse/cv', '/parse/jd', '/mcp'])(
  'G-26 a call without its scope is told which one: %s',
  async (path) => {
    const { rawKey } = await gateway.mint({ scopes: ['inference:chat'] });
    const params = { name: 'parse_cv', arguments: { text: 'x' } };
    const body = path === '/mcp' ? { jsonrpc: '2.0', id: 1, method: 'tools/call', params } : { text: 'x' };
    const said = await refusalOf(post(`${gateway.url}${path}`, rawKey, body));
    expect(said).toMatchObject({ status: 403, code: 'LLM_SCOPE_DENIED' });
    expect(said.message).toContain('inference:parse');
  },
);

describe('the order of refusals', () => {
  const overdue = useResource(() => openGateway({ billingMode: 'POSTPAID', balanceMicro: 0n }));

  test('G-32 G-37 model 403, then overdue 403, then credits 402, then key limits 429', async () => {
    const { rawKey: limited } = await overdue.mint({ requestsPerMinute: 1, models: [good.model] });
    const send = (sent: object) => post(`${overdue.url}/chat/completions`, limited, sent);
    expect((await send(good)).status).toBe(200);
    const codeOf = async (sent: object = good) => {
      const { status, code } = await refusalOf(send(sent));
      return `${status} ${code}`;
    };
    expect(await codeOf()).toBe('429 null');
    await loseCredits(overdue);
    expect(await codeOf()).toBe('402 INSUFFICIENT_CREDITS');
    const pay = await oweMoney(overdue);
    expect(await codeOf()).toBe('403 PLAN_LIMIT_EXCEEDED');
    expect(await codeOf({ ...good, model: 'svc/chat-cheap' })).toBe('403 LLM_MODEL_NOT_ALLOWED');
    await pay();
    expect(await codeOf()).toBe('402 INSUFFICIENT_CREDITS');
  });
});
