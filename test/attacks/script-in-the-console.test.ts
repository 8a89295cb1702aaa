import { afterAll, beforeAll, expect, test } from 'bun:test';
import { buildConsole } from '../../src/start/wiring/start-backend.ts';
import { type BackendUnderTest, openBackend, PASSWORD } from '../backend/backend-under-test.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';

let backend: BackendUnderTest;
beforeAll(async () => {
  const build = await buildConsole(createRecordingLog().log);
  backend = await openBackend({
    console: {
      ...{ build: Promise.resolve(build), hasDemoWorld: false },
      gatewayUrl: 'https://gateway.example/llm/v1',
    },
  });
});
afterAll(() => backend.close());

test('P-8 a script in the page cannot read a long-lived credential: the refresh token is only in an HttpOnly cookie', async () => {
  const answer = await backend.fetch(
    new Request('http://backend.test/session/login', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        origin: 'https://console.example',
        'sec-fetch-site': 'same-origin',
      },
      body: JSON.stringify({ email: backend.people.admin.email, password: PASSWORD }),
    }),
  );
  const cookie = answer.headers.get('set-cookie') ?? '';
  for (const word of ['HttpOnly', 'Secure', 'SameSite=Strict']) expect(cookie).toContain(word);
  const token = /=([^;]+)/.exec(cookie)?.[1] ?? '';
  expect(token.length).toBeGreaterThan(30);
  expect(await answer.text()).not.toContain(token);
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
    expect(policy.get('connect-src')).toEqual(["'self'", 'wss://console.example', 'https://gateway.example']);
    expect(policy.get('frame-ancestors')).toEqual(["'none'"]);
    expect(JSON.stringify([...policy])).not.toMatch(/unsafe|\*|data:.*script|https:"/);
    expect(await answer.text()).not.toMatch(/alert|onerror/);
  }
});
