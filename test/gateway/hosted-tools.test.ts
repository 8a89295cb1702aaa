import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer, startScriptedUpstream, streamOf } from './scripted-upstream.ts';

const SEARCH_MICRO = 10_000n;
const usage = { input_tokens: 10, output_tokens: 5 };
/** At the first prices of chat-default and extract-default: 1 and 4 credits for a million tokens. */
const TOKENS_MICRO = 30n;

const item = (type: string, id: string, more: object = {}) => ({ id, type, status: 'completed', ...more });
const search = (id: string, type = 'search') => item('web_search_call', id, { action: { type } });
const response = (...output: object[]) => ({ id: 'resp_1', object: 'response', model: 'm', output, usage });
const message = (serverTools: object | null, ...content: object[]) => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content },
  usage: { ...usage, ...(serverTools === null ? {} : { server_tool_use: serverTools }) },
});
const event = (type: string, more: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;

describe('hosted tools', () => {
  const gateway = useResource(() => openGateway({ unpricedFields: 'refuse' }));
  const poor = useResource(() => openGateway({ balanceMicro: 300_000n }));
  const anthropic = useResource(async () => startScriptedUpstream());
  const [openaiAlias, anthropicAlias] = ['svc/chat-default', 'svc/extract-default'];

  beforeAll(async () => {
    await gateway.aimAtProvider(anthropicAlias, { provider: 'anthropic' }, anthropic);
    await gateway.equip(openaiAlias, {
      tools: { web_search: 0.01, file_search: '0.0025', code_interpreter: 0.03 },
      maxUses: 5,
      providerIds: ['vs_shared'],
    });
    await gateway.equip(anthropicAlias, { tools: { web_search: 0.01, web_fetch: 0, code_execution: 0.002 } });
  });
  beforeEach(() => {
    gateway.upstream.received.length = 0;
    anthropic.received.length = 0;
  });

  const ask = { model: openaiAlias, input: 'Hello', max_output_tokens: 100 };
  const say = { model: anthropicAlias, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 };
  const tool = { type: 'web_search' };
  const claudeTool = { type: 'web_search_20250305', name: 'web_search' };

  async function call(path: string, body: unknown, headers: Record<string, string> = {}) {
    const minted = await gateway.mint();
    const sent = await post(`${gateway.url}${path}`, minted.rawKey, body, { headers });
    const text = await sent.text();
    const [row] = await gateway.calls(minted.id, 1);
    return { status: sent.status, headers: sent.headers, text, row };
  }
  const sentTo = (upstream: typeof anthropic) =>
    JSON.parse(new TextDecoder().decode(upstream.received[0]?.body));

  test('each use is charged on top of the tokens, in the same row and ledger entry', async () => {
    gateway.upstream.answer(() =>
      Response.json(response(search('ws_1'), search('ws_2', 'open_page'), search('ws_3'))),
    );
    const before = await gateway.credits.level();
    const { status, row } = await call('/responses', { ...ask, tools: [tool] });
    expect(status).toBe(200);
    expect(row).toMatchObject({
      ...{ outcome: 'SUCCEEDED', charge_micro: TOKENS_MICRO + 2n * SEARCH_MICRO },
      ...{ surcharge_micro: 2n * SEARCH_MICRO, tool_uses: { web_search: 2 } },
    });
    const charges = await gateway.credits.chargesOf(row?.id);
    expect(charges).toMatchObject([{ amount_micro: -(TOKENS_MICRO + 2n * SEARCH_MICRO) }]);
    const after = await gateway.credits.level();
    expect(before.balanceMicro - after.balanceMicro).toBe(TOKENS_MICRO + 2n * SEARCH_MICRO);
    expect(await gateway.credits.held()).toBe(0);
    // The alias's bound is enforced by the provider.
    expect(sentTo(gateway.upstream)).toMatchObject({ tools: [tool], max_tool_calls: 5 });
  });

  test('in a stream too, each item once however many events report it', async () => {
    const last = response(search('ws_1'), search('ws_2'));
    gateway.upstream.answer(() =>
      streamOf(
        event('response.created', { response: { ...response(), usage: null } }),
        event('response.output_item.done', { output_index: 0, item: search('ws_1') }),
        event('response.output_item.done', { output_index: 1, item: search('ws_2') }),
        event('response.completed', { response: last }),
      ),
    );
    const { row } = await call('/responses', { ...ask, stream: true, tools: [tool], max_tool_calls: 3 });
    expect(row).toMatchObject({ surcharge_micro: 2n * SEARCH_MICRO, tool_uses: { web_search: 2 } });
    expect(sentTo(gateway.upstream).max_tool_calls).toBe(3);
  });

  test('Messages reports searches in its usage; other tools are counted by their blocks', async () => {
    const blocks = [
      { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} },
      { type: 'server_tool_use', id: 's2', name: 'bash_code_execution', input: {} },
    ];
    anthropic.answer(() =>
      Response.json(message({ web_search_requests: 3, web_fetch_requests: 0 }, ...blocks)),
    );
    const code = { type: 'code_execution_20250825', name: 'code_execution' };
    const whole = await call('/messages', { ...say, tools: [claudeTool, code] });
    const uses = { web_search: 3, code_execution: 1 };
    expect(whole.row).toMatchObject({ surcharge_micro: 32_000n, tool_uses: uses });
    expect(sentTo(anthropic).tools).toEqual([{ ...claudeTool, max_uses: 10 }, code]);

    const { usage: whole_usage, ...begun } = message(null);
    anthropic.answer(() =>
      streamOf(
        event('message_start', { message: { ...begun, usage: { input_tokens: 10, output_tokens: 1 } } }),
        event('content_block_start', { index: 0, content_block: blocks[0] }),
        event('content_block_start', { index: 1, content_block: blocks[1] }),
        event('message_delta', {
          delta: {},
          usage: { ...whole_usage, server_tool_use: { web_search_requests: 3 } },
        }),
        event('message_stop', {}),
      ),
    );
    const streamed = await call('/messages', { ...say, stream: true, tools: [claudeTool, code] });
    expect(streamed.row).toMatchObject({ surcharge_micro: 32_000n, tool_uses: uses });
  });

  test('chat completions with web_search_options cost one use, or as many as the provider reports', async () => {
    const body = { model: openaiAlias, messages: [{ role: 'user', content: 'Hi' }], web_search_options: {} };
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    expect((await call('/chat/completions', body)).row).toMatchObject({ surcharge_micro: SEARCH_MICRO });
    const reported = { prompt_tokens: 10, completion_tokens: 5, server_tool_use: { web_search_requests: 4 } };
    gateway.upstream.answer(() => Response.json(chatAnswer({ usage: reported })));
    expect((await call('/chat/completions', body)).row).toMatchObject({ surcharge_micro: 4n * SEARCH_MICRO });
  });

  test('failed tools cost nothing', async () => {
    gateway.upstream.answer(() => Response.json(response({ ...search('ws_1'), status: 'failed' })));
    const unused = await call('/responses', { ...ask, tools: [tool] });
    expect(unused.row).toMatchObject({ charge_micro: TOKENS_MICRO, surcharge_micro: null });
  });

  test('without enough credits for all uses the call is refused before the provider is called', async () => {
    await poor.equip(openaiAlias, { tools: { web_search: 0.01 }, maxUses: 30 });
    poor.upstream.answer(() => Response.json(response()));
    const { rawKey } = await poor.mint();
    const send = (more: object) => post(`${poor.url}/responses`, rawKey, { ...ask, tools: [tool], ...more });
    const refused = await refusalOf(send({}));
    expect(refused).toMatchObject({ status: 402, code: 'INSUFFICIENT_CREDITS' });
    expect(refused.message).toContain('max_tool_calls');
    expect(poor.upstream.received).toEqual([]);
    expect((await send({ max_tool_calls: 1 })).status).toBe(200);
  });

  test('GET /models lists them with their prices', async () => {
    const { rawKey } = await gateway.mint();
    const show = async (alias: string) => {
      const headers = { authorization: `Bearer ${rawKey}` };
      return (await (await fetch(`${gateway.url}/models/${alias}`, { headers })).json()) as object;
    };
    expect(await show(openaiAlias)).toMatchObject({
      hosted_tools: [
        { name: 'code_interpreter', credits_per_use: 0.03 },
        { name: 'file_search', credits_per_use: 0.0025 },
        { name: 'web_search', credits_per_use: 0.01 },
      ],
    });
    expect(await show('svc/extract-fast')).not.toHaveProperty('hosted_tools');
  });

  test('invalid bounds are refused', async () => {
    for (const max_tool_calls of [0, 1.5, '5', 1_001]) {
      const { status, text } = await call('/responses', { ...ask, tools: [tool], max_tool_calls });
      expect([status, text.includes('max_tool_calls')]).toEqual([400, true]);
    }
    const tools = [{ ...claudeTool, max_uses: 0 }];
    expect((await call('/messages', { ...say, tools })).text).toContain('max_uses');
    expect(gateway.upstream.received).toEqual([]);
  });

  test('a provider without support for the wire cannot run them: the answer is 400', async () => {
    await gateway.aimAtProvider('svc/chat-cheap', { provider: 'compatible' }, gateway.upstream);
    await gateway.equip('svc/chat-cheap', { tools: { web_search: 1 } });
    const { status, text } = await call('/responses', { ...ask, model: 'svc/chat-cheap', tools: [tool] });
    expect(status).toBe(400);
    expect(text).toContain('serves /responses itself');
    expect(gateway.upstream.received).toEqual([]);
  });

  test('tools that Codex lists in every request are dropped where the model does not have them', async () => {
    await gateway.aimAtProvider('svc/chat-premium', { provider: 'openai' }, gateway.upstream);
    gateway.upstream.answer(() => Response.json(response()));
    const cached = { type: 'web_search', external_web_access: false };
    const run = { type: 'function', name: 'run' };
    const send = (tools: object[]) => call('/responses', { ...ask, model: 'svc/chat-premium', tools });
    const { status, headers } = await send([cached, run]);
    expect([status, headers.get('x-turnpike-dropped-tools')]).toEqual([200, 'web_search']);
    expect(sentTo(gateway.upstream).tools).toEqual([run]);
    gateway.upstream.received.length = 0;
    const live = { type: 'web_search', external_web_access: true };
    for (const search of [tool, live]) expect((await send([search, run])).status).toBe(400);
    expect(gateway.upstream.received).toEqual([]);
    // Without a sandbox, Codex lists a search of the web itself.
    const byCodex = await call(
      '/responses',
      { ...ask, model: 'svc/chat-premium', tools: [run, live] },
      { originator: 'codex_exec' },
    );
    expect([byCodex.status, byCodex.headers.get('x-turnpike-dropped-tools')]).toEqual([200, 'web_search']);
    expect(sentTo(gateway.upstream).tools).toEqual([run]);
  });
});
