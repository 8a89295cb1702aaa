import { describe, expect, test } from 'bun:test';
import { listWithheldUsage } from '../../src/domain/calls/settlement/withheld-usage.ts';
import { createCreditHolds } from '../../src/domain/credits/holds/holds.ts';
import { createPlatformCalls } from '../../src/domain/model-calls/platform-calls.ts';
import { applyModelConfig } from '../../src/domain/models/apply-model-config.ts';
import { CV_TEXT } from '../ai-service/workers-under-test.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { until } from '../doubles/until.ts';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { chatAnswer, chunk, done, streamOf } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

/** At 1 micro-credit a prompt token and 4 a completion token this is 45 billion credits. */
const ABSURD = Number.MAX_SAFE_INTEGER;
const USAGE = { prompt_tokens: ABSURD, completion_tokens: ABSURD, total_tokens: ABSURD };
const PROMPT_BOUND = 2_000_000n;
const COMPLETION_BOUND = 262_144n;
/** What one answer to one prompt can cost at most. */
const MOST_MICRO = PROMPT_BOUND + 4n * COMPLETION_BOUND;
const chat = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 10 };

const PROFILE = { document_kind: 'cv', basics: { name: 'Ada Byron' }, work: [], education: [], skills: [] };

describe('a provider that reports more usage than a call can have', () => {
  const gateway = useResource(() => openGateway());
  const open = async () => {
    const rows = await listWithheldUsage(gateway.parts.database, {
      limit: 1_000,
      after: null,
      onlyOpen: true,
    });
    return rows.length;
  };
  /** What the work has cost, and of how many calls usage was withheld. */
  async function costOf(work: () => Promise<unknown>): Promise<[bigint, number]> {
    const [before, had] = [(await gateway.credits.level()).balanceMicro, await open()];
    await work();
    await until(async () => (await gateway.credits.held()) === 0);
    return [before - (await gateway.credits.level()).balanceMicro, (await open()) - had];
  }
  const send = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const { rawKey } = await gateway.mint();
    const response = await post(`${gateway.url}${path}`, rawKey, body, { headers });
    await response.text();
    return response.status;
  };

  test('charges at most one call’s maximum on every route to a model, and the rest waits for an operator', async () => {
    gateway.upstream.answer(() => Response.json(chatAnswer({ usage: USAGE })));
    expect(await costOf(() => send('/chat/completions', chat))).toEqual([MOST_MICRO, 1]);
    const choices = { ...chat, n: 3 };
    expect(await costOf(() => send('/chat/completions', choices))).toEqual([
      PROMPT_BOUND + 12n * COMPLETION_BOUND,
      1,
    ]);
    const prompts = { model: 'svc/chat-default', prompt: ['a', 'b'], best_of: 2, max_tokens: 1 };
    expect(await costOf(() => send('/completions', prompts))).toEqual([
      2n * PROMPT_BOUND + 16n * COMPLETION_BOUND,
      1,
    ]);
    const inputs = { model: 'svc/embed-default', input: ['a', 'b', 'c'] };
    // At a tenth of a micro-credit a token.
    expect(await costOf(() => send('/embeddings', inputs))).toEqual([600_000n, 1]);
    const stream = chunk('', { choices: [], usage: USAGE });
    gateway.upstream.answer(() => streamOf(chunk('Hi'), stream, done));
    expect(await costOf(() => send('/chat/completions', { ...chat, stream: true }))).toEqual([MOST_MICRO, 1]);
  });

  test('charges a parsed document for the number of answers it took', async () => {
    let answers = 0;
    gateway.upstream.answer(() => {
      answers += 1;
      const content = answers === 2 ? 'no JSON' : JSON.stringify(PROFILE);
      const choices = [{ index: 0, message: { role: 'assistant', content } }];
      return Response.json(chatAnswer({ choices, usage: USAGE }));
    });
    expect(await costOf(() => send('/parse/cv', { text: CV_TEXT }))).toEqual([MOST_MICRO, 1]);
    expect(await costOf(() => send('/parse/cv', { text: CV_TEXT }))).toEqual([2n * MOST_MICRO, 1]);
    expect(answers).toBe(3);
  });

  test('charges no more where the platform calls for the company: matching, summaries, documents', async () => {
    const { database, secrets, clock } = gateway.parts;
    const platformCalls = createPlatformCalls({
      ...{ secrets, clock, holds: createCreditHolds({ database, clock, log: createSilentLog() }) },
      billingStatuses: {
        find: async () => ({ suspendedFor: null, blockedFromMs: null, isInDebt: false, budgets: null }),
      },
      limits: {
        reserve: async () => ({ outcome: 'admitted', reservation: { end: async () => {} } }) as never,
      },
    });
    const alias = gateway.models.find('svc/embed-default');
    if (alias === null) throw new Error('there is no such alias');
    const wanted = { companyId: gateway.companyId, endpoint: 'embeddings', requestId: 'r', bodyBytes: 1 };
    const call = await platformCalls.begin({ ...wanted, alias });
    const tokens = { promptTokens: ABSURD, cachedTokens: 0, completionTokens: 0 };
    const usage = { tokens, targetId: 't', reason: null, answeredAtMs: null, prompts: 3 };
    const charge = () => database.transaction((transaction) => call.charge(transaction, usage));
    expect(await costOf(charge)).toEqual([600_000n, 1]);
  });

  test('takes no tokens per minute from the key beyond what a call can use', async () => {
    gateway.upstream.answer(() => Response.json(chatAnswer({ usage: USAGE })));
    const { rawKey } = await gateway.mint({ tokensPerMinute: 5_000_000 });
    const url = `${gateway.url}/chat/completions`;
    const first = await post(url, rawKey, chat);
    expect(first.status).toBe(200);
    await first.text();
    expect((await post(url, rawKey, chat)).status).toBe(200);
  });

  test('invalid counts are no usage: the call is not charged and nothing is withheld', async () => {
    for (const wrong of ['-1', '1e999', '"12"']) {
      const text = JSON.stringify(chatAnswer()).replace(
        '"completion_tokens":5',
        `"completion_tokens":${wrong}`,
      );
      gateway.upstream.answer(() => new Response(text, { headers: { 'content-type': 'application/json' } }));
      expect([wrong, ...(await costOf(() => send('/chat/completions', chat)))]).toEqual([wrong, 0n, 0]);
      expect([wrong, ...(await costOf(() => send('/parse/cv', { text: CV_TEXT })))]).toEqual([wrong, 0n, 0]);
    }
  });

  test('G-28 a long answer of a reasoning model is charged whole, also where nothing names so long a maximum', async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 50_000, total_tokens: 50_010 };
    gateway.upstream.answer(() => Response.json(chatAnswer({ usage })));
    for (const max_tokens of [50_000, undefined]) {
      expect(await costOf(() => send('/chat/completions', { ...chat, max_tokens }))).toEqual([200_010n, 0]);
    }
    const longer = { prompt_tokens: 10, completion_tokens: 300_000, total_tokens: 300_010 };
    gateway.upstream.answer(() => Response.json(chatAnswer({ usage: longer })));
    const asked = { ...chat, max_tokens: 300_000 };
    expect(await costOf(() => send('/chat/completions', asked))).toEqual([1_200_010n, 0]);
  });

  test('the bounds are those of the alias, if they are not below what is plausible', async () => {
    const config = { 'svc/chat-default': { context_length: 1_000, max_output_tokens: 100 } };
    await applyModelConfig(gateway.catalogue, config);
    await until(() => gateway.models.find('svc/chat-default')?.contextLength === 1_000);
    gateway.upstream.answer(() => Response.json(chatAnswer({ usage: USAGE })));
    expect(await costOf(() => send('/chat/completions', chat))).toEqual([1_000n + 4n * COMPLETION_BOUND, 1]);
  });
});
