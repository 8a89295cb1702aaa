import { beforeAll, describe, expect, test } from 'bun:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { embedMany, generateText, streamText } from 'ai';
import { openGateway } from '../gateway/gateway-under-test.ts';
import { chatAnswer, chunk, done, streamOf, usageChunk } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

let rawKey: string;
const finish = chunk('', { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });

const gateway = useResource(() => openGateway());
beforeAll(async () => {
  ({ rawKey } = await gateway.mint());
});

function answerEmbeddings(embedding: unknown): void {
  const usage = { prompt_tokens: 1, total_tokens: 1 };
  const data = [{ object: 'embedding', index: 0, embedding }];
  gateway.upstream.answer(() => Response.json({ object: 'list', model: 'x', data, usage }));
}

describe('G-18 the Vercel AI SDK', () => {
  const provider = () => createOpenAICompatible({ name: 'turnpike', baseURL: gateway.url, apiKey: rawKey });

  test('G-18 generates text', async () => {
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    const { text, usage } = await generateText({ model: provider()('svc/chat-default'), prompt: 'Hi' });
    expect([text, usage.totalTokens]).toEqual(['Hello.', 12]);
  });

  test('G-18 streams text', async () => {
    gateway.upstream.answer(() => streamOf(chunk('Hel'), chunk('lo'), finish, usageChunk, done));
    const { textStream } = streamText({ model: provider()('svc/chat-default'), prompt: 'Hi' });
    let text = '';
    for await (const part of textStream) text += part;
    expect(text).toBe('Hello');
  });

  test('G-18 embeds', async () => {
    answerEmbeddings([1, -2]);
    const model = provider().embeddingModel('svc/embed-default');
    expect((await embedMany({ model, values: ['x'] })).embeddings).toEqual([[1, -2]]);
  });
});

describe('G-36 errors of a provider, for clients that depend on them', () => {
  const tooLong = {
    message: 'This model’s maximum context length is 4096 tokens',
    code: 'context_length_exceeded',
  };
  const refusedWith = (error: object) => () => Response.json({ error }, { status: 400 });
  const failureOf = async (work: PromiseLike<unknown>) =>
    (await Promise.resolve(work).catch((error: unknown) => error)) as Record<string, unknown>;

  test('G-36 G-41 the Vercel AI SDK retries a rate limit after its wait, and not a prompt that is too long', async () => {
    const provider = createOpenAICompatible({ name: 'turnpike', baseURL: gateway.url, apiKey: rawKey });
    const ask = () =>
      generateText({ model: provider('svc/chat-default'), prompt: 'Hi', maxRetries: 0 }).then(
        ({ text }) => text,
      );
    const headers = { 'retry-after': '9' };
    gateway.upstream.answer(() => Response.json({}, { status: 429, headers }));
    const limited = await failureOf(ask());
    expect(limited).toMatchObject({ name: 'AI_APICallError', statusCode: 429, isRetryable: true });
    expect(limited.responseHeaders).toMatchObject({ 'retry-after': '9', 'retry-after-ms': '9000' });
    gateway.upstream.answer(refusedWith(tooLong));
    const refused = await failureOf(ask());
    expect(refused).toMatchObject({ statusCode: 400, isRetryable: false, message: tooLong.message });
    expect(refused.data).toMatchObject({ error: { code: 'context_length_exceeded' } });
  });

  test('G-36 LangChain recognises a prompt that is too long by the provider’s message', async () => {
    const configuration = { baseURL: gateway.url };
    const model = new ChatOpenAI({ model: 'svc/chat-default', apiKey: rawKey, configuration, maxRetries: 0 });
    gateway.upstream.answer(refusedWith(tooLong));
    const error = await failureOf(model.invoke('Hi'));
    expect(error.name).toBe('ContextOverflowError');
  });
});

describe('G-13 streams without the usage chunk', () => {
  test('G-13 both clients read them to the end', async () => {
    const { rawKey: apiKey } = await gateway.mint({ streamUsageChunk: 'ASKED' });
    const events = [chunk('Hel'), chunk('lo'), finish, usageChunk, done];
    gateway.upstream.answer(() => streamOf(...events));
    const provider = createOpenAICompatible({ name: 'turnpike', baseURL: gateway.url, apiKey });
    const { textStream } = streamText({ model: provider('svc/chat-default'), prompt: 'Hi' });
    let text = '';
    for await (const part of textStream) text += part;
    expect(text).toBe('Hello');
    const configuration = { baseURL: gateway.url };
    // It requests usage, and gets it.
    const model = new ChatOpenAI({ model: 'svc/chat-default', apiKey, configuration, streamUsage: true });
    gateway.upstream.answer(() => streamOf(...events));
    let tokens = 0;
    for await (const part of await model.stream('Hi')) {
      // The type of a part does not have it; the part does.
      const usage = Reflect.get(part, 'usage_metadata') as { readonly total_tokens: number } | undefined;
      tokens += usage?.total_tokens ?? 0;
    }
    expect(tokens).toBe(12);
  });
});

describe('G-18 LangChain', () => {
  const settings = () => ({ apiKey: rawKey, configuration: { baseURL: gateway.url } });

  test('G-18 chats and streams', async () => {
    const model = new ChatOpenAI({ model: 'svc/chat-default', ...settings() });
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    expect((await model.invoke('Hi')).content).toBe('Hello.');
    gateway.upstream.answer(() => streamOf(chunk('Hel'), chunk('lo'), finish, usageChunk, done));
    let text = '';
    for await (const part of await model.stream('Hi')) text += String(part.content);
    expect(text).toBe('Hello');
  });

  test('G-18 embeds', async () => {
    answerEmbeddings(Buffer.from(new Float32Array([1, -2]).buffer).toString('base64'));
    const embeddings = new OpenAIEmbeddings({ model: 'svc/embed-default', ...settings() });
    expect(await embeddings.embedQuery('x')).toEqual([1, -2]);
  });
});
