import { describe, expect, test } from 'bun:test';
import { translationUnderTest } from '../../../../../test/doubles/translation-under-test.ts';
import { chatToMessages } from './chat-to-messages.ts';

const MARK = { type: 'ephemeral' };
const HOUR = { type: 'ephemeral', ttl: '1h' };
const target = {
  ...{ model: 'claude-sonnet-4-6', maxTokensName: 'max_tokens' as const, hasStreamOptions: false },
  ...{ defaultMaxTokens: 4_096, cacheBreakpoints: true },
};
const { sent } = translationUnderTest(chatToMessages, target, { model: 'svc/chat-default' });

const message = (role: string, text: string, cache_control?: object) => {
  const part = { type: 'text', text, ...(cache_control === undefined ? {} : { cache_control }) };
  return { role, content: [part] };
};
const tool = (name: string, more: object = {}) => ({
  type: 'function',
  function: { name, parameters: {} },
  ...more,
});
const called = (id: string) => ({
  role: 'assistant',
  tool_calls: [{ id, type: 'function', function: { name: 'b', arguments: '{}' } }],
});
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'Found.' });

/** What has a breakpoint, in the order of the body: the text, the name of the tool or the id of the call. */
function marked(body: object, mark: object = MARK): readonly unknown[] {
  const found: unknown[] = [];
  JSON.stringify(body, (_name, value) => {
    if (JSON.stringify(value?.cache_control) === JSON.stringify(mark))
      found.push(value.text ?? value.name ?? value.tool_use_id);
    return value;
  });
  return found.sort();
}

const session = [
  message('system', 'You are an agent.'),
  message('user', 'First.'),
  called('call_1'),
  result('call_1'),
  called('call_2'),
  result('call_2'),
];

describe('cache breakpoints of translated calls', () => {
  test('are at the last tool, the system prompt and the last two turns of the user: four', () => {
    const body = sent({ tools: [tool('a'), tool('b')], messages: session });
    expect(marked(body)).toEqual(['You are an agent.', 'b', 'call_1', 'call_2']);
    expect(marked(sent({ messages: [message('user', 'Hi')] }))).toEqual(['Hi']);
  });

  test('are omitted where the alias says so', () => {
    expect(marked(sent({ tools: [tool('b')], messages: session }, { cacheBreakpoints: false }))).toEqual([]);
  });

  test('of the client stay and count: ours fill what is left, the last turn first', () => {
    const own = [message('user', 'A', MARK), message('assistant', 'B', MARK), message('user', 'C', MARK)];
    const body = sent({
      tools: [tool('b')],
      messages: [message('system', 'S'), ...own, message('assistant', 'D'), message('user', 'E')],
    });
    expect(marked(body)).toEqual(['A', 'B', 'C', 'E']);
    const all = sent({ messages: [...own, message('assistant', 'D', MARK), message('user', 'E')] });
    expect(marked(all)).toEqual(['A', 'B', 'C', 'D']);
  });

  test('of ours are never before one of an hour, which Anthropic refuses', () => {
    const messages = [
      message('system', 'S'),
      message('user', 'A', HOUR),
      message('assistant', 'B'),
      message('user', 'C'),
    ];
    const body = sent({ tools: [tool('b')], messages });
    expect([marked(body), marked(body, HOUR)]).toEqual([['C'], ['A']]);
  });
});
