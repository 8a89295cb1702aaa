import { describe, expect, test } from 'bun:test';
import { translationUnderTest } from '../../../../../test/doubles/translation-under-test.ts';
import type { TranslationTarget } from '../translator.ts';
import { messagesToChat } from './messages-to-chat.ts';

const target: TranslationTarget = {
  model: 'gpt-5.2',
  maxTokensName: 'max_completion_tokens',
  hasStreamOptions: true,
  defaultMaxTokens: 4_096,
};

const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const hello = { model: 'svc/chat-default', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] };

const { ofText, translated, sent, refused } = translationUnderTest(messagesToChat, target, hello);

function turns(...messages: unknown[]) {
  return sent({ messages }).messages;
}

describe('a Messages request becomes one of chat completions', () => {
  test('the smallest one, and every plain member', () => {
    expect(sent({})).toEqual({
      model: 'gpt-5.2',
      messages: [{ role: 'user', content: 'Hi' }],
      max_completion_tokens: 100,
    });
    const members = { temperature: 0.5, top_p: 0.9, top_k: 5, stop_sequences: ['END'], stream: true };
    expect(sent({ ...members, metadata: { user_id: 'u1' } })).toMatchObject({
      ...{ temperature: 0.5, top_p: 0.9, top_k: 5, stop: ['END'], stream: true, user: 'u1' },
      stream_options: { include_usage: true },
    });
    const older = sent({ stream: true }, { maxTokensName: 'max_tokens', hasStreamOptions: false });
    expect(older).toEqual({
      ...{ model: 'gpt-5.2', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 100, stream: true },
    });
  });

  test('system as a string, as blocks, and in the middle', () => {
    expect(sent({ system: 'Be brief.' }).messages[0]).toEqual({ role: 'system', content: 'Be brief.' });
    const system = [
      { type: 'text', text: 'One.', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'Two.' },
    ];
    expect(sent({ system }).messages[0]).toEqual({ role: 'system', content: 'One.\n\nTwo.' });
    const inTheMiddle = { role: 'system', content: [{ type: 'text', text: 'Now in French.' }] };
    expect(turns({ role: 'user', content: 'Hi' }, inTheMiddle)).toEqual([
      { role: 'user', content: 'Hi\n\n<system>\nNow in French.\n</system>' },
    ]);
    expect(sent({ system, messages: [inTheMiddle, { role: 'user', content: 'Hi' }] }).messages).toEqual([
      { role: 'system', content: 'One.\n\nTwo.\n\nNow in French.' },
      { role: 'user', content: 'Hi' },
    ]);
  });

  test('images and documents', () => {
    const png = { type: 'base64', media_type: 'image/png', data: 'aGk=' };
    const pdf = { type: 'base64', media_type: 'application/pdf', data: 'cGRm' };
    const text = { type: 'text', media_type: 'text/plain', data: 'All of it.' };
    const content = [
      { type: 'text', text: 'Look.' },
      { type: 'image', source: png },
      { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } },
      { type: 'document', source: pdf, title: 'CV.pdf', context: 'Sent today.' },
      { type: 'document', source: text, title: 'Notes' },
      { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'Part.' }] } },
      {
        type: 'search_result',
        title: 'T',
        source: 'https://s.test',
        content: [{ type: 'text', text: 'Found.' }],
      },
    ];
    expect(turns({ role: 'user', content })[0].content).toEqual([
      { type: 'text', text: 'Look.' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
      { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
      { type: 'text', text: 'Sent today.' },
      { type: 'file', file: { filename: 'CV.pdf', file_data: 'data:application/pdf;base64,cGRm' } },
      { type: 'text', text: 'Notes' },
      { type: 'text', text: 'All of it.' },
      { type: 'text', text: 'Part.' },
      { type: 'text', text: 'T\nhttps://s.test' },
      { type: 'text', text: 'Found.' },
    ]);
  });

  test('calls of tools and their results: strings, blocks, errors, images, and none', () => {
    const use = (id: string, input: object) => ({ type: 'tool_use', id, name: 'look', input });
    const result = (id: string, rest: object) => ({ type: 'tool_result', tool_use_id: id, ...rest });
    const image = { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } };
    const made = [
      { type: 'thinking', thinking: 'Hm.', signature: 's' },
      { type: 'redacted_thinking', data: 'x' },
      { type: 'text', text: 'I look.' },
      ...['a', 'b', 'c', 'd'].map((id) => use(id, { place: id })),
    ];
    const came = [
      { type: 'text', text: 'And now?' },
      result('a', { content: 'Nothing.' }),
      result('b', { content: [{ type: 'text', text: 'No such place.' }], is_error: true }),
      result('c', { content: [image] }),
      result('d', {}),
    ];
    const call = (id: string) => {
      const made = { name: 'look', arguments: `{"place":"${id}"}` };
      return { id, type: 'function', function: made };
    };
    expect(turns({ role: 'assistant', content: made }, { role: 'user', content: came })).toEqual([
      { role: 'assistant', content: 'I look.', tool_calls: ['a', 'b', 'c', 'd'].map(call) },
      { role: 'tool', tool_call_id: 'a', content: 'Nothing.' },
      { role: 'tool', tool_call_id: 'b', content: 'Error: No such place.' },
      { role: 'tool', tool_call_id: 'c', content: 'The result follows in the next message.' },
      { role: 'tool', tool_call_id: 'd', content: '' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'From the result of tool call c:' },
          { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
          { type: 'text', text: 'And now?' },
        ],
      },
    ]);
  });

  test('messages of one role in a row are one turn; those without content are not sent', () => {
    const block = (text: string) => [{ type: 'text', text }];
    const messages = [
      { role: 'user', content: 'One' },
      { role: 'user', content: block('Two') },
      { role: 'assistant', content: block('') },
      { role: 'assistant', content: [...block('He'), ...block('llo.')] },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'x', signature: '' }, ...block('Bye.')] },
      { role: 'user', content: [] },
    ];
    expect(turns(...messages)).toEqual([
      { role: 'user', content: 'One\n\nTwo' },
      { role: 'assistant', content: 'Hello.\n\nBye.' },
    ]);
    expect(refused({ messages: [{ role: 'user', content: '' }] })).toMatchObject({ param: 'messages' });
  });

  test('tools, and every choice between them', () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } };
    const tool = { name: 'weather', description: 'The weather.', input_schema: schema };
    const tools = [{ ...tool, cache_control: { type: 'ephemeral' }, strict: true, type: 'custom' }];
    const wanted = { name: 'weather', description: 'The weather.', parameters: schema };
    expect(sent({ tools }).tools).toEqual([{ type: 'function', function: wanted }]);
    const choice = (tool_choice: object) => sent({ tools, tool_choice });
    expect(choice({ type: 'auto' }).tool_choice).toBe('auto');
    expect(choice({ type: 'any' }).tool_choice).toBe('required');
    expect(choice({ type: 'none' }).tool_choice).toBe('none');
    const named = { type: 'function', function: { name: 'weather' } };
    expect(choice({ type: 'tool', name: 'weather' }).tool_choice).toEqual(named);
    const single = choice({ type: 'auto', disable_parallel_tool_use: true });
    expect(single).toMatchObject({ tool_choice: 'auto', parallel_tool_calls: false });
    expect(sent({ tool_choice: { type: 'auto' } })).not.toContainKey('tool_choice');
    expect(refused({ tool_choice: { type: 'any' } }).param).toBe('tool_choice');
  });

  test('numbers past 2^53 in arguments are kept digit by digit', () => {
    const text = JSON.stringify({
      ...hello,
      messages: [
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'n', input: { id: 1 } }] },
      ],
    }).replace('{"id":1}', '{"id":12345678901234567891}');
    const result = ofText(text);
    if (result.outcome !== 'translated') throw new Error(result.message);
    expect(new TextDecoder().decode(result.body)).toContain('{\\"id\\":12345678901234567891}');
  });

  test('thinking and effort become an effort where the model is known to accept one', () => {
    const budget = (budget_tokens: number) => ({ thinking: { type: 'enabled', budget_tokens } });
    expect(sent(budget(2_000)).reasoning_effort).toBe('low');
    expect(sent(budget(10_000)).reasoning_effort).toBe('medium');
    expect(sent(budget(32_000)).reasoning_effort).toBe('high');
    expect(sent({ ...budget(2_000), output_config: { effort: 'max' } }).reasoning_effort).toBe('high');
    expect(sent({ thinking: { type: 'disabled' } })).not.toContainKey('reasoning_effort');
    expect(sent(budget(2_000), { model: 'gpt-4o' })).not.toContainKey('reasoning_effort');
    expect(refused({ thinking: { type: 'much' } }).param).toBe('thinking.type');
    expect(refused({ output_config: { effort: 'huge' } }).param).toBe('output_config.effort');
  });

  test('models of OpenAI get no temperature while they reason, and no top_k', () => {
    const low = { output_config: { effort: 'low' } };
    const sampling = (model: string, request: object = {}, provider = 'openai') => {
      const members = { temperature: 0.5, top_p: 0.9, top_k: 5 };
      const body = sent({ ...members, ...request }, { model, provider });
      return Object.keys(members).filter((name) => name in body);
    };
    for (const model of ['o4-mini', 'gpt-5', 'gpt-5.2-pro', 'gpt-5.5', 'gpt-6-sol']) {
      expect([model, sampling(model)]).toEqual([model, []]);
    }
    expect(sampling('gpt-5.2', low)).toEqual([]);
    for (const model of ['gpt-5.1', 'gpt-5-chat-latest', 'gpt-4o']) {
      expect([model, sampling(model)]).toEqual([model, ['temperature', 'top_p']]);
    }
    expect(sampling('gpt-35-turbo', low, 'azure')).toEqual(['temperature', 'top_p']);
    expect(sampling('llama', {}, 'groq')).toEqual(['temperature', 'top_p']);
    expect(sampling('qwen3')).toEqual(['temperature', 'top_p', 'top_k']);
    expect(sampling('gpt-oss-120b', low, 'vllm')).toEqual(['temperature', 'top_p', 'top_k']);
    for (const model of ['gpt-5-chat-latest', 'gpt-5.2-chat-latest', 'gpt-35-turbo']) {
      expect(sent(low, { model })).not.toContainKey('reasoning_effort');
    }
  });

  test('with function tools OpenAI gets the effort that it accepts beside them', () => {
    const tools = [{ name: 'f', input_schema: { type: 'object' } }];
    const effort = (model: string, provider?: string) =>
      sent({ tools, output_config: { effort: 'high' } }, { model, provider }).reasoning_effort;
    expect(['gpt-5.1', 'o3'].map((model) => effort(model, 'openai'))).toEqual(['high', 'high']);
    expect(['gpt-5.2', 'gpt-5.5'].map((model) => effort(model, 'azure'))).toEqual([undefined, undefined]);
    expect(['gpt-5.6', 'gpt-6-sol'].map((model) => effort(model, 'openai'))).toEqual(['none', 'none']);
    expect(sent({ tools }, { model: 'gpt-5.6', provider: 'openai' }).reasoning_effort).toBe('none');
    expect(sent({}, { model: 'gpt-5.6', provider: 'openai' })).not.toContainKey('reasoning_effort');
    expect(effort('openai/gpt-5.6', 'openrouter')).toBe('high');
    expect(effort('openai/gpt-5.6', 'compatible')).toBe('none');
    const single = { tools, tool_choice: { type: 'auto', disable_parallel_tool_use: true } };
    expect(sent(single, { model: 'o3-mini' })).not.toContainKey('parallel_tool_calls');
    expect(sent(single).parallel_tool_calls).toBe(false);
  });

  test('thinking of earlier turns is sent back to the models that need it', () => {
    const content = [
      { type: 'thinking', thinking: 'Hm.', signature: '' },
      { type: 'text', text: 'Hi.' },
    ];
    const messages = [{ role: 'assistant', content }];
    expect(sent({ messages }).messages[0]).not.toContainKey('reasoning_content');
    const back = sent({ messages }, { model: 'deepseek-chat' }).messages[0];
    expect(back).toMatchObject({ content: 'Hi.', reasoning_content: 'Hm.' });
  });

  test('structured output, under both of its names', () => {
    const format = { type: 'json_schema', schema: { type: 'object' } };
    const wanted = {
      type: 'json_schema',
      json_schema: { name: 'answer', schema: { type: 'object' }, strict: true },
    };
    expect(sent({ output_config: { format } }).response_format).toEqual(wanted);
    expect(sent({ output_format: format }).response_format).toEqual(wanted);
  });

  test('the members of Claude Code are accepted, and a user longer than OpenAI takes is left out', () => {
    const body = sent({
      system: [{ type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } }],
      metadata: { user_id: JSON.stringify({ device_id: 'd'.repeat(64), account_uuid: '', session_id: 's' }) },
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    });
    expect(Object.keys(body)).toEqual(['model', 'messages', 'max_completion_tokens']);
  });

  test('members without an equivalent are refused by name', () => {
    const content = (block: object) => ({ messages: [{ role: 'user', content: [block] }] });
    const source = { type: 'file', file_id: 'f' };
    const cited = { type: 'document', source: { type: 'text', data: 'x' }, citations: { enabled: true } };
    const cases: [object, string][] = [
      [{ container: 'c' }, 'container'],
      [{ service_tier: 'priority' }, 'service_tier'],
      [{ max_tokens: 0 }, 'max_tokens'],
      [{ temperature: 'hot' }, 'temperature'],
      [{ system: [{ type: 'image' }] }, 'system[0].type'],
      [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools[0].type'],
      [{ tools: [{ name: 'x' }] }, 'tools[0].input_schema'],
      [{ context_management: { edits: [{ type: 'compact_20260112' }] } }, 'context_management.edits[0].type'],
      [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role'],
      [{ messages: 'Hi' }, 'messages'],
      [content({ type: 'server_tool_use' }), 'messages[0].content[0].type'],
      [content({ type: 'image', source }), 'messages[0].content[0].source.type'],
      [content(cited), 'messages[0].content[0].citations'],
      [content({ type: 'text' }), 'messages[0].content[0].text'],
      [content({ type: 'tool_result' }), 'messages[0].content[0].tool_use_id'],
    ];
    for (const [request, param] of cases) {
      expect(refused(request)).toMatchObject({ outcome: 'refused', param });
      expect(refused(request).message).toEndWith('.');
    }
    const none = ofText('[1');
    expect(none).toMatchObject({ outcome: 'refused', param: null });
  });
});

const usage = {
  ...{ prompt_tokens: 100, completion_tokens: 7, total_tokens: 107, cache_creation_input_tokens: 20 },
  prompt_tokens_details: { cached_tokens: 50 },
  completion_tokens_details: { reasoning_tokens: 3 },
};
const usageInMessages = {
  ...{ input_tokens: 30, cache_creation_input_tokens: 20, cache_read_input_tokens: 50, output_tokens: 7 },
  output_tokens_details: { thinking_tokens: 3 },
};

describe('a complete answer of chat completions becomes a message', () => {
  const whole = (message: object, rest: object = {}, request: object = {}) => {
    const choices = [
      { index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop', ...rest },
    ];
    const answer = translated(request).answer.whole(bytes({ id: 'c', choices, usage }));
    return answer === null ? null : JSON.parse(new TextDecoder().decode(answer));
  };

  test('text, with usage', () => {
    expect(whole({ content: 'Hello.' })).toEqual({
      ...{ id: 'msg_id1', type: 'message', role: 'assistant', model: 'svc/chat-default' },
      content: [{ type: 'text', text: 'Hello.' }],
      ...{ stop_reason: 'end_turn', stop_sequence: null, usage: usageInMessages },
    });
  });

  test('thinking where it was enabled, tool calls, invalid arguments', () => {
    const call = (id: string, text: string) => ({
      id,
      type: 'function',
      function: { name: 'f', arguments: text },
    });
    const message = {
      content: null,
      reasoning_content: 'Hm.',
      tool_calls: [call('a', '{"x":1}'), call('b', ''), call('c', '{"x":')],
    };
    const content = [
      { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
      { type: 'tool_use', id: 'b', name: 'f', input: {} },
      { type: 'tool_use', id: 'c', name: 'f', input: { INVALID_JSON: '{"x":' } },
    ];
    const ending = { finish_reason: 'tool_calls' };
    expect(whole(message, ending)).toMatchObject({ content, stop_reason: 'tool_use' });
    const shown = whole(message, ending, { thinking: { type: 'adaptive' } });
    expect(shown.content[0]).toEqual({ type: 'thinking', thinking: 'Hm.', signature: '' });
  });

  test('each reason to stop', () => {
    const stop = (rest: object, request: object = {}) => {
      const { stop_reason, stop_sequence } = whole({ content: 'x' }, rest, request);
      return [stop_reason, stop_sequence];
    };
    expect(stop({ finish_reason: 'length' })).toEqual(['max_tokens', null]);
    expect(stop({ finish_reason: 'content_filter' })).toEqual(['refusal', null]);
    expect(stop({ finish_reason: 'tool_calls' })).toEqual(['end_turn', null]);
    expect(stop({ stop_reason: 'END' }, { stop_sequences: ['END'] })).toEqual(['stop_sequence', 'END']);
    expect(stop({ stop_reason: 'END' })).toEqual(['end_turn', null]);
    const refusal = whole({ content: null, refusal: 'No.' });
    expect(refusal).toMatchObject({ content: [{ type: 'text', text: 'No.' }], stop_reason: 'refusal' });
  });

  test('anything that is not an answer is null', () => {
    const { answer } = translated({});
    for (const text of ['', '[]', '{"choices":[]}', '{"choices":[{"message":1}]}']) {
      expect(answer.whole(new TextEncoder().encode(text))).toBeNull();
    }
  });
});

describe('a stream of chat completions becomes the events of a message', () => {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason }],
  });
  const call = (index: number, id: string | null, text: string) => ({
    tool_calls: [
      id === null
        ? { index, function: { arguments: text } }
        : { index, id, type: 'function', function: { name: 'f', arguments: text } },
    ],
  });

  function events(chunks: readonly object[], request: object = {}) {
    const stream = translated(request).answer.stream();
    const texts = chunks.map((data) => stream.event(null, JSON.stringify(data)));
    const all = [...texts, stream.event(null, '[DONE]'), stream.end()].join('');
    return all
      .split('\n\n')
      .filter((text) => text !== '')
      .map((text) => {
        const [, name, data = ''] = /^event: (.*)\ndata: (.*)$/.exec(text) ?? [];
        const parsed = JSON.parse(data);
        expect(parsed.type).toBe(name);
        return parsed;
      });
  }

  const none = {
    input_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 0,
  };
  const start = {
    type: 'message_start',
    message: {
      ...{ id: 'msg_id1', type: 'message', role: 'assistant', model: 'svc/chat-default', content: [] },
      ...{ stop_reason: null, stop_sequence: null },
      usage: none,
    },
  };
  const opened = (index: number, content_block: object) => ({
    type: 'content_block_start',
    index,
    content_block,
  });
  const delta = (index: number, type: string, member: object) => ({
    ...{ type: 'content_block_delta', index, delta: { type, ...member } },
  });
  const closed = (index: number) => ({ type: 'content_block_stop', index });
  const end = (stop_reason: string, counted: object) => [
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: counted },
    { type: 'message_stop' },
  ];
  const json = (index: number, partial_json: string) => delta(index, 'input_json_delta', { partial_json });
  const text = (index: number, piece: string) => delta(index, 'text_delta', { text: piece });
  const tool = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} });
  const textBlock = { type: 'text', text: '' };

  test('thinking, text, two tool calls and usage, in full', () => {
    const chunks = [
      chunk({ role: 'assistant', content: '' }),
      chunk({ reasoning_content: 'H' }),
      chunk({ reasoning: 'm.' }),
      chunk({ content: 'I ' }),
      chunk({ content: 'look.' }),
      chunk(call(0, 'a', '')),
      chunk(call(0, null, '{"x":')),
      chunk(call(0, null, '1}')),
      chunk(call(1, 'b', '{}')),
      chunk({}, 'tool_calls'),
      { id: 'c', choices: [], usage },
    ];
    const thinking = { type: 'thinking', thinking: '', signature: '' };
    expect(events(chunks, { thinking: { type: 'enabled', budget_tokens: 2_000 } })).toEqual([
      start,
      opened(0, thinking),
      delta(0, 'thinking_delta', { thinking: 'H' }),
      delta(0, 'thinking_delta', { thinking: 'm.' }),
      closed(0),
      opened(1, textBlock),
      text(1, 'I '),
      text(1, 'look.'),
      closed(1),
      opened(2, tool('a')),
      json(2, '{"x":'),
      json(2, '1}'),
      closed(2),
      opened(3, tool('b')),
      json(3, '{}'),
      closed(3),
      ...end('tool_use', usageInMessages),
    ]);
  });

  test('calls with interleaved arguments are written one after the other', () => {
    const chunks = [
      chunk(call(0, 'a', '{"x"')),
      chunk(call(1, 'b', '{"y"')),
      chunk(call(0, null, ':1}')),
      chunk(call(1, null, ':2}')),
      chunk({ content: 'Done.' }),
      chunk({}, 'stop'),
      { choices: [], usage },
    ];
    expect(events(chunks)).toEqual([
      ...[start, opened(0, tool('a')), json(0, '{"x"'), json(0, ':1}'), closed(0)],
      ...[opened(1, tool('b')), json(1, '{"y":2}'), closed(1)],
      ...[opened(2, textBlock), text(2, 'Done.'), closed(2)],
      ...end('tool_use', usageInMessages),
    ]);
  });

  test('tool calls with the same index are distinguished by their ids', () => {
    const chunks = [
      chunk(call(0, 'a', '{}')),
      chunk(call(0, 'b', '{}')),
      chunk({}, 'tool_calls'),
      { choices: [], usage },
    ];
    const ids = events(chunks).flatMap((event) => event.content_block?.id ?? []);
    expect(ids).toEqual(['a', 'b']);
  });

  test('reasoning that was not enabled is not shown; a refusal is text with its reason', () => {
    const chunks = [chunk({ reasoning_content: 'Hm.' }), chunk({ refusal: 'No.' }), chunk({}, 'stop')];
    expect(events(chunks)).toEqual([
      ...[start, opened(0, textBlock), text(0, 'No.'), closed(0)],
      ...end('refusal', none),
    ]);
  });

  test.each([
    ['choices of null', [chunk({}, 'stop'), { choices: null, usage }]],
    ['no choices', [chunk({}, 'stop'), { usage }]],
    ['no reason of its end', [{ choices: [], usage }, null]],
  ])('a stream that ends with usage and %s is whole', (_, last) => {
    const stream = translated({ stream: true }).answer.stream();
    const said = [chunk({ content: 'Hi' }), ...last].map((data) =>
      stream.event(null, data === null ? '[DONE]' : JSON.stringify(data)),
    );
    expect(said).not.toContain('failed');
    expect(stream.end()).toContain(`"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":`);
    expect(stream.lacksUsage?.()).toBe(false);
  });

  test('errors and invalid chunks fail; a stream without its end is cut off', () => {
    const stream = () => translated({ stream: true }).answer.stream();
    expect(stream().event('error', '{}')).toBe('failed');
    for (const data of ['{"error":{"message":"x"}}', '{}', 'null', '{"choices":', '"x"']) {
      expect(stream().event(null, data)).toBe('failed');
    }
    const cut = stream();
    cut.event(null, JSON.stringify(chunk({ content: 'Hal' })));
    expect(cut.end()).toBe('cut-off');
    expect(stream().end()).toBe('cut-off');
    const empty = stream();
    empty.event(null, '[DONE]');
    expect(empty.end()).toBe('cut-off');
  });

  test('a provider that never ends a tool call, or keeps starting new ones, is aborted', () => {
    const piece = 'x'.repeat(1024 * 1024);
    for (const isNew of [true, false]) {
      const stream = translated({ stream: true }).answer.stream();
      let said = '';
      for (let at = 0; at < 20 && said !== 'failed'; at += 1) {
        said = stream.event(
          null,
          JSON.stringify(chunk(call(isNew ? at : 0, isNew || at === 0 ? `c${at}` : null, piece))),
        );
      }
      expect(said).toBe('failed');
    }
  });
});

test('long names of tools are shortened, in turns and choices too, and restored in answers', () => {
  const long = (last: string) => `mcp__${'a'.repeat(80)}__${last}`;
  const names = [long('search'), long('find'), 'short'];
  const input = { type: 'tool_use', id: 't1', name: names[0], input: {} };
  const request = {
    tools: names.map((name) => ({ name, input_schema: { type: 'object' } })),
    tool_choice: { type: 'tool', name: names[0] },
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [input] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'x' }] },
    ],
  };
  const { tools, tool_choice: choice, messages } = sent(request);
  const shorts = tools.map((tool: { function: { name: string } }) => tool.function.name);
  expect(new Set(shorts).size).toBe(3);
  for (const short of shorts) expect(short.length).toBeLessThanOrEqual(64);
  expect(shorts[2]).toBe('short');
  expect([choice.function.name, messages[1].tool_calls[0].function.name]).toEqual([shorts[0], shorts[0]]);

  const { answer } = translated(request);
  const call = { id: 'c1', function: { name: shorts[1], arguments: '{}' } };
  const whole = answer.whole(bytes({ choices: [{ message: { tool_calls: [call] } }] }));
  expect(JSON.parse(new TextDecoder().decode(whole ?? undefined)).content[0].name).toBe(names[1]);
  const chunk = { choices: [{ delta: { tool_calls: [{ index: 0, ...call }] } }] };
  expect(answer.stream().event(null, JSON.stringify(chunk))).toContain(`"name":"${names[1]}"`);
});
