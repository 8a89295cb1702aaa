import { afterAll, expect, test } from 'bun:test';
import { openGateway, post, refusalOf } from '../gateway/gateway-under-test.ts';
import { chatAnswer } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

/** A hook that returns any answer: misconfigured, or replaced by an attacker. */
let answer = '';
const hook = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response(answer) });
afterAll(() => hook.stop(true));
const gateway = useResource(() =>
  openGateway({
    unpricedFields: 'refuse',
    // Open: what the hook wanted changed must not pass unchanged even then.
    callHook: {
      url: hook.url.href,
      secrets: ['x'.repeat(32)],
      timeoutMs: 5_000,
      maxBodyBytes: 100_000,
      onFailure: 'open',
    },
  }),
);

const BODY = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'secret words' }] };
const lastSent = () => JSON.parse(new TextDecoder().decode(gateway.upstream.received.at(-1)?.body)) as object;
const replaceBy = (body: string) => {
  answer = `{"action":"replace","body":${body}}`;
};

test('a replaced body passes the same checks as a client’s, or the call is refused and nothing is sent', async () => {
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  const { rawKey, id } = await gateway.mint({ models: ['svc/chat-default'] });
  const attacks: Record<string, string> = {
    'a model that the key may not call': '{"model":"svc/chat-premium","messages":[]}',
    'a model that there is not': '{"model":"gpt-x","messages":[]}',
    'a model of another kind': '{"model":"svc/embed-default","messages":[]}',
    'no model': '{"messages":[]}',
    'another stream': '{"model":"svc/chat-default","stream":true,"messages":[]}',
    'a name in another case': '{"model":"svc/chat-default","Model":"svc/chat-premium","messages":[]}',
  };
  for (const [name, body] of Object.entries(attacks)) {
    replaceBy(body);
    const sent = gateway.upstream.received.length;
    const refused = await refusalOf(post(`${gateway.url}/chat/completions`, rawKey, BODY));
    expect([name, refused]).toMatchObject([name, { status: 503, code: 'LLM_GATEWAY_UNAVAILABLE' }]);
    expect([name, gateway.upstream.received.length]).toEqual([name, sent]);
  }
  const rows = await gateway.calls(id, Object.keys(attacks).length);
  expect(rows.every(({ outcome, charge_micro: charge }) => outcome === 'REFUSED' && charge === 0n)).toBe(
    true,
  );
  // The log says why, and nothing of the prompt.
  expect(gateway.entries.some(({ message }) => message.includes('replaced cannot be used'))).toBe(true);
  expect(JSON.stringify(gateway.entries)).not.toContain('secret words');
});

test('duplicate members of a replaced body are the same one for us and for the provider', async () => {
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  const { rawKey } = await gateway.mint({ models: ['svc/chat-default'] });
  replaceBy(
    '{"model":"svc/chat-premium","max_tokens":1,"max_tokens":7,"model":"svc/chat-default","messages":[]}',
  );
  expect((await post(`${gateway.url}/chat/completions`, rawKey, BODY)).status).toBe(200);
  expect(lastSent()).toMatchObject({ max_tokens: 7, messages: [] });
});

test('UNPRICED_FIELDS=refuse a hosted tool that a replaced body adds is refused unless the alias has it', async () => {
  const { rawKey } = await gateway.mint();
  replaceBy('{"model":"svc/chat-default","messages":[],"web_search_options":{}}');
  const refused = await refusalOf(post(`${gateway.url}/chat/completions`, rawKey, BODY));
  expect(refused.status).toBe(400);
});
