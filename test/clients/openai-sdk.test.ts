import { beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { openGateway } from '../gateway/gateway-under-test.ts';
import { chatAnswer, chunk, done, streamOf, usageChunk } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

let client: OpenAI;

const gateway = useResource(() => openGateway());
beforeAll(async () => {
  const { rawKey } = await gateway.mint();
  client = new OpenAI({ baseURL: gateway.url, apiKey: rawKey });
});

const question = { model: 'svc/chat-default', messages: [{ role: 'user' as const, content: 'Hi' }] };

describe('G-18 the official openai client, with only its address and key changed', () => {
  test('G-18 chats', async () => {
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    const answer = await client.chat.completions.create(question);
    expect(answer.choices[0]?.message.content).toBe('Hello.');
    expect(answer.model).toBe('svc/chat-default');
    expect(answer._request_id).toStartWith('req_');
  });

  test('G-18 counts the input of a response, and compacts a conversation', async () => {
    gateway.upstream.answer(({ path }) =>
      Response.json(
        path.endsWith('/compact')
          ? {
              id: 'r',
              object: 'response.compaction',
              output: [],
              usage: { input_tokens: 1, output_tokens: 2 },
            }
          : { object: 'response.input_tokens', input_tokens: 4 },
      ),
    );
    const asked = { model: 'svc/chat-default', input: 'Hi' };
    expect((await client.responses.inputTokens.count(asked)).input_tokens).toBe(4);
    expect((await client.responses.compact(asked)).object).toBe('response.compaction');
  });

  test('G-18 streams, with usage at the end', async () => {
    gateway.upstream.answer(() => streamOf(chunk('Hel'), chunk('lo'), usageChunk, done));
    const stream = await client.chat.completions.create({ ...question, stream: true });
    let text = '';
    let tokens = 0;
    for await (const part of stream) {
      text += part.choices[0]?.delta.content ?? '';
      tokens = part.usage?.total_tokens ?? tokens;
      expect(part.model).toBe('svc/chat-default');
    }
    expect([text, tokens]).toEqual(['Hello', 12]);
  });

  test.each(['ALWAYS', 'ASKED'] as const)(
    'G-13 G-18 the loop of its README, which reads choices[0] of every chunk, works: %s',
    async (streamUsageChunk) => {
      const { rawKey } = await gateway.mint({ streamUsageChunk });
      const careless = new OpenAI({ baseURL: gateway.url, apiKey: rawKey });
      const read = async (more: object) => {
        gateway.upstream.answer(() => streamOf(chunk('Hel'), chunk('lo'), usageChunk, done));
        const stream = await careless.chat.completions.create({ ...question, ...more, stream: true });
        let text = '';
        for await (const part of stream)
          text += (part.choices[0] as { delta: { content?: string } }).delta.content ?? '';
        return text;
      };
      expect(await read({})).toBe('Hello');
      const asking = read({ stream_options: { include_usage: true } });
      expect(await asking.catch((error: unknown) => error)).toBeInstanceOf(TypeError);
    },
  );

  test('G-13 G-18 the same loop over completions', async () => {
    const choice = { text: 'Hi', index: 0, finish_reason: null, logprobs: null };
    gateway.upstream.answer(() => streamOf(chunk('', { choices: [choice] }), usageChunk, done));
    const question = { model: 'svc/chat-default', prompt: 'x', stream: true as const };
    let text = '';
    for await (const part of await client.completions.create(question)) {
      text += (part.choices[0] as { text: string }).text.toUpperCase();
    }
    expect(text).toBe('HI');
  });

  test('G-18 calls tools and requests JSON: its fields arrive, the answer is returned', async () => {
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'weather', arguments: '{"city":"Oslo"}' },
    };
    const message = { role: 'assistant', content: null, tool_calls: [call] };
    const choices = [{ index: 0, message, finish_reason: 'tool_calls' }];
    gateway.upstream.answer(() => Response.json(chatAnswer({ choices })));
    const tools = [
      { type: 'function' as const, function: { name: 'weather', parameters: { type: 'object' } } },
    ];
    const answer = await client.chat.completions.create({
      ...question,
      tools,
      tool_choice: 'auto',
      response_format: { type: 'json_object' },
    });
    expect(answer.choices[0]?.message.tool_calls?.[0]).toEqual(call as never);
    const sent = JSON.parse(new TextDecoder().decode(gateway.upstream.received.at(-1)?.body));
    expect(sent).toMatchObject({ tools, tool_choice: 'auto', response_format: { type: 'json_object' } });
  });

  test('G-18 G-3 embeds with its base64 default', async () => {
    const embedding = Buffer.from(new Float32Array([1, -2]).buffer).toString('base64');
    const data = [{ object: 'embedding', index: 0, embedding }];
    const usage = { prompt_tokens: 1, total_tokens: 1 };
    gateway.upstream.answer(() => Response.json({ object: 'list', model: 'x', data, usage }));
    const answer = await client.embeddings.create({ model: 'svc/embed-default', input: 'x' });
    expect([...(answer.data[0]?.embedding ?? [])]).toEqual([1, -2]);
  });

  test('G-18 completes and lists models', async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const choices = [{ text: 'there', index: 0, finish_reason: 'stop' }];
    gateway.upstream.answer(() =>
      Response.json({ id: 'c', object: 'text_completion', model: 'x', choices, usage }),
    );
    const answer = await client.completions.create({ model: 'svc/chat-default', prompt: 'Hello' });
    expect(answer.choices[0]?.text).toBe('there');
    const models = await client.models.list();
    expect(models.data).toHaveLength(6);
    expect((await client.models.retrieve('svc/chat-cheap')).id).toBe('svc/chat-cheap');
  });

  test('G-34 its error classes match, with code, type and request id', async () => {
    const failure = async (work: Promise<unknown>) =>
      await work.then(() => null).catch((error: unknown) => error);
    const stranger = new OpenAI({ baseURL: gateway.url, apiKey: 'nonsense' });
    expect(await failure(stranger.models.list())).toBeInstanceOf(OpenAI.AuthenticationError);
    const denied = await failure(client.chat.completions.create({ ...question, model: 'svc/none' }));
    expect(denied).toBeInstanceOf(OpenAI.PermissionDeniedError);
    expect(denied).toMatchObject({ code: 'LLM_MODEL_NOT_ALLOWED', type: 'permission_error' });
    expect((denied as InstanceType<typeof OpenAI.APIError>).requestID).toStartWith('req_');
    const wrong = client.post('/nothing', { body: {} });
    expect(await failure(wrong)).toBeInstanceOf(OpenAI.NotFoundError);
  });

  const failureOf = async (work: Promise<unknown>) =>
    (await work.then(() => null).catch((error: unknown) => error)) as InstanceType<typeof OpenAI.APIError>;

  test('G-36 G-41 a provider’s rate limit is its RateLimitError, with our code and the wait; it retries by itself', async () => {
    let tries = 0;
    gateway.upstream.answer(() => {
      tries += 1;
      const headers = { 'retry-after': '30', 'retry-after-ms': '1' };
      return tries === 2 ? Response.json(chatAnswer()) : Response.json({}, { status: 429, headers });
    });
    expect((await client.chat.completions.create(question)).choices[0]?.message.content).toBe('Hello.');
    const error = await failureOf(client.chat.completions.create(question, { maxRetries: 0 }));
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect(error).toMatchObject({ status: 429, code: 'PROVIDER_RATE_LIMITED', type: 'rate_limit_error' });
    expect(error.headers?.get('retry-after-ms')).toBe('1');
  });

  test.each(['context_length_exceeded', 'content_filter'])(
    'G-36 its BadRequestError has the code %s',
    async (code) => {
      const message = 'provider-model-x cannot serve it';
      gateway.upstream.answer(() =>
        Response.json({ error: { message, param: 'messages', code } }, { status: 400 }),
      );
      const error = await failureOf(client.chat.completions.create(question));
      expect(error).toBeInstanceOf(OpenAI.BadRequestError);
      expect(error).toMatchObject({ code, param: 'messages' });
      expect(error.message).toContain('svc/chat-default cannot serve it');
    },
  );

  test('G-10 routes that are not offered are named in the error, and a wrong base URL gets the right one', async () => {
    const images = await failureOf(client.images.generate({ prompt: 'a cat' }));
    expect(images).toBeInstanceOf(OpenAI.NotFoundError);
    expect(images.message).toContain('does not support the Images API (/images)');
    const moderation = await failureOf(client.moderations.create({ input: 'x' }));
    expect(moderation.message).toContain('does not support the Moderations API (/moderations)');
    expect((await failureOf(client.batches.list())).message).toContain('the Batch API (/batches)');
    expect((await failureOf(client.files.list())).message).toContain('the Files API (/files)');
    const baseURL = gateway.url.replace('/llm/v1', '/v1');
    const astray = new OpenAI({ baseURL, apiKey: 'x' });
    const error = await failureOf(astray.chat.completions.create(question));
    expect(error).toBeInstanceOf(OpenAI.NotFoundError);
    expect(error.message).toContain('set the base address of your client to end with /llm/v1');
  });

  test('G-36 G-38 an error of the request within a stream throws with its code', async () => {
    const error = { message: 'prompt is too long', type: 'invalid_request_error' };
    gateway.upstream.answer(() => streamOf(`data: ${JSON.stringify({ error })}\n\n`));
    const stream = await client.chat.completions.create({ ...question, stream: true });
    const reading = (async () => {
      for await (const _ of stream);
    })();
    expect(await failureOf(reading)).toMatchObject({
      code: 'context_length_exceeded',
      type: 'invalid_request_error',
    });
  });

  test('G-38 a stream that breaks throws in it, with the code', async () => {
    gateway.upstream.answer(() => streamOf(chunk('half'), 'data: {"error":{"message":"x"}}\n\n'));
    const stream = await client.chat.completions.create({ ...question, stream: true });
    let text = '';
    const error = await (async () => {
      for await (const part of stream) text += part.choices[0]?.delta.content ?? '';
    })().catch((reason: unknown) => reason);
    expect(text).toBe('half');
    expect(error).toBeInstanceOf(OpenAI.APIError);
    expect(error).toMatchObject({ code: 'LLM_GATEWAY_UNAVAILABLE' });
  });
});
