import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { updateAlias } from '../../src/domain/models/change-alias.ts';
import { until } from '../doubles/until.ts';
import { openGateway, post, refusalOf } from '../gateway/gateway-under-test.ts';
import { storeOwnKey } from '../gateway/own-key-under-test.ts';
import {
  chatAnswer,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamOf,
} from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

const [OPENAI, ANTHROPIC] = ['svc/chat-default', 'svc/extract-default'];
/** At the first prices of chat-default and extract-default: 1 and 4 credits for a million tokens. */
const TOKENS_MICRO = 30n;
const counted = { prompt_tokens: 10, completion_tokens: 5 };
const usage = { input_tokens: 10, output_tokens: 5 };
const messages = [{ role: 'user', content: 'Hello' }];
const chat = { model: OPENAI, messages, max_tokens: 5 };
const ask = { model: OPENAI, input: 'Hello', max_output_tokens: 5 };
const say = { model: ANTHROPIC, messages, max_tokens: 5 };

const event = (type: string, more: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const chunk = (more: object) => `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [], ...more })}\n\n`;
const response = (more: object) => ({
  id: 'resp_1',
  object: 'response',
  model: 'm',
  output: [],
  usage,
  ...more,
});
const message = (more: object, content: readonly object[] = []) => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content },
  usage: { ...usage, ...more },
});
const item = (type: string, more: object = {}) => ({ id: `${type}_1`, type, status: 'completed', ...more });

type Gateway = Awaited<ReturnType<typeof openGateway>>;
const sentTo = (upstream: ScriptedUpstream) => new TextDecoder().decode(upstream.received.at(-1)?.body);

async function callOf(gateway: Gateway, path: string, body: unknown, headers: Record<string, string> = {}) {
  const minted = await gateway.mint();
  const sent = await post(`${gateway.url}${path}`, minted.rawKey, body, { headers });
  const text = await sent.text();
  const [row] = await gateway.calls(minted.id, 1);
  return {
    status: sent.status,
    named: sent.headers.get('x-turnpike-unpriced'),
    text,
    row,
    headers: sent.headers,
  };
}

describe('fields without a price', () => {
  const gateway = useResource(() => openGateway({ unpricedCallsPerDay: 1_000 }));
  const anthropic = useResource(async () => startScriptedUpstream());
  const call = (...given: [string, unknown, Record<string, string>?]) => callOf(gateway, ...given);

  beforeAll(() => gateway.aimAtProvider(ANTHROPIC, { provider: 'anthropic' }, anthropic));
  beforeEach(() => {
    gateway.upstream.received.length = 0;
    anthropic.received.length = 0;
  });

  const voice = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } };
  const spoken = { ...chat, messages: [{ role: 'user', content: [voice] }] };
  const source = { type: 'url_citation', url_citation: { url: 'https://a.example' } };
  const sourced = { index: 0, message: { role: 'assistant', content: 'Hi', annotations: [source] } };
  const search = { ...chat, web_search_options: {} };
  const plugged = { ...chat, plugins: [{ id: 'web' }] };
  const details = { prompt_tokens_details: { audio_tokens: 4 } };

  test.each([
    [
      'service_tier',
      { ...chat, service_tier: 'priority' },
      { service_tier: 'default' },
      { service_tier: 'priority' },
    ],
    [
      'audio',
      spoken,
      { usage: { ...counted, prompt_tokens_details: { audio_tokens: 0 } } },
      { usage: { ...counted, ...details } },
    ],
    ['web_search_options', search, {}, { choices: [sourced] }],
    [
      'search_parameters',
      { ...chat, search_parameters: { mode: 'on' } },
      { usage: { ...counted, num_sources_used: 0 } },
      { usage: { ...counted, num_sources_used: 3 } },
    ],
    ['plugins', plugged, { usage: { ...counted, cost: 0 } }, { usage: { ...counted, cost: 0.02 } }],
    [
      'web_search',
      { ...chat, tools: [{ type: 'web_search_20250305', name: 'x' }] },
      {},
      { usage: { ...counted, server_tool_use: { web_search_requests: 1 } } },
    ],
  ] as const)(
    'G-12 %s of chat completions goes on as it came; the call is marked if its cost is reported',
    async (name, body, plain, dear) => {
      const answered = (reported: object) => () => Response.json(chatAnswer({ usage: counted, ...reported }));
      gateway.upstream.answer(answered(plain));
      const text = JSON.stringify(body, null, 1);
      const unmarked = await call('/chat/completions', text);
      expect([unmarked.status, unmarked.named]).toEqual([200, name]);
      expect(unmarked.row).toMatchObject({
        outcome: 'SUCCEEDED',
        charge_micro: TOKENS_MICRO,
        unpriced: null,
      });
      expect(sentTo(gateway.upstream)).toBe(text.replace(OPENAI, JSON.parse(sentTo(gateway.upstream)).model));
      gateway.upstream.answer(answered(dear));
      const marked = await call('/chat/completions', text);
      expect(marked.row).toMatchObject({
        charge_micro: TOKENS_MICRO,
        surcharge_micro: null,
        unpriced: [name],
      });
    },
  );

  test('streams are read for the same reports', async () => {
    gateway.upstream.answer(() =>
      streamOf(
        chunk({ service_tier: 'priority', choices: [{ index: 0, delta: { content: 'Hi' } }] }),
        chunk({ choices: [{ index: 0, delta: { annotations: [source] } }] }),
        chunk({ usage: counted }),
        'data: [DONE]\n\n',
      ),
    );
    const { named, row } = await call('/chat/completions', {
      ...{ ...search, stream: true, service_tier: 'priority', speed: 'fast' },
    });
    expect(named).toBe('web_search_options, service_tier, speed');
    expect(row).toMatchObject({
      charge_micro: TOKENS_MICRO,
      unpriced: ['service_tier', 'web_search_options'],
    });
  });

  test('tools of Responses are marked by the items of the answer, known ones and others', async () => {
    const tools = [{ type: 'web_search' }, { type: 'x_search' }, { type: 'file_search' }];
    const output = [item('web_search_call', { action: { type: 'search' } }), item('x_search_call')];
    gateway.upstream.answer(() => Response.json(response({ output })));
    const { named, row } = await call('/responses', { ...ask, tools });
    expect(named).toBe('web_search, x_search, file_search');
    expect(row).toMatchObject({ unpriced: ['web_search', 'x_search'], tool_uses: { web_search: 1 } });
    // Nothing is written into the body: there is no price that a bound protects.
    expect(JSON.parse(sentTo(gateway.upstream))).toMatchObject({ tools });
    expect(JSON.parse(sentTo(gateway.upstream))).not.toHaveProperty('max_tool_calls');
    gateway.upstream.answer(() =>
      streamOf(
        event('response.output_item.done', { output_index: 0, item: item('function_call') }),
        event('response.completed', { response: response({ output: [item('function_call')] }) }),
      ),
    );
    expect((await call('/responses', { ...ask, tools, stream: true })).row).toMatchObject({ unpriced: null });
  });

  test('tools and tiers of Messages are marked by its usage and blocks', async () => {
    const tools = [
      { type: 'web_search_20250305', name: 'web_search' },
      { type: 'advisor_20260301', name: 'advisor' },
    ];
    const body = { ...say, tools, speed: 'fast', inference_geo: 'us' };
    anthropic.answer(() =>
      Response.json(
        message({ speed: 'fast', inference_geo: 'global', server_tool_use: { web_search_requests: 2 } }),
      ),
    );
    const whole = await call('/messages', body);
    expect(whole.named).toBe('web_search, advisor_20260301, speed, inference_geo');
    expect(whole.row).toMatchObject({ unpriced: ['speed', 'web_search'], tool_uses: { web_search: 2 } });
    anthropic.answer(() =>
      streamOf(
        event('message_start', { message: message({ inference_geo: 'us' }) }),
        event('content_block_start', {
          index: 0,
          content_block: { type: 'server_tool_use', name: 'advisor' },
        }),
        event('message_delta', { delta: {}, usage: { output_tokens: 5 } }),
        event('message_stop', {}),
      ),
    );
    const streamed = await call('/messages', { ...body, stream: true });
    expect(streamed.row).toMatchObject({ unpriced: ['advisor_20260301', 'inference_geo'] });
  });

  test('what has a price is charged as without the setting, beside what has none', async () => {
    await gateway.equip(OPENAI, { tools: { web_search: 0.01 }, maxUses: 5 });
    await updateAlias(gateway.catalogue, { alias: OPENAI, priceFactors: { service_tier: { priority: 2 } } });
    await until(() => gateway.models.find(OPENAI)?.priceFactors != null);
    const output = [item('web_search_call', { action: { type: 'search' } }), item('image_generation_call')];
    gateway.upstream.answer(() => Response.json(response({ output, service_tier: 'priority' })));
    const tools = [{ type: 'web_search' }, { type: 'image_generation' }];
    const { named, row } = await call('/responses', { ...ask, tools, service_tier: 'priority' });
    expect(named).toBe('image_generation');
    expect(row).toMatchObject({
      ...{ charge_micro: 2n * TOKENS_MICRO + 10_000n, surcharge_micro: 10_000n, tier: 'priority' },
      ...{ unpriced: ['image_generation'], tool_uses: { web_search: 1, image_generation: 1 } },
    });
    expect(JSON.parse(sentTo(gateway.upstream)).max_tool_calls).toBe(5);
    await gateway.equip(OPENAI, { tools: {} });
    await updateAlias(gateway.catalogue, { alias: OPENAI, priceFactors: null });
    await until(() => gateway.models.find(OPENAI)?.priceFactors == null);
  });

  test('a call holds no more with such fields than without', async () => {
    const held: number[] = [];
    gateway.upstream.answer(async () => {
      held.push(await gateway.credits.held());
      return Response.json(response({}));
    });
    for (const more of [{ x: [{ type: 'web_search' }] }, { tools: [{ type: 'web_search' }] }]) {
      await call('/responses', { ...ask, ...more });
    }
    expect(held[0]).toBeGreaterThan(0);
    // The body is some bytes longer.
    expect(Math.abs((held[1] ?? 0) - (held[0] ?? 0))).toBeLessThanOrEqual(8);
  });

  test('the search that Codex lists is forwarded where the provider has it, and dropped where calls are translated', async () => {
    const tools = [
      { type: 'function', name: 'run', parameters: {} },
      { type: 'web_search', external_web_access: false },
    ];
    gateway.upstream.answer(() => Response.json(response({})));
    const sent = await call('/responses', { ...ask, tools });
    expect([sent.named, sent.headers.get('x-turnpike-dropped-tools')]).toEqual(['web_search', null]);
    anthropic.answer(() => Response.json(message({})));
    const translated = await call('/responses', { ...ask, model: ANTHROPIC, tools, store: false });
    expect([translated.status, translated.named, translated.headers.get('x-turnpike-dropped-tools')]).toEqual(
      [...[200, null, 'web_search']],
    );
  });

  test('fields that a translation cannot express are a 400', async () => {
    for (const more of [
      { web_search_options: {} },
      { service_tier: 'priority' },
      { plugins: [{ id: 'web' }] },
    ]) {
      const { status, text } = await call('/chat/completions', { ...chat, model: ANTHROPIC, ...more });
      expect([status, text.includes(Object.keys(more)[0] ?? '')]).toEqual([400, true]);
    }
    expect(anthropic.received).toEqual([]);
  });

  test('with a company’s own provider key nothing is named or marked', async () => {
    const own = await openGateway();
    try {
      await storeOwnKey(own, own.companyId, 'sk-own-key-of-the-company');
      own.upstream.answer(() => Response.json(chatAnswer({ usage: counted, service_tier: 'priority' })));
      const { status, named, row } = await callOf(own, '/chat/completions', {
        ...search,
        service_tier: 'priority',
      });
      expect([status, named]).toEqual([200, null]);
      expect(row).toMatchObject({ own_key: true, unpriced: null });
    } finally {
      await own.close();
    }
  });
});

describe('UNPRICED_CALLS_PER_DAY', () => {
  const gateway = useResource(() => openGateway({ unpricedCallsPerDay: 2 }));
  const tiered = { ...chat, service_tier: 'priority' };
  const tier = (service_tier: string) => () => Response.json(chatAnswer({ usage: counted, service_tier }));
  const call = (path: string, body: unknown) => callOf(gateway, path, body);

  test('counts answers with an unknown cost, not what was forwarded, and then refuses such fields alone', async () => {
    gateway.upstream.answer(tier('default'));
    for (let n = 0; n < 4; n += 1) expect((await call('/chat/completions', tiered)).status).toBe(200);
    gateway.upstream.answer(tier('priority'));
    for (let n = 0; n < 3; n += 1) expect((await call('/chat/completions', tiered)).status).toBe(200);
    expect(gateway.unpricedCalls.counts()).toEqual({ service_tier: 3 });
    gateway.upstream.received.length = 0;
    const { rawKey } = await gateway.mint();
    const refused = await refusalOf(post(`${gateway.url}/chat/completions`, rawKey, tiered));
    expect(refused).toMatchObject({
      ...{ status: 400, type: 'invalid_request_error', code: 'UNPRICED_LIMIT', param: 'service_tier' },
      message: expect.stringContaining('UNPRICED_CALLS_PER_DAY'),
    });
    expect(gateway.upstream.received).toEqual([]);
    expect((await call('/chat/completions', chat)).status).toBe(200);
    expect((await call('/chat/completions', { ...chat, service_tier: 'flex' })).status).toBe(200);
    // The search that Codex lists unasked is dropped from now on, as where it cannot be forwarded.
    gateway.upstream.answer(() => Response.json(response({})));
    const tools = [
      { type: 'function', name: 'run' },
      { type: 'web_search', external_web_access: false },
    ];
    const { status, headers } = await call('/responses', { ...ask, tools });
    expect([status, headers.get('x-turnpike-dropped-tools')]).toEqual([200, 'web_search']);
    // With a price the cost is known.
    await updateAlias(gateway.catalogue, { alias: OPENAI, priceFactors: { service_tier: { priority: 2 } } });
    await until(() => gateway.models.find(OPENAI)?.priceFactors != null);
    gateway.upstream.answer(tier('priority'));
    expect((await call('/chat/completions', tiered)).row).toMatchObject({ tier: 'priority', unpriced: null });
  });
});
