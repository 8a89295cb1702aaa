import { afterAll, describe, expect, test } from 'bun:test';
import { countTokens, encode } from 'gpt-tokenizer/encoding/o200k_base';
import type OpenAI from 'openai';
import { createEmbeddedUpstream } from '../../../src/adapters/model-upstream/embedded.ts';
import { createManualClock } from '../../doubles/manual-clock.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { bodyText, callOf, openUpstream, target } from './embedded-caller.ts';

const upstream = openUpstream();
afterAll(() => upstream.close());

const send = (body: unknown) => upstream.send(target, callOf('embeddings', body));

async function embed(input: unknown, more: Record<string, unknown> = {}) {
  const answer = await send({ model: 'x', input, ...more });
  expect([answer.status, answer.contentType]).toEqual([200, 'application/json']);
  return JSON.parse(await bodyText(answer)) as OpenAI.CreateEmbeddingResponse;
}

async function vectors(input: unknown, more: Record<string, unknown> = {}): Promise<number[][]> {
  return (await embed(input, more)).data.map(({ embedding }) => embedding);
}

const dot = (a: number[] = [], b: number[] = []) => a.reduce((sum, part, at) => sum + part * (b[at] ?? 0), 0);
const password = 'How do I reset my password?';
const login = 'I forgot my login credentials';
const banana = 'Bananas are yellow and sweet';

describe('embeddings', () => {
  test('G-3: OpenAI’s shape, 384 numbers of unit length, true counts', async () => {
    const { data, ...answer }: { data: OpenAI.Embedding[] } & Record<string, unknown> = {
      ...(await embed([password, login])),
    };
    const tokens = countTokens(password) + countTokens(login);
    expect(answer).toEqual({
      object: 'list',
      model: target.model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
      system_fingerprint: 'bge-small-en-v1.5-int8-1',
    });
    expect(data.map(({ object, index }) => [object, index])).toEqual([
      ['embedding', 0],
      ['embedding', 1],
    ]);
    for (const { embedding } of data) {
      expect(embedding).toHaveLength(384);
      expect(dot(embedding, embedding)).toBeCloseTo(1, 5);
    }
  });

  test('G-3: texts with a similar meaning have similar vectors', async () => {
    const [one, like, unlike] = await vectors([password, login, banana]);
    // The figures of the network's own runtime for Python.
    expect(dot(one, like)).toBeCloseTo(0.821, 2);
    expect(dot(one, unlike)).toBeCloseTo(0.324, 2);
  });

  test('G-3: a text has one vector, alone or among others, as a string or as tokens', async () => {
    const [alone] = await vectors(password);
    const among = await vectors([banana.repeat(10), password, 'x', password]);
    expect(among[1]).toEqual(alone ?? []);
    expect(among[3]).toEqual(alone ?? []);
    expect(await vectors(encode(password))).toEqual([alone ?? []]);
    const counted = await embed([encode(banana), encode(password)]);
    expect(counted.data[1]?.embedding).toEqual(alone ?? []);
    expect(counted.usage.prompt_tokens).toBe(countTokens(banana) + countTokens(password));
  });

  // The model leaves an empty input out, and every vector after it moves up by one.
  test('G-3: blank texts among others do not shift the results', async () => {
    const [first, last] = await vectors([password, banana]);
    const mixed = await vectors([password, ' \n\t', '\u3000', banana]);
    expect(mixed).toHaveLength(4);
    expect([mixed[0], mixed[3]]).toEqual([first, last]);
    expect(dot(mixed[1], mixed[1])).toBeCloseTo(1, 5);
  });

  test('G-3: base64 is little-endian float32 with the same values', async () => {
    const [floats] = await vectors(password, { encoding_format: 'float' });
    const { data } = await embed(password, { encoding_format: 'base64' });
    const bytes = Uint8Array.fromBase64(data[0]?.embedding as unknown as string);
    const view = new DataView(bytes.buffer);
    expect(bytes).toHaveLength(1_536);
    expect(Array.from({ length: 384 }, (_, at) => view.getFloat32(4 * at, true))).toEqual(floats ?? []);
  });

  test('G-3: fewer dimensions are the first ones at unit length', async () => {
    const [whole = []] = await vectors(password);
    const [short = []] = await vectors(password, { dimensions: 64 });
    expect(short).toHaveLength(64);
    expect(dot(short, short)).toBeCloseTo(1, 5);
    const length = Math.sqrt(dot(whole.slice(0, 64), whole.slice(0, 64)));
    expect(short[5] ?? 0).toBeCloseTo((whole[5] ?? 0) / length, 6);
    expect(await vectors(password, { dimensions: 384 })).toEqual([whole]);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['no input', {}, 'input'],
    ['an empty string among others', { input: ['a', ''] }, 'input'],
    ['a number that is no token', { input: [999_999] }, 'input'],
    ['an input that is too long', { input: 'word '.repeat(8_200) }, 'input'],
    ['too many tokens together', { input: Array.from({ length: 40 }, () => 'word '.repeat(8_000)) }, 'input'],
    ['an unknown encoding', { input: 'a', encoding_format: 'hex' }, 'encoding_format'],
  ])('G-3: %s is a 400', async (_, body, param) => {
    const answer = await send(body);
    expect(answer.status).toBe(400);
    const { error } = JSON.parse(await bodyText(answer));
    expect(error).toEqual({
      message: expect.any(String),
      type: 'invalid_request_error',
      param,
      code: null,
    });
  });
});

test('G-3: where the network fails the answer is a 503, so that the next target is tried', async () => {
  const embed = async () => ({ outcome: 'failed' as const });
  const encoder = { dimensions: 384, version: 'x', embed, close: async () => {} };
  const failing = createEmbeddedUpstream({ clock: createManualClock(), log: createSilentLog(), encoder });
  const answer = await failing.send(target, callOf('embeddings', { input: password }));
  expect(answer.status).toBe(503);
  expect(JSON.parse(await bodyText(answer)).error.type).toBe('server_error');
});
