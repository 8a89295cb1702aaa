import { describe, expect, test } from 'bun:test';
import { translationUnderTest } from '../../../../../test/doubles/translation-under-test.ts';
import { chatToMessages } from './chat-to-messages.ts';
import { maxTokensNameOf } from './model-names.ts';

const target = {
  ...{ model: 'claude-sonnet-4-6', maxTokensName: 'max_tokens' as const, hasStreamOptions: false },
  defaultMaxTokens: 4_096,
};
const { sent, translated } = translationUnderTest(chatToMessages, target, {
  ...{ model: 'alias', messages: [{ role: 'user', content: 'As JSON.' }] },
  response_format: { type: 'json_object' },
});
const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
const json = (input: object, name = 'json_answer') => ({ type: 'tool_use', id: 'call_j', name, input });
const look = { type: 'tool_use', id: 'call_1', name: 'look', input: { at: 'x' } };
const said = { type: 'text', text: 'Here it is:' };

type Choice = { finish_reason: string; message: { content: string | null; tool_calls?: unknown[] } };

function whole(blocks: readonly object[], stop_reason: string, request: object = {}): Choice {
  const answer = {
    type: 'message',
    content: blocks,
    stop_reason,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const bytes = translated(request).answer.whole(new TextEncoder().encode(JSON.stringify(answer)));
  return JSON.parse(new TextDecoder().decode(bytes ?? undefined)).choices[0];
}

/** The content, the names of the called tools and the reason for the end. */
function streamed(blocks: readonly Record<string, unknown>[], stop_reason: string, request: object = {}) {
  const stream = translated(request).answer.stream();
  const events = [
    { type: 'message_start', message: {} },
    ...blocks.flatMap((block, index) => {
      const written = JSON.stringify(block.input ?? {});
      const pieces = block.type === 'text' || written === '{}' ? [] : [written.slice(0, 3), written.slice(3)];
      const start = block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} };
      const deltas = pieces.map((partial_json): object => ({ type: 'input_json_delta', partial_json }));
      if (block.type === 'text') deltas.push({ type: 'text_delta', text: block.text });
      return [
        { type: 'content_block_start', index, content_block: start },
        ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ];
    }),
    { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ];
  const chunks = events
    .map((one) => stream.event(one.type, JSON.stringify(one)))
    .join('')
    .split('\n')
    .flatMap((line) => (line.startsWith('data: ') ? JSON.parse(line.slice(6)).choices : []));
  return {
    content: chunks.map(({ delta }) => delta.content ?? '').join(''),
    calls: chunks.flatMap(
      ({ delta }) =>
        delta.tool_calls?.flatMap(
          (call: typeof look & { function: { name: string } }) => call.function.name ?? [],
        ) ?? [],
    ),
    finish: chunks.findLast(({ finish_reason }) => finish_reason !== null)?.finish_reason,
  };
}

describe('JSON without a schema from Anthropic’s models', () => {
  test('is the input of a tool that must be called, or of one of the client’s', () => {
    expect(sent({})).toMatchObject({
      tools: [{ name: 'json_answer', input_schema: { type: 'object' } }],
      tool_choice: { type: 'tool', name: 'json_answer' },
    });
    expect(sent({ reasoning_effort: 'high' })).not.toContainKey('thinking');
    const beside = sent({ tools, parallel_tool_calls: false });
    expect(beside.tools.map(({ name }: { name: string }) => name)).toEqual(['look', 'json_answer']);
    expect(beside.tool_choice).toEqual({ type: 'any', disable_parallel_tool_use: true });
    expect(sent({ tools, tool_choice: 'none' }).tool_choice).toEqual({ type: 'tool', name: 'json_answer' });
    const forced = sent({ tools, tool_choice: 'required' });
    expect([forced.tools.length, forced.tool_choice]).toEqual([1, { type: 'any' }]);
    const same = [{ type: 'function', function: { name: 'json_answer', parameters: {} } }];
    expect(sent({ tools: same }).tools[1].name).toBe('json_answer_');
  });

  test('is the content of the answer, and nothing else is, whole and streamed', () => {
    const answer = { city: 'Oslo', degrees: [21, null] };
    const { message, finish_reason } = whole([said, json(answer), json({ second: 1 })], 'tool_use');
    expect([JSON.parse(String(message.content)), message.tool_calls, finish_reason]).toEqual([
      ...[answer, undefined, 'stop'],
    ]);
    const stream = streamed([said, json(answer), json({ second: 1 })], 'tool_use');
    expect([JSON.parse(stream.content), stream.calls, stream.finish]).toEqual([answer, [], 'stop']);
    expect(whole([json({})], 'tool_use').message.content).toBe('{}');
    expect(streamed([json({})], 'tool_use').content).toBe('{}');
  });

  test('calls of the client’s tools stay calls, and text without JSON, as of a refusal, stays text', () => {
    const called = whole([look], 'tool_use', { tools });
    expect([called.message.content, called.message.tool_calls?.length, called.finish_reason]).toEqual([
      ...[null, 1, 'tool_calls'],
    ]);
    expect(streamed([look], 'tool_use', { tools })).toEqual({
      content: '',
      calls: ['look'],
      finish: 'tool_calls',
    });
    expect(whole([said], 'refusal')).toMatchObject({
      ...{ message: { content: said.text }, finish_reason: 'content_filter' },
    });
    expect(streamed([said], 'refusal')).toEqual({ content: said.text, calls: [], finish: 'content_filter' });
  });
});

test('the name of the maximum follows the model at any host, and the provider where the name tells nothing', () => {
  const names = (model: string) =>
    (['max_tokens', 'max_completion_tokens'] as const).map((maxTokensName) =>
      maxTokensNameOf({ model, wire: { maxTokensName } as never }),
    );
  for (const model of ['gpt-5', 'openai/gpt-5.2-mini', 'o3', 'my-o4-mini', 'gpt-6-sol', 'ft:gpt-5:acme']) {
    expect([model, new Set(names(model))]).toEqual([model, new Set(['max_completion_tokens'])]);
  }
  for (const model of ['gpt-4o', 'openai/gpt-4.1-mini', 'gpt-3.5-turbo']) {
    expect([model, new Set(names(model))]).toEqual([model, new Set(['max_tokens'])]);
  }
  for (const model of ['my-deployment', 'gpt-oss-120b', 'llama-3.3', 'grok-4']) {
    expect([model, names(model)]).toEqual([model, ['max_tokens', 'max_completion_tokens']]);
  }
});
