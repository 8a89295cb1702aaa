import { describe, expect, test } from 'bun:test';
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
