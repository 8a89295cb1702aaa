import { describe, expect, test } from 'bun:test';
import type { JsonObject } from '../../../../ports/json-object.ts';
import type { AnswerTranslation } from '../translator.ts';
import { createResponsesToChat } from './responses-to-chat.ts';

const weather = { type: 'function', name: 'weather', parameters: { type: 'object' } };

function answerOf(request: JsonObject = {}, storesResponses = false): AnswerTranslation {
  const bytes = new TextEncoder().encode(JSON.stringify({ model: 'alias', input: 'Hello', ...request }));
  let ids = 0;
  const newId = () => {
    ids += 1;
    return `r${ids}`;
  };
  const to = {
    model: 'm',
    maxTokensName: 'max_tokens',
    hasStreamOptions: true,
    defaultMaxTokens: 9,
  } as const;
  const translated = createResponsesToChat({ storesResponses }).translateRequest(bytes, to, {
    newId,
    nowSeconds: 1_000,
  });
  if (translated.outcome === 'refused') throw new Error(translated.message);
  return translated.answer;
}

function whole(chat: unknown, request?: JsonObject): JsonObject | null {
  const bytes = answerOf(request).whole(new TextEncoder().encode(JSON.stringify(chat)));
  return bytes === null ? null : JSON.parse(new TextDecoder().decode(bytes));
}

const wholeMessage = (message: JsonObject, more: JsonObject = {}, request?: JsonObject) =>
  whole({ choices: [{ index: 0, message, finish_reason: 'stop', ...more }] }, request);

/** Each chunk is an event, then [DONE]; all that the client gets. */
function streamText(chunks: readonly unknown[], request?: JsonObject): string {
  const stream = answerOf(request).stream();
  const parts = [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map((data) => {
    return stream.event(null, data);
  });
  return [...parts, stream.end()].join('');
}

function eventsOf(text: string): JsonObject[] {
  return text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => {
      const [name, data] = event.split('\n');
      const read = JSON.parse((data ?? '').slice('data: '.length));
      expect(name).toBe(`event: ${read.type}`);
      return read;
    });
}

const events = (chunks: readonly unknown[], request?: JsonObject) => eventsOf(streamText(chunks, request));
const delta = (fields: JsonObject, more: JsonObject = {}) => ({
  choices: [{ index: 0, delta: fields, finish_reason: null, ...more }],
});
const finish = (reason: string) => ({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
const piece = (index: number, fields: JsonObject, id?: string) => ({
  ...{ index, ...(id === undefined ? {} : { id, type: 'function' }), function: fields },
});
const usage = {
  prompt_tokens: 10,
  completion_tokens: 5,
  total_tokens: 15,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 2 },
};
const responseUsage = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 15,
};
/** Without what every event has, and the response, which has its own tests. */
const shape = ({ sequence_number, response, ...rest }: JsonObject) => rest;

describe('a complete answer', () => {
  test('has the message, the usage and the options of the request', () => {
    const request = {
      instructions: 'Be short.',
      metadata: { a: 'b' },
      max_output_tokens: 7,
      tools: [weather],
    };
    const chat = {
      id: 'chatcmpl-1',
      model: 'provider-model',
      service_tier: 'default',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
      usage,
    };
    expect(whole(chat, request)).toEqual({
      id: 'resp_r1',
      object: 'response',
      created_at: 1_000,
      status: 'completed',
      background: false,
      error: null,
      incomplete_details: null,
      output: [
        {
          id: 'msg_r1_0',
          type: 'message',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'Hi.', annotations: [], logprobs: [] }],
        },
      ],
      usage: responseUsage,
      instructions: 'Be short.',
      max_output_tokens: 7,
      max_tool_calls: null,
      metadata: { a: 'b' },
      model: 'alias',
      parallel_tool_calls: true,
      previous_response_id: null,
      prompt_cache_key: null,
      reasoning: { effort: null, summary: null },
      safety_identifier: null,
      service_tier: 'default',
      store: false,
      temperature: null,
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [weather],
      top_logprobs: 0,
      top_p: null,
      truncation: 'disabled',
      user: null,
    });
  });

  test('has reasoning, text and parallel calls as items, calls with the kind of their tools', () => {
    const tools = [
      { type: 'namespace', name: 'agents', tools: [weather] },
      { type: 'custom', name: 'apply_patch' },
      { type: 'local_shell' },
      { type: 'tool_search', execution: 'client', parameters: { type: 'object' } },
    ];
    const call = (id: string, name: string, written: unknown) => ({
      ...{ id, type: 'function', function: { name, arguments: written } },
    });
    const message = {
      content: 'I look.',
      reasoning_content: 'Hm.',
      tool_calls: [
        call('a', 'agents__weather', '{"city":"Rome"}'),
        call('b', 'apply_patch', '{"input":"*** Begin"}'),
        call('c', 'local_shell', { command: ['ls'] }),
        call('d', 'tool_search', '{"query":"x"}'),
        call('', 'made_up', '{'),
        call('f', 'local_shell', 'no JSON'),
      ],
    };
    expect(wholeMessage(message, {}, { tools })?.output).toMatchObject([
      { id: 'rs_r1_0', type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
      { id: 'msg_r1_1', type: 'message', content: [{ type: 'output_text', text: 'I look.' }] },
      {
        ...{ id: 'fc_r1_2', type: 'function_call', call_id: 'a', status: 'completed' },
        ...{ name: 'weather', namespace: 'agents', arguments: '{"city":"Rome"}' },
      },
      { id: 'ctc_r1_3', type: 'custom_tool_call', call_id: 'b', name: 'apply_patch', input: '*** Begin' },
      { id: 'lsh_r1_4', type: 'local_shell_call', call_id: 'c', action: { type: 'exec', command: ['ls'] } },
      { id: 'tsc_r1_5', type: 'tool_search_call', execution: 'client', arguments: { query: 'x' } },
      { type: 'function_call', call_id: 'call_r2', name: 'made_up', arguments: '{' },
      { type: 'function_call', call_id: 'f', name: 'local_shell', arguments: 'no JSON' },
    ]);
  });

  test('has calls of the shell and of apply_patch as the Responses API has them', () => {
    const tools = [{ type: 'shell', environment: { type: 'local' } }, { type: 'apply_patch' }];
    const call = (id: string, name: string, written: object) => ({
      ...{ id, type: 'function', function: { name, arguments: JSON.stringify(written) } },
    });
    const created = { type: 'create_file', path: 'a.txt', diff: '+a' };
    const deleted = { type: 'delete_file', path: 'a.txt' };
    const tool_calls = [
      call('a', 'shell', { commands: ['ls'], timeout_ms: 5 }),
      call('b', 'apply_patch', created),
      call('c', 'apply_patch', { ...deleted, diff: '' }),
      call('d', 'apply_patch', { type: 'update_file', path: 'a.txt' }),
      call('e', 'shell', { command: 'ls' }),
      call('f', 'shell', { commands: 'ls' }),
    ];
    expect(wholeMessage({ content: null, tool_calls }, {}, { tools })?.output).toEqual([
      {
        ...{ id: 'sh_r1_0', type: 'shell_call', call_id: 'a', status: 'completed' },
        action: { commands: ['ls'], timeout_ms: 5, max_output_length: null },
        environment: { type: 'local' },
      },
      { id: 'apc_r1_1', type: 'apply_patch_call', call_id: 'b', status: 'completed', operation: created },
      { id: 'apc_r1_2', type: 'apply_patch_call', call_id: 'c', status: 'completed', operation: deleted },
      expect.objectContaining({ type: 'function_call', call_id: 'd', name: 'apply_patch' }),
      expect.objectContaining({ type: 'function_call', call_id: 'e', name: 'shell' }),
      expect.objectContaining({ type: 'shell_call', action: expect.objectContaining({ commands: ['ls'] }) }),
    ]);
  });

  test('is incomplete where the model was cut off', () => {
    expect(wholeMessage({ content: 'Once' }, { finish_reason: 'length' })).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'incomplete' }],
      usage: null,
    });
    expect(wholeMessage({ content: 'Once' }, { finish_reason: 'content_filter' })).toMatchObject({
      incomplete_details: { reason: 'content_filter' },
    });
  });

  test('has refusals, sources, probabilities and content in parts', () => {
    expect(wholeMessage({ content: null, refusal: 'No.' })?.output).toMatchObject([
      { content: [{ type: 'refusal', refusal: 'No.' }] },
    ]);
    const cited = { url: 'https://a.test', title: 'A', start_index: 0, end_index: 1 };
    const logprob = { token: 'A', logprob: -1, bytes: [65], top_logprobs: [] };
    const message = { content: 'A', annotations: [{ type: 'url_citation', url_citation: cited }] };
    expect(wholeMessage(message, { logprobs: { content: [logprob] } })?.output).toMatchObject([
      { content: [{ annotations: [{ ...cited, type: 'url_citation' }], logprobs: [logprob] }] },
    ]);
    const content = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
      { type: 'text', text: 'Yes.' },
    ];
    const asked = { reasoning: { summary: 'auto' } };
    expect(wholeMessage({ content }, {}, asked)?.output).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
      { type: 'message', content: [{ text: 'Yes.' }] },
    ]);
  });

  test('is marked as stored where it is', () => {
    const bytes = new TextEncoder().encode('{"choices":[{"message":{"content":"Hi."}}]}');
    const storeOf = (request: JsonObject) => {
      const read = answerOf(request, true).whole(bytes);
      return read === null ? null : JSON.parse(new TextDecoder().decode(read)).store;
    };
    expect([storeOf({}), storeOf({ store: true }), storeOf({ store: false })]).toEqual([true, true, false]);
  });

  test('an empty one has an empty message; anything that is not a chat completion is no answer', () => {
    expect(wholeMessage({ content: '' })?.output).toMatchObject([{ content: [{ text: '' }] }]);
    for (const chat of [null, {}, { choices: [] }, { choices: [{}] }, { choices: [{ message: 'x' }] }]) {
      expect(whole(chat)).toBeNull();
    }
    expect(answerOf().whole(new TextEncoder().encode('{"choices'))).toBeNull();
  });
});

describe('a stream', () => {
  test('of text has every event in its order, and the usage that comes after the end', () => {
    const chunks = [
      delta({ role: 'assistant', content: '' }),
      delta({ content: 'Hel' }),
      delta({ content: 'lo' }),
      finish('stop'),
      { choices: [], usage },
    ];
    const seen = events(chunks);
    const where = { item_id: 'msg_r1_0', output_index: 0, content_index: 0 };
    const part = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });
    const item = (status: string, content: unknown[]) => ({
      ...{ id: 'msg_r1_0', type: 'message', status, role: 'assistant', content },
    });
    expect(seen.map(shape)).toEqual([
      { type: 'response.created' },
      { type: 'response.in_progress' },
      { type: 'response.output_item.added', output_index: 0, item: item('in_progress', []) },
      { type: 'response.content_part.added', ...where, part: part('') },
      { type: 'response.output_text.delta', ...where, delta: 'Hel', logprobs: [] },
      { type: 'response.output_text.delta', ...where, delta: 'lo', logprobs: [] },
      { type: 'response.output_text.done', ...where, text: 'Hello', logprobs: [] },
      { type: 'response.content_part.done', ...where, part: part('Hello') },
      { type: 'response.output_item.done', output_index: 0, item: item('completed', [part('Hello')]) },
      { type: 'response.completed' },
    ]);
    expect(seen.map(({ sequence_number }) => sequence_number)).toEqual([...seen.keys()]);
    expect(seen[0]?.response).toMatchObject({
      id: 'resp_r1',
      status: 'in_progress',
      output: [],
      usage: null,
    });
    const text = item('completed', [part('Hello')]);
    expect(seen.at(-1)?.response).toMatchObject({ id: 'resp_r1', status: 'completed', output: [text] });
    expect(seen.at(-1)?.response).toMatchObject({ usage: responseUsage });
  });

  test('of reasoning, text and parallel calls with interleaved chunks', () => {
    const chunks = [
      delta({ reasoning_content: 'Hm' }),
      delta({ reasoning: '.' }),
      delta({ content: 'I look.' }),
      delta({ tool_calls: [piece(0, { name: 'weather', arguments: '' }, 'a')] }),
      delta({ tool_calls: [piece(0, { arguments: '{"city"' }), piece(1, { name: 'time' }, 'b')] }),
      delta({ tool_calls: [piece(1, { arguments: '{' }), piece(0, { arguments: ':"Rome"}' })] }),
      delta({ tool_calls: [piece(1, { arguments: '}' })] }, { finish_reason: 'tool_calls', usage }),
    ];
    const seen = events(chunks, { tools: [weather, { ...weather, name: 'time' }] });
    const of = (index: number) => seen.filter(({ output_index }) => output_index === index).map(shape);
    const reasoning = { item_id: 'rs_r1_0', output_index: 0, content_index: 0 };
    expect(of(0)).toMatchObject([
      { type: 'response.output_item.added', item: { type: 'reasoning', summary: [], content: [] } },
      { type: 'response.content_part.added', ...reasoning, part: { type: 'reasoning_text', text: '' } },
      { type: 'response.reasoning_text.delta', ...reasoning, delta: 'Hm' },
      { type: 'response.reasoning_text.delta', ...reasoning, delta: '.' },
      { type: 'response.reasoning_text.done', ...reasoning, text: 'Hm.' },
      { type: 'response.content_part.done', ...reasoning, part: { type: 'reasoning_text', text: 'Hm.' } },
      { type: 'response.output_item.done', item: { content: [{ type: 'reasoning_text', text: 'Hm.' }] } },
    ]);
    const added = {
      type: 'function_call',
      status: 'in_progress',
      call_id: 'a',
      name: 'weather',
      arguments: '',
    };
    const done = { ...added, status: 'completed', arguments: '{"city":"Rome"}' };
    const call = { item_id: 'fc_r1_2', output_index: 2 };
    expect(of(2)).toEqual([
      { type: 'response.output_item.added', output_index: 2, item: { id: 'fc_r1_2', ...added } },
      { type: 'response.function_call_arguments.delta', ...call, delta: '{"city"' },
      { type: 'response.function_call_arguments.delta', ...call, delta: ':"Rome"}' },
      { type: 'response.function_call_arguments.done', ...call, arguments: '{"city":"Rome"}' },
      { type: 'response.output_item.done', output_index: 2, item: { id: 'fc_r1_2', ...done } },
    ]);
    expect(of(3).at(-1)).toMatchObject({ item: { call_id: 'b', name: 'time', arguments: '{}' } });
    expect(seen.at(-1)).toMatchObject({ type: 'response.completed', response: { usage: responseUsage } });
  });

  test('has reasoning as a summary where the client requests one', () => {
    const types = events([delta({ reasoning_content: 'Hm' }), finish('stop')], {
      reasoning: { summary: 'auto' },
    }).map(({ type }) => type);
    expect(types.slice(2, -1)).toEqual([
      'response.output_item.added',
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
      'response.output_item.done',
    ]);
  });

  test('has a refusal as its own part, and the input of a custom tool once it is complete', () => {
    const types = events([delta({ content: 'Well.' }), delta({ refusal: 'No.' }), finish('stop')]);
    expect(types.map(({ type }) => type).slice(2, -1)).toEqual([
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.content_part.added',
      'response.refusal.delta',
      'response.refusal.done',
      'response.content_part.done',
      'response.output_item.done',
    ]);
    const chunks = [
      delta({ tool_calls: [piece(0, { name: 'apply_patch', arguments: '{"inp' }, 'a')] }),
      delta({ tool_calls: [piece(0, { arguments: 'ut":"*"}' })] }),
      finish('tool_calls'),
    ];
    const where = { item_id: 'ctc_r1_0', output_index: 0 };
    const seen = events(chunks, { tools: [{ type: 'custom', name: 'apply_patch' }] });
    expect(seen.map(shape).slice(2, -1)).toMatchObject([
      { type: 'response.output_item.added', item: { type: 'custom_tool_call', input: '' } },
      { type: 'response.custom_tool_call_input.delta', ...where, delta: '*' },
      { type: 'response.custom_tool_call_input.done', ...where, input: '*' },
      { type: 'response.output_item.done', item: { input: '*', status: 'completed' } },
    ]);
  });

  test('with usage where providers put it, without [DONE] or without a finish reason', () => {
    const places = [
      delta({ content: 'a' }, { finish_reason: 'stop', usage }),
      { ...delta({ content: 'a' }, { finish_reason: 'stop' }), usage },
      { ...delta({ content: 'a' }, { finish_reason: 'stop' }), x_groq: { usage } },
    ];
    for (const chunk of places) {
      expect(events([chunk]).at(-1)).toMatchObject({ response: { usage: responseUsage } });
    }
    expect(events([delta({ content: 'a' })]).at(-1)).toMatchObject({ type: 'response.completed' });
    const stream = answerOf().stream();
    stream.event(null, JSON.stringify(delta({ content: 'a' }, { finish_reason: 'length' })));
    expect(stream.end()).toStartWith('event: response.incomplete\n');
  });

  test('calls of one index with different ids, and names that arrive late or in every chunk', () => {
    const gemini = events([
      delta({ tool_calls: [piece(0, { name: 'weather', arguments: '{}' }, 'a')] }),
      delta({ tool_calls: [piece(0, { name: 'weather', arguments: '{"b":1}' }, 'b')] }),
      finish('tool_calls'),
    ]).at(-1)?.response;
    expect(gemini).toMatchObject({
      output: [
        { call_id: 'a', arguments: '{}' },
        { call_id: 'b', arguments: '{"b":1}' },
      ],
    });
    const late = events([
      delta({ tool_calls: [piece(0, { arguments: '{' }, 'a')] }),
      delta({ tool_calls: [piece(0, { name: 'weather', arguments: '' }, 'a')] }),
      delta({ tool_calls: [piece(0, { name: 'weather', arguments: '}' }, 'a')] }),
      finish('tool_calls'),
    ]);
    expect(late.at(-1)?.response).toMatchObject({ output: [{ name: 'weather', arguments: '{}' }] });
  });

  test('that is broken reports an error, and one that ends early is cut off', () => {
    for (const data of ['{"choices"', 'text', '[]', '{"error":{"message":"x"}}']) {
      expect(answerOf().stream().event(null, data)).toBe('failed');
    }
    expect(answerOf().stream().event('error', '{}')).toBe('failed');
    const calls = JSON.stringify(delta({ tool_calls: ['x'] }));
    expect(answerOf().stream().event(null, calls)).toBe('failed');
    const stream = answerOf().stream();
    stream.event(null, JSON.stringify(delta({ content: 'a' })));
    expect(stream.end()).toBe('cut-off');
    expect(answerOf().stream().end()).toBe('cut-off');
  });

  test('that never ends is aborted', () => {
    const stream = answerOf().stream();
    const chunk = JSON.stringify(delta({ content: 'x'.repeat(4 * 1024 * 1024) }));
    const answers = Array.from({ length: 10 }, () => stream.event(null, chunk));
    expect(answers.at(-1)).toBe('failed');
  });
});
