import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { plainModels } from '../../../test/doubles/plain-models.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { bodyOf } from '../../../test/doubles/upstream-body.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { type Alias, type AliasTarget, DEFAULT_BOUNDS } from '../models/aliases.ts';
import { wireOf } from '../models/providers.ts';
import { askModel, createFormatMemory, jsonQuestion } from './ask-model.ts';

const BASE_URL = 'https://one.example/v1';
const SCHEMA = { type: 'object', properties: { summary: { type: 'string' } } };

function open(
  answer: (body: { response_format?: unknown; temperature?: number }) => Response,
  provider = 'compatible',
) {
  const facts = { provider, baseUrl: BASE_URL, responses: null, apiVersion: null, headers: {} };
  const wire = wireOf(facts, 1);
  const target: AliasTarget = {
    id: 'one',
    baseUrl: BASE_URL,
    model: 'one',
    apiKey: null,
    weight: 1,
    ...(wire === null ? {} : { wire }),
  };
  const alias: Alias = {
    alias: 'svc/chat',
    kind: 'chat',
    targets: [target],
    prices: [],
    ...DEFAULT_BOUNDS.chat,
  };
  const sent: { messages: { content: string }[]; response_format?: unknown; temperature?: number }[] = [];
  const clock = createManualClock();
  const parts = {
    models: plainModels(() => [target]),
    upstream: {
      async send(_target: unknown, request: { readonly body: Uint8Array }) {
        const body = JSON.parse(new TextDecoder().decode(request.body));
        sent.push(body);
        const response = answer(body);
        return { status: response.status, contentType: '', body: bodyOf(response) };
      },
    },
    breakers: { enter: () => ({ outcome: 'enter' as const, report: () => {} }) },
    secrets: createSystemSecrets(),
    clock,
    log: createSilentLog(),
    answerTimeoutMs: 60_000,
    formats: createFormatMemory(clock),
  };
  const question = jsonQuestion('summary', { instruction: 'Summarise.', data: 'words', schema: SCHEMA });
  const ask = () => askModel(parts, alias, question, new AbortController().signal);
  return { ask, sent };
}

const says = (content: string) => Response.json({ choices: [{ message: { content } }] });

test('a question for JSON reaches a target without such a format too, and a fence around the answer is removed', async () => {
  const { ask, sent } = open(({ response_format }) =>
    response_format === undefined
      ? says('```json\n{"summary":"x"}\n```')
      : Response.json({ error: { message: 'unsupported', param: 'response_format' } }, { status: 422 }),
  );
  expect(await ask()).toMatchObject({ outcome: 'answered', content: '{"summary":"x"}\n' });
  expect(sent[1]?.messages[0]?.content).toBe(
    `Summarise.\nAnswer with one JSON object of this schema, with all of its properties, and nothing else:\n${JSON.stringify(SCHEMA)}`,
  );
  expect(sent[1]?.messages[1]?.content).toBe('words');
});

test('a model that refuses the temperature is asked without it, and from then on never with it', async () => {
  const message = "Unsupported value: 'temperature' does not support 0 with this model.";
  const { ask, sent } = open(({ response_format, temperature }) => {
    if (temperature !== undefined) {
      return Response.json({ error: { message, param: 'temperature' } }, { status: 400 });
    }
    return response_format === undefined
      ? says('{"summary":"x"}')
      : Response.json({ error: { message: 'unsupported', param: 'response_format' } }, { status: 400 });
  });
  expect(await ask()).toMatchObject({ outcome: 'answered', content: '{"summary":"x"}' });
  expect(await ask()).toMatchObject({ outcome: 'answered' });
  const members = sent.map(({ temperature, response_format: format }) => [temperature, format !== undefined]);
  expect(members).toEqual([
    [0, true],
    [undefined, true],
    [undefined, false],
    [undefined, false],
  ]);
});

test('a request that is refused for something else is sent once', async () => {
  const { ask, sent } = open(() =>
    Response.json({ error: { message: 'prompt is too long' } }, { status: 400 }),
  );
  expect(await ask()).toEqual({ outcome: 'failed', reason: '400', targetId: 'one' });
  expect(sent).toHaveLength(1);
});

test.each([
  ['DeepSeek', { prompt_cache_hit_tokens: 80 }, { cachedTokens: 80 }],
  ['Moonshot', { cached_tokens: 80 }, { cachedTokens: 80 }],
  ['LiteLLM', { cache_creation_input_tokens: 60 }, { cachedTokens: 0, cacheWriteTokens: 60 }],
  [
    'Qwen',
    { prompt_tokens_details: { cached_tokens: 10, cache_creation_input_tokens: 60 } },
    { cachedTokens: 10, cacheWriteTokens: 60 },
  ],
])('G-28 what was cached counts where %s reports it', async (_, reported, expected) => {
  const { ask } = open(() =>
    Response.json({
      choices: [{ message: { content: '{"summary":"x"}' } }],
      usage: { prompt_tokens: 100, completion_tokens: 5, ...reported },
    }),
  );
  expect(await ask()).toMatchObject({ tokens: { promptTokens: 100, completionTokens: 5, ...expected } });
});

test.each([
  ['gemini', 492],
  ['compatible', 9],
])(
  'G-28 reasoning in the total alone is charged where the provider reports it so: %s',
  async (provider, completionTokens) => {
    const usage = { prompt_tokens: 8, completion_tokens: 9, total_tokens: 500 };
    const { ask } = open(
      () => Response.json({ choices: [{ message: { content: '{"summary":"x"}' } }], usage }),
      provider,
    );
    expect(await ask()).toMatchObject({ tokens: { promptTokens: 8, completionTokens } });
  },
);
