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
