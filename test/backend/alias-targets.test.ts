import { describe, expect, test } from 'bun:test';
import { updateAlias } from '../../src/domain/models/change-alias.ts';
import type { ModelUpstream, UpstreamTarget } from '../../src/ports/model-upstream.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBackend } from './backend-under-test.ts';

const SET = `mutation($targets: [AliasTargetInput!]!) { setAliasTargets(alias: "svc/chat-cheap", targets: $targets) {
  targets { id provider baseUrl model weight hasKey responses apiVersion headerNames } } }`;
const TEST = `mutation($input: AliasTargetInput!, $alias: String) {
  testAliasTarget(input: $input, alias: $alias) { ok status latencyMs message } }`;

interface Shown {
  setAliasTargets: { targets: { id: string; hasKey: boolean; headerNames: string[] }[] };
}

describe('targets of an alias, as super admins set them', () => {
  const called: UpstreamTarget[] = [];
  const providers: ModelUpstream = {
    async send(target) {
      called.push(target);
      const left = [new TextEncoder().encode('{"choices":[]}')];
      return { status: 200, contentType: '', body: { read: () => left.shift() ?? null, cancel() {} } };
    },
  };
  const backend = useResource(() => openBackend({ providers }));

  test('a provider’s preset gives the address; headers show their names alone', async () => {
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

  test('a stored key is neither set nor tested at another host', async () => {
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

  test('hosted tools are enabled with their price, and what is left out stays', async () => {
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

  test('a company admin stores, tests, replaces and deletes an own provider key, which no answer shows', async () => {
    const { superAdmin, admin, otherAdmin } = backend.people;
    const { database, sharedState, secrets, cipher } = backend.parts;
    const alias = 'svc/chat-cheap';
    const targets = [{ baseUrl: 'https://one.example/v1', model: 'secret-model', apiKey: 'sk-operator' }];
    await superAdmin.ask(SET, { targets });
    const store = `mutation($input: OwnProviderKeyInput!) { setOwnProviderKey(input: $input) { id alias host lastFour } }`;
    const check = `mutation($input: OwnProviderKeyTestInput!) { testOwnProviderKey(input: $input) { ok message } }`;
    const input = { alias, apiKey: 'sk-own-0123456789-wxyz' };
    expect(admin.ask(store, { input })).rejects.toThrow('allows no own provider keys');
    await updateAlias(
      { database, sharedState, secrets, cipher, prefix: 'svc' },
      { alias, byokFeePercent: 12.5 },
    );
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

  test('what is wrong is said with its field', async () => {
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
