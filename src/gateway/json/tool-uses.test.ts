import { describe, expect, test } from 'bun:test';
import { surchargeOf } from '../../domain/model-calls/paid-call.ts';
import type { ClientWire } from './client-wire.ts';
import { createAnswerFields, scanAnswer } from './scan-answer.ts';
import { createToolUseCounter } from './tool-uses.ts';

const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const planOf = (...names: string[]) => ({
  tools: names.map((name) => ({ name, priceMicro: 10, mostUses: 3 })),
  mostMicro: 50,
});

function usedTools(wire: ClientWire, plan: ReturnType<typeof planOf>, answer: Uint8Array) {
  const counter = createToolUseCounter(wire, plan.tools);
  counter.noteWhole(answer);
  return surchargeOf(plan, counter.uses());
}

function counted(wire: ClientWire, names: readonly string[], events: readonly object[]) {
  const counter = createToolUseCounter(wire, planOf(...names).tools);
  const inner = { completions: null, responses: 'response', messages: 'message' } as const;
  const fields = createAnswerFields(inner[wire]);
  for (const event of events) {
    const bytes = encode(event);
    scanAnswer(bytes, 0, bytes.length, fields);
    counter.note(bytes, 0, bytes.length, fields);
  }
  return counter.uses();
}

describe('uses of hosted tools in an answer', () => {
  test('items without an id are counted by their position; unplanned ones are not counted', () => {
    const output = [
      { type: 'web_search_call' },
      { type: 'web_search_call', action: { type: 'find_in_page' } },
      { type: 'file_search_call', id: 'fs' },
      { type: 'function_call', id: 'fc' },
      null,
    ];
    const done = output.map((item, output_index) => ({
      ...{ type: 'response.output_item.done', output_index, item },
    }));
    const last = { type: 'response.incomplete', response: { output } };
    expect(counted('responses', ['web_search', 'mcp'], [...done, last])).toEqual({ web_search: 1 });
    expect(counted('responses', ['web_search', 'file_search'], done)).toEqual({
      ...{ web_search: 1, file_search: 1 },
    });
  });

  test('a usage of zero searches is zero, whatever the blocks contain', () => {
    const block = { type: 'server_tool_use', name: 'web_search' };
    const begun = { type: 'content_block_start', content_block: block };
    const ended = (server_tool_use: unknown) => ({ type: 'message_delta', usage: { server_tool_use } });
    expect(counted('messages', ['web_search'], [begun, ended({ web_search_requests: 0 })])).toEqual({});
    expect(counted('messages', ['web_search'], [begun, ended(null)])).toEqual({ web_search: 1 });
    expect(counted('messages', ['web_search'], [begun, ended({ web_search_requests: -1 })])).toEqual({
      web_search: 1,
    });
  });

  test('Perplexity and xAI report searches of chat completions in their own fields', () => {
    expect(counted('completions', ['web_search'], [{ usage: { num_search_queries: 3 } }])).toEqual({
      web_search: 3,
    });
    expect(counted('completions', ['web_search'], [{ usage: { num_sources_used: 0 } }])).toEqual({});
    expect(counted('completions', ['web_search'], [])).toEqual({ web_search: 1 });
  });

  test('the charge is bounded for each tool and in total; invalid JSON costs nothing', () => {
    const many = (type: string) => Array.from({ length: 9 }, (_, at) => ({ type, id: `${type}${at}` }));
    const answer = encode({ output: [...many('web_search_call'), ...many('mcp_call')] });
    expect(usedTools('responses', planOf('web_search', 'mcp'), answer)).toEqual({
      ...{ surchargeMicro: 50, toolUses: { web_search: 9, mcp: 9 }, prompts: 7 },
    });
    expect(usedTools('responses', planOf('mcp'), answer).surchargeMicro).toBe(30);
    const nothing = { surchargeMicro: 0, toolUses: {}, prompts: 1 };
    expect(usedTools('responses', planOf('mcp'), new TextEncoder().encode('{'))).toEqual(nothing);
  });
});
