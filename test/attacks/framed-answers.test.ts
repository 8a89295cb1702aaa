import { expect, test } from 'bun:test';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { useResource } from '../setup/use-resource.ts';
import { useSystem } from '../setup/use-system.ts';

const running = useSystem();
const gateway = useResource(() => openGateway());
const SCRIPT = '<script>alert(1)</script>';

test('no response of a service is a page, can be framed, or is sniffed as a script', async () => {
  const { gateway_url, backend_url, ai_url, full_key } = running.demo;
  const guarded = await Promise.all([
    fetch(`${backend_url}/health`),
    fetch(`${backend_url}/graphql?query=${SCRIPT}`),
    fetch(`${backend_url}/payments/webhook`, { method: 'POST', body: SCRIPT }),
    fetch(`${backend_url}/assets/${SCRIPT}`, { headers: { accept: 'text/html' } }),
    fetch(`${ai_url}/health`),
    fetch(`${ai_url}/${SCRIPT}`),
  ]);
  for (const { url, headers } of guarded) {
    const policy = headers.get('content-security-policy') ?? '';
    const found = [headers.get('x-content-type-options'), policy.includes("frame-ancestors 'none'")];
    expect([url, ...found]).toEqual([url, 'nosniff', true]);
    expect(headers.get('content-type') ?? '').not.toContain('html');
  }
  const asked = await Promise.all([
    fetch(`${gateway_url}/models`, { headers: { authorization: `Bearer ${full_key}`, accept: 'text/html' } }),
    fetch(`${gateway_url}/models`, { headers: { accept: 'text/html' } }),
    fetch(`${gateway_url}/${SCRIPT}`, { headers: { accept: 'text/html' } }),
  ]);
  for (const { headers } of asked) expect(headers.get('content-type')).toStartWith('application/json');
  const page = await fetch(backend_url, { headers: { accept: 'text/html' } });
  expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
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
