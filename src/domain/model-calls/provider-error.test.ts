import { describe, expect, test } from 'bun:test';
import { drippingBody } from '../../../test/doubles/dripping-body.ts';
import { stoppedClock } from '../../../test/doubles/stopped-clock.ts';
import { bodyOf } from '../../../test/doubles/upstream-body.ts';
import { readProviderError, withMeantStatus } from './provider-error.ts';

const CASES: readonly [string, unknown, object][] = [
  [
    'OpenAI',
    { error: { message: 'too many', param: 'messages', code: 'context_length_exceeded' } },
    { message: 'too many', param: 'messages', code: 'context_length_exceeded', fault: 'request' },
  ],
  [
    'OpenAI, limited',
    { error: { message: 'Rate limit reached', type: 'tokens', param: null, code: 'rate_limit_exceeded' } },
    { code: 'rate_limit_exceeded', fault: 'rate-limit' },
  ],
  ['OpenRouter, no credit', { error: { code: 402, message: 'Insufficient credits' } }, { fault: 'account' }],
  ['Azure, limited', { error: { code: '429', message: 'slow down' } }, { code: null, fault: 'rate-limit' }],
  [
    'Anthropic',
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' },
    },
    { code: 'context_length_exceeded', fault: 'request' },
  ],
  [
    'Anthropic, overloaded',
    { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    { message: 'Overloaded', code: null, fault: 'overloaded' },
  ],
  [
    'Gemini',
    [
      {
        error: {
          code: 400,
          message: 'The input token count (9) exceeds the maximum',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
    { code: 'context_length_exceeded', fault: 'request' },
  ],
  [
    'vLLM',
    {
      object: 'error',
      message: "This model's maximum context length is 4096 tokens.",
      type: 'BadRequestError',
      code: 400,
    },
    { code: 'context_length_exceeded', fault: 'request' },
  ],
  [
    'Ollama',
    { error: 'model "x" not found' },
    { message: 'model "x" not found', code: null, fault: 'provider' },
  ],
  [
    'llama.cpp',
    {
      error: {
        code: 500,
        message: 'the request exceeds the available context size. try increasing it',
        type: 'server_error',
      },
    },
    { code: 'context_length_exceeded', fault: 'request' },
  ],
  [
    'Mistral',
    {
      object: 'error',
      message: { detail: [{ loc: ['body', 'n'], msg: 'Input should be less' }] },
      type: 'invalid_request_error',
    },
    { message: 'Input should be less', fault: 'request' },
  ],
  ['FastAPI', { detail: 'Not allowed' }, { message: 'Not allowed', fault: 'provider' }],
];

describe('G-36 what a provider says about a call that it did not serve', () => {
  test.each(CASES)('G-36 %s', (_, body, expected) => {
    expect(readProviderError(JSON.stringify(body))).toMatchObject(expected);
  });

  test.each([
    ['HTML', '<html><h1>413 Request Entity Too Large</h1></html>'],
    ['a number', '7'],
    ['an empty list', '[]'],
    ['other types', '{"error":{"message":7,"param":[],"code":{},"type":null}}'],
    ['a code that is no word', '{"error":{"code":"<script>alert(1)</script>"}}'],
  ])('G-36 %s says nothing', (_, text) => {
    expect(readProviderError(text)).toEqual({ message: null, param: null, code: null, fault: 'provider' });
  });

  test('a long message is cut', () => {
    const text = JSON.stringify({ error: { message: 'x'.repeat(1_000_000) } });
    expect(readProviderError(text).message).toHaveLength(2_000);
  });
});

const answer = (body: string | ReadableStream, status = 500) => {
  const response = new Response(body);
  return { status, contentType: 'application/json', retryAfterMs: 5, body: bodyOf(response) };
};
const textIn = async (body: ReturnType<typeof answer>['body']) => {
  const bytes = await body.read(1_000);
  expect(await body.read(1_000)).toBeNull();
  return new TextDecoder().decode(bytes as Uint8Array);
};

describe('G-36 A-14 a 5xx', () => {
  test.each(['context_length_exceeded', 'content_filter'])(
    'that is about the request is a 400: %s',
    async (code) => {
      const text = JSON.stringify({ error: { message: 'no', code } });
      const found = await withMeantStatus(answer(text), stoppedClock);
      expect([found.status, await textIn(found.body)]).toEqual([400, text]);
    },
  );

  test.each([
    ['another code', JSON.stringify({ error: { code: 'server_error', type: 'invalid_request_error' } })],
    ['a long body', `{"error":{"code":"content_filter"}}${' '.repeat(100_000)}`],
    [
      'a body that breaks off',
      new ReadableStream({ pull: (controller) => controller.error(new Error('cut')) }),
    ],
  ])('stays one with %s', async (_, body) => {
    expect((await withMeantStatus(answer(body), stoppedClock)).status).toBe(500);
  });

  test('stays one with a body that arrives byte by byte, which is read for two seconds in all', async () => {
    const { body, clock } = drippingBody(500);
    const found = await withMeantStatus({ status: 500, contentType: 'application/json', body }, clock);
    expect([found.status, clock.uptimeMs()]).toEqual([500, 2_000]);
  });
});

describe('G-36 a 400', () => {
  const gemini = (message: string) => [{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }];
  const anthropic = (message: string) => ({
    ...{ type: 'error', error: { type: 'invalid_request_error', message } },
  });

  test.each<[string, unknown, number]>([
    ['Gemini’s wrong key', gemini('API key not valid. Please pass a valid API key.'), 401],
    ['Gemini’s expired key', gemini('API key expired. Please renew the API key.'), 401],
    ['Anthropic’s empty account', anthropic('Your credit balance is too low to access the API.'), 402],
    ['a code of the key', { error: { message: 'no', code: 'invalid_api_key' } }, 401],
    ['the client’s text', anthropic('messages.0: "Your credit balance is too low" is no role'), 400],
    ['no JSON', '<html>', 400],
  ])('with %s means %p', async (_, error, status) => {
    const text = typeof error === 'string' ? error : JSON.stringify(error);
    const found = await withMeantStatus(answer(text, 400), stoppedClock);
    expect([found.status, await textIn(found.body)]).toEqual([status, text]);
  });
});
