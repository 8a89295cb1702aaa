import { afterAll, describe, expect, test } from 'bun:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type OpenAI from 'openai';
import { jsonAnswer } from '../../src/adapters/model-upstream/embedded/open-call.ts';
import { SELF_DESCRIPTION } from '../../src/adapters/model-upstream/embedded/written-answer.ts';
import { bodyText, callOf, eventsOf, openUpstream, target } from './model-upstream.embedded-caller.ts';

type Completion = OpenAI.Chat.ChatCompletion;
type Chunk = OpenAI.Chat.ChatCompletionChunk;
type Body = Record<string, unknown>;

const upstream = openUpstream();
afterAll(() => upstream.close());

const user = (content: unknown) => ({ role: 'user', content });
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

describe('the whole answer', () => {
  test('G-17: is a chat completion, with the model that was asked and true counts', async () => {
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

  test('G-1: parts of a message are read, what is no text is named', async () => {
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
  test('G-1: who speaks, the words in pieces, why it ended; no usage unless asked for', async () => {
    const chunks = await stream('Say pong');
    const whole = (await complete('Say pong')).choices[0]?.message.content;
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '', refusal: null });
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(whole ?? '');
    expect(chunks.at(-1)?.choices).toEqual([{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }]);
    expect(chunks.length).toBeGreaterThan(4);
    expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true);
    expect(new Set(chunks.map(({ id, object, model }) => [id, object, model].join())).size).toBe(1);
  });

  test('G-1: usage comes last, in a chunk without choices, and equals that of the whole answer', async () => {
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

  test('G-1: nothing is made before it is asked for', async () => {
    let made = 0;
    function* parts() {
      for (;;) {
        made += 1;
        yield 'part';
      }
    }
    const reader = jsonAnswer(parts(), new AbortController().signal).body.getReader();
    for (const reads of [0, 1, 2]) {
      await new Promise((resolve) => setImmediate(resolve));
      expect(made).toBe(reads);
      await reader.read();
    }
    await reader.cancel();
  });

  test('G-1: aborting ends it at once', async () => {
    const abort = new AbortController();
    const answer = await send(
      { messages: [user(`Say ${'word '.repeat(5_000)}`)], stream: true },
      abort.signal,
    );
    const reader = answer.body.getReader();
    expect((await reader.read()).done).toBe(false);
    abort.abort();
    await expect(reader.read()).rejects.toMatchObject({ name: 'UpstreamFailure', reason: 'aborted' });
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

  test('G-1: a body that is no JSON', async () => {
    const call = { ...callOf('chat/completions', null), body: new TextEncoder().encode('{') };
    expect((await upstream.send(target, call)).status).toBe(400);
  });
});
