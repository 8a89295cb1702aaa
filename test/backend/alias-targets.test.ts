import { describe, expect, test } from 'bun:test';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import { updateAlias } from '../../src/domain/models/change-alias.ts';
import { readCatalogue } from '../../src/domain/models/targets.ts';
import type { ModelUpstream, UpstreamTarget } from '../../src/ports/model-upstream.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBackend } from './backend-under-test.ts';

const ALIAS = 'svc/chat-cheap';
const SET = `mutation($targets: [AliasTargetInput!]!) { setAliasTargets(alias: "${ALIAS}", targets: $targets) {
  targets { id provider baseUrl model weight hasKey responses apiVersion headerNames timeoutMs idleTimeoutMs maxInFlight cost { prompt } } } }`;
const TEST = `mutation($input: AliasTargetInput!, $alias: String) {
  testAliasTarget(input: $input, alias: $alias) { ok status latencyMs message } }`;

interface Shown {
  setAliasTargets: { targets: Record<string, unknown>[] };
}

const called: UpstreamTarget[] = [];
const providers: ModelUpstream = {
  async send(target) {
    called.push(target);
    const left = [new TextEncoder().encode('{"choices":[]}')];
    return { status: 200, contentType: '', body: { read: () => left.shift() ?? null, cancel() {} } };
  },
};
const backend = useResource(() => openBackend({ providers }));

describe('targets of an alias, set by super admins', () => {
  const set = async (...targets: object[]) =>
    (await backend.people.superAdmin.ask<Shown>(SET, { targets })).setAliasTargets.targets;

  test('a provider’s preset has the address; only the names of headers are shown', async () => {
    const headers = { 'x-team': 'secret' };
    expect(
      await set(
        { provider: 'anthropic', model: 'claude', apiKey: 'sk-one', headers },
        { provider: 'azure', baseUrl: 'https://me.openai.azure.com', model: 'gpt', apiVersion: '2024-10-21' },
      ),
    ).toMatchObject([
      { baseUrl: 'https://api.anthropic.com/v1', hasKey: true, responses: false, headerNames: ['x-team'] },
      { provider: 'azure', hasKey: false, responses: true, apiVersion: '2024-10-21', headerNames: [] },
    ]);
    expect(set({ provider: 'vllm', model: 'm', headers: ['x'] })).rejects.toThrow('write an object');
  });

  test('a test call uses the stored key, which is neither saved nor tested for another host', async () => {
    const { superAdmin } = backend.people;
    const target = { baseUrl: 'https://one.example/v1', model: 'm', apiKey: 'sk-kept' };
    const [stored] = await set(target);
    const kept = { id: stored?.id, baseUrl: target.baseUrl, model: 'm', weight: 5 };
    expect(await set(kept)).toMatchObject([{ id: stored?.id, weight: 5, hasKey: true }]);
    expect(await superAdmin.ask(TEST, { input: kept, alias: ALIAS })).toMatchObject({
      testAliasTarget: { ok: true, status: 200, message: 'm answered.' },
    });
    expect(called.at(-1)).toMatchObject({ baseUrl: target.baseUrl, apiKey: 'sk-kept' });
    const elsewhere = { ...kept, baseUrl: 'https://evil.example/v1' };
    const before = called.length;
    expect(set(elsewhere)).rejects.toThrow('another host');
    expect(superAdmin.ask(TEST, { input: elsewhere, alias: ALIAS })).rejects.toThrow('another host');
    expect(called.length).toBe(before);
  });

  test('fields left out of a stored target stay; its key is removed only on request', async () => {
    const limits = {
      timeoutMs: 900,
      idleTimeoutMs: 800,
      maxInFlight: 3,
      cost: { prompt: 2, cached: 1, completion: 4 },
    };
    const target = { provider: 'vllm', baseUrl: 'https://vllm.example/v1', model: 'm' };
    const [{ id } = {}] = await set({ ...target, apiKey: 'sk-one', weight: 4, responses: true, ...limits });
    const kept = { id, weight: 4, responses: true, ...limits, cost: { prompt: 2 } };
    expect(await set({ id, ...target })).toMatchObject([{ ...kept, hasKey: true }]);
    expect(set({ id, ...target, removeKey: true, apiKey: 'x' })).rejects.toThrow('leave it out');
    expect(await set({ id, ...target, removeKey: true, timeoutMs: null, cost: null })).toMatchObject([
      { ...kept, hasKey: false, timeoutMs: null, cost: null },
    ]);
  });

  test('hosted tools are enabled with their price, and fields left out stay', async () => {
    const { superAdmin } = backend.people;
    const setTools = `mutation($input: AliasToolsInput!) { setAliasTools(alias: "${ALIAS}", input: $input) {
      hostedTools { tools { name creditsPerUse } maxUses providerIds } } }`;
    const search = { name: 'web_search', creditsPerUse: 0.01 };
    const all = { tools: [search], maxUses: 5, providerIds: ['vs_1'] };
    expect(await superAdmin.ask(setTools, { input: all })).toEqual({ setAliasTools: { hostedTools: all } });
    expect(await superAdmin.ask(setTools, { input: { tools: [] } })).toEqual({
      setAliasTools: { hostedTools: { ...all, tools: [] } },
    });
    for (const [input, problem] of [
      [{ tools: [{ ...search, name: 'teleport' }] }, 'there is no hosted tool'],
      [{ tools: [{ ...search, creditsPerUse: -1 }] }, 'the price of web_search'],
      [{ tools: [], maxUses: 0 }, 'the most uses'],
      [{ tools: [], providerIds: ['a b'] }, 'a provider id'],
    ] as const) {
      expect(superAdmin.ask(setTools, { input })).rejects.toThrow(problem);
    }
    expect(await superAdmin.ask('{ hostedTools { name } }')).toMatchObject({
      hostedTools: expect.arrayContaining([{ name: 'code_interpreter' }]),
    });
  });
});

test('price factors of an alias are set and removed', async () => {
  const { superAdmin } = backend.people;
  const factor = (all: object[] | null) =>
    superAdmin.ask(
      `mutation($all: [PriceFactorInput!]) {
        updateModelAlias(alias: "${ALIAS}", input: { priceFactors: $all }) { priceFactors { field value factor } } }`,
      { all },
    );
  const priority = { field: 'service_tier', value: 'priority', factor: 2 };
  expect(factor([{ ...priority, field: 'tier' }])).rejects.toThrow('service_tier, speed, inference_geo');
  expect(await factor([priority])).toEqual({ updateModelAlias: { priceFactors: [priority] } });
  expect(await factor(null)).toEqual({ updateModelAlias: { priceFactors: [] } });
});

test('a company admin stores, tests, replaces and deletes an own provider key, which no response shows', async () => {
  const { superAdmin, admin, otherAdmin } = backend.people;
  const targets = [{ baseUrl: 'https://one.example/v1', model: 'secret-model', apiKey: 'sk-operator' }];
  await superAdmin.ask(SET, { targets });
  const store =
    'mutation($input: OwnProviderKeyInput!) { setOwnProviderKey(input: $input) { id alias host lastFour } }';
  const check =
    'mutation($input: OwnProviderKeyTestInput!) { testOwnProviderKey(input: $input) { ok message } }';
  const input = { alias: ALIAS, apiKey: 'sk-own-0123456789-wxyz' };
  expect(admin.ask(store, { input })).rejects.toThrow('allows no own provider keys');
  const fee = (percent: number) =>
    superAdmin.ask(
      `mutation($fee: Float) { updateModelAlias(alias: "${ALIAS}", input: { byokFeePercent: $fee }) { byokFeePercent } }`,
      { fee: percent },
    );
  expect(fee(101)).rejects.toThrow('from 0 to 100 percent');
  expect(await fee(12.5)).toEqual({ updateModelAlias: { byokFeePercent: 12.5 } });
  expect(await admin.ask('{ ownProviderKeyOptions { alias provider host feePercent } }')).toEqual({
    ownProviderKeyOptions: [{ alias: ALIAS, provider: 'openai', host: 'one.example', feePercent: 12.5 }],
  });
  expect(admin.ask(store, { input: { ...input, host: 'evil.example' } })).rejects.toThrow('one.example');
  expect(admin.ask(check, { input: { alias: ALIAS } })).rejects.toThrow('no key is stored');
  const answers: object[] = [await admin.ask(check, { input })];
  expect(answers).toMatchObject([{ testOwnProviderKey: { ok: true } }]);
  expect(called.at(-1)).toMatchObject({ baseUrl: 'https://one.example/v1', apiKey: input.apiKey });
  type Stored = { setOwnProviderKey: { id: string } };
  const stored = await admin.ask<Stored>(store, { input });
  expect(stored).toMatchObject({
    setOwnProviderKey: { alias: ALIAS, host: 'one.example', lastFour: 'wxyz' },
  });
  const again = await admin.ask<Stored>(store, { input: { ...input, apiKey: 'sk-own-0123456789-next' } });
  expect(again.setOwnProviderKey.id).toBe(stored.setOwnProviderKey.id);
  await admin.ask(check, { input: { alias: ALIAS, host: 'one.example' } });
  expect(called.at(-1)?.apiKey).toBe('sk-own-0123456789-next');
  expect(await otherAdmin.ask('{ ownProviderKeys { id } }')).toEqual({ ownProviderKeys: [] });
  expect(otherAdmin.ask(check, { input: { alias: ALIAS } })).rejects.toThrow('no key is stored');
  const listed = await admin.ask('{ ownProviderKeys { id alias host lastFour createdAt changedAt } }');
  const gone = 'mutation($id: ID!) { deleteOwnProviderKey(id: $id) { id lastFour } }';
  const deleted = await admin.ask(gone, { id: stored.setOwnProviderKey.id });
  const log = await admin.ask('{ auditLog(first: 3) { nodes { action objectId details } } }');
  const actions = ['own-key.deleted', 'own-key.replaced', 'own-key.stored'];
  expect(log).toMatchObject({ auditLog: { nodes: actions.map((action) => ({ action })) } });
  expect(await admin.ask('{ ownProviderKeys { id } }')).toEqual({ ownProviderKeys: [] });
  const shown = JSON.stringify([...answers, stored, again, listed, deleted, log]);
  for (const secret of ['sk-', 'secret-model']) expect(shown).not.toContain(secret);
});

test('cost and margin are summed by model and provider, and a price below cost is reported', async () => {
  const { superAdmin } = backend.people;
  const { database, sharedState, secrets, cipher } = backend.parts;
  const { acme, other } = backend.companies;
  const cost = { prompt: 1, cached: 1, completion: 1_000 };
  const target = { baseUrl: 'https://cost.example/v1', model: 'm', apiKey: null, weight: 1, cost };
  const parts = { database, sharedState, secrets, cipher, prefix: 'svc' };
  await updateAlias(parts, { alias: ALIAS, targets: [target] });
  const { targets } = await readCatalogue(database);
  const targetId = targets.find(({ baseUrl }) => baseUrl === target.baseUrl)?.id ?? '';
  const premium = { alias: 'svc/chat-premium', startedAtMs: Date.UTC(2026, 0, 31, 12) };
  await chargeCalls(database, [finishedCall(acme, { ...premium, targetId, costMicro: 100 })]);
  await chargeCalls(database, [
    finishedCall(acme, { ...premium, targetId: 'gone', costMicro: 0, ownKey: true }),
    finishedCall(other, { ...premium, targetId, costMicro: 300 }),
    finishedCall(other, premium),
  ]);
  type Shown = {
    margins: Record<string, unknown> & {
      totals: { revenue: number };
      rows: { name: string; totals: { calls: number; cost: number } }[];
    };
  };
  const by = async (groupBy: string) =>
    (
      await superAdmin.ask<Shown>(
        `query($groupBy: MarginGroup!) { margins(from: "2026-01-31", to: "2026-02-01", groupBy: $groupBy) {
          totals { calls cost revenue } rows { name totals { calls cost } } callsWithoutCost revenueWithoutCost } }`,
        { groupBy },
      )
    ).margins;
  const rows = async (groupBy: string) =>
    (await by(groupBy)).rows.map(({ name, totals }) => [name, totals.calls, totals.cost]);
  const { rows: _, ...sums } = await by('MODEL');
  const [charged] = await database.query<{ micro: bigint }>('select max(charge_micro) as micro from calls');
  const each = Number(charged?.micro) / 1e6;
  expect(sums).toMatchObject({ totals: { calls: 3, cost: 0.0004 }, callsWithoutCost: 1 });
  expect(sums.totals.revenue).toBeCloseTo(3 * each);
  expect(sums.revenueWithoutCost).toBeCloseTo(each);
  expect(await rows('MODEL')).toEqual([['svc/chat-premium', 3, 0.0004]]);
  expect(await rows('PROVIDER')).toEqual([
    ['openai at cost.example', 2, 0.0004],
    ['unknown', 1, 0],
  ]);
  const price = `mutation {
    setAliasPrice(alias: "${ALIAS}", price: { prompt: 1, cached: 1, completion: 999 }) { warnings } }`;
  const warning = expect.stringContaining(
    'its completion price is 999 credits a million tokens, and cost.example costs 1000',
  );
  expect(await superAdmin.ask(price)).toEqual({ setAliasPrice: { warnings: [warning] } });
  expect(await superAdmin.ask('{ modelAliases { alias priceWarnings } }')).toMatchObject({
    modelAliases: expect.arrayContaining([{ alias: ALIAS, priceWarnings: [warning] }]),
  });
  await updateAlias(parts, { alias: ALIAS, targets: [] });
});

describe('operators’ own aliases, set by super admins', () => {
  const SHOWN =
    'alias kind isDocumented strategy retries fallback fallbackPrice retiredAt version targets { id hasKey }';
  const CREATE = `mutation($input: ModelAliasInput!) { createModelAlias(input: $input) { ${SHOWN} } }`;
  const UPDATE = `mutation($alias: String!, $input: ModelAliasInput!, $ifVersion: String) {
    updateModelAlias(alias: $alias, input: $input, ifVersion: $ifVersion) { ${SHOWN} } }`;
  const RETIRE = 'mutation($alias: String!) { retireModelAlias(alias: $alias) { retiredAt } }';
  const price = { prompt: 2, cached: 1, completion: 8 };
  const settings = { contextLength: 128_000, strategy: 'order', fallback: ALIAS, fallbackPrice: 'SERVED' };
  const input = {
    ...{ alias: 'gpt-4o', kind: 'chat', price, ...settings },
    targets: [{ model: 'gpt-4o', apiKey: 'sk-secret' }],
  };

  test('are created, changed and retired; their prices stay, and every step is in the audit log without a key', async () => {
    const { superAdmin, admin } = backend.people;
    const names = async () =>
      (await admin.ask<{ modelAliases: { alias: string }[] }>('{ modelAliases { alias } }')).modelAliases.map(
        ({ alias }) => alias,
      );
    const createKey = (models: string) =>
      admin.ask(
        `mutation { createApiKey(input: { name: "k"${models} }) { apiKey { id models allModels } } }`,
      );
    const { createModelAlias: made } = await superAdmin.ask<{
      createModelAlias: { version: string; targets: { id: string }[] };
    }>(CREATE, { input });
    expect(made).toMatchObject({
      ...{ alias: 'gpt-4o', kind: 'chat', isDocumented: false, strategy: 'order', retries: null },
      ...{ fallback: ALIAS, fallbackPrice: 'SERVED', retiredAt: null, targets: [{ hasKey: true }] },
    });
    expect(await names()).toContain('gpt-4o');
    expect(await createKey(', models: ["svc/chat-default"]')).toMatchObject({
      createApiKey: { apiKey: { models: ['svc/chat-default'], allModels: false } },
    });
    expect(await createKey('')).toMatchObject({
      createApiKey: { apiKey: { models: expect.arrayContaining(['gpt-4o']), allModels: true } },
    });
    const changed = {
      ...{ alias: 'gpt-4o', ifVersion: made.version },
      input: { retries: 2, fallback: null, targets: [{ id: made.targets[0]?.id, model: 'gpt-4o' }] },
    };
    expect(await superAdmin.ask(UPDATE, changed)).toMatchObject({
      updateModelAlias: { strategy: 'order', retries: 2, fallback: null, targets: [{ hasKey: true }] },
    });
    await superAdmin.ask(RETIRE, { alias: 'gpt-4o' });
    expect(await names()).not.toContain('gpt-4o');
    expect(
      await admin.ask('{ modelAliases(includeRetired: true) { alias retiredAt prices { prompt } } }'),
    ).toMatchObject({
      modelAliases: expect.arrayContaining([
        { alias: 'gpt-4o', retiredAt: expect.any(String), prices: [{ prompt: 2 }] },
      ]),
    });
    expect(createKey(', models: ["gpt-4o"]')).rejects.toThrow('there is no model');
    const rows = await backend.database.query(
      `select action, details::text as details from audit_log where object_id = 'gpt-4o' order by happened_at, id`,
    );
    expect(rows.map(({ action }) => action)).toEqual(['alias.created', 'alias.changed', 'alias.retired']);
    expect(JSON.stringify(rows)).not.toContain('sk-secret');
  });

  test('a price, tools and a fee that are based on an older version are refused', async () => {
    const { superAdmin } = backend.people;
    const versionNow = async () => {
      type Versions = { modelAliases: { alias: string; version: string }[] };
      const { modelAliases } = await superAdmin.ask<Versions>('{ modelAliases { alias version } }');
      return modelAliases.find(({ alias }) => alias === ALIAS)?.version;
    };
    for (const [set, variables] of [
      [
        `mutation($alias: String!, $price: AliasPriceInput!, $ifVersion: String) {
          setAliasPrice(alias: $alias, price: $price, ifVersion: $ifVersion) { prompt } }`,
        { price },
      ],
      [
        `mutation($alias: String!, $input: AliasToolsInput!, $ifVersion: String) {
          setAliasTools(alias: $alias, input: $input, ifVersion: $ifVersion) { alias } }`,
        { input: { tools: [{ name: 'web_search', creditsPerUse: 1 }] } },
      ],
      [UPDATE, { input: { byokFeePercent: 5 } }],
    ] as const) {
      const ifVersion = await versionNow();
      await superAdmin.ask(set, { alias: ALIAS, ifVersion, ...variables });
      expect(await versionNow()).not.toBe(ifVersion);
      expect(superAdmin.ask(set, { alias: ALIAS, ifVersion, ...variables })).rejects.toThrow(
        'was changed since you opened it',
      );
    }
  });

  test('an invalid value is refused with its field', async () => {
    const { superAdmin } = backend.people;
    const make = (changes: object) =>
      superAdmin.ask(CREATE, { input: { ...input, alias: 'other', ...changes } });
    for (const [changes, problem] of [
      [{ alias: 'a b' }, 'cannot be the name'],
      [{ alias: 'svc/chat-default' }, 'input.alias: there is an alias'],
      [{ price: null }, 'input.price: the new alias other needs a price'],
      [{ retries: 99 }, 'input: retries is'],
      [{ targets: [{ model: 'm' }, { model: 'a,b' }] }, 'input.targets.1.model: its model must'],
      [{ targets: [{ model: 'm', headers: { host: 'x' } }] }, 'input.targets.0.headers: '],
    ] as const) {
      expect(make(changes)).rejects.toThrow(problem);
    }
    expect(superAdmin.ask(UPDATE, { alias: 'nowhere', input: {} })).rejects.toThrow('no such model alias');
    expect(superAdmin.ask(UPDATE, { alias: ALIAS, input: { alias: 'x' } })).rejects.toThrow(
      'cannot be changed',
    );
    expect(superAdmin.ask(RETIRE, { alias: ALIAS })).rejects.toThrow('cannot be retired');
  });
});
