import { afterAll, describe, expect, test } from 'bun:test';
import { countTokens, encode } from 'gpt-tokenizer/encoding/o200k_base';
import type OpenAI from 'openai';
import { jsonAnswer } from '../../../src/adapters/model-upstream/embedded/open-call.ts';
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

    test('G-1: the same body gets the same words', async () => {
      const [one, other] = await Promise.all([complete('Tell me a story'), complete('Tell me a story')]);
      expect(one.choices).toEqual(other.choices);
      expect(one.id).not.toBe(other.id);
    });

    test('G-1: several choices, each counted', async () => {
      const one = await complete('Say pong');
      const three = await complete('Say pong', { n: 3 });
      expect(three.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
      expect(three.usage?.completion_tokens).toBe(3 * (one.usage?.completion_tokens ?? 0));
      expect(three.usage?.prompt_tokens).toBe(one.usage?.prompt_tokens ?? 0);
    });

    test.each([1, 2, 7, 20])('G-1: max_tokens %d is exactly that many', async (limit) => {
      const long = `Say ${'unbelievable things happen. '.repeat(10)}`;
      for (const name of ['max_tokens', 'max_completion_tokens']) {
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

    test('G-1: parts of a message are read, parts that are not text are named', async () => {
      const parts = [
        { type: 'text', text: 'Repeat the following:' },
        { type: 'image_url', image_url: { url: 'data:' } },
        { type: 'input_audio', input_audio: {} },
        { type: 'text', text: 'żółć 🙂' },
      ];
      const { choices } = await complete(parts);
      expect(choices[0]?.message.content).toBe(`${SELF_DESCRIPTION} [image]\n[audio]\nżółć 🙂`);
    });

    test('G-1: every role is counted, names and calls too', async () => {
      const messages = [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: '' },
        { role: 'user', content: 'weather?', name: 'jane' },
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: 'sunny' },
      ];
      const answer: Completion = JSON.parse(await bodyText(await send({ messages })));
      const texts = [
        'system',
        'Be brief.',
        'developer',
        'user',
        'weather?',
        'jane',
        'assistant',
        'f{}',
        'tool',
        'sunny',
      ];
      const counted = texts.reduce((sum, text) => sum + countTokens(text), 0);
      expect(answer.usage?.prompt_tokens).toBe(counted + 1 + 3 * messages.length + 3);
      expect(answer.choices[0]?.message.content).toBe(`${SELF_DESCRIPTION} f answered: sunny`);
    });
  });

  describe('the stream', () => {
    test('G-1: the role, the text in pieces, the finish reason; no usage unless requested', async () => {
      const chunks = await stream('Say pong');
      const whole = (await complete('Say pong')).choices[0]?.message.content;
      expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '', refusal: null });
      expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(whole ?? '');
      expect(chunks.at(-1)?.choices).toEqual([
        { index: 0, delta: {}, logprobs: null, finish_reason: 'stop' },
      ]);
      expect(chunks.length).toBeGreaterThan(4);
      expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true);
      expect(new Set(chunks.map(({ id, object, model }) => [id, object, model].join())).size).toBe(1);
    });

    test('G-1: usage comes last, in a chunk without choices, and equals that of the complete answer', async () => {
      const asked = { stream_options: { include_usage: true }, n: 2 };
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

    test('G-1: nothing is generated before it is read', async () => {
      let made = 0;
      function* parts() {
        for (;;) {
          made += 1;
          yield 'part';
        }
      }
      const { body } = jsonAnswer(parts(), new AbortController().signal);
      for (const reads of [0, 1, 2]) {
        await new Promise((resolve) => setImmediate(resolve));
        expect(made).toBe(reads);
        await body.read(1);
      }
      body.cancel();
    });

    test('G-1: aborting ends it at once', async () => {
      const abort = new AbortController();
      const answer = await send(
        { messages: [user(`Say ${'word '.repeat(5_000)}`)], stream: true },
        abort.signal,
      );
      expect(await answer.body.read(1)).toBeInstanceOf(Uint8Array);
      abort.abort();
      expect(await answer.body.read(1)).toBe('broken');
    });

    test('G-1: an aborted call is refused, before it begins and while it counts', async () => {
      const aborted = { name: 'UpstreamFailure', reason: 'aborted' };
      await expect(send({ messages: [user('x')] }, AbortSignal.abort())).rejects.toMatchObject(aborted);
      const abort = new AbortController();
      const sent = send({ messages: [user('many words '.repeat(100_000))] }, abort.signal);
      abort.abort();
      await expect(sent).rejects.toMatchObject(aborted);
    });
  });

  describe('refusals', () => {
    test.each<[string, unknown, string | null]>([
      ['no object', [], null],
      ['no messages', {}, 'messages'],
      ['empty messages', { messages: [] }, 'messages'],
      ['an unknown role', { messages: [{ role: 'robot', content: 'x' }] }, 'messages.0.role'],
      ['content of a wrong kind', { messages: [user(7)] }, 'messages.0.content'],
      ['too many choices', { messages: [user('x')], n: 17 }, 'n'],
      ['no choice', { messages: [user('x')], n: 0 }, 'n'],
      ['no tokens', { messages: [user('x')], max_tokens: 0 }, 'max_tokens'],
      ['five stops', { messages: [user('x')], stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop'],
      ['an unknown format', { messages: [user('x')], response_format: { type: 'xml' } }, 'response_format'],
      [
        'a tool that is not there',
        { messages: [user('x')], tool_choice: { type: 'function', function: { name: 'f' } } },
        'tool_choice',
      ],
      ['required without tools', { messages: [user('x')], tool_choice: 'required' }, 'tool_choice'],
    ])('G-1: %s is a 400 in OpenAI’s shape', async (_, body, param) => {
      const answer = await send(body);
      expect([answer.status, answer.contentType]).toEqual([400, 'application/json']);
      const { error } = JSON.parse(await bodyText(answer));
      const type = 'invalid_request_error';
      expect(error).toEqual({ message: expect.any(String), type, param, code: null });
    });

    test('an endpoint of another wire is a 404, so that the next target is tried', async () => {
      for (const endpoint of ['responses', 'messages', 'messages/count_tokens'] as const) {
        const refused = await upstream.send(target, callOf(endpoint, { messages: [user('x')] }));
        expect(refused.status).toBe(404);
        expect(JSON.parse(await bodyText(refused)).error.type).toBe('invalid_request_error');
      }
    });

    test('G-1: a body that is no JSON', async () => {
      const call = { ...callOf('chat/completions', null), body: new TextEncoder().encode('{') };
      expect((await upstream.send(target, call)).status).toBe(400);
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

  test('G-2: several prompts and choices, as strings or as tokens', async () => {
    const prompts = ['Say pong', 'Say ping'];
    const [strings, tokens] = await Promise.all(
      [prompts, prompts.map((prompt) => encode(prompt))].map((prompt) => complete({ prompt, n: 2 })),
    );
    expect(strings?.choices.map(({ index, text }) => [index, text.slice(-4)])).toEqual([
      [0, 'pong'],
      [1, 'pong'],
      [2, 'ping'],
      [3, 'ping'],
    ]);
    expect(tokens?.choices).toEqual(strings?.choices ?? []);
    expect(tokens?.usage).toEqual(strings?.usage as OpenAI.CompletionUsage);
    expect((await complete({ prompt: encode('Say pong') })).choices[0]?.text).toBe(pong);
  });

  test('G-2: echo starts with the prompt, which is not counted twice; stop and no prompt', async () => {
    const echoed = await complete({ prompt: 'Say pong', echo: true, suffix: 'ignored' });
    expect(echoed.choices[0]?.text).toBe(`Say pong${pong}`);
    expect(echoed.usage?.completion_tokens).toBe(countTokens(pong));
    const only = await complete({ prompt: 'Say pong', echo: true, max_tokens: 0 });
    expect(only.choices[0]).toMatchObject({ text: 'Say pong', finish_reason: 'length' });
    expect((await complete({ prompt: 'Say pong', stop: ['pong'] })).choices[0]?.text).toBe(
      `${SELF_DESCRIPTION} `,
    );
    expect((await complete({})).choices[0]?.text).toStartWith(SELF_DESCRIPTION);
  });

  test('G-2: a stream of chunks of the same shape, with usage last where it is asked for', async () => {
    const body = { prompt: ['Say pong', 'Say ping'], stream: true, echo: true };
    const plain = await eventsOf<OpenAI.Completion>(await send(body));
    expect(plain.every((chunk) => chunk.object === 'text_completion' && !('usage' in chunk))).toBe(true);
    const counted = await eventsOf<OpenAI.Completion>(
      await send({ ...body, stream_options: { include_usage: true } }),
    );
    const last = counted.pop();
    const whole = await complete({ prompt: body.prompt, echo: true });
    expect(last).toMatchObject({ choices: [], usage: whole.usage });
    for (const { index, text } of whole.choices) {
      const ofChoice = counted.flatMap(({ choices }) => choices).filter((choice) => choice.index === index);
      expect(ofChoice.map((choice) => choice.text).join('')).toBe(text);
      expect(ofChoice.map((choice) => choice.finish_reason).filter((reason) => reason !== null)).toEqual([
        'stop',
      ]);
    }
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['a prompt of a wrong kind', { prompt: 7 }, 'prompt'],
    ['an empty array', { prompt: [] }, 'prompt'],
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

    test.each([
      ['Please use refresh_cache now', 'refresh_cache', {}],
      ['Search for candidates with Rust', 'searchCandidates', { query: 'Search for candidates with Rust' }],
    ])('G-1: by its name or its words: %s', async (asked, name, given) => {
      const { called } = await choiceOf(asked);
      expect(called?.name).toBe(name);
      expect(JSON.parse(called?.arguments ?? '')).toEqual(given);
    });

    test('G-1: auto calls nothing without a match; required always calls; none never does', async () => {
      expect((await choiceOf('What is love?')).called).toBeNull();
      expect((await choiceOf('Are people with skill happy?')).called).toBeNull();
      expect((await choiceOf('What is love?', { tool_choice: 'required' })).called?.name).toBe(
        'searchCandidates',
      );
      expect((await choiceOf('weather!', { tool_choice: 'required' })).called?.name).toBe('get_weather');
      const none = await choiceOf('What is the weather?', { tool_choice: 'none' });
      expect([none.called, none.choice.finish_reason]).toEqual([null, 'stop']);
    });

    test('G-1: a named function is called for any message', async () => {
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

    test('G-1: json_schema is an object by the schema, with values from the text', async () => {
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
});
