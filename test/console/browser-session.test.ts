import { describe, expect, test } from 'bun:test';
import { openBackend, PASSWORD } from '../backend/backend-under-test.ts';
import { useResource } from '../setup/use-resource.ts';

const backend = useResource(() => openBackend());

interface Answer {
  readonly data?: { readonly session: { readonly accessToken: string } | null };
  readonly errors?: readonly { readonly extensions: { readonly code: string } }[];
}

const OWN = {
  'content-type': 'application/json',
  origin: 'https://console.example',
  'sec-fetch-site': 'same-origin',
};

async function post(way: string, body: unknown, headers: Record<string, string> = OWN) {
  const request = new Request(`http://backend.test/session/${way}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  const response = await backend.fetch(request);
  const cookie = response.headers.get('set-cookie') ?? '';
  const text = await response.text();
  return {
    status: response.status,
    cookie,
    pair: cookie.split(';')[0] ?? '',
    text,
    answer: JSON.parse(text) as Answer,
  };
}

const logIn = () => post('login', { email: backend.people.admin.email, password: PASSWORD });
const withCookie = (pair: string) => ({ ...OWN, cookie: pair });

describe('P-8 a session of the console', () => {
  test('is resumed with the cookie, which is then replaced', async () => {
    const { pair } = await logIn();
    const again = await post('refresh', {}, withCookie(pair));
    expect(again.answer.data?.session?.accessToken).toMatch(/^ey/);
    expect(again.pair).not.toBe(pair);
    expect(again.pair.length).toBeGreaterThan(40);
  });

  test('without a session the answer is null and not an error; an ended session also clears its cookie', async () => {
    expect((await post('refresh', {})).answer).toEqual({ data: { session: null } });
    const { pair } = await logIn();
    const out = await post('logout', {}, withCookie(pair));
    expect(out.answer).toEqual({ data: { session: null } });
    expect(out.cookie).toContain('Max-Age=0');
    const late = await post('refresh', {}, withCookie(pair));
    expect(late.answer).toEqual({ data: { session: null } });
    expect(late.cookie).toContain('Max-Age=0');
  });

  test('a wrong password is GraphQL’s own refusal, without a cookie', async () => {
    const { answer, cookie } = await post('login', {
      email: backend.people.admin.email,
      password: 'wrong one',
    });
    expect(answer.errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED');
    expect(cookie).toBe('');
  });

  test('a company may have a name in Persian, and one with emoji', async () => {
    for (const [at, companyName] of ['نرم\u200cافزار', '👩🏽\u200d💻 Co'].entries()) {
      const input = { companyName, email: `name-${at}@people.example`, password: PASSWORD };
      expect((await post('sign-up', { input })).answer.data?.session?.accessToken).toMatch(/^ey/);
    }
  });

  test('pages of other origins, forms and clients without an origin get none', async () => {
    const { pair } = await logIn();
    const foreign: Record<string, string>[] = [
      { ...OWN, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      { ...OWN, origin: 'https://evil.example' },
      { ...OWN, 'sec-fetch-site': 'same-site' },
      { ...OWN, 'content-type': 'text/plain' },
      { ...OWN, 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': 'application/json' },
    ];
    for (const headers of foreign) {
      const refused = await post('refresh', {}, { ...headers, cookie: pair });
      expect(refused.status).toBe(400);
      expect(refused.cookie).toBe('');
    }
    // The session is untouched by all of it.
    expect((await post('refresh', {}, withCookie(pair))).answer.data?.session).not.toBeNull();
  });

  test('a body that is not an object or too long, and an unknown action, are refused', async () => {
    expect((await post('login', [])).status).toBe(400);
    expect((await post('login', { email: 'a'.repeat(30_000) })).status).toBe(400);
    expect((await post('nowhere', {})).status).toBe(404);
  });
});
