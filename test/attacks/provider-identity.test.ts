import { expect, test } from 'bun:test';
import { passedOn } from '../../src/gateway/forwarding/provider-errors.ts';
import { stoppedClock } from '../doubles/stopped-clock.ts';
import { openGateway, PROVIDER_MODEL, post } from '../gateway/gateway-under-test.ts';
import { storeOwnKey } from '../gateway/own-key-under-test.ts';
import { chatAnswer, chunk, done, streamOf, usageChunk } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

const gateway = useResource(() => openGateway());
const TELLING = {
  server: 'provider.example',
  'openai-organization': 'org-provider',
  'x-provider-host': 'provider.example',
  'set-cookie': 'session=provider.example',
  'cf-ray': 'provider.example',
  via: '1.1 provider.example',
};

test('G-16 neither body, stream, error nor header of an answer names the provider', async () => {
  const { rawKey } = await gateway.mint();
  const { host } = new URL(gateway.upstream.url);
  const names = [PROVIDER_MODEL, host, 'sk-provider', 'provider.example', 'org-provider'];
  const whole = chatAnswer();
  const spoken = chunk('Hello.');
  const refused = {
    error: { message: `The model ${PROVIDER_MODEL} at ${host} is overloaded for sk-provider`, type: 'x' },
  };
  const answers: (() => Response)[] = [
    () => Response.json(whole, { headers: TELLING }),
    () =>
      new Response(streamOf(spoken, usageChunk, done).body, {
        headers: { ...TELLING, 'content-type': 'text/event-stream' },
      }),
    () => Response.json(refused, { status: 400, headers: TELLING }),
    () => Response.json(refused, { status: 500, headers: TELLING }),
    () => new Response(`nginx at ${host}`, { status: 502, headers: TELLING }),
  ];
  for (const [index, script] of answers.entries()) {
    gateway.upstream.answer(script);
    const answer = await post(`${gateway.url}/chat/completions`, rawKey, {
      model: 'svc/chat-default',
      messages: [],
      stream: index === 1,
    });
    const text = JSON.stringify([...answer.headers]) + (await answer.text());
    expect([index, names.filter((name) => text.includes(name))]).toEqual([index, []]);
  }
});

const TOLD = `The model ${PROVIDER_MODEL} of org-abcdefghijklmnop0123 is overloaded.`;
const FAULT = { code: 'server_error', message: TOLD };
const failedResponse = (more: object) => ({
  ...{ id: 'resp_1', object: 'response', model: PROVIDER_MODEL, output: [], error: FAULT },
  ...{ usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 }, ...more },
});
const named = (event: { readonly type: string }) =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

test.each([
  ['responses', failedResponse({ status: 'failed' })],
  [
    'responses',
    failedResponse({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }),
  ],
  ['responses', failedResponse({ error: null, output: [{ type: 'mcp_call', error: TOLD }] })],
  ['responses', named({ type: 'response.failed', response: failedResponse({}) } as never)],
  ['responses', named({ type: 'response.incomplete', response: failedResponse({}) } as never)],
  ['responses', named({ type: 'error', ...FAULT } as never)],
  ['chat/completions', chatAnswer({ choices: [{ index: 0, error: FAULT, finish_reason: 'error' }] })],
  [
    'chat/completions',
    `data: ${JSON.stringify({ choices: [{ delta: {}, error: FAULT }] })}\n\n${usageChunk}${done}`,
  ],
  ['chat/completions', `data: ${JSON.stringify({ error: FAULT })}\n\n`],
  ['messages', named({ type: 'error', error: { type: 'overloaded_error', message: TOLD } } as never)],
])(
  'G-16 an error inside of an answer with status 200 does not name the provider: /%s',
  async (path, script) => {
    const { rawKey } = await gateway.mint();
    gateway.upstream.answer(() => (typeof script === 'string' ? streamOf(script) : Response.json(script)));
    const facts = path === 'messages' ? { provider: 'anthropic' } : { responses: true };
    await gateway.aimAtProvider('svc/chat-default', facts, gateway.upstream);
    const answer = await post(`${gateway.url}/${path}`, rawKey, {
      ...{ model: 'svc/chat-default', max_tokens: 5, stream: typeof script === 'string' },
      ...(path === 'responses' ? { input: 'Hi' } : { messages: [{ role: 'user', content: 'Hi' }] }),
    });
    const text = await answer.text();
    expect(text).toMatch(/error/);
    expect(text).not.toContain(PROVIDER_MODEL);
    expect(text).not.toContain('org-abcdefghijklmnop0123');
    await gateway.aimAt('svc/chat-default', gateway.upstream);
  },
);

test('what a provider charges is in answers only for calls with the company’s own key', async () => {
  const { rawKey } = await gateway.mint();
  const paid = { cost: 0.25, cost_details: { upstream_inference_cost: 0.2 }, is_byok: false };
  const counted = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
  const usage = { ...counted, ...paid };
  gateway.upstream.answer(({ body }) =>
    new TextDecoder().decode(body).includes('"stream":true')
      ? streamOf(chunk('Hello.'), `data: ${JSON.stringify({ choices: [], usage })}\n\n`, done)
      : Response.json({ ...chatAnswer(), usage }),
  );
  const usages = async () => {
    const asked = { model: 'svc/chat-default', messages: [] };
    const whole = await post(`${gateway.url}/chat/completions`, rawKey, asked);
    const streamed = await post(`${gateway.url}/chat/completions`, rawKey, { ...asked, stream: true });
    const last = (await streamed.text()).split('\n\n').find((event) => event.includes('"usage"')) ?? '';
    return [
      ((await whole.json()) as { usage: unknown }).usage,
      JSON.parse(last.slice('data: '.length)).usage,
    ];
  };
  expect(await usages()).toEqual([counted, counted]);
  const removeOwnKey = await storeOwnKey(gateway, gateway.companyId, 'sk-own-0123456789-abcd');
  expect(await usages()).toEqual([usage, usage]);
  await removeOwnKey();
});

/** What a client gets for an error of a provider. */
async function errorOf(target: object, error: object) {
  const bytes = [new TextEncoder().encode(JSON.stringify({ error })), null];
  const body = { read: () => bytes.shift() ?? null, cancel() {} };
  const answer = { status: 413, contentType: 'application/json', body };
  return await passedOn('svc/chat-default', target as never, answer as never, stoppedClock);
}

test('an error has no key of the provider, and keeps its words where the key is a word of a local server', async () => {
  const refused = (apiKey: string) =>
    errorOf(
      { baseUrl: 'http://127.0.0.1:9/v1', model: 'llama', apiKey },
      { message: `'max_tokens' of ${apiKey}`, param: 'max_tokens', code: 'context_length_exceeded' },
    );
  const words = { param: 'max_tokens', code: 'context_length_exceeded' };
  expect(await refused('sk-0123456789')).toMatchObject({ message: "'max_tokens' of [redacted]", ...words });
  for (const key of ['token', 'context', 'e']) {
    expect(await refused(key)).toMatchObject({ message: `'max_tokens' of ${key}`, ...words });
  }
});

test('G-16 an error names neither the operator’s account nor other hosts of the provider', async () => {
  const said = async (baseUrl: string, message: string) =>
    (await errorOf({ baseUrl, model: 'llama', apiKey: 'sk-x' }, { message })).message;
  expect(
    await said(
      'https://api.groq.com/openai/v1',
      'Request too large for model `llama` in organization `org_01hxyz0123456789abcdefghij`: Limit 6000. Upgrade at https://console.groq.com/settings/billing',
    ),
  ).toBe(
    'Request too large for model `svc/chat-default` in organization `[redacted]`: Limit 6000. Upgrade at the model',
  );
  const own = 'Cannot read https://pictures.example/a.png?x=1 (org-chart.example, 10.0.0.1)';
  expect(await said('https://api.openai.com/v1', own)).toBe(own);
  expect(await said('http://127.0.0.1:9/v1', own)).toBe(own);
  const mixed = 'See https://platform.openai.com/docs or openai.com, not openai.company';
  expect(await said('https://api.openai.com/v1', mixed)).toBe(
    'See the model or the model, not openai.company',
  );
});
