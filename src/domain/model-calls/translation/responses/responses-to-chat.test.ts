import { describe, expect, test } from 'bun:test';
import type { JsonObject } from '../../../../ports/json-object.ts';
import type { TranslationTarget } from '../translator.ts';
import { createResponsesToChat } from './responses-to-chat.ts';

const target: TranslationTarget = {
  model: 'provider-model',
  maxTokensName: 'max_tokens',
  hasStreamOptions: true,
  defaultMaxTokens: 1_000,
};
const stamps = { newId: () => 'r', nowSeconds: 1_000 };

function translate(body: unknown, to: Partial<TranslationTarget> = {}, storesResponses = false) {
  const bytes = new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body));
  return createResponsesToChat({ storesResponses }).translateRequest(bytes, { ...target, ...to }, stamps);
}

/** The body of chat completions; a refusal is an error here. */
function chatOf(body: JsonObject, to: Partial<TranslationTarget> = {}, storesResponses = false): JsonObject {
  const translated = translate({ model: 'alias', ...body }, to, storesResponses);
  if (translated.outcome === 'refused') throw new Error(`${translated.param}: ${translated.message}`);
  return JSON.parse(new TextDecoder().decode(translated.body));
}

function refusalOf(body: JsonObject) {
  const translated = translate({ model: 'alias', input: 'Hello', ...body });
  return translated.outcome === 'refused' ? translated : 'translated';
}

const messagesOf = (input: unknown, more: JsonObject = {}) => chatOf({ input, ...more }).messages;

describe('the input of a response as messages', () => {
  test('system and developer messages at the beginning become one system message; later ones stay in place', () => {
    const input = [
      { role: 'developer', content: [{ type: 'input_text', text: 'One.' }] },
      {
        ...{ type: 'message', role: 'system' },
        content: [
          { type: 'input_text', text: 'Two.' },
          { type: 'input_text', text: 'Three.' },
        ],
      },
      { role: 'user', content: 'Hello' },
      { role: 'developer', content: 'Four.' },
    ];
    expect(messagesOf(input, { instructions: 'Zero.' })).toEqual([
      { role: 'system', content: 'Zero.\n\nOne.\n\nTwo.\n\nThree.' },
      { role: 'user', content: 'Hello' },
      { role: 'system', content: 'Four.' },
    ]);
  });

  test('images by address and as data, files as data and audio pass; detail original is high', () => {
    const content = [
      { type: 'input_text', text: 'What is this?' },
      { type: 'input_image', image_url: 'https://images.test/a.png', detail: 'original' },
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    ];
    expect(messagesOf([{ role: 'user', content }])).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'https://images.test/a.png', detail: 'high' } },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
          { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
        ],
      },
    ]);
  });

  test('the text and the parallel calls of a turn are one message, with the results directly behind it', () => {
    const input = [
      { role: 'user', content: 'Weather?' },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
      {
        ...{ type: 'message', role: 'assistant', id: 'msg_1', status: 'completed' },
        content: [{ type: 'output_text', text: 'I look.', annotations: [] }],
      },
      { type: 'function_call', call_id: 'a', name: 'weather', arguments: '{"city":"Rome"}' },
      { type: 'reasoning', id: 'rs_2', summary: [] },
      { type: 'function_call', call_id: 'b', name: 'time', arguments: '' },
      { role: 'user', content: 'Quickly.' },
      { type: 'function_call_output', call_id: 'b', output: [{ type: 'input_text', text: 'noon' }] },
      { type: 'function_call_output', call_id: 'a', output: '20' },
      { type: 'function_call', call_id: 'c', name: 'weather', arguments: '{"city":"Oslo"}' },
      { type: 'function_call_output', call_id: 'c', output: '5' },
    ];
    const call = (id: string, name: string, written: string) => ({
      ...{ id, type: 'function', function: { name, arguments: written } },
    });
    expect(messagesOf(input)).toEqual([
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [call('a', 'weather', '{"city":"Rome"}'), call('b', 'time', '{}')],
      },
      { role: 'tool', tool_call_id: 'b', content: 'noon' },
      { role: 'tool', tool_call_id: 'a', content: '20' },
      { role: 'user', content: 'Quickly.' },
      { role: 'assistant', content: null, tool_calls: [call('c', 'weather', '{"city":"Oslo"}')] },
      { role: 'tool', tool_call_id: 'c', content: '5' },
    ]);
  });

  test('models that need it get their reasoning back, with the turn that it belongs to', () => {
    const reasoning = (text: string) => ({
      ...{ type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text }] },
    });
    const input = [
      { role: 'user', content: 'Weather?' },
      reasoning('First a look.'),
      { role: 'assistant', content: 'I look.' },
      { type: 'reasoning', id: 'rs_2', summary: [{ type: 'summary_text', text: 'Rome.' }] },
      { type: 'function_call', call_id: 'a', name: 'weather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: '20' },
      { type: 'reasoning', id: 'rs_3', summary: [], encrypted_content: 'x' },
      { role: 'assistant', content: '20.' },
      reasoning('Lost.'),
      { role: 'user', content: 'And now?' },
      { role: 'assistant', content: 'The same.' },
    ];
    const thoughts = (model: string) =>
      (chatOf({ input }, { model }).messages as readonly JsonObject[]).map(
        (message) => message.reasoning_content ?? null,
      );
    const none = null;
    expect(thoughts('deepseek-reasoner')).toEqual([none, 'First a look.\n\nRome.', none, none, none, none]);
    expect(thoughts('gpt-4.1')).toEqual([none, none, none, none, none, none]);
  });

  test('an image returned by a tool follows in a user message, since tool messages are text', () => {
    const input = [
      { type: 'function_call', call_id: 'a', name: 'view_image', arguments: '{}' },
      {
        type: 'function_call_output',
        call_id: 'a',
        output: [
          { type: 'input_text', text: 'a.png' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
        ],
      },
    ];
    const [, tool, user] = messagesOf(input) as readonly JsonObject[];
    expect(tool).toMatchObject({ role: 'tool', tool_call_id: 'a' });
    expect(tool?.content).toStartWith('a.png\n');
    expect(user).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'Output of the tool call a:' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      ],
    });
  });

  test('calls of custom tools, of the local shell and of tool search are calls of functions', () => {
    const action = { type: 'exec', command: ['ls'], env: {} };
    const found = { type: 'function', name: 'deploy', parameters: { type: 'object' } };
    const chat = chatOf({
      input: [
        { type: 'custom_tool_call', call_id: 'a', name: 'apply_patch', input: '*** Begin' },
        { type: 'custom_tool_call_output', call_id: 'a', output: 'ok' },
        { type: 'local_shell_call', call_id: 'b', action, status: 'completed' },
        { type: 'local_shell_call_output', id: 'b', output: 'a.txt' },
        { type: 'tool_search_call', call_id: 'c', execution: 'client', arguments: { query: 'deploy' } },
        { type: 'tool_search_output', call_id: 'c', execution: 'client', tools: [found] },
      ],
    });
    const written = (chat.messages as readonly JsonObject[]).flatMap(({ tool_calls, content }) =>
      Array.isArray(tool_calls) ? tool_calls.map((call) => call.function) : [content],
    );
    expect(written).toEqual([
      { name: 'apply_patch', arguments: '{"input":"*** Begin"}' },
      'ok',
      { name: 'local_shell', arguments: '{"command":["ls"],"env":{}}' },
      'a.txt',
      { name: 'tool_search', arguments: '{"query":"deploy"}' },
      JSON.stringify([found]),
    ]);
    expect(chat.tools).toEqual([
      { type: 'function', function: { name: 'deploy', parameters: { type: 'object' } } },
    ]);
  });

  test('calls of the shell and of apply_patch are calls of functions, with their results as text', () => {
    const exit = (exit_code: number) => ({ type: 'exit', exit_code });
    const output = [
      { stdout: 'a.txt', stderr: '', outcome: exit(0) },
      { stdout: '', stderr: 'no such file', outcome: exit(2) },
      { stdout: 'so far', stderr: '', outcome: { type: 'timeout' } },
    ];
    const operation = { type: 'create_file', path: 'b.txt', diff: '+b' };
    const patch = (call_id: string) => ({
      type: 'apply_patch_call',
      call_id,
      status: 'completed',
      operation,
    });
    const chat = chatOf({
      input: [
        { type: 'shell_call', call_id: 'a', action: { commands: ['ls'] }, environment: { type: 'local' } },
        { type: 'shell_call_output', call_id: 'a', output },
        ...[
          patch('b'),
          { type: 'apply_patch_call_output', call_id: 'b', status: 'completed', output: 'Created' },
        ],
        ...[
          patch('c'),
          { type: 'apply_patch_call_output', call_id: 'c', status: 'failed', output: 'It exists' },
        ],
        ...[patch('d'), { type: 'apply_patch_call_output', call_id: 'd', status: 'completed' }],
      ],
    });
    const messages = chat.messages as readonly JsonObject[];
    expect(messages.flatMap(({ tool_calls: calls }) => (Array.isArray(calls) ? calls : []))).toMatchObject([
      { id: 'a', function: { name: 'shell', arguments: '{"commands":["ls"]}' } },
      ...['b', 'c', 'd'].map((id) => ({
        ...{ id, function: { name: 'apply_patch', arguments: JSON.stringify(operation) } },
      })),
    ]);
    expect(messages.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
      'a.txt\n\nstderr:\nno such file\nThe command ended with exit code 2.\n\nso far\nThe command timed out.',
      'Created',
      'Error: It exists',
      'The patch was applied.',
    ]);
    expect(refusalOf({ input: [{ type: 'shell_call', call_id: 'a' }] })).toMatchObject({
      param: 'input[0].action',
    });
    expect(refusalOf({ input: [{ type: 'apply_patch_call', call_id: 'a' }] })).toMatchObject({
      param: 'input[0].operation',
    });
  });

  test('references to reasoning are left out; where responses are stored, previous_response_id has been replaced', () => {
    const input = [{ type: 'item_reference', id: 'rs_1' }, { id: 'rs_2' }, { role: 'user', content: 'Why?' }];
    const chat = chatOf({ input, previous_response_id: 'resp_1' }, {}, true);
    expect(chat.messages).toEqual([{ role: 'user', content: 'Why?' }]);
  });
});

describe('the options of a response', () => {
  test('different names are translated, and repeated defaults are not sent', () => {
    const schema = { type: 'object', properties: {} };
    const chat = chatOf({
      input: 'Hello',
      max_output_tokens: 50,
      temperature: 0.5,
      top_p: 0.9,
      user: 'u',
      service_tier: 'flex',
      reasoning: { effort: 'low', summary: 'auto' },
      text: {
        verbosity: 'low',
        format: { type: 'json_schema', name: 'answer', strict: true, schema, description: 'An answer.' },
      },
      include: ['message.output_text.logprobs', 'reasoning.encrypted_content'],
      top_logprobs: 3,
      stream: true,
      stream_options: { include_obfuscation: false },
    });
    expect(chat).toEqual({
      model: 'provider-model',
      messages: [{ role: 'user', content: 'Hello' }],
      max_tokens: 50,
      temperature: 0.5,
      top_p: 0.9,
      user: 'u',
      service_tier: 'flex',
      reasoning_effort: 'low',
      verbosity: 'low',
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', schema, description: 'An answer.', strict: true },
      },
      logprobs: true,
      top_logprobs: 3,
      stream: true,
      stream_options: { include_usage: true },
    });
    const defaults = {
      input: 'Hello',
      store: true,
      truncation: 'auto',
      background: false,
      service_tier: 'auto',
      parallel_tool_calls: true,
      tool_choice: 'auto',
      text: { format: { type: 'text' }, verbosity: 'medium' },
      metadata: { a: 'b' },
      prompt_cache_key: 'k',
      safety_identifier: 's',
      include: [],
    };
    expect(Object.keys(chatOf(defaults))).toEqual(['model', 'messages', 'user']);
  });

  test('an effort is left out for models that are known to refuse it, and beside tools where OpenAI does', () => {
    const effort = (model: string, more: object = {}) =>
      chatOf({ input: 'Hello', reasoning: { effort: 'xhigh' }, ...more }, { model, provider: 'compatible' })
        .reasoning_effort;
    const tools = [{ type: 'function', name: 'f', parameters: {} }];
    expect(['gpt-4o', 'openai/gpt-4.1', 'gpt-5-chat-latest'].map((model) => effort(model))).toEqual(
      Array(3).fill(undefined),
    );
    expect(['my-deployment', 'gpt-5.2', 'openai/o3'].map((model) => effort(model))).toEqual(
      Array(3).fill('xhigh'),
    );
    expect(['gpt-5.1', 'gpt-5.2', 'gpt-5.6'].map((model) => effort(model, { tools }))).toEqual([
      ...['xhigh', undefined, 'none'],
    ]);
  });

  test('the target decides the name of the bound, and whether stream_options may be sent', () => {
    const body = { input: 'Hello', max_output_tokens: 50, stream: true };
    const to = { maxTokensName: 'max_completion_tokens', hasStreamOptions: false } as const;
    expect(chatOf(body, to)).toEqual({
      model: 'provider-model',
      messages: [{ role: 'user', content: 'Hello' }],
      stream: true,
      max_completion_tokens: 50,
    });
  });
});

describe('tools', () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' } } };
  const weather = { type: 'function', name: 'weather', description: 'Weather.', parameters, strict: true };

  test('functions, custom tools, namespaces and the local shell are functions', () => {
    const format = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' };
    const chat = chatOf({
      input: 'Hello',
      tools: [
        weather,
        { type: 'custom', name: 'apply_patch', description: 'Edits files.', format },
        { type: 'namespace', name: 'agents', description: '', tools: [{ ...weather, strict: false }] },
        { type: 'local_shell' },
        { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters },
        { type: 'web_search', external_web_access: false },
      ],
      parallel_tool_calls: false,
      tool_choice: { type: 'custom', name: 'apply_patch' },
    });
    const functions = (chat.tools as readonly JsonObject[]).map((tool) => tool.function);
    expect(functions).toMatchObject([
      { name: 'weather', description: 'Weather.', parameters, strict: true },
      {
        name: 'apply_patch',
        description: 'Edits files.\n\nThe input must match this lark grammar:\nstart: "x"',
        parameters: { required: ['input'] },
      },
      { name: 'agents__weather' },
      { name: 'local_shell', parameters: { required: ['command'] } },
      { name: 'tool_search', description: 'Finds tools.', parameters },
    ]);
    expect(functions[2]).not.toHaveProperty('strict');
    expect(chat).toMatchObject({
      parallel_tool_calls: false,
      tool_choice: { type: 'function', function: { name: 'apply_patch' } },
    });
  });

  test('apply_patch and a shell of the client are functions, a shell of the provider is refused', () => {
    const skill = { name: 'pdf', description: 'Reads PDFs.', path: './pdf' };
    const shell = { type: 'shell', environment: { type: 'local', skills: [skill] } };
    const tools = [shell, { type: 'apply_patch' }];
    const chat = chatOf({ input: 'Hello', tools, tool_choice: { type: 'apply_patch' } });
    expect(chat.tools).toMatchObject([
      { function: { name: 'shell', parameters: { required: ['commands'] } } },
      { function: { name: 'apply_patch', parameters: { required: ['type', 'path'] } } },
    ]);
    expect(JSON.stringify(chat.tools)).toContain('- pdf: Reads PDFs. (./pdf)');
    expect(chat.tool_choice).toEqual({ type: 'function', function: { name: 'apply_patch' } });
    expect(chatOf({ input: 'Hello', tools, tool_choice: { type: 'shell' } }).tool_choice).toEqual({
      ...{ type: 'function', function: { name: 'shell' } },
    });
    for (const environment of [null, undefined, { type: 'container_auto' }]) {
      const refusal = refusalOf({ input: 'Hello', tools: [{ type: 'shell', environment }] });
      expect(refusal).toMatchObject({ param: 'tools[0].type' });
    }
  });

  test('allowed tools become the only tools', () => {
    const other = { ...weather, name: 'time' };
    const allowed = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'time' }] };
    const chat = chatOf({ input: 'Hello', tools: [weather, other], tool_choice: allowed });
    expect(chat.tools).toMatchObject([{ function: { name: 'time' } }]);
    expect(chat.tool_choice).toBe('required');
  });

  test('long names of tools are shortened, in turns and choices too, and restored in answers', () => {
    const name = `mcp__${'a'.repeat(80)}__search`;
    const tool = { type: 'function', name, parameters: { type: 'object' } };
    const translated = translate({
      ...{ model: 'alias', tools: [tool], tool_choice: { type: 'function', name } },
      input: [
        { type: 'function_call', call_id: 'c1', name, arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: 'x' },
      ],
    });
    if (translated.outcome === 'refused') throw new Error(translated.message);
    const sent = JSON.parse(new TextDecoder().decode(translated.body));
    const short = sent.tools[0].function.name;
    expect(short.length).toBeLessThanOrEqual(64);
    expect(sent.tool_choice.function.name).toBe(short);
    expect(sent.messages[0].tool_calls[0].function.name).toBe(short);
    const called = { id: 'c2', type: 'function', function: { name: short, arguments: '{}' } };
    const answer = { choices: [{ message: { tool_calls: [called] } }] };
    const whole = translated.answer.whole(new TextEncoder().encode(JSON.stringify(answer)));
    expect(JSON.parse(new TextDecoder().decode(whole ?? undefined)).output).toMatchObject([
      { type: 'function_call', name },
    ]);
  });
});

describe('what chat completions cannot express is refused with the name of the member', () => {
  test('a member that only Responses has is not called unknown', () => {
    const refusal = translate({ model: 'a', input: 'x', multi_agent: { enabled: true } });
    expect(refusal).toMatchObject({
      ...{ param: 'multi_agent', message: expect.stringContaining('chat completions') },
    });
  });

  const rows: readonly (readonly [JsonObject, string])[] = [
    [{ background: true }, 'background'],
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ input: [] }, 'input'],
    [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input[0]'],
    [{ input: [{ type: 'web_search_call', id: 'ws_1' }] }, 'input[0].type'],
    [{ input: [{ type: 'function_call_output', call_id: 'a', output: '' }] }, 'input[0]'],
    [{ input: [{ type: 'function_call', call_id: 'a', name: 'f' }] }, 'input[0].arguments'],
    [{ input: [{ role: 'tool', content: '' }] }, 'input[0].role'],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
      'input[0].content[0].file_id',
    ],
    [
      { input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'u' }] }] },
      'input[0].content[0].file_url',
    ],
    [{ input: [{ role: 'system', content: [{ type: 'input_image' }] }] }, 'input[0].content[0].type'],
    [{ tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }, 'tools[0].type'],
    [{ tools: [{ type: 'function' }] }, 'tools[0].name'],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ tool_choice: { type: 'file_search' } }, 'tool_choice.type'],
    [{ text: { format: { type: 'grammar' } } }, 'text.format.type'],
    [{ text: { format: { type: 'json_schema', name: 'a' } } }, 'text.format.schema'],
    [{ max_output_tokens: 0 }, 'max_output_tokens'],
    [{ stream: 'yes' }, 'stream'],
  ];
  test.each(rows)('%j', (body, param) => {
    const refusal = refusalOf(body);
    expect(refusal).toMatchObject({ outcome: 'refused', param });
    expect(refusal === 'translated' ? '' : refusal.message).toMatch(/^[A-Z'].+\.$/);
  });

  test('a body or a tool call that is nested too deeply to be written', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const tool = `{"type":"function","name":"f","parameters":{"a":${deep}}}`;
    expect(translate(`{"model":"a","input":"x","tools":[${tool}]}`)).toMatchObject({ outcome: 'refused' });
    const brackets = '['.repeat(1_000);
    expect(messagesOf(brackets)).toEqual([{ role: 'user', content: brackets }]);
  });

  test('a body that is not an object', () => {
    for (const body of ['', '[]', '5', '{"a"']) {
      expect(translate(body)).toMatchObject({ outcome: 'refused', param: null });
    }
  });
});
