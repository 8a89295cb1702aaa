import { describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createMeetingModel } from '../../src/ai-service/workers/meeting-model.ts';
import type { CallUsage } from '../../src/domain/model-calls/paid-call.ts';
import { DEFAULT_BOUNDS } from '../../src/domain/models/aliases.ts';
import type { Transaction } from '../../src/ports/database.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { plainModels } from '../doubles/plain-models.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { bodyOf } from '../doubles/upstream-body.ts';

const TARGET = { id: 't1', baseUrl: 'https://provider.example/v1', model: 'm', apiKey: null, weight: 1 };
const ANSWER = {
  choices: [{ message: { role: 'assistant', content: '{}' } }],
  usage: { prompt_tokens: 7, completion_tokens: 3 },
};

function modelWith({ hasProvider = true, mayAsk = true, status = 200 } = {}) {
  const ends: CallUsage[] = [];
  const seen = { asked: [] as string[], released: 0, endpoint: '' };
  const targets = [hasProvider ? TARGET : { ...TARGET, baseUrl: null }];
  const model = createMeetingModel({
    models: plainModels(() => targets),
    upstream: {
      async send({ id }) {
        seen.asked.push(id);
        return { status, contentType: 'application/json', body: bodyOf(Response.json(ANSWER)) };
      },
    },
    breakers: { enter: () => ({ outcome: 'enter', report() {} }) },
    ...{ secrets: createSystemSecrets(), clock: createManualClock(), log: createSilentLog() },
    answerTimeoutMs: 1_000,
    extractAlias: () => ({
      alias: 'svc/chat-default',
      kind: 'chat',
      targets,
      prices: [],
      ...DEFAULT_BOUNDS.chat,
    }),
    platformCalls: {
      async begin({ endpoint, alias }) {
        seen.endpoint = endpoint;
        return {
          alias,
          fallbacks: [],
          mayAsk,
          charge: async (_transaction, end) => void ends.push(end),
          async release() {
            seen.released += 1;
          },
        };
      },
    },
  });
  const { signal } = new AbortController();
  const call = { companyId: 'c', requestId: 'r', signal };
  const ask = () => model.ask({ instruction: 'i', data: 'd', schema: {} }, call);
  return { ask, ends, seen };
}

const nowhere = {} as Transaction;

describe('G-28 the summary of a meeting', () => {
  test('G-28 is a call of the company, charged by its tokens; an unusable answer is not charged', async () => {
    const { ask, ends, seen } = modelWith();
    const asked = await ask();
    expect(asked.answer).toBe('{}');
    await asked.charge(nowhere, true);
    await asked.charge(nowhere, false);
    await asked.release();
    expect(ends).toMatchObject([
      { tokens: { promptTokens: 7, completionTokens: 3 }, targetId: 't1', reason: null },
      { tokens: null, targetId: 't1', reason: 'answer-unusable' },
    ]);
    expect(seen).toEqual({ asked: ['t1'], released: 1, endpoint: 'meeting-summary' });
  });

  test('G-28 without credits, or without a provider, no model is called; a failure costs nothing', async () => {
    const poor = modelWith({ mayAsk: false });
    expect((await poor.ask()).answer).toBeNull();
    expect(poor.seen.asked).toEqual([]);
    const alone = modelWith({ hasProvider: false });
    expect((await alone.ask()).answer).toBeNull();
    expect(alone.seen.endpoint).toBe('');
    const broken = modelWith({ status: 503 });
    const asked = await broken.ask();
    await asked.charge(nowhere, false);
    expect(broken.ends).toMatchObject([{ tokens: null, reason: '503' }]);
  });
});
