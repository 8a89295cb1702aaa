import { afterAll, describe, expect, test } from 'bun:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type OpenAI from 'openai';
import { bodyText, callOf, eventsOf, openUpstream, target } from './model-upstream.embedded-caller.ts';

const upstream = openUpstream();
afterAll(() => upstream.close());

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The current weather of a place',
    parameters: {
      type: 'object',
      properties: { location: { type: 'string' }, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } },
      required: ['location', 'unit'],
    },
  },
};
const search = {
  type: 'function',
  function: {
    name: 'searchCandidates',
    description: 'Searches the database for people with a skill',
    parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  },
};
const bare = { type: 'function', function: { name: 'refresh_cache' } };
const tools = [search, weather, bare, { type: 'custom', custom: { name: 'free' } }];

function send(content: string, more: Record<string, unknown> = {}) {
  return upstream.send(
    target,
    callOf('chat/completions', { messages: [{ role: 'user', content }], tools, ...more }),
  );
}

async function choiceOf(content: string, more: Record<string, unknown> = {}) {
  const answer: OpenAI.Chat.ChatCompletion = JSON.parse(await bodyText(await send(content, more)));
  const [choice] = answer.choices;
  if (choice === undefined) throw new Error('no choice');
  const [call] = choice.message.tool_calls ?? [];
  return { answer, choice, called: call?.type === 'function' ? call.function : null };
}

describe('tool calls', () => {
  test('G-1: a message that matches a function calls it, with arguments by its schema', async () => {
    const { answer, choice, called } = await choiceOf("What's the weather in San Francisco, in fahrenheit?");
    expect(choice.finish_reason).toBe('tool_calls');
    expect(choice.message.content).toBeNull();
    expect(choice.message.tool_calls?.[0]?.id).toMatch(/^call_[\da-f]{32}$/u);
    expect(called?.name).toBe('get_weather');
    expect(JSON.parse(called?.arguments ?? '')).toEqual({ location: 'San Francisco', unit: 'fahrenheit' });
    const counted = countTokens('get_weather') + countTokens(called?.arguments ?? '');
    expect(answer.usage?.completion_tokens).toBe(counted);
  });

  test.each([
    ['Please use refresh_cache now', 'refresh_cache', {}],
    ['Search for candidates with Rust', 'searchCandidates', { query: 'Search for candidates with Rust' }],
  ])('G-1: by its name or its words: %s', async (asked, name, given) => {
    const { called } = await choiceOf(asked);
    expect(called?.name).toBe(name);
    expect(JSON.parse(called?.arguments ?? '')).toEqual(given);
  });

  test('G-1: auto leaves alone what matches nothing; required calls in any case; none never does', async () => {
    expect((await choiceOf('What is love?')).called).toBeNull();
    expect((await choiceOf('Are people with skill happy?')).called).toBeNull();
    expect((await choiceOf('What is love?', { tool_choice: 'required' })).called?.name).toBe(
      'searchCandidates',
    );
    expect((await choiceOf('weather!', { tool_choice: 'required' })).called?.name).toBe('get_weather');
    const none = await choiceOf('What is the weather?', { tool_choice: 'none' });
    expect([none.called, none.choice.finish_reason]).toEqual([null, 'stop']);
  });

  test('G-1: a named function is called whatever was asked', async () => {
    const tool_choice = { type: 'function', function: { name: 'get_weather' } };
    const { called, choice } = await choiceOf('hello', { tool_choice });
    expect(JSON.parse(called?.arguments ?? '')).toEqual({ location: '', unit: 'celsius' });
    expect(choice.finish_reason).toBe('tool_calls');
  });

  test('G-1: max_tokens cuts the arguments', async () => {
    const { answer, choice } = await choiceOf('weather in Paris', { max_tokens: 5 });
    expect(choice.finish_reason).toBe('length');
    expect(answer.usage?.completion_tokens).toBe(5);
  });

  test('G-1: a stream has the name and id first, then the arguments in pieces', async () => {
    const chunks = await eventsOf<OpenAI.Chat.ChatCompletionChunk>(
      await send('weather in Paris', { stream: true }),
    );
    const deltas = chunks.map(({ choices }) => choices[0]?.delta);
    expect(deltas[0]).toMatchObject({
      role: 'assistant',
      content: null,
      tool_calls: [{ index: 0, type: 'function', function: { name: 'get_weather', arguments: '' } }],
    });
    const pieces = deltas.slice(1).flatMap((delta) => delta?.tool_calls ?? []);
    expect(pieces.every(({ index, id }) => index === 0 && id === undefined)).toBe(true);
    const whole = pieces.map(({ function: part }) => part?.arguments ?? '').join('');
    expect(JSON.parse(whole)).toEqual({ location: 'Paris', unit: 'celsius' });
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('tool_calls');
  });
});

describe('JSON answers', () => {
  const schema = {
    type: 'object',
    properties: { email: { type: 'string' }, age: { type: 'integer' } },
    required: ['email', 'age'],
  };

  test('G-1: json_schema is an object by the schema, from what the text says', async () => {
    const response_format = { type: 'json_schema', json_schema: { name: 'person', strict: true, schema } };
    const { answer, choice } = await choiceOf('Jane, aged 42, age 42, writes from jane@doe.org', {
      tools: [],
      response_format,
    });
    expect(JSON.parse(choice.message.content ?? '')).toEqual({ email: 'jane@doe.org', age: 42 });
    expect(answer.usage?.completion_tokens).toBe(countTokens(choice.message.content ?? ''));
  });

  test('G-1: json_object is an object in any case', async () => {
    const response_format = { type: 'json_object' };
    const { choice } = await choiceOf('Whatever', { response_format });
    expect(JSON.parse(choice.message.content ?? '')).toBeObject();
  });
});
