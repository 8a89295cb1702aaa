import { describe, expect, test } from 'bun:test';
import { type Alias, DEFAULT_BOUNDS } from '../../domain/models/aliases.ts';
import type { TargetWire } from '../../ports/model-upstream.ts';
import type { ClientWire } from '../json/client-wire.ts';
import { readModelBody } from '../json/request-body.ts';
import { isHosted, planHosted, type ToolModes } from './hosted-tools.ts';

const ENDPOINTS = { completions: 'chat/completions', responses: 'responses', messages: 'messages' } as const;
const target = { id: 't', baseUrl: 'https://one.example/v1', model: 'm', apiKey: null, weight: 1 };

function planned(
  wire: ClientWire,
  members: string,
  more: Partial<Alias>,
  unavailable: ToolModes['unavailable'],
) {
  const bytes = new TextEncoder().encode(`{"model":"svc/a",${members}}`);
  const read = readModelBody(bytes, wire);
  if (read.outcome === 'invalid') throw new Error(read.message);
  const alias: Alias = {
    alias: 'svc/a',
    kind: 'chat',
    targets: [target],
    prices: [],
    ...DEFAULT_BOUNDS.chat,
    ...more,
  };
  const call = { alias, bytes, fields: read.fields };
  if (!isHosted(call)) throw new Error('nothing is hosted');
  const plan = planHosted({ ...call, route: { wire, endpoint: ENDPOINTS[wire] } }, { unavailable });
  if (plan.outcome === 'refused') return `${plan.refusal.param}: ${plan.refusal.message}`;
  const { model, ...sent } = JSON.parse(new TextDecoder().decode(plan.bytes));
  expect(model).toBe('svc/a');
  expect(readModelBody(plan.bytes, wire)).toMatchObject({
    outcome: 'read',
    fields: { modelValue: plan.fields.modelValue },
  });
  return { sent, dropped: plan.dropped, plan: plan.plan };
}

/** With hosted tools, and with these ids of the provider. */
function servedBy(provider: string, endpoint: string, ids: readonly string[]): Partial<Alias> {
  const wire = { provider, endpoints: [endpoint] } as unknown as TargetWire;
  const tools = { prices: new Map<string, number>(), maxUses: 1, providerIds: new Set(ids) };
  return { tools, targets: [{ ...target, wire }] };
}

const run = '{"type":"function","name":"run"}';
const search = '{"type":"web_search"}';

describe('tools that the model does not have', () => {
  const dropping = (members: string, wire: ClientWire = 'responses') => planned(wire, members, {}, 'drop');

  test('are dropped where another tool remains, whatever is between them', () => {
    for (const tools of [
      `[ ${search} , ${run} ]`,
      `[${run}\n,\n${search}]`,
      `[${search},${run},{"type":"image_generation"},${search}]`,
      `[${run},${search},${run}]`,
    ]) {
      const result = dropping(`"tools":${tools},"x":1`);
      const kept = JSON.parse(tools).filter(({ type }: { type: string }) => type === 'function');
      expect(result).toMatchObject({ sent: { tools: kept, x: 1 }, plan: null });
    }
    expect(dropping(`"tools":[${run},${search},{"type":"image_generation"}]`)).toMatchObject({
      dropped: ['web_search', 'image_generation'],
    });
  });

  test('are refused where none remains, where they are selected, and where the client configured them', () => {
    expect(dropping(`"tools":[${search}]`)).toStartWith('tools[0].type');
    expect(dropping(`"tools":[${run},${search}],"tool_choice":{"type":"web_search"}`)).toStartWith(
      'tools[1].type',
    );
    const allowed = '{"type":"allowed_tools","mode":"auto","tools":[{"type":"web_search"}]}';
    expect(dropping(`"tools":[${run},${search}],"tool_choice":${allowed}`)).toStartWith('tools[1].type');
    expect(dropping(`"tools":[${run},{"type":"mcp","server_url":"https://a"}]`)).toStartWith('tools[1].type');
    expect(dropping(`"tools":[${run},${search}],"tools":[${run}]`)).toStartWith('tools[1].type');
    expect(dropping('"web_search_options":{}', 'completions')).toStartWith('web_search_options');
  });
});

test.each(['completions', 'responses', 'messages'] as const)(
  'presets and plugins of OpenRouter are refused unless the alias has them: %s',
  (wire) => {
    const refusing = (members: string) => planned(wire, members, {}, 'refuse');
    expect(refusing('"preset":"cheap-research"')).toStartWith('preset: Presets stored at the provider');
    expect(refusing('"Preset":{"id":"cheap-research"}')).toStartWith('preset: ');
    expect(refusing('"plugins":[{"id":"web"}]')).toStartWith('plugins: ');
    expect(() => refusing('"preset":null,"plugins":[]')).toThrow('nothing is hosted');
    const alias = servedBy('openrouter', ENDPOINTS[wire], ['shared']);
    expect(planned(wire, '"preset":"shared"', alias, 'refuse')).toMatchObject({ sent: { preset: 'shared' } });
    expect(planned(wire, '"preset":"other"', alias, 'refuse')).toStartWith('preset: ');
  },
);

test('a search by Qwen is a web search, unless it is turned off', () => {
  const refusing = (members: string) => planned('completions', members, {}, 'refuse');
  expect(refusing('"enable_search":true')).toStartWith('enable_search: The tool');
  expect(refusing('"enable_search":"true"')).toStartWith('enable_search: The tool');
  for (const off of ['false', 'null']) {
    expect(() => refusing(`"enable_search":${off}`)).toThrow('nothing is hosted');
  }
});

test.each(['completions', 'responses', 'messages'] as const)(
  'tools of Google, which have no type, are refused: %s',
  (wire) => {
    for (const name of ['google_search', 'googleSearch', 'url_context', 'codeExecution']) {
      const tools = `"tools":[${run},{"${name}":{}}]`;
      expect(planned(wire, tools, {}, 'refuse')).toStartWith(`tools[1].type: The tool '${name}' runs at`);
    }
    expect(() => planned(wire, `"tools":[${run}]`, {}, 'refuse')).toThrow('nothing is hosted');
  },
);

test('content that is cached in the account at Google is refused unless the alias has it', () => {
  const id = '"cachedContents/1"';
  for (const members of [
    `"extra_body":{"x":1,"google":{"cached_content":${id}}}`,
    `"extra_body":{"google":{"cachedContent":${id}}}`,
    `"google":{"Cached_Content":${id}}`,
    `"cached_content":${id}`,
  ]) {
    expect(planned('completions', members, {}, 'refuse')).toStartWith('cached_content: Content cached at');
    const alias = servedBy('gemini', 'chat/completions', ['*']);
    expect(planned('completions', members, alias, 'refuse')).toMatchObject({ dropped: [] });
  }
  const thinking =
    '"extra_body":{"google":{"thinking_config":{"include_thoughts":true,"cached_content":null}}}';
  expect(() => planned('completions', thinking, {}, 'refuse')).toThrow('nothing is hosted');
});

test('data sources that Azure searches with the rights of the operator are refused unless the alias has every id', () => {
  const identity = '"authentication":{"type":"system_assigned_managed_identity"}';
  const source = `[{"type":"azure_search","parameters":{"endpoint":"https://hr.example",${identity}}}]`;
  const aliasWith = (id: string) => servedBy('azure', 'chat/completions', [id]);
  for (const name of ['data_sources', 'dataSources', 'Data_Sources', 'data\\u005fsources']) {
    const members = `"${name}":${source}`;
    for (const alias of [{}, aliasWith('https://hr.example')]) {
      expect(planned('completions', members, alias, 'refuse')).toStartWith('data_sources: Data sources that');
    }
    expect(planned('completions', members, aliasWith('*'), 'refuse')).toMatchObject({ dropped: [] });
  }
  expect(() => planned('completions', '"data_sources":[]', {}, 'refuse')).toThrow('nothing is hosted');
});

test('answers that xAI would only return later are refused', () => {
  for (const members of ['"deferred":true', '"Deferred":"true"', '"deferred":1']) {
    expect(() => planned('completions', members, {}, 'refuse')).toThrow("'deferred' is not supported");
  }
  expect(() => planned('completions', '"deferred":false', {}, 'refuse')).toThrow('nothing is hosted');
});

test('a bound is added to each tool without one, next to tools that are dropped', () => {
  const tools = { prices: new Map([['web_fetch', 5]]), maxUses: 7, providerIds: new Set<string>() };
  const fetches = '{"type":"web_fetch_20250910","name":"web_fetch"}';
  const nulled = '{"type":"web_fetch_20250910","name":"other","max_uses":null}';
  const searches = '{"type":"web_search_20250305","name":"web_search"}';
  const alias = { ...servedBy('anthropic', 'messages', []), tools };
  const result = planned('messages', `"tools":[${searches},${fetches},${nulled}]`, alias, 'drop');
  expect(result).toEqual({
    sent: {
      tools: [
        { type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 7 },
        { type: 'web_fetch_20250910', name: 'other', max_uses: 7 },
      ],
    },
    dropped: ['web_search_20250305'],
    plan: { tools: [{ name: 'web_fetch', priceMicro: 5, mostUses: 14 }], mostMicro: 70 },
  });
});
