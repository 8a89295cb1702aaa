import { describe, expect, test } from 'bun:test';
import { bodyOf } from '../../../test/doubles/upstream-body.ts';
import { readProviderError, withRequestFault } from './provider-error.ts';

const CASES: readonly [string, unknown, object][] = [
  [
    'OpenAI',
    {
      error: {
        message: 'too many',
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    },
    { message: 'too many', param: 'messages', code: 'context_length_exceeded', fault: 'request' },
  ],
  [
    'OpenAI, limited',
    { error: { message: 'Rate limit reached', type: 'tokens', param: null, code: 'rate_limit_exceeded' } },
    { code: 'rate_limit_exceeded', fault: 'rate-limit' },
  ],
  [
    'Azure',
    { error: { message: 'filtered', param: 'prompt', code: 'content_filter', status: 400, innererror: {} } },
    { message: 'filtered', param: 'prompt', code: 'content_filter', fault: 'request' },
  ],
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
    'Gemini, limited',
    [{ error: { code: 429, status: 'RESOURCE_EXHAUSTED' } }],
    { message: null, fault: 'rate-limit' },
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
  ['OpenRouter', { error: { code: 502, message: 'Bad gateway' } }, { code: null, fault: 'provider' }],
];

describe('G-36 what a provider says about a call that it did not serve', () => {
  test.each(CASES)('G-36 %s', (_, body, expected) => {
    expect(readProviderError(JSON.stringify(body))).toMatchObject(expected);
  });

  test.each([
    ['HTML', '<html><h1>413 Request Entity Too Large</h1></html>'],
    ['nothing', ''],
    ['half of it', '{"error":{"mess'],
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

describe('G-36 A-14 a 5xx', () => {
  const answer = (body: string | ReadableStream) => {
    const response = new Response(body);
    return { status: 500, contentType: 'application/json', retryAfterMs: 5, body: bodyOf(response) };
  };
  const textIn = async (body: ReturnType<typeof answer>['body']) => {
    const bytes = await body.read(1_000);
    expect(await body.read(1_000)).toBeNull();
    return new TextDecoder().decode(bytes as Uint8Array);
  };

  test.each(['context_length_exceeded', 'content_filter'])(
    'that is about the request is a 400: %s',
    async (code) => {
      const text = JSON.stringify({ error: { message: 'no', code } });
      const found = await withRequestFault(answer(text));
      expect([found.status, await textIn(found.body)]).toEqual([400, text]);
    },
  );

  test.each([
    ['another code', JSON.stringify({ error: { code: 'server_error', type: 'invalid_request_error' } })],
    ['HTML', '<html>'],
    ['a long body', `{"error":{"code":"content_filter"}}${' '.repeat(100_000)}`],
    [
      'a body that breaks off',
      new ReadableStream({ pull: (controller) => controller.error(new Error('cut')) }),
    ],
  ])('stays one with %s', async (_, body) => {
    expect((await withRequestFault(answer(body))).status).toBe(500);
  });
});
