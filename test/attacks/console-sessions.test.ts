/** What a script in the console's page, or a neighbour under its domain, can do with the session of a browser. */
import { describe, expect, test } from 'bun:test';
import { buildConsole } from '../../src/start/wiring/start-backend.ts';
import { openBackend, PASSWORD } from '../backend/backend-under-test.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';
import { useResource } from '../setup/use-resource.ts';

type Backend = Awaited<ReturnType<typeof openBackend>>;

async function post(backend: Backend, origin: string, way: string, body: object, cookie = '') {
  const headers = { 'content-type': 'application/json', origin, 'sec-fetch-site': 'same-origin', cookie };
  const request = new Request(`${origin}/session/${way}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  const response = await backend.fetch(request);
  const text = await response.text();
  const { data } = JSON.parse(text) as { data?: { session: { accessToken: string } | null } };
  return { text, session: data?.session ?? null, cookie: response.headers.get('set-cookie') ?? '' };
}

const logIn = (backend: Backend, origin: string) =>
  post(backend, origin, 'login', { email: backend.people.admin.email, password: PASSWORD });
const tokenIn = (cookie: string) => /=([^;]+)/.exec(cookie)?.[1] ?? '';

describe('over https', () => {
  const ORIGIN = 'https://console.example';
  const backend = useResource(async () => {
    const build = Promise.resolve(await buildConsole(createRecordingLog().log));
    return await openBackend({
      console: { build, hasDemoWorld: false, gatewayUrl: 'https://gateway.example/llm/v1' },
    });
  });

  test('P-8 the refresh token is only in a cookie that no script reads, bound to this host and removed by a log-out', async () => {
    const { cookie, text } = await logIn(backend, ORIGIN);
    expect(cookie).toStartWith('__Host-turnpike_refresh=');
    for (const word of ['Path=/;', 'Secure', 'HttpOnly', 'SameSite=Strict', 'Max-Age='])
      expect(cookie).toContain(word);
    expect(cookie.toLowerCase()).not.toContain('domain=');
    expect(tokenIn(cookie).length).toBeGreaterThan(30);
    expect(text).not.toContain(tokenIn(cookie));
    const out = await post(backend, ORIGIN, 'logout', {}, cookie.split(';')[0]);
    expect(out.cookie).toStartWith('__Host-turnpike_refresh=;');
    for (const word of ['Path=/', 'Secure', 'Max-Age=0']) expect(out.cookie).toContain(word);
  });

  test('a cookie that a sibling domain set under the plain name starts no session', async () => {
    const planted = tokenIn((await logIn(backend, ORIGIN)).cookie);
    for (const cookie of [`turnpike_refresh=${planted}`, `__host-turnpike_refresh=${planted}`]) {
      expect((await post(backend, ORIGIN, 'refresh', {}, cookie)).session).toBeNull();
    }
    const { session } = await post(backend, ORIGIN, 'refresh', {}, `__Host-turnpike_refresh=${planted}`);
    expect(session?.accessToken).toMatch(/^ey/);
  });

  test('a script injected into a page does not run, and cannot send data anywhere', async () => {
    for (const path of [
      '/',
      '/keys?name=<script>alert(1)</script>',
      '/meetings/"><img src=x onerror=alert(1)>',
    ]) {
      const url = new URL(path, 'http://backend.test');
      const answer = await backend.fetch(new Request(url, { headers: { accept: 'text/html' } }));
      const policy = new Map(
        (answer.headers.get('content-security-policy') ?? '').split(';').map((part) => {
          const [name = '', ...sources] = part.trim().split(/\s+/);
          return [name, sources] as const;
        }),
      );
      expect(policy.get('default-src')).toEqual(["'none'"]);
      expect(policy.get('script-src')).toEqual(["'self'"]);
      expect(policy.get('connect-src')).toEqual([
        "'self'",
        'wss://console.example',
        'https://gateway.example',
      ]);
      expect(policy.get('frame-ancestors')).toEqual(["'none'"]);
      expect(JSON.stringify([...policy])).not.toMatch(/unsafe|\*|data:.*script|https:"/);
      expect(await answer.text()).not.toMatch(/alert|onerror/);
    }
  });
});

describe('over http on loopback', () => {
  const ORIGIN = 'http://127.0.0.1:8081';
  const backend = useResource(() => openBackend({ consoleUrl: ORIGIN, consoleOrigin: ORIGIN }));

  test('the cookie has neither the prefix nor Secure, which browsers would drop, and carries the session', async () => {
    const { cookie } = await logIn(backend, ORIGIN);
    expect(cookie).toStartWith('turnpike_refresh=');
    expect(cookie).not.toContain('Secure');
    for (const word of ['Path=/session', 'HttpOnly', 'SameSite=Strict']) expect(cookie).toContain(word);
    const { session } = await post(backend, ORIGIN, 'refresh', {}, cookie.split(';')[0]);
    expect(session?.accessToken).toMatch(/^ey/);
  });
});
