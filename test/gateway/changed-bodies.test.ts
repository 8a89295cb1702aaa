import { beforeEach, describe, expect, test } from 'bun:test';
import { type AliasParams, updateAlias } from '../../src/domain/models/change-alias.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, PROVIDER_MODEL, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer, startScriptedUpstream } from './scripted-upstream.ts';

const NATIVE = 'svc/chat-default';
const CLAUDE = 'svc/chat-premium';

describe('what an alias says about the bodies of its calls', () => {
  const gateway = useResource(async () => openGateway());
  const anthropic = useResource(async () => startScriptedUpstream());

  beforeEach(async () => {
    gateway.upstream.received.length = 0;
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    anthropic.received.length = 0;
    await gateway.aimAtProvider(CLAUDE, { provider: 'anthropic' }, anthropic);
    anthropic.answer(() =>
      Response.json({
        ...{ id: 'msg_1', type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] },
        ...{ stop_reason: 'end_turn', usage: { input_tokens: 7, output_tokens: 5 } },
      }),
    );
  });

  async function set(alias: string, wanted: Omit<AliasParams, 'alias'>): Promise<void> {
    const done = await updateAlias(gateway.catalogue, { alias, ...wanted });
    if (done.outcome === 'wrong') throw new Error(done.problem);
    const { drop, cacheBreakpoints, fallback } = {
      drop: [],
      cacheBreakpoints: true,
      fallback: null,
      ...wanted,
    };
    await until(() => {
      const found = gateway.models.find(alias);
      const known = [found?.drop, found?.cacheBreakpoints, found?.routing?.fallback ?? null];
      return Bun.deepEquals(known, [drop, cacheBreakpoints, fallback]);
    });
  }
  const defaults = { drop: [], cacheBreakpoints: true, fallback: null } as const;
  const textSent = (to: typeof anthropic) => new TextDecoder().decode(to.received.at(-1)?.body);
  async function ask(body: string | object, path = 'chat/completions') {
    const { rawKey } = await gateway.mint();
    return await post(`${gateway.url}/${path}`, rawKey, body);
  }
  const dropped = ({ status, headers }: Response) => [status, headers.get('x-turnpike-dropped-fields')];

  test('G-12 dropped fields are cut out of the bytes, wherever they are, and the answer names them', async () => {
    await set(NATIVE, { ...defaults, drop: ['seed', 'logit_bias', 'service_tier'] });
    const body = `{ "seed" : 1, "model":"${NATIVE}",  "big": 12345678901234567890 ,"lo\\u0067it_bias":{"a":[1,"}"]},"seed":2,
      "messages" : [{"role":"user","content":"Hi","seed":3}], "service_tier": "priority"\n}`;
    expect(dropped(await ask(body))).toEqual([200, 'seed, logit_bias, service_tier']);
    const expected = `{ "model":"${PROVIDER_MODEL}",  "big": 12345678901234567890,
      "messages" : [{"role":"user","content":"Hi","seed":3}]\n}`;
    expect(textSent(gateway.upstream)).toBe(expected);
    const without = { model: NATIVE, messages: [{ role: 'user', content: 'Hi' }], store: false };
    expect(dropped(await ask(without))).toEqual([200, null]);
    expect(JSON.parse(textSent(gateway.upstream))).toEqual({ ...without, model: PROVIDER_MODEL });
  });

  test('a Responses body keeps its store, so that no provider stores what nobody may store', async () => {
    await set(NATIVE, { ...defaults, drop: ['store', 'truncation'] });
    gateway.upstream.answer(() =>
      Response.json({
        ...{ id: 'resp_1', object: 'response', output: [], usage: { input_tokens: 7, output_tokens: 5 } },
      }),
    );
    const answer = await ask({ model: NATIVE, input: 'Hi', store: false, truncation: 'auto' }, 'responses');
    expect(dropped(answer)).toEqual([200, 'truncation']);
    expect(JSON.parse(textSent(gateway.upstream))).toEqual({
      model: PROVIDER_MODEL,
      input: 'Hi',
      store: false,
    });
  });

  test('a translated call without what its provider lacks is answered, and refused by name otherwise', async () => {
    const body = {
      model: CLAUDE,
      messages: [{ role: 'user', content: 'Hi' }],
      seed: 1,
      frequency_penalty: 1,
    };
    await set(CLAUDE, { ...defaults, drop: ['frequency_penalty'] });
    expect(await refusalOf(ask(body))).toMatchObject({ status: 400, param: 'seed' });
    await set(CLAUDE, { ...defaults, drop: ['seed', 'frequency_penalty'] });
    expect(dropped(await ask(body))).toEqual([200, 'seed, frequency_penalty']);
  });

  test('a fallback drops its own fields, and the first alias keeps them', async () => {
    await set(CLAUDE, { ...defaults, drop: ['seed'] });
    await set(NATIVE, { ...defaults, drop: ['logit_bias'], fallback: CLAUDE });
    gateway.upstream.answer(() => new Response('no', { status: 500 }));
    const messages = [{ role: 'user', content: 'Hi' }];
    const answer = await ask({ model: NATIVE, messages, seed: 1, logit_bias: {} });
    expect(dropped(answer)).toEqual([200, 'logit_bias, seed']);
    expect(JSON.parse(textSent(gateway.upstream))).toEqual({ model: PROVIDER_MODEL, messages, seed: 1 });
  });

  test('G-12 translated calls have cache breakpoints unless the alias says otherwise, native ones never', async () => {
    const chat = { model: CLAUDE, messages: [{ role: 'user', content: 'Hi' }] };
    const mark = '"cache_control":{"type":"ephemeral"}';
    await set(CLAUDE, defaults);
    await ask(chat);
    expect(textSent(anthropic)).toContain(mark);
    await ask({ model: CLAUDE, input: 'Hi' }, 'responses');
    expect(textSent(anthropic)).toContain(mark);
    await ask({ ...chat, max_tokens: 9 }, 'messages');
    expect(JSON.parse(textSent(anthropic))).toEqual({ ...chat, model: PROVIDER_MODEL, max_tokens: 9 });
    await set(CLAUDE, { ...defaults, cacheBreakpoints: false });
    await ask(chat);
    expect(textSent(anthropic)).not.toContain('cache_control');
  });

  test('usage of a translated call is charged by the prices of reading from and writing to the cache', async () => {
    await set(CLAUDE, { ...defaults, price: { prompt: 4, cached: 0.4, completion: 20, cacheWrite: 5 } });
    await until(() => gateway.models.find(CLAUDE)?.prices[0]?.cacheWriteMicro === 5_000_000n);
    const usage = {
      input_tokens: 100,
      cache_read_input_tokens: 10_000,
      cache_creation_input_tokens: 1_000,
      output_tokens: 10,
    };
    anthropic.answer(() =>
      Response.json({
        ...{ id: 'msg_1', type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] },
        ...{ stop_reason: 'end_turn', usage },
      }),
    );
    const { rawKey, id } = await gateway.mint();
    await post(`${gateway.url}/chat/completions`, rawKey, {
      model: CLAUDE,
      messages: [{ role: 'user', content: 'Hi' }],
    });
    const [row] = await gateway.calls(id, 1);
    expect(row).toMatchObject({ charge_micro: 100n * 4n + (10_000n * 4n) / 10n + 1_000n * 5n + 10n * 20n });
  });
});
