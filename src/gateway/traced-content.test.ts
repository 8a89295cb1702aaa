import { describe, expect, test } from 'bun:test';
import { contentAttributes } from './traced-content.ts';

const messagesOf = (request: object, response: object | null, endpoint = 'chat/completions') => {
  const content = {
    ...{ endpoint, request: JSON.stringify(request), isRequestCut: false, isResponseCut: false },
    response: response && JSON.stringify(response),
  };
  const attributes = contentAttributes(content);
  return ['gen_ai.input.messages', 'gen_ai.output.messages'].map((name) =>
    attributes[name] === undefined ? null : JSON.parse(String(attributes[name])),
  );
};
const text = (content: string) => ({ type: 'text', content });

describe('messages in the form of the semantic conventions', () => {
  test('of chat, with calls of tools and their results', () => {
    const called = { id: 'c1', type: 'function', function: { name: 'find', arguments: '{"q":1}' } };
    const toolCall = { type: 'tool_call', id: 'c1', name: 'find', arguments: '{"q":1}' };
    const image = { type: 'image_url', image_url: { url: 'https://a.example/b.png' } };
    const messages = [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: [{ type: 'text', text: 'See' }, image] },
      { role: 'assistant', content: null, tool_calls: [called] },
      { role: 'tool', tool_call_id: 'c1', content: 'Found' },
    ];
    const choices = [{ message: { role: 'assistant', content: 'Yes' }, finish_reason: 'stop' }];
    expect(messagesOf({ messages }, { choices })).toEqual([
      [
        { role: 'system', parts: [text('Be brief')] },
        { role: 'user', parts: [text('See'), image] },
        { role: 'assistant', parts: [toolCall] },
        { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'Found' }] },
      ],
      [{ role: 'assistant', parts: [text('Yes')], finish_reason: 'stop' }],
    ]);
  });

  test('of messages', () => {
    const use = { type: 'tool_use', id: 't1', name: 'find', input: { q: 1 } };
    const result = { type: 'tool_result', tool_use_id: 't1', content: 'Found' };
    const request = { system: 'Be brief', messages: [{ role: 'user', content: [result] }] };
    const answer = {
      role: 'assistant',
      content: [{ type: 'thinking', thinking: 'Hm' }, use],
      stop_reason: 'tool_use',
    };
    expect(messagesOf(request, answer, 'messages')).toEqual([
      [
        { role: 'system', parts: [text('Be brief')] },
        { role: 'user', parts: [{ type: 'tool_call_response', id: 't1', response: 'Found' }] },
      ],
      [
        {
          role: 'assistant',
          parts: [
            { type: 'reasoning', content: 'Hm' },
            { type: 'tool_call', id: 't1', name: 'find', arguments: { q: 1 } },
          ],
          finish_reason: 'tool_use',
        },
      ],
    ]);
  });

  test('of responses', () => {
    const result = { type: 'function_call_output', call_id: 'f1', output: 'Found' };
    const input = [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }, result];
    const output = [
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Yes' }] },
      { type: 'function_call', call_id: 'f2', name: 'find', arguments: '{}' },
    ];
    expect(messagesOf({ instructions: 'Be brief', input }, { output }, 'responses')).toEqual([
      [
        { role: 'system', parts: [text('Be brief')] },
        { role: 'user', parts: [text('Hi')] },
        { role: 'tool', parts: [{ type: 'tool_call_response', id: 'f1', response: 'Found' }] },
      ],
      [
        { role: 'assistant', parts: [text('Yes')] },
        { role: 'assistant', parts: [{ type: 'tool_call', id: 'f2', name: 'find', arguments: '{}' }] },
      ],
    ]);
    expect(messagesOf({ input: 'Hi' }, null, 'responses')).toEqual([
      [{ role: 'user', parts: [text('Hi')] }],
      null,
    ]);
  });

  test('of completions; embeddings have none, nor has invalid JSON', () => {
    expect(messagesOf({ prompt: 'Once' }, { choices: [{ text: ' upon', finish_reason: 'length' }] })).toEqual(
      [
        [{ role: 'user', parts: [text('Once')] }],
        [{ role: 'assistant', parts: [text(' upon')], finish_reason: 'length' }],
      ],
    );
    expect(messagesOf({ input: ['a', 'b'] }, { data: [] }, 'embeddings')).toEqual([null, null]);
    const broken = { request: '[', response: 'no', isRequestCut: false, isResponseCut: false };
    const attributes = contentAttributes({ endpoint: 'messages', ...broken });
    expect(Object.keys(attributes).join()).not.toContain('gen_ai');
  });

  test('what was cut is left out of the forms that need the whole text', () => {
    const [request, response] = ['{"prompt":"Once"}', '{"choices":[{"text":"Then"}]}'];
    const content = { endpoint: 'completions', request, response, isRequestCut: true, isResponseCut: false };
    const attributes = contentAttributes(content);
    expect(attributes['input.mime_type']).toBe('text/plain');
    expect(attributes['gen_ai.input.messages']).toBeUndefined();
    expect(attributes['gen_ai.output.messages']).toBeDefined();
  });
});
