import { beforeAll, describe, expect, test } from 'bun:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import { Agent, tool as agentTool, OpenAIProvider, Runner } from '@openai/agents';
import { generateText, isStepCount, type ModelMessage, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { z } from 'zod';
import { openGateway } from '../gateway/gateway-under-test.ts';
import { useResource } from '../setup/use-resource.ts';
import { answerWeather, RESULT, SAID, THOUGHT } from './weather-model.ts';

/** By the wire of the alias's provider. */
const ALIASES = [
  { wire: 'OpenAI', model: 'svc/chat-default', provider: 'openai' },
  { wire: 'chat completions alone', model: 'svc/chat-cheap', provider: 'compatible' },
  { wire: 'Anthropic', model: 'svc/extract-default', provider: 'anthropic' },
] as const;

const gateway = useResource(() => openGateway());
let rawKey: string;
beforeAll(async () => {
  for (const { model, provider } of ALIASES)
    await gateway.aimAtProvider(model, { provider }, gateway.upstream);
  ({ rawKey } = await gateway.mint());
  gateway.upstream.answer(answerWeather);
});

/** Which of its wires the provider was called with, since the last time. */
function called(): readonly string[] {
  return gateway.upstream.received.splice(0).map(({ path }) => path.replace('/v1/', ''));
}

const QUESTION = 'What is the weather in Oslo?';
const city = z.object({ city: z.string() });
const schema = {
  ...{ type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
  additionalProperties: false,
};
const ENDPOINTS = { openai: 'responses', compatible: 'chat/completions', anthropic: 'messages' } as const;
const CHAT_ENDPOINTS = { ...ENDPOINTS, openai: 'chat/completions' } as const;

describe.each(ALIASES)('to a provider that speaks $wire', ({ model, provider }) => {
  describe('@anthropic-ai/sdk', () => {
    const client = () =>
      new Anthropic({ baseURL: gateway.url.replace('/v1', ''), apiKey: rawKey, maxRetries: 0 });
    const asked = { model, max_tokens: 2_000, messages: [{ role: 'user' as const, content: QUESTION }] };
    const tools = [{ name: 'weather', description: 'The weather.', input_schema: schema }];
    const endpoint = CHAT_ENDPOINTS[provider];

    test('a complete message, with usage', async () => {
      const thinking = { type: 'enabled' as const, budget_tokens: 1_024 };
      const message = await client().messages.create({ ...asked, thinking });
      expect(message.content).toMatchObject([{ thinking: THOUGHT }, { text: SAID }]);
      expect([message.model, message.stop_reason, message.role]).toEqual([model, 'end_turn', 'assistant']);
      const { input_tokens, cache_read_input_tokens, output_tokens } = message.usage;
      expect([Number(input_tokens) > 0, cache_read_input_tokens, output_tokens]).toEqual([true, 8, 5]);
      expect(message._request_id).toStartWith('req_');
      expect(called()).toEqual([endpoint]);
    });

    test.each([false, true])('its tool runner continues without a thread, streamed: %p', async (stream) => {
      const run = () => Promise.resolve(RESULT);
      const runnable = { ...tools[0], type: 'custom' as const, name: 'weather', input_schema: schema };
      const runner = client().beta.messages.toolRunner({
        ...{ ...asked, stream },
        tools: [{ ...runnable, run, parse: (input: unknown) => input }],
      });
      const message = await runner.runUntilDone();
      expect(message.content.at(-1)).toMatchObject({ type: 'text', text: SAID });
      expect(called()).toEqual([endpoint, endpoint]);
    });

    test('a stream, with thinking and usage', async () => {
      const stream = client().messages.stream({ ...asked, thinking: { type: 'adaptive' } });
      let streamed = '';
      stream.on('text', (delta) => {
        streamed += delta;
      });
      const message = await stream.finalMessage();
      expect(streamed).toBe(SAID);
      expect(message.content).toMatchObject([{ thinking: THOUGHT }, { type: 'text', text: SAID }]);
      expect([message.model, message.stop_reason, message.usage.output_tokens]).toEqual([
        model,
        'end_turn',
        5,
      ]);
      expect(called()).toEqual([endpoint]);
    });

    test('lists the models in pages, and shows one', async () => {
      const ids = [];
      for await (const { id, type } of client().models.list({ limit: 4 })) ids.push([type, id]);
      expect(ids).toHaveLength(6);
      expect(ids).toContainEqual(['model', model]);
      expect(await client().models.retrieve(model)).toMatchObject({ id: model, lifecycle: 'active' });
    });

    test('its errors have its own classes, with our code', async () => {
      const failing = (work: Promise<unknown>) => work.then(() => null).catch((error: unknown) => error);
      const stranger = new Anthropic({ baseURL: gateway.url.replace('/v1', ''), apiKey: 'nonsense' });
      const unknown = await failing(stranger.messages.create(asked));
      expect(unknown).toBeInstanceOf(Anthropic.AuthenticationError);
      expect(unknown).toMatchObject({ error: { type: 'error', error: { type: 'authentication_error' } } });
      const denied = await failing(client().messages.create({ ...asked, model: 'svc/none' }));
      expect(denied).toBeInstanceOf(Anthropic.NotFoundError);
      expect(denied).toMatchObject({
        error: { error: { type: 'not_found_error', code: 'LLM_MODEL_NOT_ALLOWED' } },
      });
      // Claude Code tries again for minutes where this is missing.
      for (const error of [unknown, denied]) {
        const { headers } = error as InstanceType<typeof Anthropic.APIError>;
        expect(headers?.get('x-should-retry')).toBe('false');
      }
    });
  });

  describe('ai with @ai-sdk/anthropic', () => {
    const chosen = () => createAnthropic({ baseURL: gateway.url, apiKey: rawKey })(model);
    const endpoint = CHAT_ENDPOINTS[provider];

    test('generates and streams, tools included', () => runsTools(chosen, [endpoint, endpoint]));
  });

  describe('ai with @ai-sdk/openai', () => {
    const made = () => createOpenAI({ baseURL: gateway.url, apiKey: rawKey });
    const responses = ENDPOINTS[provider];
    const chat = CHAT_ENDPOINTS[provider];

    test('its default, responses: generates and streams, tools included', () =>
      runsTools(() => made()(model), [responses, responses]));
    test('chat: generates and streams, tools included', () =>
      runsTools(() => made().chat(model), [chat, chat]));

    test('its default, responses: goes on over several turns, by references to items', async () => {
      const weather = tool({ description: 'The weather.', inputSchema: city, execute: async () => RESULT });
      const messages: ModelMessage[] = [];
      for (const _turn of [1, 2, 3]) {
        messages.push({ role: 'user', content: QUESTION });
        const settings = { model: made()(model), tools: { weather }, stopWhen: isStepCount(3) };
        const { text, responseMessages } = await generateText({
          ...settings,
          messages,
          maxOutputTokens: 500,
        });
        messages.push(...responseMessages);
        expect(text).toBe(SAID);
      }
      expect(called().every((endpoint) => endpoint === responses)).toBe(true);
      const sent = JSON.stringify(messages);
      expect(sent).toContain('itemId');
    });
  });

  async function runsTools(
    chosen: () => Parameters<typeof generateText>[0]['model'],
    endpoints: readonly string[],
  ) {
    const cities: string[] = [];
    const weather = tool({
      description: 'The weather.',
      inputSchema: city,
      execute: async ({ city }) => {
        cities.push(city);
        return RESULT;
      },
    });
    const settings = { tools: { weather }, stopWhen: isStepCount(3), prompt: QUESTION, maxOutputTokens: 500 };
    const whole = await generateText({ model: chosen(), ...settings });
    expect([whole.text, cities, called()]).toEqual([SAID, ['Oslo'], endpoints]);
    // Of both steps.
    expect(whole.usage.outputTokens).toBe(10);
    const streamed = streamText({ model: chosen(), ...settings });
    let text = '';
    for await (const part of streamed.textStream) text += part;
    expect([text, cities, called()]).toEqual([SAID, ['Oslo', 'Oslo'], endpoints]);
    expect((await streamed.usage).inputTokens).toBe(40);
  }

  describe('openai, responses', () => {
    const client = () => new OpenAI({ baseURL: gateway.url, apiKey: rawKey, maxRetries: 0 });
    const endpoint = ENDPOINTS[provider];

    test('a complete response, and a stream', async () => {
      const response = await client().responses.create({ model, input: QUESTION, store: false });
      expect([response.output_text, response.model, response.status]).toEqual([SAID, model, 'completed']);
      expect(response.usage).toMatchObject({ input_tokens: 20, output_tokens: 5 });
      const stream = client().responses.stream({ model, input: QUESTION, store: false });
      let text = '';
      let next = 0;
      for await (const event of stream) {
        expect(event.sequence_number).toBe(next);
        next += 1;
        if (event.type === 'response.output_text.delta') text += event.delta;
      }
      expect([text, (await stream.finalResponse()).output_text]).toEqual([SAID, SAID]);
      expect(called()).toEqual([endpoint, endpoint]);
    });
  });

  describe('@openai/agents', () => {
    test('runs an agent with a tool, complete and streamed', async () => {
      const cities: string[] = [];
      const weather = agentTool({
        ...{ name: 'weather', description: 'The weather.', parameters: city },
        execute: async ({ city }) => {
          cities.push(city);
          return RESULT;
        },
      });
      const modelProvider = new OpenAIProvider({ baseURL: gateway.url, apiKey: rawKey });
      const runner = new Runner({ modelProvider, tracingDisabled: true });
      const agent = new Agent({ name: 'Forecaster', instructions: 'Be brief.', model, tools: [weather] });
      const whole = await runner.run(agent, QUESTION);
      expect([whole.finalOutput, cities]).toEqual([SAID, ['Oslo']]);
      const streamed = await runner.run(agent, QUESTION, { stream: true });
      let text = '';
      for await (const part of streamed.toTextStream()) text += part;
      await streamed.completed;
      expect([text, cities]).toEqual([SAID, ['Oslo', 'Oslo']]);
      expect(called()).toEqual(Array(4).fill(ENDPOINTS[provider]));
    });
  });
});

test('a client of chat completions reaches Anthropic with only the name of the model changed', async () => {
  const client = new OpenAI({ baseURL: gateway.url, apiKey: rawKey });
  const messages = [{ role: 'user' as const, content: QUESTION }];
  const model = 'svc/extract-default';
  const whole = await client.chat.completions.create({ model, messages });
  expect(whole.choices[0]).toMatchObject({ message: { content: SAID, reasoning_content: THOUGHT } });
  expect(whole.usage).toMatchObject({ prompt_tokens: 20, prompt_tokens_details: { cached_tokens: 8 } });
  const runner = client.chat.completions.stream({ model, messages });
  expect(await runner.finalContent()).toBe(SAID);
  const [sent] = gateway.upstream.received;
  expect(sent?.headers).toMatchObject({ 'x-api-key': 'sk-provider', 'anthropic-version': '2023-06-01' });
  expect(called()).toEqual(['messages', 'messages']);
});

test('counting tokens is answered for every alias, and calls no provider that cannot', async () => {
  const client = new Anthropic({ baseURL: gateway.url.replace('/v1', ''), apiKey: rawKey });
  const messages = [{ role: 'user' as const, content: QUESTION }];
  const { input_tokens: tokens } = await client.messages.countTokens({ model: 'svc/chat-default', messages });
  expect([tokens > 5 && tokens < 40, called()]).toEqual([true, []]);
});
