import { describe, expect, test } from 'bun:test';
import { openBackend, PASSWORD } from '../backend/backend-under-test.ts';
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
  const { data } = (await response.json()) as { data?: { session: { accessToken: string } | null } };
  return { session: data?.session ?? null, cookie: response.headers.get('set-cookie') ?? '' };
}

const logIn = (backend: Backend, origin: string) =>
  post(backend, origin, 'login', { email: backend.people.admin.email, password: PASSWORD });
const tokenIn = (cookie: string) => /=([^;]+)/.exec(cookie)?.[1] ?? '';

describe('over https', () => {
  const ORIGIN = 'https://console.example';
  const backend = useResource(() => openBackend());

  test('the cookie is Secure and bound to this host, so that no sibling domain can set it', async () => {
    const { cookie } = await logIn(backend, ORIGIN);
    expect(cookie).toStartWith('__Host-turnpike_refresh=');
    for (const word of ['Path=/', 'Secure', 'HttpOnly', 'SameSite=Strict']) expect(cookie).toContain(word);
    expect(cookie.toLowerCase()).not.toContain('domain=');
  });

  test('a cookie that a sibling domain set under the plain name starts no session', async () => {
    const planted = tokenIn((await logIn(backend, ORIGIN)).cookie);
    for (const cookie of [`turnpike_refresh=${planted}`, `__host-turnpike_refresh=${planted}`]) {
      expect((await post(backend, ORIGIN, 'refresh', {}, cookie)).session).toBeNull();
    }
    const { session } = await post(backend, ORIGIN, 'refresh', {}, `__Host-turnpike_refresh=${planted}`);
    expect(session?.accessToken).toMatch(/^ey/);
  });

  test('a log-out removes it', async () => {
    const { cookie } = await logIn(backend, ORIGIN);
    const out = await post(backend, ORIGIN, 'logout', {}, cookie.split(';')[0]);
    expect(out.cookie).toStartWith('__Host-turnpike_refresh=;');
    for (const word of ['Path=/', 'Secure', 'Max-Age=0']) expect(out.cookie).toContain(word);
  });
});

describe('over http on loopback', () => {
  const ORIGIN = 'http://127.0.0.1:8081';
  const backend = useResource(() => openBackend({ consoleUrl: ORIGIN, consoleOrigin: ORIGIN }));

  test('it has neither the prefix nor Secure, which browsers would drop, and carries the session', async () => {
    const { cookie } = await logIn(backend, ORIGIN);
    expect(cookie).toStartWith('turnpike_refresh=');
    expect(cookie).not.toContain('Secure');
    for (const word of ['Path=/session', 'HttpOnly', 'SameSite=Strict']) expect(cookie).toContain(word);
    const { session } = await post(backend, ORIGIN, 'refresh', {}, cookie.split(';')[0]);
    expect(session?.accessToken).toMatch(/^ey/);
  });
});
