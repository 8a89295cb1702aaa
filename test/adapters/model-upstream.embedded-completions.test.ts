import { afterAll, describe, expect, test } from 'bun:test';
import { countTokens, encode } from 'gpt-tokenizer/encoding/o200k_base';
import type OpenAI from 'openai';
import { SELF_DESCRIPTION } from '../../src/adapters/model-upstream/embedded/written-answer.ts';
import { bodyText, callOf, eventsOf, openUpstream, target } from './model-upstream.embedded-caller.ts';

const upstream = openUpstream();
afterAll(() => upstream.close());

const send = (body: unknown) => upstream.send(target, callOf('completions', body));

async function complete(body: Record<string, unknown>): Promise<OpenAI.Completion> {
  const answer = await send({ model: 'x', ...body });
  expect([answer.status, answer.contentType]).toEqual([200, 'application/json']);
  return JSON.parse(await bodyText(answer));
}

const pong = `${SELF_DESCRIPTION} pong`;

describe('legacy completions', () => {
  test('G-2: the legacy shape, with 16 tokens where no bound is given', async () => {
    const { id, ...answer } = await complete({ prompt: 'Say pong' });
    expect(id).toMatch(/^cmpl-[\da-f]{32}$/u);
    const [prompt_tokens, completion_tokens] = [countTokens('Say pong'), countTokens(pong)];
    expect(answer).toEqual({
      object: 'text_completion',
      created: Date.UTC(2030, 0, 1) / 1_000,
      model: target.model,
      choices: [{ text: pong, index: 0, logprobs: null, finish_reason: 'stop' }],
      usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
    } as never);
    const cut = await complete({ prompt: 'Who are you?' });
    expect(cut.choices[0]?.finish_reason).toBe('length');
    expect(countTokens(cut.choices[0]?.text ?? '')).toBe(16);
    expect(cut.usage?.completion_tokens).toBe(16);
  });

  test('G-2: several prompts and choices, as strings or as tokens', async () => {
    const prompts = ['Say pong', 'Say ping'];
    const [strings, tokens] = await Promise.all(
      [prompts, prompts.map((prompt) => encode(prompt))].map((prompt) => complete({ prompt, n: 2 })),
    );
    expect(strings?.choices.map(({ index, text }) => [index, text.slice(-4)])).toEqual([
      [0, 'pong'],
      [1, 'pong'],
      [2, 'ping'],
      [3, 'ping'],
    ]);
    expect(tokens?.choices).toEqual(strings?.choices ?? []);
    expect(tokens?.usage).toEqual(strings?.usage as OpenAI.CompletionUsage);
    expect((await complete({ prompt: encode('Say pong') })).choices[0]?.text).toBe(pong);
  });

  test('G-2: echo begins with the prompt, which is not counted twice; stop and no prompt', async () => {
    const echoed = await complete({ prompt: 'Say pong', echo: true, suffix: 'ignored' });
    expect(echoed.choices[0]?.text).toBe(`Say pong${pong}`);
    expect(echoed.usage?.completion_tokens).toBe(countTokens(pong));
    const only = await complete({ prompt: 'Say pong', echo: true, max_tokens: 0 });
    expect(only.choices[0]).toMatchObject({ text: 'Say pong', finish_reason: 'length' });
    expect((await complete({ prompt: 'Say pong', stop: ['pong'] })).choices[0]?.text).toBe(
      `${SELF_DESCRIPTION} `,
    );
    expect((await complete({})).choices[0]?.text).toStartWith(SELF_DESCRIPTION);
  });

  test('G-2: a stream of chunks of the same shape, with usage last where it is asked for', async () => {
    const body = { prompt: ['Say pong', 'Say ping'], stream: true, echo: true };
    const plain = await eventsOf<OpenAI.Completion>(await send(body));
    expect(plain.every((chunk) => chunk.object === 'text_completion' && !('usage' in chunk))).toBe(true);
    const counted = await eventsOf<OpenAI.Completion>(
      await send({ ...body, stream_options: { include_usage: true } }),
    );
    const last = counted.pop();
    const whole = await complete({ prompt: body.prompt, echo: true });
    expect(last).toMatchObject({ choices: [], usage: whole.usage });
    for (const { index, text } of whole.choices) {
      const ofChoice = counted.flatMap(({ choices }) => choices).filter((choice) => choice.index === index);
      expect(ofChoice.map((choice) => choice.text).join('')).toBe(text);
      expect(ofChoice.map((choice) => choice.finish_reason).filter((reason) => reason !== null)).toEqual([
        'stop',
      ]);
    }
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['a prompt of a wrong kind', { prompt: 7 }, 'prompt'],
    ['an empty array', { prompt: [] }, 'prompt'],
    ['a number that is no token', { prompt: [999_999] }, 'prompt'],
    ['too many prompts', { prompt: Array.from({ length: 2_049 }, () => 'x') }, 'prompt'],
    ['too many answers', { prompt: Array.from({ length: 2_000 }, () => 'x'), n: 2 }, 'n'],
  ])('G-2: %s is a 400', async (_, body, param) => {
    const answer = await send(body);
    expect(answer.status).toBe(400);
    expect(JSON.parse(await bodyText(answer)).error.param).toBe(param);
  });
});
