import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import Stripe from 'stripe';
import { createSettableClock } from '../doubles/settable-clock.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer } from './scripted-upstream.ts';

const SECRET = 'a secret of the hook, of forty characters';
const OLD_SECRET = 'the one before, which signs during a change';
type HookRequest = Record<string, unknown> & { readonly body: Record<string, unknown> };
const hookRequests: { text: string; signature: string }[] = [];
let decide: (call: HookRequest) => Response | Promise<Response> = () => Response.json({ action: 'allow' });
const hook = Bun.serve({
  ...{ port: 0, hostname: '127.0.0.1', idleTimeout: 0 },
  async fetch(request) {
    const text = await request.text();
    hookRequests.push({ text, signature: request.headers.get('turnpike-signature') ?? '' });
    return await decide(JSON.parse(text) as HookRequest);
  },
});
afterAll(() => hook.stop(true));

const HOOK_TIMEOUT_MS = 30_000;
const clock = createSettableClock();
const callHook = {
  ...{ url: hook.url.href, secrets: [SECRET, OLD_SECRET] },
  ...{ timeoutMs: HOOK_TIMEOUT_MS, maxBodyBytes: 20_000 },
};
const gateway = useResource(() => openGateway({ clock, callHook: { ...callHook, onFailure: 'closed' } }));
const open = useResource(() => openGateway({ clock, callHook: { ...callHook, onFailure: 'open' } }));

beforeEach(() => {
  hookRequests.length = 0;
  decide = () => Response.json({ action: 'allow' });
  for (const { upstream } of [gateway, open]) upstream.answer(() => Response.json(chatAnswer()));
});

const CHAT = {
  model: 'svc/chat-default',
  messages: [{ role: 'user', content: 'my number is 555-1234' }],
  user: 'ada',
};
const chat = (rawKey: string, body: object = CHAT, init: RequestInit = {}, on = gateway) =>
  post(`${on.url}/chat/completions`, rawKey, body, init);
const lastSent = () => JSON.parse(new TextDecoder().decode(gateway.upstream.received.at(-1)?.body)) as object;
const lastHookRequest = () => JSON.parse(hookRequests.at(-1)?.text ?? '{}') as HookRequest;

describe('the hook before calls', () => {
  test('receives caller, operation and body, signed; an allowed call runs unchanged', async () => {
    const { rawKey, id } = await gateway.mint({ name: 'prod' });
    const response = await chat(rawKey, CHAT, { headers: { 'x-turnpike-tags': 'a,b' } });
    expect(response.status).toBe(200);
    const { text = '', signature = '' } = hookRequests[0] ?? {};
    expect(Stripe.webhooks.constructEvent(text, signature, OLD_SECRET)).toBeTruthy();
    expect(Stripe.webhooks.constructEvent(text, signature, SECRET)).toMatchObject({
      ...{ object: 'call_hook.before', request_id: response.headers.get('x-request-id') },
      ...{ company: { id: gateway.companyId }, key: { id, name: 'prod', project: null } },
      ...{
        endpoint: 'chat/completions',
        model: 'svc/chat-default',
        stream: false,
        user: 'ada',
        tags: ['a', 'b'],
      },
      ...{ body: CHAT, is_body_omitted: false },
    } as never);
    expect(lastSent()).toMatchObject({ messages: CHAT.messages });
  });

  test('blocks with its own message, bounded to one line; nothing is held, charged or sent, and the refusal is recorded', async () => {
    const { rawKey, id } = await gateway.mint({ maxCallsInFlight: 1 });
    decide = () =>
      Response.json({ action: 'block', message: `No\u0000 phone\nnumbers.${'x'.repeat(2_000)}` });
    const sent = gateway.upstream.received.length;
    const { balanceMicro } = await gateway.credits.level();
    const refused = await refusalOf(chat(rawKey));
    expect(refused).toMatchObject({ status: 403, type: 'permission_error', code: 'BLOCKED_BY_HOOK' });
    expect(refused.message).toStartWith('No phone numbers.xxx');
    expect(String(refused.message).length).toBe(500);
    // A key with one call in flight at a time calls again at once: its place is free.
    decide = () => Response.json({ action: 'block' });
    expect((await refusalOf(chat(rawKey))).message).toBe(
      'This request was blocked by a policy of the operator.',
    );
    expect(gateway.upstream.received.length).toBe(sent);
    expect((await gateway.credits.level()).balanceMicro).toBe(balanceMicro);
    const row = { outcome: 'REFUSED', reason: 'BLOCKED_BY_HOOK', http_status: 403, charge_micro: 0n };
    expect((await gateway.calls(id, 2))[0]).toMatchObject({ ...row, alias: 'svc/chat-default' });
  });

  test('replaces the body: the provider gets the new one, the hold matches it, and it is one request', async () => {
    const { rawKey } = await gateway.mint({ requestsPerMinute: 10 });
    decide = ({ body }) =>
      Response.json({ action: 'replace', body: { ...body, messages: [{ role: 'user', content: '***' }] } });
    const response = await chat(rawKey);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('9');
    expect(lastSent()).toMatchObject({
      messages: [{ role: 'user', content: '***' }],
    });
    expect(hookRequests).toHaveLength(1);
    // The hold is that of the new body: one that the balance does not cover is refused as a client's would be.
    const poor = await gateway.mint({ monthlySpendingLimitMicro: 1n });
    await (await chat(poor.rawKey)).text();
    expect((await refusalOf(chat(poor.rawKey))).code).toBe('KEY_SPENDING_LIMIT');
  });

  test('decides on every route: streams, responses, messages, embeddings, counts of tokens and documents', async () => {
    const { rawKey } = await gateway.mint();
    decide = () => Response.json({ action: 'block' });
    const calls: [string, object][] = [
      ['chat/completions', { ...CHAT, stream: true }],
      ['completions', { model: 'svc/chat-default', prompt: 'x' }],
      ['embeddings', { model: 'svc/embed-default', input: 'x' }],
      ['responses', { model: 'svc/chat-default', input: 'x' }],
      ['responses/input_tokens', { model: 'svc/chat-default', input: 'x' }],
      ['responses/compact', { model: 'svc/chat-default', input: 'x' }],
      ['messages', { model: 'svc/chat-default', max_tokens: 5, messages: [] }],
      ['messages/count_tokens', { model: 'svc/chat-default', messages: [] }],
      ['parse/cv', { text: 'Ada Byron' }],
    ];
    for (const [endpoint, body] of calls) {
      const response = await post(`${gateway.url}/${endpoint}`, rawKey, body);
      expect([endpoint, response.status]).toEqual([endpoint, 403]);
      expect(await response.json()).toMatchObject({ error: { code: 'BLOCKED_BY_HOOK' } });
      expect(lastHookRequest()).toMatchObject({ endpoint: endpoint.replace('/v1', '') });
    }
    expect(lastHookRequest().body).toEqual({ model: null, text: 'Ada Byron' });
    const form = new FormData();
    form.append('file', new File(['%PDF-1.4'], 'cv.pdf'));
    const headers = { authorization: `Bearer ${rawKey}` };
    await fetch(`${gateway.url}/parse/cv`, { method: 'POST', headers, body: form });
    expect(lastHookRequest().body).toEqual({ model: null, file: { name: 'cv.pdf', bytes: 8 } });
  });

  test('is not called again for a repeat of an answered call, and receives the body that the client sent', async () => {
    const { rawKey } = await gateway.mint();
    decide = ({ body }) => Response.json({ action: 'replace', body: { ...body, user: 'other' } });
    const init = { headers: { 'idempotency-key': 'one' } };
    const first = await (await chat(rawKey, CHAT, init)).text();
    const again = await chat(rawKey, CHAT, init);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await again.text()).toBe(first);
    expect(hookRequests).toHaveLength(1);
  });

  test('is not called for calls that are refused anyway', async () => {
    const { rawKey } = await gateway.mint({ models: ['svc/embed-default'] });
    expect((await refusalOf(chat(rawKey))).code).toBe('LLM_MODEL_NOT_ALLOWED');
    const limited = await gateway.mint({ requestsPerMinute: 1 });
    await (await chat(limited.rawKey)).text();
    expect((await chat(limited.rawKey)).status).toBe(429);
    expect(hookRequests).toHaveLength(1);
  });

  test('decides without the body when that is too large', async () => {
    const { rawKey } = await gateway.mint();
    const content = 'x'.repeat(25_000);
    expect((await chat(rawKey, { ...CHAT, messages: [{ role: 'user', content }] })).status).toBe(200);
    expect(lastHookRequest()).toMatchObject({ body: null, is_body_omitted: true });
  });
});

describe('a hook that returns no decision', () => {
  const broken: Record<string, () => Response | Promise<Response>> = {
    garbage: () => new Response('<html>'),
    'an unknown action': () => Response.json({ action: 'maybe' }),
    'a status of 500': () => Response.json({ action: 'allow' }, { status: 500 }),
    'a redirect': () => Response.redirect(`${hook.url.href}other`, 307),
    '10 MB': () => new Response(`{"action":"allow","x":"${'x'.repeat(10 * 1024 * 1024)}"}`),
    silence: () => {
      clock.setAhead(HOOK_TIMEOUT_MS);
      return new Promise<Response>(() => undefined);
    },
    'no body to replace by': () => Response.json({ action: 'replace' }),
  };

  test('refuses calls or lets them pass, depending on the setting', async () => {
    const [closedKey, openKey] = [await gateway.mint(), await open.mint()];
    for (const [name, answer] of Object.entries(broken)) {
      decide = answer;
      const refused = await refusalOf(chat(closedKey.rawKey));
      expect([name, refused]).toMatchObject([name, { status: 503, code: 'LLM_GATEWAY_UNAVAILABLE' }]);
      const passed = await chat(openKey.rawKey, CHAT, {}, open);
      expect([name, passed.status]).toEqual([name, 200]);
      // A success in between: each of them is tried, not the breaker.
      decide = () => Response.json({ action: 'allow' });
      await (await chat(closedKey.rawKey)).text();
      await (await chat(openKey.rawKey, CHAT, {}, open)).text();
    }
  });

  test('does not add its time-out to each call after repeated failures', async () => {
    const { rawKey } = await open.mint();
    decide = () => new Promise<Response>(() => undefined);
    const calls = Array.from({ length: 5 }, async () => (await chat(rawKey, CHAT, {}, open)).text());
    await until(() => hookRequests.length === 5);
    clock.setAhead(HOOK_TIMEOUT_MS);
    await Promise.all(calls);
    const before = hookRequests.length;
    for (let count = 0; count < 10; count += 1) {
      expect((await chat(rawKey, CHAT, {}, open)).status).toBe(200);
    }
    expect(hookRequests.length).toBe(before);
    await until(() =>
      open.entries.some(({ message }) => message.startsWith('the hook before calls gives no')),
    );
    expect(JSON.stringify(open.entries)).not.toContain('555-1234');
  });
});
