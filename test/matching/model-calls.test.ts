import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createMatchModelCalls } from '../../src/ai-service/workers/match-models.ts';
import type { CallEnd, PlatformCalls } from '../../src/ai-service/workers/platform-calls.ts';
import type { Alias, AliasTarget } from '../../src/domain/models/aliases.ts';
import type { Database } from '../../src/ports/database.ts';
import type { UpstreamAnswer } from '../../src/ports/model-upstream.ts';
import { FIVE_FAILURES, openBreakers } from '../doubles/breakers-under-test.ts';
import { openMemoryDatabase } from '../doubles/memory-database.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';

const PROVIDER: AliasTarget = {
  id: 'p',
  baseUrl: 'https://models.example/v1',
  model: 'big',
  apiKey: null,
  weight: 1,
};
const EMBEDDED: AliasTarget = { id: 'e', baseUrl: null, model: 'own', apiKey: null, weight: 1 };

let database: Database;
beforeAll(async () => {
  database = await openMemoryDatabase();
}, 60_000);
afterAll(() => database.close());

const json = (body: unknown, status = 200): UpstreamAnswer => ({
  status,
  contentType: 'application/json',
  body: new Response(JSON.stringify(body)).body as ReadableStream<Uint8Array>,
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
  readonly ends: CallEnd[];
  released: number;
  readonly endpoints: string[];
}
let ended: Ended;
beforeEach(() => {
  ended = { ends: [], released: 0, endpoints: [] };
});

async function open(target: AliasTarget, answer: () => Promise<UpstreamAnswer>, mayAsk = true) {
  const { clock, breakers } = await openBreakers();
  const { log } = createRecordingLog();
  const platformCalls: PlatformCalls = {
    async begin({ endpoint }) {
      ended.endpoints.push(endpoint);
      return {
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
    targets: [target],
    prices: [],
  });
  let sent = 0;
  const calls = createMatchModelCalls({
    database,
    clock,
    log,
    breakers,
    platformCalls,
    secrets: createSystemSecrets(),
    models: { order: ({ targets }) => targets, noteFailure() {}, noteSuccess() {} },
    upstream: {
      send: () => {
        sent += 1;
        return answer();
      },
    },
    answerTimeoutMs: 1_000,
    aliases: () => ({ embed: alias('embed'), extract: alias('extract') }),
  });
  return { calls, breakers, sent: () => sent };
}

const { signal } = new AbortController();
const EMBED = { companyId: '019a0000-0000-7000-8000-000000000000', texts: ['one', 'two'], signal };
const ASK = { companyId: EMBED.companyId, instruction: 'judge', data: '[]', schema: {}, signal };

describe('G-28 matching’s model calls', () => {
  test('G-28 vectors come in the order of the texts, and the call is charged once', async () => {
    const { calls } = await open(PROVIDER, async () => vectors(2));
    expect(await calls.embed(EMBED)).toEqual({
      outcome: 'embedded',
      model: 'big',
      vectors: [
        [0, 1],
        [1, 1],
      ],
    });
    expect(ended.ends).toMatchObject([{ tokens: { promptTokens: 7, completionTokens: 0 }, targetId: 'p' }]);
    expect(ended).toMatchObject({ released: 1, endpoints: ['embeddings'] });
  });

  test('G-28 without credits no provider is asked, and the embedded model works unpaid', async () => {
    const provider = await open(PROVIDER, async () => vectors(2), false);
    expect(await provider.calls.embed(EMBED)).toEqual({ outcome: 'unavailable', reason: 'no-credits' });
    expect(await provider.calls.answer(ASK)).toEqual({ outcome: 'unavailable', reason: 'no-credits' });
    expect(provider.sent()).toBe(0);
    const own = await open(EMBEDDED, async () => vectors(2), false);
    expect(await own.calls.embed(EMBED)).toMatchObject({ outcome: 'embedded', model: 'own' });
    expect(ended.ends.every(({ tokens }) => tokens === null)).toBe(true);
    expect(ended.released).toBe(3);
  });

  test('A-15 a failing provider opens its breaker: it is left alone, nothing is charged, and the state is told', async () => {
    const { calls, sent, breakers } = await open(PROVIDER, async () => json({}, 503));
    for (const _ of FIVE_FAILURES) {
      expect(await calls.embed(EMBED)).toEqual({ outcome: 'unavailable', reason: 'failed' });
    }
    expect(breakers.states()).toEqual({ 'models.example': 'open' });
    expect(calls.breakerState()).toBe('open');
    expect(await calls.embed(EMBED)).toEqual({ outcome: 'unavailable', reason: 'rejected-by-breaker' });
    expect(await calls.answer(ASK)).toEqual({ outcome: 'unavailable', reason: 'rejected-by-breaker' });
    expect(sent()).toBe(5);
    expect(ended.ends.every(({ tokens }) => tokens === null)).toBe(true);
    expect(ended.released).toBe(7);
  });

  test('A-12 answers that are none are failures of the answer, not of the walk', async () => {
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

  test('A-12 reasons are never worded by the embedded models', async () => {
    const { calls, sent } = await open(EMBEDDED, async () => json({}));
    expect(await calls.answer(ASK)).toEqual({ outcome: 'unavailable', reason: 'no-provider' });
    expect(sent()).toBe(0);
    expect(calls.breakerState()).toBe('closed');
  });

  test('G-28 an answer is passed on and charged', async () => {
    const usage = { prompt_tokens: 30, completion_tokens: 5 };
    const { calls } = await open(PROVIDER, async () =>
      json({ choices: [{ message: { content: '{}' } }], usage }),
    );
    expect(await calls.answer(ASK)).toEqual({ outcome: 'answered', text: '{}' });
    expect(ended.ends).toMatchObject([{ tokens: { promptTokens: 30, completionTokens: 5 }, reason: null }]);
    expect(ended.endpoints).toEqual(['match-reasons']);
  });
});
