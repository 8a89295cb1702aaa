import { afterAll, describe, expect, test } from 'bun:test';
import { countTokens, encode } from 'gpt-tokenizer/encoding/o200k_base';
import type OpenAI from 'openai';
import { createEmbeddedUpstream } from '../../../src/adapters/model-upstream/embedded.ts';
import { createTextVectors } from '../../../src/adapters/networks/text-vectors.ts';
import { createManualClock } from '../../doubles/manual-clock.ts';
import { createRecordingLog } from '../../doubles/recording-log.ts';
import { until } from '../../doubles/until.ts';
import { bodyText, callOf, openUpstream, target } from './embedded-caller.ts';

const upstream = openUpstream();
afterAll(() => upstream.close());

const send = (body: unknown, signal?: AbortSignal) =>
  upstream.send(target, callOf('embeddings', body, signal));

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

  test('G-3: the end of a long text counts too', async () => {
    const long = 'The quarterly report is about money in the bank. '.repeat(30);
    const [plain, extended] = await vectors([long, `${long} ${`${banana}. `.repeat(30)}`]);
    const [fruit] = await vectors(banana);
    expect(dot(extended, fruit)).toBeGreaterThan(dot(plain, fruit) + 0.2);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['no input', {}, 'input'],
    ['an empty string', { input: '' }, 'input'],
    ['an empty string among others', { input: ['a', ''] }, 'input'],
    ['an empty array', { input: [] }, 'input'],
    ['an empty array of tokens', { input: [[1], []] }, 'input'],
    ['strings mixed with tokens', { input: ['a', [1]] }, 'input'],
    ['a number that is no token', { input: [999_999] }, 'input'],
    ['an object', { input: { text: 'a' } }, 'input'],
    ['too many inputs', { input: Array.from({ length: 2_049 }, () => 'a') }, 'input'],
    ['an input that is too long', { input: 'word '.repeat(8_200) }, 'input'],
    ['too many tokens together', { input: Array.from({ length: 40 }, () => 'word '.repeat(8_000)) }, 'input'],
    ['too many dimensions', { input: 'a', dimensions: 385 }, 'dimensions'],
    ['no dimension', { input: 'a', dimensions: 0 }, 'dimensions'],
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

  test('G-3: aborting ends a waiting request at once, and others continue', async () => {
    const abort = new AbortController();
    const large = send({ input: Array.from({ length: 200 }, (_, at) => `${banana} ${at}`) }, abort.signal);
    const small = vectors(password);
    setImmediate(() => abort.abort());
    await expect(large).rejects.toMatchObject({ name: 'UpstreamFailure', reason: 'aborted' });
    expect(await small).toHaveLength(1);
  });
});

describe('the model’s thread', () => {
  test('G-3: a thread that dies fails waiting requests with a 503; the next request starts a new one; close ends it', async () => {
    const threads: Worker[] = [];
    const { log, entries } = createRecordingLog();
    const clock = createManualClock();
    const encoder = createTextVectors({
      clock,
      log,
      startThread: () => {
        const url = new URL('../../../src/adapters/networks/encoder-thread.ts', import.meta.url);
        const thread = new Worker(url.href);
        threads.push(thread);
        return thread;
      },
    });
    const own = createEmbeddedUpstream({ clock, log, encoder });
    const ask = () => own.send(target, callOf('embeddings', { input: password }));

    const doomed = ask();
    await until(() => threads.length === 1);
    threads[0]?.terminate();
    const answer = await doomed;
    expect(answer.status).toBe(503);
    expect(JSON.parse(await bodyText(answer)).error.type).toBe('server_error');
    expect(entries.map(({ level }) => level)).toEqual(['error']);

    expect((await ask()).status).toBe(200);
    expect(threads).toHaveLength(2);
    const ended = Promise.withResolvers<void>();
    threads[1]?.addEventListener('close', () => ended.resolve());
    await own.close();
    await ended.promise;
    expect((await ask()).status).toBe(503);
    expect(threads).toHaveLength(2);
  });
});
