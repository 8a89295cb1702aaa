import { beforeEach, describe, expect, test } from 'bun:test';
import { chargeCalls, insertCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import { countFailures } from '../../src/domain/calls/usage/usage-failures.ts';
import { applyCvReading, findWaitingCv } from '../../src/domain/talents/read-cv.ts';
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
    const cut = await countFailures(backend.database, question, 2);
    expect(cut.countedFrom).toEqual(new Date(nowMs));
    expect((await countFailures(backend.database, question, 100)).countedFrom).toBeNull();
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
      finishedCall(companyId, { startedAtMs: startedAtMs + 2, requestId: 'third', durationMs: 9_000 }),
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
    const found = async (filter: object) => (await ask({ filter })).nodes.map(({ requestId }) => requestId);
    expect(await found({ apiKeyId: keyId, tag: 'env:prod' })).toEqual(['second', 'first']);
    expect(await found({ endUser: 'u-1', minCredits: 0.000001 })).toEqual(['second']);
    expect(await found({ minDurationMs: 9_000 })).toEqual(['third']);
    expect(await found({ to: new Date(startedAtMs + 1).toISOString() })).toEqual(['first']);
    expect(await found({ requestId: 'third', status: 200 })).toEqual(['third']);
    expect(await found({ status: 429 })).toEqual([]);
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

  test('refusals by address are for operators', async () => {
    await backend.database.query(
      `insert into address_refusals (minute, address, code, count) values ($1, '192.0.2.9', 'unauthenticated', 7)`,
      [new Date(Math.floor(backend.clock.now() / 60_000) * 60_000)],
    );
    const { superAdmin } = backend.people;
    const query = '{ addressRefusals(hours: 1) { address code count } }';
    expect(await superAdmin.ask(query)).toEqual({
      addressRefusals: [{ address: '192.0.2.9', code: 'unauthenticated', count: 7 }],
    });
  });
});

test('P-15 alerts that were raised are listed with their key, for admins', async () => {
  await backend.database.query(
    `insert into credit_alerts (company_id, kind, subject, threshold_percent, episode, created_at, handed_on_at)
     values ($1, 'LOW_BALANCE', '', 20, '1', '2030-01-01', '2030-01-01'),
       ($1, 'KEY_SPENDING', gen_random_uuid()::text, 80, '2030-01', '2029-12-31', null)`,
    [companyId],
  );
  const { creditAlerts } = await admin.ask<{ creditAlerts: object[] }>(
    '{ creditAlerts { kind thresholdPercent keyName raisedAt mailedAt } }',
  );
  expect(creditAlerts).toMatchObject([
    { kind: 'LOW_BALANCE', thresholdPercent: 20, mailedAt: expect.any(String) },
    { kind: 'KEY_SPENDING', thresholdPercent: 80, keyName: null, mailedAt: null },
  ]);
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
    const { auditLog } = await admin.ask<{ auditLog: { nodes: object[] } }>(
      '{ auditLog(first: 1) { nodes { action objectId details } } }',
    );
    expect(auditLog.nodes).toEqual([
      {
        action: 'alert-settings.set',
        objectId: companyId,
        details: {
          ...{ isOn: false, isMailed: true, balanceThresholds: ['100', '2.5'], limitPercents: ['90'] },
          receivers: [member.email],
        },
      },
    ]);
    expect(await admin.ask(SET, { input: { isOn: true } })).toEqual({ setAlertSettings: usual });
  });

  test('P-15 a save from an outdated page is refused, and the saved settings stay', async () => {
    const version = async () =>
      (await admin.ask<{ alertSettings: { version: number } }>('{ alertSettings { version } }')).alertSettings
        .version;
    const loaded = await version();
    const save = (input: object) => admin.answer(SET, { input: { version: loaded, isOn: true, ...input } });
    expect((await save({ limitPercents: [50] })).errors).toBeUndefined();
    const { errors } = await save({ limitPercents: [90] });
    expect(errors?.[0]).toMatchObject({ extensions: { code: 'CONFLICT' } });
    expect(errors?.[0]?.message).toContain('Load them again');
    expect(await admin.ask('{ alertSettings { version limitPercents } }')).toEqual({
      alertSettings: { version: loaded + 1, limitPercents: [50] },
    });
    // Two first saves of a company at once: one of them is rejected.
    const fresh = await backend.person(await backend.company('Fresh'), { role: 'COMPANY_ADMIN' });
    const first = { input: { version: 0, isOn: true, mail: false } };
    const both = await Promise.all([fresh.answer(SET, first), fresh.answer(SET, first)]);
    expect(both.filter((one) => one.errors === undefined)).toHaveLength(1);
    expect(await fresh.ask('{ alertSettings { mail version } }')).toEqual({
      alertSettings: { mail: false, version: 1 },
    });
    await admin.ask(SET, { input: { isOn: true } });
  });

  test('P-15 invalid fields are named; a user of another company is as unknown as a missing one', async () => {
    const stranger = await backend.person(await backend.company('Other'));
    const wrong: [object, string][] = [
      [{ balanceThresholds: [] }, 'balanceThresholds'],
      [{ balanceThresholds: [0.0000001] }, 'balanceThresholds'],
      [{ balanceThresholds: Array.from({ length: 51 }, (_, at) => at) }, 'balanceThresholds'],
      [{ limitPercents: [120] }, 'limitPercents'],
      [{ receivers: ['x'] }, 'receivers'],
      [{ receivers: ['nobody@nowhere.example'] }, 'receivers'],
      [{ receivers: [stranger.email] }, 'receivers'],
    ];
    const said: (string | undefined)[] = [];
    for (const [part, field] of wrong) {
      const { errors } = await admin.answer(SET, { input: { isOn: true, ...part } });
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: `input.${field}` });
      said.push(errors?.[0]?.message);
    }
    expect(said.at(-1)).toBe(said.at(-2) as string);
    expect(await admin.ask(`{ alertSettings { ${ALL} } }`)).toEqual({ alertSettings: usual });
  });
});

test('P-15 a talent has the text that its evidence refers to, and the history of its changes', async () => {
  const profile = { basics: { name: 'Ada Byron', email: 'ada@example.org' } };
  const place = { path: 'basics.name', start: 0, end: 9, confidence: 1 };
  const ids: string[] = [];
  // The second one is recognised as the same person: the first then has the newer CV's evidence, and so its text.
  for (const text of ['Ada Byron, old', 'Ada Byron, new']) {
    const { createTalent } = await admin.ask<{ createTalent: { id: string } }>(
      'mutation($text: String!) { createTalent(input: { text: $text }) { id } }',
      { text },
    );
    ids.push(createTalent.id);
    const waiting = await findWaitingCv(backend.database, createTalent.id);
    if (waiting === null) throw new Error('nothing waits');
    const read = {
      outcome: 'read',
      text,
      profile,
      evidence: [place],
      document: {},
      engine: 'embedded',
    } as const;
    await applyCvReading(backend.parts, waiting, read);
  }
  const edited = { basics: { ...profile.basics, phone: '12345' } };
  await admin.ask('mutation($id: ID!, $profile: JSON!) { updateTalent(id: $id, profile: $profile) { id } }', {
    id: ids[0],
    profile: edited,
  });
  const { talent } = await admin.ask<{ talent: Record<string, unknown> }>(
    'query($id: ID!) { talent(id: $id) { text evidence versions { what changedByEmail version } } }',
    { id: ids[0] },
  );
  expect(talent.text).toBe('Ada Byron, new');
  expect(talent.evidence).toEqual([place]);
  expect(talent.versions).toEqual([
    { version: 4, what: 'edited', changedByEmail: admin.email },
    { version: 3, what: 'newer-cv', changedByEmail: null },
    { version: 2, what: 'parsed', changedByEmail: null },
    { version: 1, what: 'created', changedByEmail: admin.email },
  ]);
});
