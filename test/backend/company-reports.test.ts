import { beforeEach, describe, expect, test } from 'bun:test';
import { chargeCalls, insertCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import { countFailures } from '../../src/domain/calls/usage/usage-failures.ts';
import { finishedCall } from '../doubles/finished-calls.ts';

import { useResource } from '../setup/use-resource.ts';
import { openBackend, type Person } from './backend-under-test.ts';
import { graphqlClient } from './graphql-client.ts';

const DAY_MS = 86_400_000;
let companyId = '';
let admin: Person;
const backend = useResource(() => openBackend());
beforeEach(async () => {
  companyId = await backend.company('Own');
  admin = await backend.person(companyId, { role: 'COMPANY_ADMIN' });
});

describe('why calls failed', () => {
  async function someFailures(): Promise<{ keyId: string; nowMs: number }> {
    const keyId = backend.parts.secrets.newId();
    const nowMs = backend.clock.now();
    const failed = {
      startedAtMs: nowMs,
      keyId,
      outcome: 'FAILED',
      reason: 'client-left',
      httpStatus: 499,
    } as const;
    await chargeCalls(backend.database, [
      finishedCall(companyId, { startedAtMs: nowMs, keyId }),
      finishedCall(companyId, failed),
      finishedCall(companyId, { ...failed, startedAtMs: nowMs - DAY_MS }),
      finishedCall(companyId, { ...failed, startedAtMs: nowMs - 40 * DAY_MS }),
    ]);
    const refused = {
      outcome: 'REFUSED',
      reason: 'INSUFFICIENT_CREDITS',
      httpStatus: 402,
      tokens: null,
    } as const;
    await insertCalls(backend.database, [
      finishedCall(companyId, { ...refused, startedAtMs: nowMs, requestId: 'req_newest' }),
    ]);
    return { keyId, nowMs };
  }

  test('P-15 they are counted by outcome, reason and status, and by day, alias and key where requested', async () => {
    const { keyId } = await someFailures();
    const shape = 'outcome reason httpStatus day alias keyId calls';
    const { all, split } = await admin.ask<Record<string, { rows: object[] }>>(`{
      all: usageFailures { rows { ${shape} } countedFrom latest { requestId reason httpStatus endpoint } }
      split: usageFailures(groupBy: [DAY, ALIAS, KEY]) { rows { ${shape} } } }`);
    const none = { day: null, alias: null, keyId: null };
    expect(all).toMatchObject({
      countedFrom: null,
      rows: [
        { outcome: 'FAILED', reason: 'client-left', httpStatus: 499, ...none, calls: 2 },
        { outcome: 'REFUSED', reason: 'INSUFFICIENT_CREDITS', httpStatus: 402, ...none, calls: 1 },
      ],
    });
    expect((all as unknown as { latest: { requestId: string }[] }).latest).toHaveLength(3);
    expect(split?.rows).toHaveLength(3);
    expect(split?.rows).toContainEqual({
      ...{ outcome: 'FAILED', reason: 'client-left', httpStatus: 499, calls: 1 },
      ...{ day: '2029-12-31', alias: 'svc/chat-default', keyId },
    });
    const stranger = await backend.person(await backend.company('Other'));
    expect(await stranger.ask('{ usageFailures { rows { calls } latest { id } } }')).toEqual({
      usageFailures: { rows: [], latest: [] },
    });
  });

  test('P-15 when there are more calls than are read, it returns the start of the counted period', async () => {
    const { nowMs } = await someFailures();
    const question = { companyId, from: '2029-01-01', to: '2030-01-01', by: [] };
    expect((await countFailures(backend.database, question, 2)).countedFrom).toEqual(new Date(nowMs));
  });
});

describe('the log of calls', () => {
  const QUERY = `query($filter: CallFilter, $first: Int, $after: ID) { calls(filter: $filter, first: $first, after: $after) {
    nodes { id requestId createdAt endpoint overMcp model status code stream promptTokens cachedTokens completionTokens
      credits firstTokenMs durationMs endUser tags count outcome apiKey { id name } company { id name } }
    pageInfo { hasNextPage endCursor } searchedUntil } }`;
  interface Answer {
    readonly calls: {
      readonly nodes: readonly { readonly requestId: string }[];
      readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
      readonly searchedUntil: string | null;
    };
  }
  const ask = async (variables: object) => (await admin.ask<Answer>(QUERY, variables as never)).calls;

  test('a call shows the price that it was charged at, also after the price has changed', async () => {
    const startedAtMs = backend.clock.now();
    const charged = finishedCall(companyId, { requestId: 'priced', startedAtMs, alias: 'svc/chat-premium' });
    const failed = finishedCall(companyId, {
      ...{ requestId: 'free', startedAtMs, outcome: 'FAILED', tokens: null },
    });
    await chargeCalls(backend.database, [charged, failed]);
    await backend.people.superAdmin.ask(`mutation { setAliasPrice(alias: "svc/chat-premium",
      price: { prompt: 7, cached: 7, completion: 7 }) { id } }`);
    const prices = `query($filter: CallFilter) { calls(filter: $filter) { nodes {
      price { prompt cached completion cacheWrite } } } }`;
    const priceOf = async (requestId: string) =>
      (await admin.ask<{ calls: { nodes: unknown[] } }>(prices, { filter: { requestId } })).calls.nodes;
    expect(await priceOf('priced')).toEqual([
      { price: { prompt: 5, cached: 2.5, completion: 20, cacheWrite: null } },
    ]);
    expect(await priceOf('free')).toEqual([{ price: null }]);
  });

  test('shows every call with its key, filtered and in pages', async () => {
    const { createApiKey } = await admin.ask<{ createApiKey: { apiKey: { id: string } } }>(
      'mutation { createApiKey(input: { name: "server" }) { apiKey { id } } }',
    );
    const { id: keyId } = createApiKey.apiKey;
    const startedAtMs = backend.clock.now();
    const own = { keyId, startedAtMs, endUser: 'u-1', tags: ['env:prod'], overMcp: true };
    await chargeCalls(backend.database, [
      finishedCall(companyId, { ...own, requestId: 'first', tokens: null, outcome: 'FAILED' }),
      finishedCall(companyId, { ...own, requestId: 'second', startedAtMs: startedAtMs + 1 }),
      finishedCall(companyId, { startedAtMs: startedAtMs + 2, requestId: 'third' }),
    ]);
    const all = await ask({ first: 2 });
    expect(all.nodes.map(({ requestId }) => requestId)).toEqual(['third', 'second']);
    expect(all.nodes[1]).toEqual({
      ...{ id: expect.any(String), requestId: 'second', createdAt: new Date(startedAtMs + 1).toISOString() },
      ...{ endpoint: 'chat/completions', overMcp: true, model: 'svc/chat-default', status: 200, code: null },
      ...{ stream: true, promptTokens: 10, cachedTokens: 4, completionTokens: 17, credits: 0.000076 },
      ...{ firstTokenMs: 12, durationMs: 34, endUser: 'u-1', tags: ['env:prod'], count: 1 },
      ...{ outcome: 'SUCCEEDED', apiKey: { id: keyId, name: 'server' } },
      company: { id: companyId, name: 'Own' },
    } as never);
    const rest = await ask({ first: 2, after: all.pageInfo.endCursor });
    expect(rest.nodes.map(({ requestId }) => requestId)).toEqual(['first']);
    expect([rest.pageInfo.hasNextPage, rest.searchedUntil]).toEqual([false, null]);
    const filter = { apiKeyId: keyId, tag: 'env:prod', endUser: 'u-1', minCredits: 0.000001 };
    const found = await ask({ filter: { ...filter, to: new Date(startedAtMs + 2).toISOString() } });
    expect(found.nodes.map(({ requestId }) => requestId)).toEqual(['second']);
  });

  test('a service token reads the calls of its company, also where its creator is an operator', async () => {
    const both = await backend.person(companyId, { role: 'COMPANY_ADMIN', isSuperAdmin: true });
    await chargeCalls(backend.database, [
      finishedCall(await backend.company('Other'), { startedAtMs: backend.clock.now() + 5 }),
      finishedCall(companyId, { startedAtMs: backend.clock.now(), requestId: 'ours' }),
    ]);
    const { createServiceToken } = await both.ask<{ createServiceToken: { rawToken: string } }>(
      'mutation { createServiceToken(name: "report", scopes: ["usage:read"]) { rawToken } }',
    );
    const service = graphqlClient(backend.fetch, createServiceToken.rawToken);
    const { calls } = await service.ask<Answer>('{ calls { nodes { requestId target } } }');
    expect([...calls.nodes]).toEqual([{ requestId: 'ours', target: null } as never]);
    expect((await both.ask<Answer>('{ calls { nodes { requestId } } }')).calls.nodes.length).toBeGreaterThan(
      1,
    );
  });
});

describe('alert settings', () => {
  const ALL = 'isOn balanceThresholds limitPercents receivers { email }';
  const SET = `mutation($input: AlertSettingsInput!) { setAlertSettings(input: $input) { ${ALL} } }`;
  const usual = { isOn: true, balanceThresholds: null, limitPercents: [80, 100], receivers: null };

  test('P-15 are set by an admin, recorded, and reset by leaving them out', async () => {
    const member = await backend.person(companyId);
    expect(await admin.ask(`{ alertSettings { ${ALL} } }`)).toEqual({ alertSettings: usual });
    const input = {
      isOn: false,
      balanceThresholds: [2.5, 100],
      limitPercents: [90],
      receivers: [member.email],
    };
    const wanted = { ...input, balanceThresholds: [100, 2.5], receivers: [{ email: member.email }] };
    expect(await admin.ask(SET, { input })).toEqual({ setAlertSettings: wanted });
    expect(await admin.ask(`{ alertSettings { ${ALL} } }`)).toEqual({ alertSettings: wanted });
    const details = { isOn: false, isMailed: true, balanceThresholds: ['100', '2.5'], limitPercents: ['90'] };
    expect(await admin.ask('{ auditLog(first: 1) { nodes { action objectId details } } }')).toEqual({
      auditLog: {
        nodes: [
          {
            ...{ action: 'alert-settings.set', objectId: companyId },
            details: { ...details, receivers: [member.email] },
          },
        ],
      },
    });
    expect(await admin.ask(SET, { input: { isOn: true } })).toEqual({ setAlertSettings: usual });
  });

  test('P-15 a save from an outdated page is refused, and the saved settings stay', async () => {
    const save = (input: object) => admin.answer(SET, { input: { version: 0, isOn: true, ...input } });
    // Two first saves of a company at once: one of them is rejected.
    const both = await Promise.all([save({ limitPercents: [50] }), save({ limitPercents: [50] })]);
    const [refused, ...others] = both.flatMap(({ errors }) => errors ?? []);
    expect([refused?.extensions.code, others]).toEqual(['CONFLICT', []]);
    expect(refused?.message).toContain('Load them again');
    expect(await admin.ask('{ alertSettings { version limitPercents } }')).toEqual({
      alertSettings: { version: 1, limitPercents: [50] },
    });
  });

  test('P-15 invalid fields are named; a user of another company is as unknown as a missing one', async () => {
    const stranger = await backend.person(await backend.company('Other'));
    const wrong: [object, string][] = [
      [{ balanceThresholds: [0.0000001] }, 'balanceThresholds'],
      [{ limitPercents: [120] }, 'limitPercents'],
      [{ receivers: ['nobody@nowhere.example'] }, 'receivers'],
      [{ receivers: [stranger.email] }, 'receivers'],
    ];
    const said: (string | undefined)[] = [];
    for (const [part, field] of wrong) {
      const { message, extensions } = await admin.refusal(SET, { input: { isOn: true, ...part } });
      expect(extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: `input.${field}` });
      said.push(message);
    }
    expect(said.at(-1)).toBe(said.at(-2) as string);
  });
});
