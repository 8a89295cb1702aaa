/** Attacks on everything that `npm start` starts: what a browser may do for another site, internal routes, and the log. */
import { expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { useResource } from '../setup/use-resource.ts';
import { useSystem } from '../setup/use-system.ts';

const running = useSystem({ LOG_LEVEL: 'debug' });

const EVIL = ['https://evil.example', 'null', 'http://127.0.0.1.evil.example'];

test('P-8 P-13 G-9 a page of another origin reads nothing, signs no one in, and opens no socket and no MCP session', async () => {
  const { backend_url, gateway_url, full_key, company_admin } = running.demo;
  const authorization = `Bearer ${full_key}`;
  const upgrade = {
    ...{ upgrade: 'websocket', connection: 'Upgrade', 'sec-websocket-version': '13' },
    ...{ 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-protocol': 'graphql-transport-ws' },
  };
  const mcp = async (more: Record<string, string>) => {
    const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    const headers = { authorization, ...json, ...more };
    return (await fetch(`${gateway_url}/mcp`, { method: 'POST', headers, body })).status;
  };
  for (const origin of EVIL) {
    const simple = { origin, 'content-type': 'text/plain', 'sec-fetch-site': 'cross-site' };
    const login = { method: 'POST', headers: simple, body: JSON.stringify(company_admin) };
    const signed = await fetch(`${backend_url}/session/login`, login);
    expect([signed.status, signed.headers.get('set-cookie')]).toEqual([400, null]);
    for (const url of [`${backend_url}/graphql`, `${gateway_url}/chat/completions`]) {
      const headers = { origin, 'access-control-request-method': 'POST' };
      const preflight = await fetch(url, { method: 'OPTIONS', headers });
      expect(preflight.headers.get('access-control-allow-origin')).toBeNull();
    }
    const read = await fetch(`${gateway_url}/models`, { headers: { origin, authorization } });
    expect(read.headers.get('access-control-allow-origin')).toBeNull();
    expect((await fetch(`${backend_url}/graphql`, { headers: { ...upgrade, origin } })).status).toBe(403);
    expect(await mcp({ origin })).toBe(403);
  }
  expect([await mcp({ host: 'evil.example' }), await mcp({})]).toEqual([403, 200]);
});

test('A-6 every internal route of every service refuses anonymous requests, company keys, access tokens and similar tokens alike', async () => {
  const { gateway_url, backend_url, ai_url, full_key, internal_token, company_admin } = running.demo;
  const login = await fetch(`${backend_url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      query:
        'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }',
      variables: company_admin,
    }),
  });
  const { accessToken } = (await login.json()).data.login;
  const wrong = ['', 'x', full_key, accessToken, `${internal_token}x`, internal_token.slice(0, -1)];
  const origins = [new URL(gateway_url).origin, new URL(backend_url).origin];
  const described = await (await fetch(`${ai_url}/openapi.json`)).json();
  const internal = Object.entries<Record<string, { security?: unknown }>>(described.paths).flatMap(
    ([path, methods]) =>
      Object.entries(methods).flatMap(([method, { security }]) =>
        security === undefined
          ? []
          : [[method.toUpperCase(), `${ai_url}${path.replaceAll(/\{\w+\}/g, 'x')}`] as const],
      ),
  );
  expect(internal.length).toBeGreaterThan(5);
  const routes = [...internal, ...origins.map((origin) => ['GET', `${origin}/metrics`] as const)];
  for (const [method, url] of routes) {
    const bodies = new Set<string>();
    for (const token of wrong) {
      const answer = await fetch(url, {
        method,
        headers: token === '' ? {} : { authorization: `Bearer ${token}` },
      });
      expect([method, url, answer.status]).toEqual([method, url, 401]);
      bodies.add(await answer.text());
    }
    expect(bodies.size).toBe(1);
  }
});

const gateway = useResource(() => openGateway());
const SCRIPT = '<script>alert(1)</script>';

test('no response of a service is a page, can be framed, or is sniffed as a script', async () => {
  const { gateway_url, backend_url, ai_url } = running.demo;
  const page = { headers: { accept: 'text/html' } };
  const guarded = await Promise.all([
    fetch(`${backend_url}/graphql?query=${SCRIPT}`),
    fetch(`${backend_url}/payments/webhook`, { method: 'POST', body: SCRIPT }),
    fetch(`${backend_url}/assets/${SCRIPT}`, page),
    fetch(`${ai_url}/${SCRIPT}`),
  ]);
  for (const { url, headers } of guarded) {
    const policy = headers.get('content-security-policy') ?? '';
    const found = [headers.get('x-content-type-options'), policy.includes("frame-ancestors 'none'")];
    expect([url, ...found]).toEqual([url, 'nosniff', true]);
    expect(headers.get('content-type') ?? '').not.toContain('html');
  }
  const unknown = await fetch(`${gateway_url}/${SCRIPT}`, page);
  expect(unknown.headers.get('content-type')).toStartWith('application/json');
  const console = await fetch(backend_url, page);
  expect(console.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
});

test('a page returned by a provider is delivered as JSON or as events, never as a page', async () => {
  const { rawKey } = await gateway.mint();
  for (const status of [200, 400, 500]) {
    for (const stream of [false, true]) {
      gateway.upstream.answer(
        () => new Response(SCRIPT, { status, headers: { 'content-type': 'text/html' } }),
      );
      const answer = await post(`${gateway.url}/chat/completions`, rawKey, {
        model: 'svc/chat-default',
        messages: [],
        stream,
      });
      expect(answer.headers.get('content-type')).toMatch(/^(application\/json|text\/event-stream)/);
      await answer.text();
    }
  }
});

const PROMPT = 'prompt-marker-7f3a91';
const CV =
  'Ada Markerson-5521\nada.marker5521@example.org\nEngineer, Analytical Engines Ltd, 2020 - 2023\nSkills: Python';
const PASSWORD = 'password-marker-0d1e-Zq';

/** The last one, because it ends the system and reads everything that was logged. */
test('secrets, prompts and CV texts sent to every service, in valid and invalid requests, are in no log entry', async () => {
  const { demo, system } = running;
  const json = { 'content-type': 'application/json' };
  const send = (url: string, body: string, headers: Record<string, string> = {}) =>
    fetch(url, { method: 'POST', body, headers: { ...json, ...headers } }).then((answer) => answer.text());
  const withKey = { authorization: `Bearer ${demo.full_key}` };
  const chat = JSON.stringify({ model: 'svc/chat-default', messages: [{ role: 'user', content: PROMPT }] });
  const login = (password: string) =>
    JSON.stringify({
      query: `mutation { login(email: "${demo.company_admin.email}", password: "${password}") { accessToken refreshToken } }`,
    });
  const wrongKey = `tpk_${'4'.repeat(49)}`;
  const calls: Promise<string>[] = [
    send(`${demo.gateway_url}/chat/completions`, chat, withKey),
    send(`${demo.gateway_url}/chat/completions`, chat, { authorization: `Bearer ${wrongKey}` }),
    send(`${demo.gateway_url}/chat/completions`, `{"model":"${PROMPT}"`, withKey),
    send(`${demo.gateway_url}/chat/completions?api_key=${wrongKey}&q=${PROMPT}`, chat, withKey),
    send(`${demo.gateway_url}/parse/cv`, JSON.stringify({ text: CV }), withKey),
    send(`${demo.backend_url}/graphql`, login(demo.company_admin.password)),
    send(`${demo.backend_url}/graphql`, login(PASSWORD)),
    send(`${demo.backend_url}/graphql`, `{ "query": "{ ${PASSWORD} }" `),
    send(`${demo.backend_url}/payments/webhook`, `{"id":"${PROMPT}"}`, { 'stripe-signature': 't=1,v1=00' }),
    send(`${demo.ai_url}/internal/none`, chat, { authorization: `Bearer ${PASSWORD}` }),
  ];
  const answers = await Promise.all(calls);
  const { accessToken, refreshToken } = JSON.parse(answers[5] ?? '').data.login;
  system.signal('SIGTERM');
  expect(await system.exited).toBe(0);
  const logged = system.output() + system.errors();
  await until(() => logged.length > 0);
  const planted = [PROMPT, 'Markerson', 'marker5521', PASSWORD, wrongKey, accessToken, refreshToken];
  const secrets = [demo.api_key, demo.full_key, demo.internal_token, demo.webhook_secret, demo.jwt_secret];
  const people = [demo.company_admin.password, demo.super_admin.password];
  const seen = [...planted, ...secrets, ...people].filter((secret) => logged.includes(secret));
  expect(seen).toEqual([]);
});
