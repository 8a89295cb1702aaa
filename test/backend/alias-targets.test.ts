import { describe, expect, test } from 'bun:test';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import { updateAlias } from '../../src/domain/models/change-alias.ts';
import { readCatalogue } from '../../src/domain/models/targets.ts';
import type { ModelUpstream, UpstreamTarget } from '../../src/ports/model-upstream.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBackend } from './backend-under-test.ts';

const SET = `mutation($targets: [AliasTargetInput!]!) { setAliasTargets(alias: "svc/chat-cheap", targets: $targets) {
  targets { id provider baseUrl model weight hasKey responses apiVersion headerNames } } }`;
const TEST = `mutation($input: AliasTargetInput!, $alias: String) {
  testAliasTarget(input: $input, alias: $alias) { ok status latencyMs message } }`;

interface Shown {
  setAliasTargets: { targets: { id: string; hasKey: boolean; headerNames: string[] }[] };
}

describe('targets of an alias, set by super admins', () => {
  const called: UpstreamTarget[] = [];
  const providers: ModelUpstream = {
    async send(target) {
      called.push(target);
      const left = [new TextEncoder().encode('{"choices":[]}')];
      return { status: 200, contentType: '', body: { read: () => left.shift() ?? null, cancel() {} } };
    },
  };
  const backend = useResource(() => openBackend({ providers }));

  test('a provider’s preset has the address; only the names of headers are shown', async () => {
    const { superAdmin } = backend.people;
    const targets = [
      { provider: 'anthropic', model: 'claude', apiKey: 'sk-one', headers: { 'x-team': 'secret' } },
      { provider: 'azure', baseUrl: 'https://me.openai.azure.com', model: 'gpt', apiVersion: '2024-10-21' },
    ];
    expect(await superAdmin.ask<Shown>(SET, { targets })).toMatchObject({
      setAliasTargets: {
        targets: [
          {
            provider: 'anthropic',
            baseUrl: 'https://api.anthropic.com/v1',
            hasKey: true,
            responses: false,
            headerNames: ['x-team'],
          },
          { provider: 'azure', hasKey: false, responses: true, apiVersion: '2024-10-21', headerNames: [] },
        ],
      },
    });
  });

  test('a changed weight keeps the key, and a test call uses the stored one', async () => {
    const { superAdmin } = backend.people;
    const target = { baseUrl: 'https://one.example/v1', model: 'm', apiKey: 'sk-kept' };
    const set = await superAdmin.ask<Shown>(SET, { targets: [target] });
    const id = set.setAliasTargets.targets[0]?.id;
    const kept = { id, baseUrl: target.baseUrl, model: 'm', weight: 5 };
    const again = await superAdmin.ask<Shown>(SET, { targets: [kept] });
    expect(again.setAliasTargets.targets).toMatchObject([{ id, weight: 5, hasKey: true }]);
    const tested = await superAdmin.ask(TEST, { input: kept, alias: 'svc/chat-cheap' });
    expect(tested).toMatchObject({ testAliasTarget: { ok: true, status: 200, message: 'm answered.' } });
    expect(called.at(-1)).toMatchObject({ baseUrl: target.baseUrl, apiKey: 'sk-kept' });
  });

  test('a stored key is neither saved nor tested for another host', async () => {
    const { superAdmin } = backend.people;
    const target = { baseUrl: 'https://one.example/v1', model: 'm', apiKey: 'sk-kept' };
    const set = await superAdmin.ask<Shown>(SET, { targets: [target] });
    const elsewhere = {
      id: set.setAliasTargets.targets[0]?.id,
      baseUrl: 'https://evil.example/v1',
      model: 'm',
    };
    const before = called.length;
    expect(superAdmin.ask(SET, { targets: [elsewhere] })).rejects.toThrow('another host');
    expect(superAdmin.ask(TEST, { input: elsewhere, alias: 'svc/chat-cheap' })).rejects.toThrow(
      'another host',
    );
    expect(called.length).toBe(before);
  });

  test('fields left out of a stored target stay; its key is removed only on request', async () => {
    const { superAdmin } = backend.people;
    const read =
      '{ modelAliases { alias targets { id weight hasKey responses timeoutMs maxInFlight cost { prompt } } } }';
    type Read = { modelAliases: { alias: string; targets: Record<string, unknown>[] }[] };
    const now = async () =>
      (await superAdmin.ask<Read>(read)).modelAliases.find(({ alias }) => alias === 'svc/chat-cheap')
        ?.targets;
    const limits = { timeoutMs: 900, maxInFlight: 3, cost: { prompt: 2, cached: 1, completion: 4 } };
    const target = { provider: 'vllm', baseUrl: 'https://vllm.example/v1', model: 'm' };
    const given = {
      ...target,
      apiKey: 'sk-one',
      weight: 4,
      responses: true,

      ...limits,
    };
    await superAdmin.ask<Shown>(SET, { targets: [given] });
    const [stored] = (await now()) ?? [];
    const id = String(stored?.id);
    await superAdmin.ask(SET, { targets: [{ id, ...target }] });
    const kept = {
      id,
      weight: 4,
      responses: true,

      ...limits,
      cost: { prompt: 2 },
    };
    expect(await now()).toEqual([{ ...kept, hasKey: true }]);
    expect(
      superAdmin.ask(SET, { targets: [{ id, ...target, removeKey: true, apiKey: 'x' }] }),
    ).rejects.toThrow('leave it out');
    await superAdmin.ask(SET, { targets: [{ id, ...target, removeKey: true, timeoutMs: null, cost: null }] });
    expect(await now()).toEqual([{ ...kept, hasKey: false, timeoutMs: null, cost: null }]);
  });

  test('hosted tools are enabled with their price, and fields left out stay', async () => {
    const { superAdmin } = backend.people;
    const set = `mutation($input: AliasToolsInput!) { setAliasTools(alias: "svc/chat-cheap", input: $input) {
      alias hostedTools { tools { name creditsPerUse } maxUses providerIds } } }`;
    const search = { name: 'web_search', creditsPerUse: 0.01 };
    const first = await superAdmin.ask(set, {
      input: { tools: [search], maxUses: 5, providerIds: ['vs_1'] },
    });
    const all = { tools: [search], maxUses: 5, providerIds: ['vs_1'] };
    expect(first).toEqual({ setAliasTools: { alias: 'svc/chat-cheap', hostedTools: all } });
    const fewer = await superAdmin.ask(set, { input: { tools: [] } });
    expect(fewer).toMatchObject({ setAliasTools: { hostedTools: { ...all, tools: [] } } });
    for (const [input, problem] of [
      [{ tools: [{ ...search, name: 'teleport' }] }, 'there is no hosted tool'],
      [{ tools: [{ ...search, creditsPerUse: -1 }] }, 'the price of web_search'],
      [{ tools: [], maxUses: 0 }, 'the most uses'],
      [{ tools: [], providerIds: ['a b'] }, 'a provider id'],
    ] as const) {
      expect(superAdmin.ask(set, { input })).rejects.toThrow(problem);
    }
    const { hostedTools } = await superAdmin.ask<{ hostedTools: { name: string }[] }>(
      '{ hostedTools { name } }',
    );
    expect(hostedTools.map(({ name }) => name)).toContain('code_interpreter');
  });

  test('a company admin stores, tests, replaces and deletes an own provider key, which no response shows', async () => {
    const { superAdmin, admin, otherAdmin } = backend.people;
    const alias = 'svc/chat-cheap';
    const targets = [{ baseUrl: 'https://one.example/v1', model: 'secret-model', apiKey: 'sk-operator' }];
    await superAdmin.ask(SET, { targets });
    const store = `mutation($input: OwnProviderKeyInput!) { setOwnProviderKey(input: $input) { id alias host lastFour } }`;
    const check = `mutation($input: OwnProviderKeyTestInput!) { testOwnProviderKey(input: $input) { ok message } }`;
    const input = { alias, apiKey: 'sk-own-0123456789-wxyz' };
    expect(admin.ask(store, { input })).rejects.toThrow('allows no own provider keys');
    const fee = (percent: number | null) =>
      superAdmin.ask(
        'mutation($fee: Float) { updateModelAlias(alias: "svc/chat-cheap", input: { byokFeePercent: $fee }) { byokFeePercent } }',
        { fee: percent },
      );
    expect(fee(101)).rejects.toThrow('from 0 to 100 percent');
    const factor = (factors: object[] | null) =>
      superAdmin.ask(
        'mutation($all: [PriceFactorInput!]) { updateModelAlias(alias: "svc/chat-cheap", input: { priceFactors: $all }) { priceFactors { field value factor } } }',
        { all: factors },
      );
    const priority = { field: 'service_tier', value: 'priority', factor: 2 };
    expect(factor([{ ...priority, field: 'tier' }])).rejects.toThrow('service_tier, speed, inference_geo');
    expect(await factor([priority])).toEqual({ updateModelAlias: { priceFactors: [priority] } });
    expect(await factor(null)).toEqual({ updateModelAlias: { priceFactors: [] } });
    expect(await fee(12.5)).toEqual({ updateModelAlias: { byokFeePercent: 12.5 } });
    expect(await admin.ask('{ ownProviderKeyOptions { alias provider host feePercent } }')).toEqual({
      ownProviderKeyOptions: [{ alias, provider: 'openai', host: 'one.example', feePercent: 12.5 }],
    });
    expect(admin.ask(store, { input: { ...input, host: 'evil.example' } })).rejects.toThrow('one.example');
    expect(admin.ask(store, { input: { ...input, apiKey: 'a b' } })).rejects.toThrow('visible ASCII');
    expect(admin.ask(check, { input: { alias } })).rejects.toThrow('no key is stored');
    const answers = [await admin.ask(check, { input })];
    expect(answers).toEqual([
      { testOwnProviderKey: { ok: true, message: expect.stringContaining('accepted the key') } },
    ]);
    expect(called.at(-1)).toMatchObject({ baseUrl: 'https://one.example/v1', apiKey: input.apiKey });
    type Stored = { setOwnProviderKey: { id: string } };
    const stored = await admin.ask<Stored>(store, { input });
    expect(stored).toMatchObject({ setOwnProviderKey: { alias, host: 'one.example', lastFour: 'wxyz' } });
    const again = await admin.ask<Stored>(store, { input: { ...input, apiKey: 'sk-own-0123456789-next' } });
    expect(again.setOwnProviderKey.id).toBe(stored.setOwnProviderKey.id);
    await admin.ask(check, { input: { alias, host: 'one.example' } });
    expect(called.at(-1)?.apiKey).toBe('sk-own-0123456789-next');
    expect(await otherAdmin.ask('{ ownProviderKeys { id } }')).toEqual({ ownProviderKeys: [] });
    expect(otherAdmin.ask(check, { input: { alias } })).rejects.toThrow('no key is stored');
    answers.push(
      stored,
      again,
      await admin.ask('{ ownProviderKeys { id alias host lastFour createdAt changedAt } }'),
    );
    const gone = 'mutation($id: ID!) { deleteOwnProviderKey(id: $id) { id lastFour } }';
    answers.push(await admin.ask(gone, { id: stored.setOwnProviderKey.id }));
    const { auditLog } = await admin.ask<{ auditLog: { nodes: { action: string }[] } }>(
      '{ auditLog(first: 3) { nodes { action objectId details } } }',
    );
    answers.push(auditLog);
    expect(auditLog.nodes.map(({ action }) => action)).toEqual([
      'own-key.deleted',
      'own-key.replaced',
      'own-key.stored',
    ]);
    expect(await admin.ask('{ ownProviderKeys { id } }')).toEqual({ ownProviderKeys: [] });
    for (const secret of ['sk-', 'secret-model']) expect(JSON.stringify(answers)).not.toContain(secret);
  });

  test('cost and margin are summed by model, provider, company and day, and a price below cost is reported', async () => {
    const { superAdmin } = backend.people;
    const { database, sharedState, secrets, cipher } = backend.parts;
    const { acme, other } = backend.companies;
    const alias = 'svc/chat-cheap';
    const cost = { prompt: 1, cached: 1, completion: 1_000 };
    const target = { baseUrl: 'https://cost.example/v1', model: 'm', apiKey: null, weight: 1, cost };
    await updateAlias(
      { database, sharedState, secrets, cipher, prefix: 'svc' },
      { alias, targets: [target] },
    );
    const { targets } = await readCatalogue(database);
    const targetId = targets.find(({ baseUrl }) => baseUrl === target.baseUrl)?.id ?? '';
    const startedAtMs = Date.UTC(2026, 0, 31, 12);
    const premium = { alias: 'svc/chat-premium', startedAtMs };
    await chargeCalls(database, [finishedCall(acme, { ...premium, targetId, costMicro: 100 })]);
    await chargeCalls(database, [
      finishedCall(acme, { ...premium, targetId: 'gone', costMicro: 0, ownKey: true }),
      finishedCall(other, { ...premium, targetId, costMicro: 300, startedAtMs: startedAtMs + 86_400_000 }),
      finishedCall(other, premium),
    ]);
    const query = `query($groupBy: MarginGroup!) { margins(from: "2026-01-31", to: "2026-02-01", groupBy: $groupBy) {
      totals { calls cost revenue margin marginPercent } rows { key name totals { calls cost } }
      callsWithoutCost revenueWithoutCost } }`;
    type Shown = {
      margins: { rows: { name: string; totals: { calls: number; cost: number } }[] } & Record<
        string,
        unknown
      >;
    };
    const by = async (groupBy: string) => (await superAdmin.ask<Shown>(query, { groupBy })).margins;
    const rows = async (groupBy: string) =>
      (await by(groupBy)).rows.map(({ name, totals: { calls, cost: spent } }) => [name, calls, spent]);
    const { rows: _, ...sums } = await by('MODEL');
    const [charged] = await database.query<{ micro: bigint }>('select max(charge_micro) as micro from calls');
    const each = Number(charged?.micro) / 1e6;
    expect(sums).toMatchObject({ totals: { calls: 3, cost: 0.0004 }, callsWithoutCost: 1 });
    expect((sums.totals as { revenue: number }).revenue).toBeCloseTo(3 * each);
    expect(sums.revenueWithoutCost).toBeCloseTo(each);
    expect(await rows('MODEL')).toEqual([['svc/chat-premium', 3, 0.0004]]);
    expect(await rows('PROVIDER')).toEqual([
      ['openai at cost.example', 2, 0.0004],
      ['unknown', 1, 0],
    ]);
    expect((await rows('COMPANY')).map(([, calls, spent]) => [calls, spent])).toEqual([
      [1, 0.0003],
      [2, 0.0001],
    ]);
    expect(await rows('DAY')).toEqual([
      ['2026-01-31', 2, 0.0001],
      ['2026-02-01', 1, 0.0003],
    ]);
    const price =
      'mutation { setAliasPrice(alias: "svc/chat-cheap", price: { prompt: 1, cached: 1, completion: 999 }) { warnings } }';
    const warning = expect.stringContaining(
      'its completion price is 999 credits a million tokens, and cost.example costs 1000',
    );
    expect(await superAdmin.ask(price)).toEqual({ setAliasPrice: { warnings: [warning] } });
    const { modelAliases } = await superAdmin.ask<{
      modelAliases: { alias: string; priceWarnings: string[] }[];
    }>('{ modelAliases { alias priceWarnings } }');
    expect(modelAliases.filter(({ priceWarnings }) => priceWarnings.length > 0)).toEqual([
      { alias, priceWarnings: [warning] },
    ] as never);
    await updateAlias({ database, sharedState, secrets, cipher, prefix: 'svc' }, { alias, targets: [] });
  });

  test('an invalid value is refused with its field', async () => {
    const { superAdmin } = backend.people;
    const ask = (target: object) => superAdmin.ask(SET, { targets: [target] });
    expect(ask({ provider: 'acme', model: 'm' })).rejects.toThrow('use one of openai');
    expect(ask({ provider: 'compatible', model: 'm' })).rejects.toThrow('needs an address');
    expect(ask({ provider: 'vllm', model: 'm', headers: ['x'] })).rejects.toThrow('write an object');
    expect(ask({ provider: 'vllm', model: 'm', headers: { authorization: 'x' } })).rejects.toThrow(
      'gateway itself',
    );
  });
});

describe('operators’ own aliases, set by super admins', () => {
  const backend = useResource(() => openBackend());
  const SHOWN = `alias kind isDocumented contextLength maxOutputTokens strategy retries retryStatuses fallback hedgeMs retiredAt
    version prices { prompt cacheWrite } targets { id model hasKey }`;
  const CREATE = `mutation($input: ModelAliasInput!) { createModelAlias(input: $input) { ${SHOWN} } }`;
  const UPDATE = `mutation($alias: String!, $input: ModelAliasInput!, $ifVersion: String) {
    updateModelAlias(alias: $alias, input: $input, ifVersion: $ifVersion) { ${SHOWN} } }`;
  const RETIRE = 'mutation($alias: String!) { retireModelAlias(alias: $alias) { alias retiredAt } }';
  const NAMES = '{ modelAliases { alias } }';
  const price = { prompt: 2, cached: 1, completion: 8 };
  const input = {
    ...{
      alias: 'gpt-4o',
      kind: 'chat',
      contextLength: 128_000,
      price,
      strategy: 'order',
      fallback: 'svc/chat-cheap',
    },
    targets: [{ model: 'gpt-4o', apiKey: 'sk-secret' }],
  };
  type Made = { createModelAlias: { version: string; targets: { id: string }[] } };
  type Names = { modelAliases: { alias: string }[] };

  test('are created, changed and retired; their prices stay, and every step is in the audit log without a key', async () => {
    const { superAdmin, admin } = backend.people;
    const before = await admin.ask<{ createApiKey: { apiKey: { id: string } } }>(
      `mutation { createApiKey(input: { name: "listed", models: ["svc/chat-default"] }) { apiKey { id } } }`,
    );
    const made = await superAdmin.ask<Made>(CREATE, { input });
    expect(made).toMatchObject({
      createModelAlias: {
        ...{
          alias: 'gpt-4o',
          kind: 'chat',
          isDocumented: false,
          contextLength: 128_000,
          maxOutputTokens: 16_384,
        },
        ...{ strategy: 'order', retries: null, fallback: 'svc/chat-cheap', retiredAt: null },
        prices: [{ prompt: 2, cacheWrite: null }],
        targets: [{ model: 'gpt-4o', hasKey: true }],
      },
    });
    expect((await admin.ask<Names>(NAMES)).modelAliases.map(({ alias }) => alias)).toContain('gpt-4o');
    const keys = await admin.ask<{ apiKeys: { id: string; models: string[]; allModels: boolean }[] }>(
      '{ apiKeys { id models allModels } }',
    );
    const listed = keys.apiKeys.find(({ id }) => id === before.createApiKey.apiKey.id);
    expect(listed).toMatchObject({ models: ['svc/chat-default'], allModels: false });
    expect(
      await admin.ask(
        `mutation { createApiKey(input: { name: "own", models: ["gpt-4o"] }) { apiKey { models } } }`,
      ),
    ).toMatchObject({ createApiKey: { apiKey: { models: ['gpt-4o'] } } });
    expect(
      await admin.ask(`mutation { createApiKey(input: { name: "all" }) { apiKey { models allModels } } }`),
    ).toMatchObject({
      createApiKey: { apiKey: { models: expect.arrayContaining(['gpt-4o']), allModels: true } },
    });
    const { version, targets } = made.createModelAlias;
    const [id] = targets.map((target) => target.id);
    const changed = { retries: 2, fallback: null, targets: [{ id, model: 'gpt-4o', weight: 3 }] };
    const updated = await superAdmin.ask(UPDATE, { alias: 'gpt-4o', input: changed, ifVersion: version });
    expect(updated).toMatchObject({
      updateModelAlias: { strategy: 'order', retries: 2, fallback: null, targets: [{ hasKey: true }] },
    });
    expect(superAdmin.ask(UPDATE, { alias: 'gpt-4o', input: {}, ifVersion: version })).rejects.toThrow(
      'was changed since you opened it',
    );
    expect(await superAdmin.ask(RETIRE, { alias: 'gpt-4o' })).toMatchObject({
      retireModelAlias: { retiredAt: expect.any(String) },
    });
    expect((await admin.ask<Names>(NAMES)).modelAliases.map(({ alias }) => alias)).not.toContain('gpt-4o');
    expect(
      await admin.ask('{ modelAliases(includeRetired: true) { alias retiredAt prices { prompt } } }'),
    ).toMatchObject({
      modelAliases: expect.arrayContaining([
        { alias: 'gpt-4o', retiredAt: expect.any(String), prices: [{ prompt: 2 }] },
      ]),
    });
    expect(
      admin.ask(`mutation { createApiKey(input: { name: "x", models: ["gpt-4o"] }) { rawKey } }`),
    ).rejects.toThrow('there is no model');
    const rows = await backend.database.query(
      `select action, details::text as details from audit_log where object_id = 'gpt-4o' order by happened_at, id`,
    );
    expect(rows.map(({ action }) => action)).toEqual(['alias.created', 'alias.changed', 'alias.retired']);
    expect(JSON.stringify(rows)).not.toContain('sk-secret');
  });

  test('a price, tools and a fee that are based on an older version are refused', async () => {
    const { superAdmin } = backend.people;
    const alias = 'svc/chat-cheap';
    const versionNow = async () => {
      type Versions = { modelAliases: { alias: string; version: string }[] };
      const { modelAliases } = await superAdmin.ask<Versions>('{ modelAliases { alias version } }');
      return modelAliases.find((one) => one.alias === alias)?.version;
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
      await superAdmin.ask(set, { alias, ifVersion, ...variables });
      expect(await versionNow()).not.toBe(ifVersion);
      expect(superAdmin.ask(set, { alias, ifVersion, ...variables })).rejects.toThrow(
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
      [{ alias: null }, 'input.alias: it must not be empty'],
      [{ alias: 'x'.repeat(300) }, 'input.alias: '],
      [{ alias: 'svc/chat-default' }, 'input.alias: there is an alias'],
      [{ kind: null }, 'input.kind: '],
      [{ price: null }, 'input.price: the new alias other needs a price'],
      [{ fallback: 'svc/embed-default' }, 'input.fallback: '],
      [{ retries: 99 }, 'input: retries is'],
      [{ targets: [{ model: 'm', provider: 'acme' }] }, 'input.targets.0.provider: use one of'],
      [{ targets: [{ model: 'm' }, { model: 'a,b' }] }, 'input.targets.1.model: its model must'],
      [
        { targets: [{ model: 'm', baseUrl: 'https://a.example, b' }] },
        'input.targets.0.baseUrl: its address must',
      ],
      [{ targets: [{ model: 'm', timeoutMs: 0 }] }, 'input.targets.0.timeoutMs: '],
      [{ targets: [{ model: 'm', headers: { host: 'x' } }] }, 'input.targets.0.headers: '],
    ] as const) {
      expect(make(changes)).rejects.toThrow(problem);
    }
    expect(superAdmin.ask(UPDATE, { alias: 'nowhere', input: {} })).rejects.toThrow('no such model alias');
    expect(superAdmin.ask(UPDATE, { alias: 'svc/chat-cheap', input: { alias: 'x' } })).rejects.toThrow(
      'cannot be changed',
    );
    expect(superAdmin.ask(RETIRE, { alias: 'svc/chat-cheap' })).rejects.toThrow('cannot be retired');
    expect(superAdmin.ask(RETIRE, { alias: 'nowhere' })).rejects.toThrow('no such model alias');
  });
});
