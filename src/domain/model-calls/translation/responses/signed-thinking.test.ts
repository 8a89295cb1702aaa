import { describe, expect, test } from 'bun:test';
import { translationUnderTest } from '../../../../../test/doubles/translation-under-test.ts';
import type { JsonObject } from '../../../../ports/json-object.ts';
import { translationPairs } from '../pairs.ts';
import { encryptedContent, thinkingIn } from './signed-thinking.ts';

const target = {
  ...{ model: 'claude-sonnet-4-6', maxTokensName: 'max_tokens' as const, hasStreamOptions: false },
  defaultMaxTokens: 4_096,
};
const pairs = translationPairs({ storesResponses: false });
const toMessages = pairs.find(({ from, to }) => from === 'responses' && to === 'messages');
if (toMessages === undefined) throw new Error('no translator');
const tools = [{ type: 'function', name: 'look', parameters: { type: 'object' } }];
const { sent, translated } = translationUnderTest(toMessages.translator, target, { model: 'alias', tools });

const signed = { type: 'thinking', thinking: 'Look it up.', signature: 'sig==' };
const hidden = { type: 'thinking', thinking: '', signature: 'of-hidden==' };
const redacted = { type: 'redacted_thinking', data: 'opaque==' };
const text = { type: 'text', text: 'Let me look.' };
const toolUse = { type: 'tool_use', id: 'call_1', name: 'look', input: { at: 'x' } };
const question = { role: 'user', content: 'What is it?' };

/** The output of a response whose Messages answer has these blocks. */
function wholeOutput(blocks: readonly object[], more: object = {}): JsonObject[] {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const answer = { type: 'message', content: blocks, stop_reason: 'end_turn', usage };
  const bytes = new TextEncoder().encode(JSON.stringify(answer));
  const read = translated({ input: [question], ...more }).answer.whole(bytes);
  return JSON.parse(new TextDecoder().decode(read ?? undefined)).output;
}

/** The same as a stream: the output of its last event, and the item of each `output_item.done`. */
function streamedOutput(blocks: readonly JsonObject[]): { output: JsonObject[]; done: JsonObject[] } {
  const stream = translated({ input: [question], stream: true }).answer.stream();
  const deltas: Record<string, (block: JsonObject) => object[]> = {
    thinking: ({ thinking, signature }) => [
      ...(thinking === '' ? [] : [{ type: 'thinking_delta', thinking }]),
      { type: 'signature_delta', signature },
    ],
    text: ({ text }) => [{ type: 'text_delta', text }],
    tool_use: ({ input }) => [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }],
  };
  const start: Record<string, object> = {
    ...{ thinking: { thinking: '', signature: '' }, text: { text: '' }, tool_use: { input: {} } },
  };
  const events: JsonObject[] = [
    { type: 'message_start', message: { usage: { input_tokens: 1 } } },
    ...blocks.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: { ...block, ...start[String(block.type)] } },
      ...(deltas[String(block.type)]?.(block) ?? []).map((delta) => {
        return { type: 'content_block_delta', index, delta };
      }),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ];
  const written = [...events.map((one) => stream.event(String(one.type), JSON.stringify(one))), stream.end()];
  const read = written
    .join('')
    .split('\n')
    .flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []));
  const done = read.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
  return { output: read.at(-1)?.response?.output, done };
}

const turns = (...input: object[]) => sent({ input: [question, ...input] }).messages;
const result = { type: 'function_call_output', call_id: 'call_1', output: 'Found.' };
const withoutIds = (items: readonly JsonObject[]) => items.map(({ id: _, ...item }) => item);

describe('thinking of Anthropic’s models over the Responses API', () => {
  test('is a reasoning item with its signature, and goes back before the tool call of its turn', () => {
    const output = wholeOutput([signed, hidden, redacted, text, toolUse]);
    expect(output.map(({ type }) => type)).toEqual([
      ...['reasoning', 'reasoning', 'reasoning', 'message', 'function_call'],
    ]);
    expect(output[0]).toMatchObject({ content: [{ type: 'reasoning_text', text: signed.thinking }] });
    expect(output[2]).toMatchObject({ summary: [], content: [] });
    const [, assistant, user] = turns(...output, result);
    expect(assistant).toEqual({ role: 'assistant', content: [signed, hidden, redacted, text, toolUse] });
    expect(user.content).toMatchObject([{ type: 'tool_result', tool_use_id: 'call_1' }]);
  });

  test('is the same in a stream', () => {
    const blocks = [signed, hidden, redacted, text, toolUse];
    const { output, done } = streamedOutput(blocks);
    expect(withoutIds(output)).toEqual(withoutIds(wholeOutput(blocks)));
    expect(withoutIds(done)).toEqual(withoutIds(output));
  });

  test('goes back whole where the client sends only what is encrypted, and the order within a turn stays', () => {
    const short = wholeOutput([signed, text], { reasoning: { effort: 'low', summary: 'auto' } }).map(
      (item) => (item.type === 'reasoning' ? { ...item, summary: [], content: null } : item),
    );
    const [, assistant] = turns(...short, ...wholeOutput([redacted, toolUse]), result);
    expect(assistant.content).toEqual([signed, text, redacted, toolUse]);
  });

  test.each([
    ['of another provider', 'gAAAAABo-foreign'],
    ['cut off', encryptedContent(signed)?.slice(0, 30)],
    ['without a signature', `tpk1_${btoa(JSON.stringify({ type: 'thinking', thinking: 'x' }))}`],
    ['of another kind', `tpk1_${btoa(JSON.stringify({ type: 'text', text: 'x' }))}`],
    ['too long', encryptedContent({ ...signed, thinking: 'x'.repeat(4 * 1024 * 1024) })],
    ['missing', undefined],
  ])('%s is left out, and the session goes on', (_, encrypted_content) => {
    const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content };
    const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"at":"x"}' };
    expect(thinkingIn(encrypted_content)).toBeNull();
    expect(turns(item, call, result)[1]).toEqual({ role: 'assistant', content: [toolUse] });
  });

  test('is not sent to targets with chat completions', () => {
    const chat = pairs.find(({ from, to }) => from === 'responses' && to === 'chat/completions')?.translator;
    if (chat === undefined) throw new Error('no translator');
    const toChat = translationUnderTest(chat, target, { model: 'alias', tools });
    const { messages } = toChat.sent({ input: [question, ...wholeOutput([signed, toolUse]), result] });
    expect(JSON.stringify(messages)).not.toContain('thinking');
  });
});
