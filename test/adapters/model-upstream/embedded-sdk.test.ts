/** The official client reads every answer of the embedded models, over a real socket. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { SELF_DESCRIPTION } from '../../../src/adapters/model-upstream/embedded/written-answer.ts';
import type { ModelEndpoint } from '../../../src/ports/model-upstream.ts';
import { readableOf } from '../../doubles/upstream-body.ts';
import { openUpstream, target } from './embedded-caller.ts';

const upstream = openUpstream();
let server: Bun.Server<undefined>;
let client: OpenAI;

beforeAll(() => {
  server = Bun.serve({
    port: 0,
    async fetch(request) {
      const endpoint = new URL(request.url).pathname.replace('/v1/', '') as ModelEndpoint;
      const body = new Uint8Array(await request.arrayBuffer());
      const answer = await upstream.send(target, { endpoint, body, headers: {}, signal: request.signal });
      return new Response(readableOf(answer.body), {
        status: answer.status,
        headers: { 'content-type': answer.contentType },
      });
    },
  });
  client = new OpenAI({ apiKey: 'none', baseURL: `http://localhost:${server.port}/v1`, maxRetries: 0 });
});

afterAll(async () => {
  await server.stop(true);
  await upstream.close();
});

const model = 'any';
describe('the official client', () => {
  test('G-17: chat', async () => {
    const completion = await client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'Say pong' }],
    });
    expect(completion.choices[0]?.message.content).toBe(`${SELF_DESCRIPTION} pong`);
    expect(completion.usage?.total_tokens).toBeGreaterThan(0);
  });

  test('G-1: a stream, read to its end and accumulated by the client', async () => {
    const stream = client.chat.completions.stream({
      model,
      messages: [{ role: 'user', content: 'Say pong' }],
      stream_options: { include_usage: true },
    });
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.message.content).toBe(`${SELF_DESCRIPTION} pong`);
    expect(final.usage?.completion_tokens).toBeGreaterThan(0);
  });

  test('G-1: a tool is run and its result reported, streamed or not', async () => {
    const given: string[] = [];
    const parameters = {
      type: 'object' as const,
      properties: { city: { type: 'string' as const } },
      required: ['city'],
    };
    const run = (args: string) => {
      given.push(args);
      return 'sunny';
    };
    const weather = { name: 'get_weather', description: 'The weather of a place', parameters, function: run };
    const tools = [{ type: 'function' as const, function: weather }];
    const asked = { model, messages: [{ role: 'user' as const, content: 'weather in Paris?' }], tools };
    const whole = client.chat.completions.runTools(asked);
    expect(await whole.finalContent()).toBe(`${SELF_DESCRIPTION} get_weather answered: sunny`);
    const streamed = client.chat.completions.runTools({ ...asked, stream: true });
    expect(await streamed.finalContent()).toBe(`${SELF_DESCRIPTION} get_weather answered: sunny`);
    expect(given).toEqual(['{"city":"Paris"}', '{"city":"Paris"}']);
  });

  test('G-1: a JSON schema, parsed by the client', async () => {
    const schema = {
      type: 'object',
      properties: { email: { type: 'string' } },
      required: ['email'],
      additionalProperties: false,
    };
    const parsed = await client.chat.completions.parse({
      model,
      messages: [{ role: 'user', content: 'Write to jane@doe.org' }],
      response_format: { type: 'json_schema', json_schema: { name: 'contact', strict: true, schema } },
    });
    expect(parsed.choices[0]?.message.parsed as unknown).toEqual({ email: 'jane@doe.org' });
  });

  test('G-2: legacy completions, whole and streamed', async () => {
    const asked = { model, prompt: 'Say pong', max_tokens: 50 };
    const whole = await client.completions.create(asked);
    const pieces: string[] = [];
    for await (const { choices } of await client.completions.create({ ...asked, stream: true })) {
      pieces.push(choices[0]?.text ?? '');
    }
    expect(pieces.join('')).toBe(whole.choices[0]?.text ?? '');
  });

  test('G-3: embeddings, which it asks for in base64 and reads as numbers', async () => {
    const { data, usage } = await client.embeddings.create({ model, input: ['one text', 'another'] });
    expect(data.map(({ embedding }) => embedding.length)).toEqual([384, 384]);
    const [first] = data;
    expect(Math.hypot(...(first?.embedding ?? []))).toBeCloseTo(1, 5);
    expect(usage.prompt_tokens).toBe(3);
  });

  test('G-1: a refusal is the client’s BadRequestError, with its param', async () => {
    const refused = client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'x' }],
      n: 99,
    });
    const error = await refused.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error', param: 'n' });
  });
});
