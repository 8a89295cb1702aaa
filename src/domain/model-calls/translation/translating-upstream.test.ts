import { describe, expect, test } from 'bun:test';
import type {
  BodyRead,
  ModelUpstream,
  UpstreamBody,
  UpstreamCall,
  UpstreamTarget,
} from '../../../ports/model-upstream.ts';
import { wireOf } from '../../models/providers.ts';
import { composedTranslator } from './composed-translator.ts';
import { translationPairs } from './pairs.ts';
import { createTranslatingUpstream, type TranslationPair } from './translating-upstream.ts';
import type { Translator } from './translator.ts';

/** Marks each step, so that a test sees which translators took part and in which order. */
function marking(mark: string): Translator {
  return {
    translateRequest(body, to) {
      const text = new TextDecoder().decode(body);
      if (text.includes('impossible')) {
        return { outcome: 'refused', message: `${mark} cannot say that`, param: 'input' };
      }
      return {
        outcome: 'translated',
        body: new TextEncoder().encode(
          `${text}>${mark} ${to.model} ${to.maxTokensName} ${to.defaultMaxTokens}`,
        ),
        answer: {
          whole(bytes) {
            const answer = new TextDecoder().decode(bytes);
            return answer === 'nonsense' ? null : new TextEncoder().encode(`${answer}<${mark}`);
          },
          stream: () => ({
            event(name, data) {
              if (data === 'error' || name === 'error') return 'failed';
              return data === 'silence' ? '' : `data: ${name ?? '-'}:${data}<${mark}\n\n`;
            },
            isDone: () => false,
            end: () => `data: end<${mark}\n\n`,
          }),
        },
      };
    },
  };
}

const ENCODER = new TextEncoder();

type Read = string | null | 'broken' | 'idle';

function bodyOfReads(reads: Read[], isLater: boolean): UpstreamBody {
  const left = reads.map((read): BodyRead => {
    return read === null || read === 'broken' || read === 'idle' ? read : ENCODER.encode(read);
  });
  return {
    read() {
      const next = left.length === 0 ? null : (left.shift() as BodyRead);
      return isLater ? Promise.resolve(next) : next;
    },
    cancel: () => void left.splice(0, left.length, 'broken'),
  };
}

interface Answered {
  readonly status?: number;
  readonly contentType?: string;
  readonly reads: Read[];
  readonly isLater?: boolean;
}

const MARKING_PAIRS: readonly TranslationPair[] = [
  { from: 'responses', to: 'chat/completions', translator: marking('chat') },
  { from: 'messages', to: 'chat/completions', translator: marking('chat') },
  {
    from: 'responses',
    to: 'messages',
    translator: composedTranslator(marking('chat'), marking('messages')),
  },
];

function translating(
  { status = 200, contentType = 'application/json', reads, isLater = false }: Answered,
  pairs: readonly TranslationPair[] = MARKING_PAIRS,
  uptimeMs = () => 0,
) {
  const sent: { endpoint: string; body: string }[] = [];
  const upstream: ModelUpstream = {
    async send(_target, { endpoint, body }) {
      sent.push({ endpoint, body: new TextDecoder().decode(body) });
      return { status, contentType, body: bodyOfReads(reads, isLater) };
    },
  };
  const secrets = { newId: () => 'id' };
  const clock = { now: () => 0, uptimeMs };
  return { sent, upstream: createTranslatingUpstream({ upstream, pairs, secrets, clock }) };
}

const TARGET = { id: '1', baseUrl: 'https://one.example/v1', model: 'one', apiKey: null };
function targetOf(provider: string): UpstreamTarget {
  const wire = wireOf({ ...TARGET, provider, responses: null, apiVersion: null, headers: {} }, 1_000);
  return wire === null ? TARGET : { ...TARGET, wire };
}

function callOf(text: string, endpoint: UpstreamCall['endpoint'] = 'responses'): UpstreamCall {
  const signal = { aborted: false, addEventListener() {}, removeEventListener() {} };
  return { endpoint, body: ENCODER.encode(text), headers: {}, signal };
}

async function readAll(body: UpstreamBody): Promise<string> {
  let text = '';
  for (;;) {
    const read = await body.read(1_000);
    if (read === null) return text;
    if (typeof read === 'string') return `${text}[${read}]`;
    text += new TextDecoder().decode(read);
  }
}

describe('calls of one wire to targets of another', () => {
  test('a target with the endpoint gets the call unchanged, and its answer is returned unchanged', async () => {
    const { sent, upstream } = translating({ reads: ['answer', null] });
    for (const target of [TARGET, targetOf('openai'), targetOf('azure')]) {
      const { body } = await upstream.send(target, callOf('body'));
      expect(await readAll(body)).toStartWith('answer');
    }
    expect(sent.map(({ endpoint, body }) => `${endpoint} ${body}`)).toEqual(Array(3).fill('responses body'));
  });

  test('a compatible server and the embedded models get a chat completion, Anthropic two translations', async () => {
    const { sent, upstream } = translating({ reads: ['answer', null] });
    await upstream.send(targetOf('vllm'), callOf('body'));
    await upstream.send({ ...TARGET, baseUrl: null }, callOf('body'));
    await upstream.send(targetOf('groq'), callOf('body'));
    const { body } = await upstream.send(targetOf('anthropic'), callOf('body'));
    expect(sent).toEqual([
      { endpoint: 'chat/completions', body: 'body>chat one max_tokens 1000' },
      { endpoint: 'chat/completions', body: 'body>chat one max_tokens 16384' },
      { endpoint: 'chat/completions', body: 'body>chat one max_completion_tokens 1000' },
      {
        endpoint: 'messages',
        body: 'body>chat one max_tokens 1000>messages one max_tokens 1000',
      },
    ]);
    expect(await readAll(body)).toStartWith('answer<messages<chat');
  });

  test('a request that the target’s wire cannot express is a 400, and no provider is called', async () => {
    const { sent, upstream } = translating({ reads: [null] });
    const refused = await upstream.send(targetOf('vllm'), callOf('impossible'));
    expect(refused.status).toBe(400);
    expect(JSON.parse(await readAll(refused.body))).toEqual({
      error: { message: 'chat cannot say that', type: 'invalid_request_error', param: 'input', code: null },
    });
    const unspoken = await upstream.send(targetOf('anthropic'), callOf('body', 'embeddings'));
    expect(unspoken.status).toBe(400);
    expect(await readAll(unspoken.body)).toContain('does not serve /embeddings');
    expect(sent).toEqual([]);
  });

  const COUNTED = { model: 'one', messages: [{ role: 'user', content: 'Hi' }] };
  const vllm = wireOf({ ...TARGET, provider: 'vllm', responses: true, apiVersion: null, headers: {} }, 1);

  test.each([
    ['messages/count_tokens', COUNTED, 'anthropic', [targetOf('vllm')], /^\{"input_tokens":\d+\}$/],
    [
      'responses/input_tokens',
      { model: 'one', input: 'Hi', personality: 'friendly' },
      'openai',
      [targetOf('vllm'), targetOf('anthropic'), { ...TARGET, ...(vllm && { wire: vllm }) }],
      /^\{"object":"response.input_tokens","input_tokens":\d+\}$/,
    ],
  ] as const)(
    'tokens are counted by a target that can, and estimated for every other: %s',
    async (endpoint, request, provider, others, expected) => {
      const pairs = translationPairs({ storesResponses: false });
      const { sent, upstream } = translating({ reads: ['{"input_tokens":7}', null] }, pairs);
      const asked = JSON.stringify(request);
      const counted = await upstream.send(targetOf(provider), callOf(asked, endpoint));
      expect(await readAll(counted.body)).toBe('{"input_tokens":7}');
      expect(sent).toEqual([{ endpoint, body: asked }]);
      for (const target of others) {
        const { status, isOurs, body } = await upstream.send(target, callOf(asked, endpoint));
        expect([status, isOurs, await readAll(body)]).toEqual([200, true, expect.stringMatching(expected)]);
      }
      const refused = await upstream.send(targetOf('vllm'), callOf('{"model":"one"}', endpoint));
      expect([refused.status, refused.isOurs]).toEqual([400, true]);
      expect(sent).toHaveLength(1);
    },
  );

  test('what counts or compacts and is not there is no failure of the target: estimated, or a 400', async () => {
    const pairs = translationPairs({ storesResponses: false });
    const asked = { model: 'one', input: 'Hi', messages: [{ role: 'user', content: 'Hi' }] };
    const send = async (provider: string, endpoint: UpstreamCall['endpoint'], left: 'input' | 'messages') => {
      const { upstream } = translating({ status: 404, reads: ['no such route', null] }, pairs);
      const body = JSON.stringify({ ...asked, [left]: undefined });
      const answer = await upstream.send(targetOf(provider), callOf(body, endpoint));
      return [answer.status, await readAll(answer.body)];
    };
    const estimated = [200, expect.stringContaining('"input_tokens":')];
    expect(await send('openai', 'responses/input_tokens', 'messages')).toEqual(estimated);
    expect(await send('anthropic', 'messages/count_tokens', 'input')).toEqual(estimated);
    for (const provider of ['openai', 'compatible', 'anthropic']) {
      expect(await send(provider, 'responses/compact', 'messages')).toEqual([
        400,
        expect.stringContaining('does not serve /responses/compact'),
      ]);
    }
    expect(await send('openai', 'responses', 'messages')).toEqual([404, 'no such route']);
  });

  test('errors of the provider are returned unchanged; an invalid answer is broken', async () => {
    const failing = translating({ status: 429, reads: ['{"error":1}', null] });
    const { status, body } = await failing.upstream.send(targetOf('vllm'), callOf('body'));
    expect([status, await readAll(body)]).toEqual([429, '{"error":1}']);
    const odd = translating({ reads: ['nonsense', null] });
    expect(await readAll((await odd.upstream.send(targetOf('vllm'), callOf('body'))).body)).toBe('[broken]');
    const cut = translating({ reads: ['ans', 'broken'] });
    expect(await readAll((await cut.upstream.send(targetOf('vllm'), callOf('body'))).body)).toBe('[broken]');
  });

  test('a stream is translated event by event, cut anywhere, with its bytes buffered or arriving later', async () => {
    const stream = 'event: a\r\ndata: 1\r\n\r\n: comment\n\ndata: silence\n\ndata: é\ndata: 2\n\n';
    const expected = 'data: a:1<chat\n\ndata: -:é\n2<chat\n\ndata: end<chat\n\n';
    for (let at = 0; at <= stream.length; at += 1) {
      const reads = [stream.slice(0, at), stream.slice(at)].filter((piece) => piece !== '');
      for (const isLater of [true, false]) {
        const { upstream } = translating({
          reads: [...reads, null],
          isLater,
          contentType: 'text/event-stream',
        });
        const { body } = await upstream.send(targetOf('vllm'), callOf('body'));
        expect(await readAll(body)).toBe(expected);
      }
    }
  });

  test('a stream without a media type or with a wrong one is a stream, and a whole answer is none', async () => {
    const read = async (contentType: string, ...reads: string[]) => {
      const { upstream } = translating({ contentType, reads: [...reads, null] });
      return await readAll((await upstream.send(targetOf('vllm'), callOf('body'))).body);
    };
    expect(await read('', '\r\n', 'da', 'ta: 1\n\n')).toBe('data: -:1<chat\n\ndata: end<chat\n\n');
    for (const type of ['text/plain', 'application/json']) {
      expect(await read(type, ': ping\n\n')).toBe('data: end<chat\n\n');
    }
    for (const whole of ['{"data":1}', ' data: 1', 'data', 'database: gone', '']) {
      expect(await read('', whole)).toBe(`${whole}<chat`);
      expect(await read('application/json', whole)).toBe(`${whole}<chat`);
    }
  });

  test('an error in a stream ends it after the events before it, through both translators too; its message is passed on', async () => {
    const error = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n';
    for (const provider of ['vllm', 'anthropic']) {
      for (const [event, ending] of [
        ['data: error\n\n', '[broken]'],
        [error, `${error}[broken]`],
      ]) {
        const reads = [`data: 1\n\n${event}data: 2\n\n`, null];
        const { upstream } = translating({ reads, contentType: 'text/event-stream' });
        const said = await readAll((await upstream.send(targetOf(provider), callOf('body'))).body);
        expect(said).toContain('1<');
        expect(said).toEndWith(ending ?? '');
        expect(said).not.toContain('2<');
      }
    }
  });

  const chunk = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const counted = 'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n';
  const chat = [chunk({ content: 'Hi' }, null), chunk({}, 'stop'), counted].join('');
  const messages = [
    { type: 'message_start', message: { usage: { input_tokens: 3 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  ]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
  const stopped = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';
  const asked = { model: 'one', stream: true, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] };
  const responding = { model: 'one', stream: true, input: 'Hi' };

  test.each([
    ['messages', 'vllm', asked, [chat, 'data: [DONE]\n\n'], '{"type":"message_stop"}\n\n'],
    ['responses', 'vllm', responding, [chat, 'data: [DONE]\n\n'], 'event: response.completed\n'],
    ['responses', 'anthropic', responding, [messages, stopped], 'event: response.completed\n'],
    ['chat/completions', 'anthropic', asked, [messages, stopped], 'data: [DONE]\n\n'],
  ] as const)(
    'G-30 after its last event a stream is whole, though the provider keeps its connection or drops it: %s to %s',
    async (endpoint, provider, request, [answer, last], expected) => {
      const pairs = translationPairs({ storesResponses: false });
      const said = async (reads: Read[], isLater: boolean) => {
        const { upstream } = translating({ reads, isLater, contentType: 'text/event-stream' }, pairs);
        const call = callOf(JSON.stringify(request), endpoint);
        return await readAll((await upstream.send(targetOf(provider), call)).body);
      };
      for (const isLater of [true, false]) {
        const whole = await said([answer, last, null], isLater);
        expect(whole).toContain(expected);
        for (const how of ['broken', 'idle'] as const) {
          expect(await said([answer, last, how], isLater)).toBe(whole);
          expect(await said([answer, how], isLater)).toEndWith(`[${how}]`);
        }
      }
    },
  );

  test('G-30 pings after the last event do not extend the grace period', async () => {
    const pairs = translationPairs({ storesResponses: false });
    const call = callOf(JSON.stringify(responding));
    let nowMs = 0;
    const uptimeMs = () => {
      nowMs += 400;
      return nowMs;
    };
    const pings = Array<Read>(10).fill(': ping\n\n');
    const reads = [chat, 'data: [DONE]\n\n', ...pings, null];
    const { upstream } = translating({ reads, contentType: 'text/event-stream' }, pairs, uptimeMs);
    const { body } = await upstream.send(targetOf('vllm'), call);
    expect(await readAll(body)).toContain('event: response.completed\n');
    // Begun at 400, over at the third look after that.
    expect(nowMs).toBe(1_600);
  });
});
