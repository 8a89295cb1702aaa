/**
 * All companies share the operator's account at a provider. None may name what is stored there, nor have tools run there
 * that no token count shows, however the body hides it: nothing of such a body reaches the provider.
 */
import { beforeAll, describe, expect, test } from 'bun:test';
import { createSeededRandom, type SeededRandom } from '../doubles/seeded-random.ts';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { useResource } from '../setup/use-resource.ts';

const gateway = useResource(() => openGateway({ unpricedFields: 'refuse' }));
let rawKey: string;
beforeAll(async () => {
  await gateway.aimAtProvider('svc/extract-default', { provider: 'anthropic' }, gateway.upstream);
  ({ rawKey } = await gateway.mint({ requestsPerMinute: 1_000_000, tokensPerMinute: 1_000_000_000 }));
});

const item = (content: string) => `[{"role":"user","content":[${content}]}]`;

/** Members that a body must not have. Names are written as `<name>` where another spelling is the same to some parser. */
const RESPONSES = [
  '"<previous_response_id>":"resp_of_another"',
  '"<conversation>":"conv_of_another"',
  '"<conversation>":{"id":"conv_of_another"}',
  '"<prompt>":{"id":"pmpt_of_another","variables":{}}',
  '"<input>":[{"<type>":"item_reference","<id>":"msg_of_another"}]',
  '"<input>":[{"<id>":"msg_of_another"}]',
  `"<input>":${item('{"type":"input_file","<file_id>":"file_of_another"}')}`,
  `"<input>":${item('{"type":"input_image","<file_id>":"file_of_another","detail":"low"}')}`,
  '"<input>":[{"type":"function_call_output","call_id":"c","<output>":[{"<file_id>":"file_of_another"}]}]',
  '"<input>":[{"type":"computer_call_output","<output>":{"<file_id>":"file_of_another"}}]',
  '"<tools>":[{"<type>":"file_search","vector_store_ids":["vs_of_another"]}]',
  '"<tools>":[{"<type>":"code_interpreter","container":"cntr_of_another"}]',
  '"<tools>":[{"type":"function","name":"f"},{"<type>":"web_search"}]',
  '"<tools>":[{"<type>":"mcp","server_url":"https://attacker.example"}]',
  '"<tools>":[{"<type>":"image_generation"}]',
  '"<tools>":[{"type":"namespace","name":"n","<tools>":[{"<type>":"computer_use_preview"}]}]',
  '"<background>":true',
];
const MESSAGES = [
  `"<messages>":${item('{"type":"document","<source>":{"type":"file","<file_id>":"file_of_another"}}')}`,
  `"<messages>":${item('{"type":"tool_result","<content>":[{"type":"image","<source>":{"<file_id>":"f"}}]}')}`,
  `"<messages>":${item('{"type":"container_upload","<file_id>":"file_of_another"}')}`,
  '"<system>":[{"type":"document","<source>":{"<file_id>":"file_of_another"}}]',
  '"<container>":"container_of_another"',
  '"<container>":{"id":"container_of_another","skills":[]}',
  '"<mcp_servers>":[{"type":"url","url":"https://attacker.example","name":"x"}]',
  '"<tools>":[{"<type>":"web_search_20250305","name":"web_search"}]',
  '"<tools>":[{"<type>":"code_execution_20250825","name":"code_execution"}]',
  '"<tools>":[{"<type>":"web_fetch_20250910","name":"web_fetch"}]',
  '"<tools>":[{"<type>":"mcp_toolset","mcp_server_name":"x"}]',
];

/** A letter in another case, escaped, or as the character that Unicode folds to it. */
function spelled(random: SeededRandom, name: string): string {
  const folded: Readonly<Record<string, string>> = { s: '\u017f', k: '\u212a' };
  const letters = Array.from(name, (letter) => {
    const escaped = `\\u00${letter.charCodeAt(0).toString(16)}`;
    return random.pick([letter, letter, letter.toUpperCase(), escaped, folded[letter] ?? letter]);
  });
  return letters.join('');
}

/** The member as it is, and eight times with names spelled otherwise. */
function spellings(random: SeededRandom, member: string): string[] {
  const others = Array.from({ length: 8 }, () =>
    member.replaceAll(/<(\w+)>/g, (_, name: string) => spelled(random, name)),
  );
  return [member.replaceAll(/[<>]/g, ''), ...others];
}

/** A response or an item that the company does not have is a 404; a name that two parsers could read differently a 400. */
function statusFor(body: string): 400 | 404 {
  if (body.includes('msg_of_another')) return 404;
  const isNamedOnce = body.match(/resp_of_another|null/g)?.length === 1;
  const isExact = Object.hasOwn(JSON.parse(`{${body}}`), 'previous_response_id');
  return body.includes('resp_of_another') && isNamedOnce && isExact ? 404 : 400;
}

describe.each([
  ['/responses', 'svc/chat-default', RESPONSES],
  ['/messages', 'svc/extract-default', MESSAGES],
  ['/messages/count_tokens', 'svc/extract-default', MESSAGES],
] as const)('%s', (path, model, members) => {
  const random = createSeededRandom(18);
  const harmless = '"x":{"tools":[{"type":"mcp"}],"file_id":"f"},"tools":[{"type":"function"}]';
  const ask = (members: string) => post(`${gateway.url}${path}`, rawKey, `{"model":"${model}",${members}}`);

  test('similar values pass', async () => {
    gateway.upstream.received.length = 0;
    expect((await ask(harmless)).status).toBe(200);
    expect(gateway.upstream.received.map((received) => received.path)).toEqual([`/v1${path}`]);
    gateway.upstream.received.length = 0;
  });

  test.each(members)('%s', async (member) => {
    const plain = member.replaceAll(/[<>]/g, '');
    // Of a member that is there twice any parser may take either.
    const name = /<(\w+)>/.exec(member)?.[1];
    const twice = [`"${name}":null,${plain}`, `${plain},"${name}":null`];
    const bodies = [...spellings(random, member), `${harmless},${plain}`, `${plain},${harmless}`, ...twice];
    for (const body of bodies) {
      const refused = await ask(body);
      expect(`${refused.status} ${body}`).toBe(`${statusFor(body)} ${body}`);
    }
    expect(gateway.upstream.received).toEqual([]);
  });
});

/** With every tool enabled an id of another company is still none of this one's. */
const WITH_TOOLS = {
  '/responses': [
    '"conversation":"conv_of_another"',
    '"prompt":{"id":"pmpt_own","variables":{"f":{"type":"input_file","<file_id>":"file_of_another"}}}',
    `"<input>":${item('{"type":"input_file","<file_id>":"file_of_another"}')}`,
    '"input":[{"type":"code_interpreter_call","<container_id>":"cntr_of_another"}]',
    '"tools":[{"type":"file_search","<vector_store_ids>":["vs_own","vs_of_another"]}]',
    '"tools":[{"type":"file_search","<vector_store_ids>":"vs_of_another"}]',
    '"tools":[{"type":"file_search","<vector_store_ids>":[["vs_of_another"]]}]',
    '"tools":[{"type":"code_interpreter","<container>":"cntr_of_another"}]',
    '"tools":[{"type":"code_interpreter","container":{"type":"auto","<file_ids>":["file_of_another"]}}]',
    '"tools":[{"type":"shell","environment":{"type":"container_reference","<container_id>":"cntr_of_another"}}]',
    '"tools":[{"type":"image_generation","input_image_mask":{"<file_id>":"file_of_another"}}]',
    '"tools":[{"<Type>":"web_search"}]',
    '"tools":[{"type":"web_search","type":"file_search"}]',
    '"tools":[{"type":"web_search"}],"tools":[]',
    '"tools":[{"type":"something_new"}]',
    '"tools":[{"type":"namespace","name":"n","tools":[{"type":"web_search"}]}]',
  ],
  '/messages': [
    `"messages":${item('{"type":"container_upload","<file_id>":"file_of_another"}')}`,
    '"container":"container_of_another"',
    '"container":{"skills":[{"type":"custom","<skill_id>":"skill_of_another"}]}',
    '"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":1,"max_uses":9}]',
    '"tools":[{"type":"web_search_20250305","name":"web_search","<Max_uses>":9}]',
    '"tools":[{"type":"advisor_20260301","name":"advisor"}]',
  ],
  '/chat/completions': [
    `"messages":${item('{"type":"file","<file>":{"<file_id>":"file_of_another"}}')}`,
    '"tools":[{"type":"retrieval"}]',
    '"<data_sources>":[{"type":"azure_search","parameters":{"index_name":"of_the_operator"}}]',
    '"<deferred>":true',
  ],
} as const;

describe('where every tool and some ids are enabled', () => {
  const random = createSeededRandom(49);
  const own = ['vs_own', 'pmpt_own'];
  const names = ['web_search', 'file_search', 'code_interpreter', 'image_generation', 'shell', 'mcp'];
  beforeAll(async () => {
    const tools = Object.fromEntries([...names, 'code_execution', 'web_fetch'].map((name) => [name, 1]));
    for (const alias of ['svc/chat-default', 'svc/extract-default']) {
      await gateway.equip(alias, { tools, providerIds: own });
    }
    gateway.upstream.received.length = 0;
  });

  const cases = Object.entries(WITH_TOOLS).flatMap(([path, all]) =>
    all.map((member) => [path, member] as const),
  );
  test.each(cases)('%s %s', async (path, member) => {
    const model = path === '/messages' ? 'svc/extract-default' : 'svc/chat-default';
    for (const body of spellings(random, member)) {
      const refused = await post(`${gateway.url}${path}`, rawKey, `{"model":"${model}",${body}}`);
      expect(`${refused.status} ${body}`).toBe(`400 ${body}`);
    }
    expect(gateway.upstream.received).toEqual([]);
  });
});

/** Ids of the operator's account, and names of other models: refused also where unpriced fields are forwarded. */
const NEVER_FORWARDED = {
  '/responses': [
    '"<conversation>":"conv_of_another"',
    '"<prompt>":{"id":"pmpt_of_another"}',
    `"<input>":${item('{"type":"input_file","<file_id>":"file_of_another"}')}`,
    '"tools":[{"type":"web_search"},{"type":"file_search","<vector_store_ids>":["vs_of_another"]}]',
    '"tools":[{"type":"code_interpreter","<container>":"cntr_of_another"}]',
    '"tools":[{"type":"something_new","options":{"<collection_ids>":["c_of_another"]}}]',
    '"tools":[{"type":"image_generation","<model>":"gpt-image-of-another"}]',
    '"tools":[{"type":"namespace","name":"n","tools":[{"type":"x_search","<vector_store_ids>":["v"]}]}]',
    '"tools":[{"type":"web_search","type":"function"}]',
    '"tools":[{"<Type>":"web_search"}]',
    '"<fallbacks>":[{"model":"another"}]',
  ],
  '/messages': [
    '"<container>":"container_of_another"',
    '"<container>":{"skills":[{"type":"custom","<skill_id>":"skill_of_another"}]}',
    `"<messages>":${item('{"type":"container_upload","<file_id>":"file_of_another"}')}`,
    '"tools":[{"type":"advisor_20260301","name":"advisor","<model>":"claude-another"}]',
    '"<thread>":{"type":"continue"}',
    '"<fallbacks>":[{"model":"claude-another"}]',
    '"<previous_response_id>":"resp_of_another"',
  ],
  '/chat/completions': [
    `"messages":${item('{"type":"file","<file>":{"<file_id>":"file_of_another"}}')}`,
    '"<container>":"container_of_another"',
    '"<file_ids>":["file_of_another"]',
    '"<vector_store_ids>":["vs_of_another"]',
    '"<conversation_id>":"conv_of_another"',
    '"<previous_response_id>":"resp_of_another"',
    '"<prompt>":{"id":"pmpt_of_another"}',
    '"<tool_resources>":{"file_search":{"<vector_store_ids>":["vs_of_another"]}}',
    '"tools":[{"file_search":{"<file_search_store_names>":["fileSearchStores/of-another"]}}]',
    '"<preset>":"of-the-operator"',
    '"<fallbacks>":["another-model"]',
    '"<context_window_fallbacks>":[{"m":["another-model"]}]',
    '"<route>":"fallback"',
    '"<model_list>":[{"model_name":"m"}]',
    '"plugins":[{"id":"web","engine":{"<model>":"another-model"}}]',
    '"<plugins>":[{"id":"auto-router","<allowed_models>":["another/*"]}]',
    '"<compound_custom>":{"models":{"<answering_model>":"another-model"}}',
    '"<extra_body>":{"<models>":["another-model"]}',
    '"<extra_body>":{"<fallbacks>":["another-model"]}',
    '"<extra_body>":{"<container>":"container_of_another"}',
    `"plugins":${'['.repeat(12)}{"model":"another-model"}${']'.repeat(12)}`,
  ],
} as const;

describe('where unpriced fields are forwarded', () => {
  const random = createSeededRandom(82);
  const forwarding = useResource(() => openGateway({ unpricedFields: 'forward' }));
  let key: string;
  beforeAll(async () => {
    await forwarding.aimAtProvider('svc/extract-default', { provider: 'anthropic' }, forwarding.upstream);
    ({ rawKey: key } = await forwarding.mint({
      requestsPerMinute: 1_000_000,
      tokensPerMinute: 1_000_000_000,
    }));
  });

  const cases = Object.entries(NEVER_FORWARDED).flatMap(([path, all]) =>
    all.map((member) => [path, member] as const),
  );
  test.each(cases)('%s %s', async (path, member) => {
    const model = path === '/messages' ? 'svc/extract-default' : 'svc/chat-default';
    for (const body of spellings(random, member)) {
      const refused = await post(`${forwarding.url}${path}`, key, `{"model":"${model}",${body}}`);
      expect(`${refused.status} ${body}`).toBe(`400 ${body}`);
    }
    expect(forwarding.upstream.received).toEqual([]);
  });
});
