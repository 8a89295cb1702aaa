import { afterAll, describe, expect, test } from 'bun:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type OpenAI from 'openai';
import { SELF_DESCRIPTION } from '../../../src/adapters/model-upstream/embedded/written-answer.ts';
import { bodyText, callOf, eventsOf, openUpstream, target } from './embedded-caller.ts';

type Completion = OpenAI.Chat.ChatCompletion;
type Chunk = OpenAI.Chat.ChatCompletionChunk;
type Body = Record<string, unknown>;

const user = (content: unknown) => ({ role: 'user', content });

const pong = `${SELF_DESCRIPTION} pong`;

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

describe('chat', () => {
  const upstream = openUpstream();
  afterAll(() => upstream.close());
  const send = (body: unknown, signal?: AbortSignal) =>
    upstream.send(target, callOf('chat/completions', body, signal));

  async function complete(content: unknown, more: Body = {}): Promise<Completion> {
    const answer = await send({ model: 'x', messages: [user(content)], ...more });
    expect([answer.status, answer.contentType]).toEqual([200, 'application/json']);
    return JSON.parse(await bodyText(answer));
  }

  async function stream(content: unknown, more: Body = {}): Promise<Chunk[]> {
    const answer = await send({ messages: [user(content)], stream: true, ...more });
    expect([answer.status, answer.contentType]).toEqual([200, 'text/event-stream']);
    return eventsOf<Chunk>(answer);
  }

  describe('the complete answer', () => {
    test('G-17: is a chat completion, with the requested model and correct counts', async () => {
      const { id, ...answer } = await complete('Say pong');
      expect(id).toMatch(/^chatcmpl-[\da-f]{32}$/u);
      const content = `${SELF_DESCRIPTION} pong`;
      // Role and content, 3 around the message, 3 for the answer's beginning.
      const prompt_tokens = countTokens('user') + countTokens('Say pong') + 3 + 3;
      const completion_tokens = countTokens(content);
      expect(answer).toEqual({
        object: 'chat.completion',
        created: Date.UTC(2030, 0, 1) / 1_000,
        model: target.model,
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content, refusal: null },
            logprobs: null,
            finish_reason: 'stop',
          },
        ],
        usage: {
          prompt_tokens,
          completion_tokens,
          total_tokens: prompt_tokens + completion_tokens,
          prompt_tokens_details: { cached_tokens: 0 },
          completion_tokens_details: { reasoning_tokens: 0 },
        },
      });
    });

    test('G-1: max_tokens, by either name, is exactly that many', async () => {
      const long = `Say ${'unbelievable things happen. '.repeat(10)}`;
      for (const [name, limit] of [
        ['max_tokens', 1],
        ['max_completion_tokens', 20],
      ] as const) {
        const { choices, usage } = await complete(long, { [name]: limit });
        expect(choices[0]?.finish_reason).toBe('length');
        expect(usage?.completion_tokens).toBe(limit);
        expect(countTokens(choices[0]?.message.content ?? '')).toBe(limit);
      }
    });

    test('G-1: ends before the first of its stops', async () => {
      const said = 'Say one. STOP two. END three';
      for (const stop of ['STOP', ['END', 'STOP'], ['x', '', 'STOP']]) {
        const { choices } = await complete(said, { stop });
        expect(choices[0]).toMatchObject({
          message: { content: `${SELF_DESCRIPTION} one. ` },
          finish_reason: 'stop',
        });
      }
      expect((await complete(said, { stop: null })).choices[0]?.message.content).toContain('three');
    });
  });

  describe('the stream', () => {
    test('G-1: usage comes last, in a chunk without choices, and equals that of the complete answer', async () => {
      const asked = { stream_options: { include_usage: true }, n: 2 };
      expect((await stream('Say pong')).every((chunk) => !('usage' in chunk))).toBe(true);
      const chunks = await stream('Say pong', asked);
      const last = chunks.pop();
      expect(last?.choices).toEqual([]);
      expect(last?.usage).toEqual((await complete('Say pong', { n: 2 })).usage ?? null);
      expect(chunks.every(({ usage }) => usage === null)).toBe(true);
      for (const index of [0, 1]) {
        const ofChoice = chunks.flatMap(({ choices }) => choices).filter((choice) => choice.index === index);
        expect(ofChoice.map(({ delta }) => delta.content ?? '').join('')).toBe(`${SELF_DESCRIPTION} pong`);
        expect(ofChoice.at(-1)?.finish_reason).toBe('stop');
      }
    });

    test('G-1: an aborted call is refused, before it begins and while it counts; a stream ends at once', async () => {
      const aborted = { name: 'UpstreamFailure', reason: 'aborted' };
      await expect(send({ messages: [user('x')] }, AbortSignal.abort())).rejects.toMatchObject(aborted);
      const abort = new AbortController();
      const sent = send({ messages: [user('many words '.repeat(100_000))] }, abort.signal);
      abort.abort();
      await expect(sent).rejects.toMatchObject(aborted);
      const reader = new AbortController();
      const long = { messages: [user(`Say ${'word '.repeat(5_000)}`)], stream: true };
      const { body } = await send(long, reader.signal);
      expect(await body.read(1)).toBeInstanceOf(Uint8Array);
      reader.abort();
      expect(await body.read(1)).toBe('broken');
    });
  });

  describe('refusals', () => {
    test.each<[string, unknown, string | null]>([
      ['no object', [], null],
      ['an unknown role', { messages: [{ role: 'robot', content: 'x' }] }, 'messages.0.role'],
      ['too many choices', { messages: [user('x')], n: 17 }, 'n'],
      ['required without tools', { messages: [user('x')], tool_choice: 'required' }, 'tool_choice'],
    ])('G-1: %s is a 400 in OpenAI’s shape', async (_, body, param) => {
      const answer = await send(body);
      expect([answer.status, answer.contentType]).toEqual([400, 'application/json']);
      const { error } = JSON.parse(await bodyText(answer));
      const type = 'invalid_request_error';
      expect(error).toEqual({ message: expect.any(String), type, param, code: null });
    });

    test('an endpoint of another wire is a 404, so that the next target is tried', async () => {
      const refused = await upstream.send(target, callOf('responses', { messages: [user('x')] }));
      expect(refused.status).toBe(404);
      expect(JSON.parse(await bodyText(refused)).error.type).toBe('invalid_request_error');
    });
  });
});

describe('legacy completions', () => {
  const upstream = openUpstream();
  afterAll(() => upstream.close());

  const send = (body: unknown) => upstream.send(target, callOf('completions', body));

  async function complete(body: Record<string, unknown>): Promise<OpenAI.Completion> {
    const answer = await send({ model: 'x', ...body });
    expect([answer.status, answer.contentType]).toEqual([200, 'application/json']);
    return JSON.parse(await bodyText(answer));
  }

  test('G-2: the legacy shape, with 16 tokens where no bound is given', async () => {
    const { id, ...answer } = await complete({ prompt: 'Say pong' });
    expect(id).toMatch(/^cmpl-[\da-f]{32}$/u);
    const [prompt_tokens, completion_tokens] = [countTokens('Say pong'), countTokens(pong)];
    expect(answer).toEqual({
      object: 'text_completion',
      created: Date.UTC(2030, 0, 1) / 1_000,
      model: target.model,
      choices: [{ text: pong, index: 0, logprobs: null, finish_reason: 'stop' }],
      usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
    } as never);
    const cut = await complete({ prompt: 'Who are you?' });
    expect(cut.choices[0]?.finish_reason).toBe('length');
    expect(countTokens(cut.choices[0]?.text ?? '')).toBe(16);
    expect(cut.usage?.completion_tokens).toBe(16);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['a number that is no token', { prompt: [999_999] }, 'prompt'],
    ['too many prompts', { prompt: Array.from({ length: 2_049 }, () => 'x') }, 'prompt'],
    ['too many answers', { prompt: Array.from({ length: 2_000 }, () => 'x'), n: 2 }, 'n'],
  ])('G-2: %s is a 400', async (_, body, param) => {
    const answer = await send(body);
    expect(answer.status).toBe(400);
    expect(JSON.parse(await bodyText(answer)).error.param).toBe(param);
  });
});

describe('tools', () => {
  const upstream = openUpstream();
  afterAll(() => upstream.close());

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
      const { answer, choice, called } = await choiceOf(
        "What's the weather in San Francisco, in fahrenheit?",
      );
      expect(choice.finish_reason).toBe('tool_calls');
      expect(choice.message.content).toBeNull();
      expect(choice.message.tool_calls?.[0]?.id).toMatch(/^call_[\da-f]{32}$/u);
      expect(called?.name).toBe('get_weather');
      expect(JSON.parse(called?.arguments ?? '')).toEqual({ location: 'San Francisco', unit: 'fahrenheit' });
      const counted = countTokens('get_weather') + countTokens(called?.arguments ?? '');
      expect(answer.usage?.completion_tokens).toBe(counted);
    });

    test('G-1: auto calls nothing without a match; required always calls; none never does', async () => {
      expect((await choiceOf('What is love?')).called).toBeNull();
      expect((await choiceOf('Are people with skill happy?')).called).toBeNull();
      expect((await choiceOf('What is love?', { tool_choice: 'required' })).called?.name).toBe(
        'searchCandidates',
      );
      expect((await choiceOf('Please use refresh_cache now')).called).toMatchObject({
        ...{ name: 'refresh_cache', arguments: '{}' },
      });
      const none = await choiceOf('What is the weather?', { tool_choice: 'none' });
      expect([none.called, none.choice.finish_reason]).toEqual([null, 'stop']);
    });

    test('G-1: a named function is called for any message', async () => {
      const tool_choice = { type: 'function', function: { name: 'get_weather' } };
      const { called, choice } = await choiceOf('hello', { tool_choice });
      expect(JSON.parse(called?.arguments ?? '')).toEqual({ location: '', unit: 'celsius' });
      expect(choice.finish_reason).toBe('tool_calls');
    });
  });
});
