import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { serverAudits } from 'graphql-http';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { type Listening, listen } from '../../src/http/listen.ts';
import { type BackendUnderTest, openBackend } from './backend-under-test.ts';

let backend: BackendUnderTest;
let listening: Listening;
let url: string;

beforeAll(async () => {
  backend = await openBackend();
  const clock = createSystemClock();
  const network = { hostname: '127.0.0.1', port: 0, reusePort: false };
  const { log, maxBodyBytes } = backend.parts;
  listening = listen({ name: 'backend', fetch: backend.app.fetch, ...network, maxBodyBytes, clock, log });
  url = `${listening.url}/graphql`;
}, 60_000);
afterAll(async () => {
  await listening.drain(0);
  await backend.close();
});

function post(body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body });
}

describe('GraphQL over HTTP, on a real socket', () => {
  const audits = serverAudits({ url: () => url });

  test('P-4 there are 61 audits of the specification', () => {
    expect(audits).toHaveLength(61);
  });
  for (const audit of audits) {
    test(`P-4 ${audit.name}`, async () => {
      const result = await audit.fn();
      expect({ status: result.status, reason: 'reason' in result ? result.reason : null }).toEqual({
        status: 'ok',
        reason: null,
      });
    });
  }

  test('P-4 __typename and introspection work without a token', async () => {
    const typename = await (await post('{"query":"{ __typename }"}')).json();
    expect(typename).toEqual({ data: { __typename: 'Query' } });
    const schema = await (await post('{"query":"{ __schema { queryType { name } } }"}')).json();
    expect(schema).toEqual({ data: { __schema: { queryType: { name: 'Query' } } } });
  });

  test('every answer has a request id and is not kept by caches', async () => {
    const answer = await post('{"query":"{ __typename }"}', { 'x-request-id': 'mine-1' });
    expect(answer.headers.get('x-request-id')).toBe('mine-1');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  test('what a page of another origin can send without asking is refused, unread', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const answer = await post('{"query":"{ __typename }"}', { 'content-type': type });
      expect(answer.status).toBe(415);
      expect(await answer.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] });
    }
  });

  test('only the console’s own origin may read answers', async () => {
    const own = { origin: 'https://console.example' };
    const allowed = await post('{"query":"{ __typename }"}', own);
    expect(allowed.headers.get('access-control-allow-origin')).toBe(own.origin);
    const asked = await fetch(url, { method: 'OPTIONS', headers: own });
    expect(asked.status).toBe(204);
    expect(asked.headers.get('access-control-allow-headers')).toContain('authorization');
    for (const origin of ['https://evil.example', 'https://console.example.evil.example', 'null']) {
      const foreign = await post('{"query":"{ __typename }"}', { origin });
      expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
      const preflight = await fetch(url, { method: 'OPTIONS', headers: { origin } });
      expect(preflight.headers.get('access-control-allow-headers')).toBeNull();
    }
  });

  test('a browser is shown no page', async () => {
    const answer = await fetch(url, { headers: { accept: 'text/html' } });
    expect(answer.headers.get('content-type') ?? '').not.toContain('html');
    expect(await answer.text()).not.toContain('<');
  });

  test('a body that is too large, declared or not, is refused', async () => {
    const large = JSON.stringify({ query: `{ __typename } # ${'x'.repeat(300_000)}` });
    expect((await post(large)).status).toBe(413);
    const chunks = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(large));
        controller.close();
      },
    });
    const headers = { 'content-type': 'application/json' };
    const streamed = await fetch(url, { method: 'POST', headers, body: chunks });
    expect(streamed.status).toBe(413);
  });
});
