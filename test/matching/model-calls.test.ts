import { beforeEach, describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createMatchModelCalls } from '../../src/ai-service/workers/match-models.ts';
import type { CallUsage } from '../../src/domain/model-calls/paid-call.ts';
import type { PlatformCalls } from '../../src/domain/model-calls/platform-calls.ts';
import { type Alias, type AliasTarget, DEFAULT_BOUNDS } from '../../src/domain/models/aliases.ts';
import type { EndSignal, UpstreamAnswer } from '../../src/ports/model-upstream.ts';
import { FIVE_FAILURES, openBreakers } from '../doubles/breakers-under-test.ts';
import { plainModels } from '../doubles/plain-models.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';
import { bodyOf } from '../doubles/upstream-body.ts';
import { useMemoryDatabase } from '../setup/use-database.ts';

const PROVIDER: AliasTarget = {
  id: 'p',
  baseUrl: 'https://models.example/v1',
  model: 'big',
  apiKey: null,
  weight: 1,
};
const EMBEDDED: AliasTarget = { id: 'e', baseUrl: null, model: 'own', apiKey: null, weight: 1 };

const database = useMemoryDatabase();

const json = (body: unknown, status = 200): UpstreamAnswer => ({
  status,
  contentType: 'application/json',
  body: bodyOf(Response.json(body)),
});
const vectors = (count: number) =>
  json({
    data: Array.from({ length: count }, (_, at) => ({
      index: count - 1 - at,
      embedding: [count - 1 - at, 1],
    })),
    usage: { prompt_tokens: 7 },
  });

interface Ended {
  readonly ends: CallUsage[];
  released: number;
  readonly endpoints: string[];
}
let ended: Ended;
beforeEach(() => {
  ended = { ends: [], released: 0, endpoints: [] };
});

type Answer = (target: { readonly id: string }, number: number, signal: EndSignal) => Promise<UpstreamAnswer>;

async function open(targets: AliasTarget | readonly AliasTarget[], answer: Answer, mayAsk = true) {
  const { clock, breakers } = await openBreakers();
  const { log } = createRecordingLog();
  const platformCalls: PlatformCalls = {
    async begin({ endpoint, alias }) {
      ended.endpoints.push(endpoint);
      return {
        alias,
        fallbacks: [],
        mayAsk,
        charge: async (_transaction, end) => void ended.ends.push(end),
        release: async () => {
          ended.released += 1;
        },
      };
    },
  };
  const alias = (kind: Alias['kind']): Alias => ({
    alias: `svc/${kind}-default`,
    kind,
    targets: [targets].flat(),
    prices: [],
    ...DEFAULT_BOUNDS[kind],
  });
  const sent: string[] = [];
  const bodies: unknown[] = [];
  const calls = createMatchModelCalls({
    database,
    clock,
    log,
    breakers,
    platformCalls,
    secrets: createSystemSecrets(),
    models: plainModels((alias) => alias.targets),
    upstream: {
      send: (target, call) => {
        sent.push(target.id);
        bodies.push(JSON.parse(new TextDecoder().decode(call.body)));
        return answer(target, sent.length, call.signal);
      },
    },
    answerTimeoutMs: 1_000,
    embeddedEncoder: 'encoder-2',
    aliases: () => ({ embed: alias('embed'), extract: alias('extract') }),
  });
  return { calls, breakers, sent, bodies, clock };
}

const { signal } = new AbortController();
const EMBED = { companyId: '019a0000-0000-7000-8000-000000000000', texts: ['one', 'two'], signal };
const ASK = { companyId: EMBED.companyId, instruction: 'judge', data: '[]', schema: {}, signal };

describe('G-28 matching’s model calls', () => {
  test('G-28 vectors are in the order of the texts, and the call is charged once', async () => {
    const { calls } = await open(PROVIDER, async () => vectors(2));
    expect(await calls.embed(EMBED)).toEqual({
      outcome: 'embedded',
      model: 'big',
      vectors: [
        [0, 1],
        [1, 1],
      ],
    });
    expect(ended.ends).toMatchObject([
      { tokens: { promptTokens: 7, completionTokens: 0 }, targetId: 'p', prompts: 2 },
    ]);
    expect(ended).toMatchObject({ released: 1, endpoints: ['embeddings'] });
  });

  test('G-28 vectors of Gemini, whose first has no index, are read, and a total alone is charged, as of Jina', async () => {
    const data = [{ embedding: [0, 1] }, { index: 1, embedding: [1, 1] }];
    for (const [usage, promptTokens] of [
      [undefined, 0],
      [null, 0],
      [{ total_tokens: 9 }, 9],
      [{ prompt_tokens: 7, total_tokens: 9 }, 7],
    ] as const) {
      const { calls } = await open(PROVIDER, async () => json({ data, usage }));
      const vectors = data.map(({ embedding }) => embedding);
      expect(await calls.embed(EMBED)).toMatchObject({ outcome: 'embedded', vectors });
      expect(ended.ends.at(-1)).toMatchObject({ tokens: { promptTokens }, reason: null });
    }
  });

  test('A-12 a provider is not asked for an encoding, which Voyage refuses, and packed vectors are read', async () => {
    const packed = Buffer.from(Float32Array.of(0.5, -2).buffer).toString('base64');
    const embed = async (embedding: unknown) => {
      const { calls, bodies } = await open(PROVIDER, async () => json({ data: [{ index: 0, embedding }] }));
      return { answer: await calls.embed({ ...EMBED, texts: ['one'] }), bodies };
    };
    const { answer, bodies } = await embed(packed);
    expect(answer).toMatchObject({ outcome: 'embedded', vectors: [[0.5, -2]] });
    expect(bodies).toEqual([{ model: 'big', input: ['one'] }]);
    for (const unreadable of [
      packed.slice(0, 8),
      Buffer.from(Float32Array.of(Number.NaN).buffer).toString('base64'),
      'no base64',
      null,
    ]) {
      expect((await embed(unreadable)).answer).toMatchObject({ outcome: 'unavailable' });
    }
  });

  test('A-12 vectors are labelled with their model: a provider’s by its name, the embedded encoder’s by its version', async () => {
    const answer = async () =>
      json({ data: [{ index: 0, embedding: [1, 0] }], system_fingerprint: 'encoder-2' });
    const one = { ...EMBED, texts: ['one'] };
    for (const [target, model] of [
      [PROVIDER, 'big'],
      [EMBEDDED, 'encoder-2'],
    ] as const) {
      const { calls } = await open(target, answer);
      expect(await calls.embed(one)).toMatchObject({ outcome: 'embedded', model });
      expect(calls.embedModel()).toBe(model);
    }
    expect((await open([], answer)).calls.embedModel()).toBeNull();
  });

  test('G-28 without credits no provider is called, and the embedded model is used without a charge', async () => {
    const provider = await open(PROVIDER, async () => vectors(2), false);
    expect(await provider.calls.embed(EMBED)).toEqual({ outcome: 'unavailable', reason: 'no-credits' });
    expect(await provider.calls.answer(ASK)).toEqual({ outcome: 'unavailable', reason: 'no-credits' });
    expect(provider.sent).toEqual([]);
    const own = await open(EMBEDDED, async () => vectors(2), false);
    expect(await own.calls.embed(EMBED)).toMatchObject({ outcome: 'embedded', model: 'own' });
    expect(ended.ends.every(({ tokens }) => tokens === null)).toBe(true);
    expect(ended.released).toBe(3);
  });

  test('A-15 a failing provider opens its breaker: it is not called, nothing is charged, and the state is reported', async () => {
    const { calls, sent, breakers } = await open(PROVIDER, async () => json({}, 503));
    for (const _ of FIVE_FAILURES) {
      expect(await calls.embed(EMBED)).toEqual({ outcome: 'unavailable', reason: 'failed' });
    }
    expect(breakers.states()).toEqual({ 'models.example': 'open', match_score_generator: 'open' });
    expect(calls.breakerState()).toBe('open');
    expect(await calls.embed(EMBED)).toEqual({ outcome: 'unavailable', reason: 'rejected-by-breaker' });
    expect(await calls.answer(ASK)).toEqual({ outcome: 'unavailable', reason: 'rejected-by-breaker' });
    expect(sent).toHaveLength(5);
    expect(ended.ends.every(({ tokens }) => tokens === null)).toBe(true);
    expect(ended.released).toBe(7);
  });

  test.each([400, 429])(
    'A-14 five calculations in a row that fail open the generator’s breaker, with %p too, and not the provider’s',
    async (status) => {
      const { calls, sent, breakers, clock } = await open(PROVIDER, async (_target, number) =>
        number <= 5 ? json({}, status) : vectors(2),
      );
      for (const _ of FIVE_FAILURES) {
        expect(await calls.embed(EMBED)).toEqual({ outcome: 'unavailable', reason: 'failed' });
      }
      expect(breakers.states()).toEqual({ 'models.example': 'closed', match_score_generator: 'open' });
      expect(calls.breakerState()).toBe('open');
      expect(await calls.embed(EMBED)).toEqual({ outcome: 'unavailable', reason: 'rejected-by-breaker' });
      expect(await calls.answer(ASK)).toEqual({ outcome: 'unavailable', reason: 'rejected-by-breaker' });
      expect(sent).toHaveLength(5);
      await clock.advance(60_000);
      expect(calls.breakerState()).toBe('half-open');
      expect((await calls.embed(EMBED)).outcome).toBe('embedded');
      expect(calls.breakerState()).toBe('closed');
    },
  );

  test('A-14 a calculation that we abort ourselves does not count', async () => {
    const ended = new AbortController();
    const sent = Promise.withResolvers<void>();
    const { calls, breakers } = await open(PROVIDER, (_target, _number, own) => {
      return new Promise((_resolve, reject) => {
        own.addEventListener('abort', () => reject(new Error('ended')));
        sent.resolve();
      });
    });
    const embedding = calls.embed({ ...EMBED, signal: ended.signal });
    await sent.promise;
    ended.abort();
    expect((await embedding).outcome).toBe('unavailable');
    expect(breakers.failuresInARow('match_score_generator')).toBe(0);
  });

  test('A-12 an invalid answer is unavailable, and nothing is thrown', async () => {
    for (const broken of [
      json({ data: [] }),
      json({ data: [{ index: 0, embedding: ['x'] }] }),
      json('prose'),
    ]) {
      const { calls } = await open(PROVIDER, async () => broken);
      expect(await calls.embed(EMBED)).toEqual({ outcome: 'unavailable', reason: 'failed' });
    }
    const { calls } = await open(PROVIDER, () => Promise.reject(new Error('no line')));
    expect(await calls.answer(ASK)).toEqual({ outcome: 'unavailable', reason: 'failed' });
  });

  test('A-12 reasons are never written by the embedded models', async () => {
    const { calls, sent } = await open(EMBEDDED, async () => json({}));
    expect(await calls.answer(ASK)).toEqual({ outcome: 'unavailable', reason: 'no-provider' });
    expect(sent).toEqual([]);
    expect(calls.breakerState()).toBe('closed');
  });

  test('G-28 an answer is returned and charged', async () => {
    const usage = { prompt_tokens: 30, completion_tokens: 5 };
    const { calls } = await open(PROVIDER, async () =>
      json({ choices: [{ message: { content: '{}' } }], usage }),
    );
    expect(await calls.answer(ASK)).toEqual({ outcome: 'answered', text: '{}' });
    expect(ended.ends).toMatchObject([{ tokens: { promptTokens: 30, completionTokens: 5 }, reason: null }]);
    expect(ended.endpoints).toEqual(['match-reasons']);
  });

  const SECOND: AliasTarget = { ...PROVIDER, id: 'second', baseUrl: 'https://second.example/v1' };

  test('A-12 vectors come from the first target as listed, and where that one is late from the next', async () => {
    const { calls, sent, clock } = await open([PROVIDER, SECOND], async ({ id }, _number, own) => {
      if (id === 'second') return vectors(2);
      return await new Promise((_resolve, reject) => own.addEventListener('abort', reject));
    });
    const embedding = calls.embed(EMBED);
    await clock.advance(1_000);
    expect((await embedding).outcome).toBe('embedded');
    expect(sent).toEqual(['p', 'second']);
  });
});
