import { afterAll, describe, expect, test } from 'bun:test';
import { resumeCompany, suspendCompany } from '../../src/domain/accounts/suspension.ts';
import { deleteBudget, setBudget } from '../../src/domain/credits/budgets/budgets.ts';
import { announceCompany } from '../../src/domain/credits/ledger/credit-account.ts';
import { REVOKED_KEYS_TOPIC } from '../../src/domain/keys/key-lifecycle.ts';
import type { KeyToMint } from '../../src/domain/keys/mint-key.ts';
import { until } from '../doubles/until.ts';
import { loseCredits, oweMoney } from '../gateway/credits-under-test.ts';
import { openGateway, post, refusalOf } from '../gateway/gateway-under-test.ts';
import { storeOwnKey } from '../gateway/own-key-under-test.ts';
import { chatAnswer } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';
import { callTool, ERAS, openClient } from './mcp-client.ts';

const CHAT = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 50 };

const VOICE = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } };

let blocks = false;
/** The operator's hook before calls, which allows everything unless a run says otherwise. */
const hook = Bun.serve({
  ...{ port: 0, hostname: '127.0.0.1' },
  fetch: () => Response.json({ action: blocks ? 'block' : 'allow', message: 'Not this one.' }),
});
afterAll(() => hook.stop(true));
const callHook = {
  ...{ url: hook.url.href, secrets: ['a secret of the hook'], timeoutMs: 5_000, maxBodyBytes: 10_000 },
  onFailure: 'closed' as const,
};

const gateway = useResource(() => openGateway({ billingMode: 'POSTPAID', callHook, unpricedCallsPerDay: 0 }));

interface RefusedRun {
  readonly status: number;
  readonly code: string | null;
  readonly type: string;
  readonly key?: Partial<KeyToMint>;
  readonly asked?: Record<string, unknown>;
  /** Brings it about; what it gives back puts it right again. */
  readonly arrange?: (rawKey: string) => Promise<() => Promise<void>>;
}

const limited = { status: 429, code: null, type: 'rate_limit_error' };
const unavailable = { status: 503, code: 'LLM_GATEWAY_UNAVAILABLE', type: 'api_error' };
const forbidden = { status: 403, type: 'permission_error' };
const unreadable = { code: null, type: 'invalid_request_error' };

/** Every refusal that a run can meet (G-45), by its name. */
const RUNS: Readonly<Record<string, RefusedRun>> = {
  'a suspended company': { ...forbidden, code: 'COMPANY_SUSPENDED', arrange: suspend },
  'an overdue invoice': { ...forbidden, code: 'PLAN_LIMIT_EXCEEDED', arrange: () => oweMoney(gateway) },
  'no credits': {
    status: 402,
    code: 'INSUFFICIENT_CREDITS',
    type: 'insufficient_quota',
    arrange: () => loseCredits(gateway),
  },
  'the spending limit of the key': {
    ...forbidden,
    code: 'KEY_SPENDING_LIMIT',
    key: { monthlySpendingLimitMicro: 1n },
    arrange: useUp,
  },
  'a budget that is used up': { ...forbidden, code: 'BUDGET_EXCEEDED', arrange: useUpBudget },
  'a policy of the operator': { ...forbidden, code: 'BLOCKED_BY_HOOK', arrange: blockAll },
  'a model that the key may not call': {
    ...forbidden,
    code: 'LLM_MODEL_NOT_ALLOWED',
    key: { models: ['svc/chat-cheap'] },
  },
  'an own provider key that the provider refuses': {
    ...forbidden,
    code: 'PROVIDER_KEY_REFUSED',
    arrange: haveKeyRefused,
  },
  'a model that there is not': {
    ...forbidden,
    code: 'LLM_MODEL_NOT_ALLOWED',
    asked: { ...CHAT, model: 'gpt-x' },
  },
  'a model of another kind': {
    ...unreadable,
    status: 400,
    asked: { ...CHAT, model: 'svc/embed-default' },
  },
  'too many answers with an unknown cost': {
    ...{ status: 400, code: 'UNPRICED_LIMIT', type: 'invalid_request_error' },
    asked: { ...CHAT, messages: [{ role: 'user', content: [VOICE] }] },
    arrange: answerUnpriced,
  },
  'requests a minute': { ...limited, key: { requestsPerMinute: 1 }, arrange: useUp },
  'tokens a minute': { ...limited, key: { tokensPerMinute: 70 }, arrange: useUp },
  'calls in flight': { ...limited, key: { maxCallsInFlight: 1 }, arrange: keepOneRunning },
  'credits that a running call holds': {
    ...limited,
    code: 'CREDITS_HELD',
    key: { monthlySpendingLimitMicro: 1n },
    arrange: keepOneRunning,
  },
  'a model without a provider': { ...unavailable, asked: { ...CHAT, model: 'svc/chat-premium' } },
  'a provider that is down': { ...unavailable, arrange: () => answerWith(500) },
  'a provider at its rate limit': {
    ...limited,
    code: 'PROVIDER_RATE_LIMITED',
    arrange: () => answerWith(429),
  },
  'a provider that cannot read the request': { ...unreadable, status: 422, arrange: () => answerWith(422) },
};

describe.each([...ERAS])('a client of %s', (era) => {
  test.each(Object.entries(RUNS))(
    'G-45 G-36 %s is a failed result with the envelope of REST',
    async (_, run) => {
      gateway.upstream.answer(() => Response.json(chatAnswer()));
      const { rawKey } = await gateway.mint(run.key ?? {});
      const client = await openClient(gateway.url, rawKey, era);
      const putRight = await run.arrange?.(rawKey);
      const asked = run.asked ?? CHAT;
      const rest = await refusalOf(post(`${gateway.url}/chat/completions`, rawKey, asked));
      const { status, type, code, message, param } = rest;
      expect({ status, type, code }).toEqual({ status: run.status, type: run.type, code: run.code } as never);
      for (const options of [{}, { onprogress: () => {} }]) {
        const result = await callTool(client, 'chat', asked, options);
        expect(result.isError).toBe(true);
        expect(result.body as object).toEqual({ error: { type, code, message, param } });
        expect(result.text).toStartWith(String(message));
        expect(result.text.includes('Retry after')).toBe(rest.headers.has('retry-after'));
      }
      await putRight?.();
      await client.close();
    },
  );

  test('G-9 G-45 a key that loses a scope is refused with the next request, and keeps its other tools', async () => {
    const { rawKey, id } = await gateway.mint({ scopes: ['inference:chat', 'usage:read'] });
    const client = await openClient(gateway.url, rawKey, era);
    expect((await callTool(client, 'get_usage')).isError).toBe(false);
    const { database, sharedState, secrets } = gateway.parts;
    await database.query(`update api_keys set scopes = array['inference:chat'] where id = $1`, [id]);
    await sharedState.publish(REVOKED_KEYS_TOPIC, secrets.sha256(rawKey).toHex());
    const error = await client.callTool({ name: 'get_usage', arguments: {} }).catch((caught) => caught);
    expect(String(error)).toContain('usage:read');
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['chat', 'list_models']);
    expect((await callTool(client, 'list_models')).isError).toBe(false);
    await client.close();
  });

  test('G-43 G-7 a document that is neither a CV nor a posting is still a result, which matches the schema', async () => {
    const { rawKey } = await gateway.mint();
    const client = await openClient(gateway.url, rawKey, era);
    await client.listTools();
    const content = JSON.stringify({ document_kind: 'other' });
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
    gateway.upstream.answer(() => Response.json(chatAnswer({ choices })));
    const cv = await callTool(client, 'parse_cv', { text: 'Invoice 7: ten bolts, 3.50' });
    expect(cv).toMatchObject({ isError: false, body: { profile: null } });
    const posting = await callTool(client, 'parse_jd', { text: 'Invoice 7: ten bolts, 3.50' });
    expect(posting).toMatchObject({ isError: false, body: { posting: null } });
    await client.close();
  });
});

async function blockAll(): Promise<() => Promise<void>> {
  blocks = true;
  return async () => {
    blocks = false;
  };
}

/** One more than the company may have today. Only calls with such fields are refused for it. */
async function answerUnpriced(): Promise<() => Promise<void>> {
  await gateway.unpricedCalls.answered(gateway.companyId, ['audio']);
  return async () => {};
}

async function suspend(): Promise<() => Promise<void>> {
  const { database, sharedState, clock } = gateway.parts;
  const { companyId } = gateway;
  const now = new Date(clock.now());
  const outbox = { send: async () => ({ outcome: 'queued' }) };
  await database.transaction((within) => suspendCompany(within, outbox, { companyId, reason: 'Abuse', now }));
  await announceCompany(sharedState, companyId);
  return async () => {
    await database.transaction((within) => resumeCompany(within, outbox, { companyId, now }));
    await announceCompany(sharedState, companyId);
  };
}

async function haveKeyRefused(): Promise<() => Promise<void>> {
  const restore = await storeOwnKey(gateway, gateway.companyId, 'sk-own-key-of-the-company');
  const answerAgain = await answerWith(401);
  return async () => {
    await answerAgain();
    await restore();
  };
}

async function useUp(rawKey: string): Promise<() => Promise<void>> {
  const response = await post(`${gateway.url}/chat/completions`, rawKey, CHAT);
  expect(response.status).toBe(200);
  await response.text();
  return async () => {};
}

async function useUpBudget(): Promise<() => Promise<void>> {
  const { database, secrets, clock, sharedState } = gateway.parts;
  const { companyId } = gateway;
  const wanted = { companyId, scope: 'COMPANY' as const, subject: null, monthlyMicro: 0n, isHard: true };
  const made = { newId: secrets.newId(), now: new Date(clock.now()) };
  await database.transaction((transaction) => setBudget(transaction, { ...wanted, version: null }, made));
  await announceCompany(sharedState, companyId);
  return async () => {
    await deleteBudget(database, companyId, made.newId);
    await announceCompany(sharedState, companyId);
  };
}

async function keepOneRunning(rawKey: string): Promise<() => Promise<void>> {
  const goOn = Promise.withResolvers<void>();
  const before = gateway.upstream.received.length;
  gateway.upstream.answer(async () => {
    await goOn.promise;
    return Response.json(chatAnswer());
  });
  const running = post(`${gateway.url}/chat/completions`, rawKey, CHAT);
  await until(() => gateway.upstream.received.length > before);
  return async () => {
    goOn.resolve();
    await (await running).text();
  };
}

async function answerWith(status: number): Promise<() => Promise<void>> {
  const error = { message: 'too much', type: 'x', param: 'messages' };
  gateway.upstream.answer(() => Response.json({ error }, { status }));
  return async () => {};
}
