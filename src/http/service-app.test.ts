import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../test/doubles/recording-log.ts';
import { createSystemSecrets } from '../adapters/secrets/system-secrets.ts';
import { internalAccess } from './client-identity.ts';
import { createServiceApp } from './service-app.ts';

function appWith(answerTimeoutMs: number | null = null) {
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  const app = createServiceApp({
    clock,
    log,
    secrets: createSystemSecrets(),
    maxBodyBytes: 1_000,
    answerTimeoutMs,
  });
  return { app, clock, entries };
}

describe('every service', () => {
  test('gives an id to every response, the 404 and the failure too, and no two the same', async () => {
    const { app } = appWith();
    app.get('/fails', () => {
      throw new Error('no');
    });
    app.get('/fine', (context) => context.text('fine'));
    app.get('/raw', () => Response.json({}));
    const ids = new Set<string | null>();
    for (let turn = 0; turn < 300; turn += 1) {
      for (const path of ['/fine', '/raw', '/fails', '/unknown']) {
        ids.add((await app.request(path)).headers.get('x-request-id'));
      }
    }
    expect(ids.size).toBe(1_200);
    for (const id of ids) expect(id).toMatch(/^req_[0-9a-f]{24}$/);
  });

  test("uses a client's id where it is safe, and no other", async () => {
    const { app } = appWith();
    const answered = async (sent: string) =>
      (await app.request('/', { headers: { 'x-request-id': sent } })).headers.get('x-request-id');
    expect(await answered('my-id_1.2')).toBe('my-id_1.2');
    for (const sent of ['', 'a b', 'x'.repeat(129), '<script>', '-x', 'ä']) {
      expect(await answered(sent)).toStartWith('req_');
    }
  });

  test('answers an unknown route and a wrong method with 404 in the envelope', async () => {
    const { app } = appWith();
    app.get('/known', (context) => context.text('fine'));
    expect((await app.request('/unknown')).status).toBe(404);
    const response = await app.request('/known', { method: 'POST' });
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      error: {
        ...{ message: 'There is no POST /known here.', type: 'not_found_error' },
        ...{ code: null, param: null },
      },
    });
  });

  test('refuses a body that is declared too large with 413 in the envelope, on any route', async () => {
    const { app } = appWith();
    const declared = (bytes: number) =>
      app.request('/', { method: 'POST', headers: { 'content-length': String(bytes) } });
    expect((await declared(1_000)).status).toBe(404);
    const response = await declared(1_001);
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({
      error: { type: 'invalid_request_error', message: 'The body is larger than 1000 bytes.' },
    });
    expect(response.headers.get('x-request-id')).toStartWith('req_');
  });

  test('logs the details of a failure and returns none to the client', async () => {
    const { app, entries } = appWith();
    app.get('/fails', () => {
      throw new Error('relation "users" does not exist');
    });
    const response = await app.request('/fails', { headers: { 'x-request-id': 'mine' } });
    expect(response.status).toBe(500);
    const body = await response.text();
    expect(body).toContain('mine');
    expect(body).not.toContain('users');
    expect(entries).toHaveLength(1);
    expect(entries[0]).toMatchObject({ level: 'error', context: { requestId: 'mine', path: '/fails' } });
    expect(String(entries[0]?.context.error)).toContain('relation "users"');
  });

  test('a client that goes away is no error, and what fails meanwhile still is', async () => {
    const { app, entries } = appWith();
    app.get('/left', (context) => {
      context.req.raw.signal.throwIfAborted();
      throw new Error('not aborted');
    });
    app.get('/broken', () => {
      throw new Error('relation "users" does not exist');
    });
    const left = { signal: AbortSignal.abort() };
    expect((await app.request(new Request('http://x/left', left))).status).toBe(499);
    expect((await app.request(new Request('http://x/broken', left))).status).toBe(500);
    expect((await app.request('/left')).status).toBe(500);
    expect(entries.map(({ level }) => level)).toEqual(['debug', 'error', 'error']);
  });

  test('answers 503 where its handler does not answer in time', async () => {
    const { app, clock } = appWith(5_000);
    app.get('/hangs', () => new Promise<Response>(() => {}));
    const asked = app.request('/hangs');
    await clock.advance(5_000);
    const response = await asked;
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { type: 'api_error' } });
    expect(response.headers.get('x-request-id')).toStartWith('req_');
  });
});

describe('response headers for browsers', () => {
  test('no response is a page or can be framed unless its handler allows it, not even a 404', async () => {
    const { app } = appWith();
    app.get('/thing', (context) => context.json({}));
    app.get('/page', (context) => context.html('', 200, { 'content-security-policy': "script-src 'self'" }));
    for (const path of ['/thing', '/nowhere']) {
      const { headers } = await app.request(path);
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
    }
    const page = await app.request('/page');
    expect(page.headers.get('content-security-policy')).toBe("script-src 'self'");
  });
});

describe('A-6 an internal route', () => {
  const token = 'k3J9xQ0vTz7LmPw2RbYc5NdHs8GfAu1E';
  const next = 'Qw7ErTy2UiOp9AsDfGh4JkLzXcVb1NmK';
  const { app } = appWith();
  app.use('/internal/*', internalAccess([next, token]));
  app.get('/internal/thing', (context) => context.text('inside'));
  const ask = (authorization?: string, path = 'thing') =>
    app.request(`/internal/${path}`, authorization === undefined ? {} : { headers: { authorization } });

  test('A-6 accepts the internal token, during a rotation both; below it an unknown route is 404', async () => {
    for (const given of [token, next]) expect(await (await ask(`Bearer ${given}`)).text()).toBe('inside');
    expect((await ask(`Bearer ${token}`, 'unknown')).status).toBe(404);
    expect((await ask(undefined, 'unknown')).status).toBe(401);
  });

  test('A-6 is the same 401 without a token and with every wrong one, and names INTERNAL_TOKEN', async () => {
    const wrong = [
      '',
      'Bearer',
      'Bearer x',
      `Basic ${token}`,
      `Bearer ${token}x`,
      `Bearer ${token}${next}`,
      token,
      `Bearer ${token} x`,
    ];
    const bodies = new Set<string>();
    for (const authorization of [undefined, ...wrong]) {
      const response = await ask(authorization);
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      bodies.add(await response.text());
    }
    expect(bodies.size).toBe(1);
    const [body] = bodies;
    expect(body).toContain('INTERNAL_TOKEN');
    expect(body).toContain('authentication_error');
  });
});
