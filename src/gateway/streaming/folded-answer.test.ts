import { expect, test } from 'bun:test';
import { foldedAnswer } from './folded-answer.ts';

const stream = (...events: readonly unknown[]) =>
  events.map((data) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`).join('');
const folded = (text: string, wire: Parameters<typeof foldedAnswer>[1]) =>
  JSON.parse(foldedAnswer(text, wire));

test('a chat stream is folded into its message, with tool calls and usage', () => {
  const piece = (delta: unknown, more = {}) => ({
    id: 'c',
    choices: [{ index: 0, delta, ...more }],
    usage: null,
  });
  const call = (more: unknown) => ({ tool_calls: [{ index: 0, ...(more as object) }] });
  const text = stream(
    piece({ role: 'assistant', content: '' }),
    piece({ content: 'ada@ma' }),
    piece({ content: 'il.example' }),
    piece(call({ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a"' } })),
    piece(call({ function: { arguments: ':1}' } })),
    { id: 'c', choices: [{ index: 1, delta: { content: 'Other' } }] },
    piece({}, { finish_reason: 'stop' }),
    { id: 'c', choices: [], usage: { total_tokens: 2 } },
    { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: null }], usage: { total_tokens: 3 } },
    '[DONE]',
  );
  expect(folded(`: comment\n\n${text}`, 'completions')).toEqual({
    ...{ id: 'c', object: 'chat.completion', usage: { total_tokens: 3 } },
    choices: [
      {
        ...{ index: 0, finish_reason: 'stop' },
        message: {
          ...{ role: 'assistant', content: 'ada@mail.example' },
          tool_calls: [
            { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
          ],
        },
      },
      { index: 1, message: { content: 'Other' } },
    ],
  });
});

test('completions, a stream that broke off with an error, and nothing at all', () => {
  const text = stream({ choices: [{ index: 0, text: 'a' }] }, { choices: [{ index: 0, text: 'b' }] });
  expect(folded(text, 'completions').choices).toEqual([{ index: 0, text: 'ab' }]);
  const broken = folded(`${text}${stream({ error: { message: 'broken' } })}data: {"cut`, 'completions');
  expect(broken).toMatchObject({ choices: [{ text: 'ab' }], error: { message: 'broken' } });
  expect(folded('', 'completions')).toEqual({});
});

test('a response is that of its last event, or the text so far', () => {
  const created = { type: 'response.created', response: { id: 'r', status: 'in_progress' } };
  const delta = (text: string) => ({ type: 'response.output_text.delta', delta: text });
  const completed = { type: 'response.completed', response: { id: 'r', status: 'completed', output: [1] } };
  expect(folded(stream(created, delta('a'), completed), 'responses')).toEqual(completed.response);
  expect(folded(stream(created, delta('a'), delta('b')), 'responses')).toEqual({
    ...{ id: 'r', status: 'in_progress', output_text: 'ab' },
  });
});

test('a message has its blocks, stop reason and usage', () => {
  const text = stream(
    { type: 'message_start', message: { id: 'm', content: [], usage: { input_tokens: 2 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
    { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', name: 'f', input: {} } },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{}' } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
  );
  expect(folded(text, 'messages')).toEqual({
    ...{ id: 'm', stop_reason: 'end_turn', usage: { input_tokens: 2, output_tokens: 5 } },
    content: [
      { type: 'text', text: 'Hello' },
      { type: 'tool_use', name: 'f', input: {}, partial_json: '{}' },
    ],
  });
});
