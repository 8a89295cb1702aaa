import { describe, expect, test } from 'bun:test';
import { translationPairs } from '../../domain/model-calls/translation/pairs.ts';
import type { ReasoningCount } from '../../ports/model-upstream.ts';
import { readWholeAnswer } from './answer-body.ts';
import type { Usage } from './reported-usage.ts';

const bytes = (value: object) => new TextEncoder().encode(JSON.stringify(value));
const counted = { prompt_tokens: 100, completion_tokens: 5 };

/** Of chat completions, as providers write it. */
const BLOCKS: readonly (readonly [string, object])[] = [
  ['OpenAI', { ...counted, prompt_tokens_details: { cached_tokens: 80 } }],
  ['DeepSeek', { ...counted, prompt_cache_hit_tokens: 80, prompt_cache_miss_tokens: 20 }],
  [
    'OpenRouter through another gateway of ours',
    { ...counted, prompt_tokens_details: { cache_write_tokens: 60, cache_write_1h_tokens: 40 } },
  ],
  ['LiteLLM', { ...counted, cache_creation_input_tokens: 60 }],
  [
    'xAI, with reasoning',
    { ...counted, total_tokens: 405, completion_tokens_details: { reasoning_tokens: 300 } },
  ],
  ['Gemini, with thinking in the total', { ...counted, total_tokens: 405 }],
  ['Gemini, with nothing but thinking', { prompt_tokens: 100, total_tokens: 400 }],
  ['more cached than there was', { ...counted, cached_tokens: 180, cache_creation_input_tokens: 60 }],
  ['zeros', { prompt_tokens: 0, completion_tokens: 0 }],
  ['a total alone', { total_tokens: 105 }],
  ['a prompt below zero', { ...counted, prompt_tokens: -1 }],
];

const REQUESTS = {
  messages: { model: 'one', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] },
  responses: { model: 'one', input: 'Hi' },
} as const;

function translated(wire: keyof typeof REQUESTS, chat: object, reasoning: ReasoningCount): Usage | null {
  const pairs = translationPairs({ storesResponses: false });
  const pair = pairs.find(({ from, to }) => from === wire && to === 'chat/completions');
  const to = {
    model: 'one',
    maxTokensName: 'max_tokens',
    hasStreamOptions: true,
    defaultMaxTokens: 9,
    reasoning,
  } as const;
  const stamps = { newId: () => 'id', nowSeconds: 0 };
  const request = pair?.translator.translateRequest(bytes(REQUESTS[wire]), to, stamps);
  const whole = request?.outcome === 'translated' ? request.answer.whole(bytes(chat)) : null;
  return readWholeAnswer(whole ?? new Uint8Array(), 'alias', wire).usage;
}

describe('G-28 a translated answer has the same usage as the untranslated one', () => {
  const cases = BLOCKS.flatMap(([name, usage]) =>
    (['by-numbers', 'beside', 'in-total'] as const).map((reasoning) => ({ name, usage, reasoning })),
  );

  test.each(cases)('$name, reasoning $reasoning', ({ usage, reasoning }) => {
    const chat = { choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }], usage };
    const direct = readWholeAnswer(bytes(chat), 'alias', 'completions', { reasoning }).usage;
    const withWrites = direct && { cacheWriteTokens: 0, ...direct };
    expect(translated('responses', chat, reasoning)).toEqual(withWrites);
    // A message has a usage block in any case, and one without counts costs nothing.
    const none = { promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0 };
    expect(translated('messages', chat, reasoning)).toEqual(withWrites ?? none);
  });
});
