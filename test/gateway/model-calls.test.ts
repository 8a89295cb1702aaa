import { beforeAll, describe, expect, test } from 'bun:test';
import { type AliasParams, createAlias, retireAlias } from '../../src/domain/models/change-alias.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, PROVIDER_MODEL, post } from './gateway-under-test.ts';
import { chatAnswer, USAGE } from './scripted-upstream.ts';

let rawKey: string;
let keyId: string;
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

const gateway = useResource(() => openGateway());
beforeAll(async () => {
  ({ rawKey, id: keyId } = await gateway.mint());
});

describe('a chat call', () => {
  test('G-1 G-17 G-16 returns the chat-completion object with the alias as its model', async () => {
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    const body = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'Hi' }] };
    const response = await post(`${gateway.url}/chat/completions`, rawKey, body);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual({ ...chatAnswer(), model: 'svc/chat-default' });
    expect(response.headers.get('x-turnpike-tries')).toBe('1');
    expect(response.headers.get('x-turnpike-served-by')).toBeNull();
  });

  test('the provider gets its own key and only the listed headers of the client', async () => {
    const body = { model: 'svc/chat-default', messages: [] };
    const headers = { cookie: 'a=b', 'x-forwarded-for': '1.2.3.4', 'openai-beta': 'x=1', 'user-agent': 'me' };
    await (await post(`${gateway.url}/chat/completions`, rawKey, body, { headers })).text();
    const seen = gateway.upstream.received.at(-1)?.headers ?? {};
    expect(seen.authorization).toBe('Bearer sk-provider');
    expect(seen['openai-beta']).toBe('x=1');
    expect(JSON.stringify(seen)).not.toContain(rawKey);
    for (const name of ['cookie', 'x-forwarded-for']) expect(seen[name]).toBeUndefined();
    expect(seen['user-agent']).not.toBe('me');
  });

  test('G-41 carries a request id and the limits under OpenAI’s names', async () => {
    const { rawKey: fresh } = await gateway.mint({ requestsPerMinute: 7, tokensPerMinute: 10_000 });
    const body = { model: 'svc/chat-default', messages: [], max_tokens: 100 };
    const bytes = JSON.stringify(body).length;
    const response = await post(`${gateway.url}/chat/completions`, fresh, body, {
      headers: { 'x-request-id': 'mine' },
    });
    expect(response.headers.get('x-request-id')).toBe('mine');
    const limits = Object.fromEntries(
      [...response.headers].filter(([name]) => name.startsWith('x-ratelimit')),
    );
    // The window has just begun; a busy machine may have spent some of it by now.
    const justBegun = expect.stringMatching(/^(1m0s|5\d(\.\d+)?s)$/);
    expect<unknown>(limits).toEqual({
      'x-ratelimit-limit-requests': '7',
      'x-ratelimit-remaining-requests': '6',
      'x-ratelimit-reset-requests': justBegun,
      'x-ratelimit-limit-tokens': '10000',
      'x-ratelimit-remaining-tokens': String(10_000 - 100 - Math.ceil(bytes / 4)),
      'x-ratelimit-reset-tokens': justBegun,
    });
    await response.text();
    // The real usage has taken the estimate's place, without the cached tokens.
    const next = await post(`${gateway.url}/chat/completions`, fresh, body);
    const used = USAGE.total_tokens - USAGE.prompt_tokens_details.cached_tokens;
    const left = 10_000 - used - 100 - Math.ceil(bytes / 4);
    expect(next.headers.get('x-ratelimit-remaining-tokens')).toBe(String(left));
  });

  test('G-30 is committed before its last byte is sent, with tokens and without any text', async () => {
    const { rawKey: fresh, id } = await gateway.mint();
    const body = {
      model: 'svc/chat-default',
      messages: [{ role: 'user', content: 'a very private prompt' }],
    };
    await (await post(`${gateway.url}/chat/completions`, fresh, body)).text();
    const rows = await gateway.parts.database.query('select * from calls where key_id = $1', [id]);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      company_id: gateway.companyId,
      endpoint: 'chat/completions',
      alias: 'svc/chat-default',
      outcome: 'SUCCEEDED',
      http_status: 200,
      streamed: false,
      prompt_tokens: 7n,
      cached_tokens: 2n,
      completion_tokens: 5n,
    });
    expect(
      Object.values(rows[0] ?? {})
        .map(String)
        .join(),
    ).not.toContain('private');
  });

  test('is recorded with its end user and tags, on every wire, and a refused one too', async () => {
    const { rawKey: fresh, id } = await gateway.mint();
    const tagged = { headers: { 'x-turnpike-tags': 'team-a, env:prod' } };
    const body = { model: 'svc/chat-default', messages: [], user: 'u\u0000-1', metadata: { run: '7' } };
    await (await post(`${gateway.url}/chat/completions`, fresh, body, tagged)).text();
    await (await post(`${gateway.url}/chat/completions`, fresh, { ...body, model: 'none' }, tagged)).text();
    const answered = { model: 'svc/chat-default', max_tokens: 5, messages: [], metadata: { user_id: 'm-1' } };
    await (await post(`${gateway.url}/messages`, fresh, answered)).text();
    await (await post(`${gateway.url}/chat/completions`, fresh, { ...body, user: undefined })).text();
    const tooMany = { headers: { 'x-turnpike-tags': 'a,b,c,d,e,f,g,h,i' } };
    const refused = await post(`${gateway.url}/chat/completions`, fresh, body, tooMany);
    expect(await refused.json()).toMatchObject({
      error: { message: 'The header x-turnpike-tags has more than 8 tags. Send at most 8.' },
    });
    expect(refused.status).toBe(400);
    const rows = await gateway.calls(id, 5);
    const both = { end_user: 'u -1', tags: ['env:prod', 'run:7', 'team-a'] };
    expect(rows.map(({ end_user, tags }) => ({ end_user, tags }))).toEqual([
      both,
      both,
      { end_user: 'm-1', tags: null },
      { end_user: null, tags: ['run:7'] },
      { end_user: null, tags: null },
    ]);
    expect(rows.map(({ tries }) => tries)).toEqual([null, null, null, null, null]);
  });

  test('G-31 an answer without usage is recorded as failed, and explicit zeros are usage', async () => {
    const { rawKey: fresh, id } = await gateway.mint();
    const body = { model: 'svc/chat-default', messages: [] };
    const { usage: _, ...without } = chatAnswer();
    gateway.upstream.answer(() => Response.json(without));
    expect((await post(`${gateway.url}/chat/completions`, fresh, body)).status).toBe(200);
    gateway.upstream.answer(() =>
      Response.json(chatAnswer({ usage: { prompt_tokens: 0, completion_tokens: 0 } })),
    );
    await post(`${gateway.url}/chat/completions`, fresh, body);
    const rows = await gateway.calls(id, 2);
    expect(rows[0]).toMatchObject({ outcome: 'FAILED', reason: 'no-usage', prompt_tokens: null });
    expect(rows[1]).toMatchObject({ outcome: 'SUCCEEDED', prompt_tokens: 0n });
    gateway.upstream.answer(() => Response.json(chatAnswer()));
  });
});

describe('the other model calls', () => {
  test('G-2 a legacy completion goes to its own endpoint and comes back in its own shape', async () => {
    const legacy = {
      id: 'c',
      object: 'text_completion',
      model: 'x',
      choices: [{ text: 'a', index: 0 }],
      usage: USAGE,
    };
    gateway.upstream.answer(() => Response.json(legacy));
    const response = await post(`${gateway.url}/completions`, rawKey, {
      model: 'svc/chat-default',
      prompt: 'a',
    });
    expect(await response.json()).toEqual({ ...legacy, model: 'svc/chat-default' });
    expect(gateway.upstream.received.at(-1)?.path).toBe('/v1/completions');
  });

  test('G-3 embeddings are returned as requested, never transformed', async () => {
    const data = [{ object: 'embedding', index: 0, embedding: 'AACAPwAAAEA=' }];
    const answer = { object: 'list', model: 'x', data, usage: { prompt_tokens: 3, total_tokens: 3 } };
    gateway.upstream.answer(() => Response.json(answer));
    const sent =
      '{"model":"svc/embed-default","input":[[1,2],[3]],"encoding_format":"base64","dimensions":2}';
    const response = await post(`${gateway.url}/embeddings`, rawKey, sent);
    expect(await response.json()).toEqual({ ...answer, model: 'svc/embed-default' });
    expect(text(gateway.upstream.received.at(-1)?.body ?? new Uint8Array())).toBe(
      sent.replace('svc/embed-default', PROVIDER_MODEL),
    );
    const rows = await gateway.calls(keyId, 1);
    expect(rows.at(-1)).toMatchObject({ endpoint: 'embeddings', prompt_tokens: 3n, completion_tokens: 0n });
  });
});

const list = async (key: string) => {
  const response = await fetch(`${gateway.url}/models`, { headers: { authorization: `Bearer ${key}` } });
  return (await response.json()) as { object: string; data: { id: string }[] };
};

describe('G-4 the list of models', () => {
  test('G-4 G-14 has all six aliases for a key without an allowlist', async () => {
    const { object, data } = await list(rawKey);
    expect(object).toBe('list');
    expect<string[]>(data.map(({ id }) => id).sort()).toEqual([
      'svc/chat-cheap',
      'svc/chat-default',
      'svc/chat-premium',
      'svc/embed-default',
      'svc/extract-default',
      'svc/extract-fast',
    ]);
    expect<unknown>(data[0]).toEqual({
      id: expect.any(String),
      object: 'model',
      created: expect.any(Number),
      owned_by: 'svc',
      kind: 'chat',
      context_length: 200_000,
      max_output_tokens: 16_384,
      pricing: { unit: 'credits per million tokens', prompt: 5, cached: 2.5, completion: 20, cache_write: 5 },
    });
    expect(data.at(-1)).toMatchObject({ id: 'svc/embed-default', kind: 'embed', max_output_tokens: null });
  });

  test('G-4 has exactly what the key may call, and one alias is found plain or encoded', async () => {
    const { rawKey: narrow } = await gateway.mint({ models: ['svc/chat-cheap'] });
    expect((await list(narrow)).data.map(({ id }) => id)).toEqual(['svc/chat-cheap']);
    const headers = { authorization: `Bearer ${narrow}` };
    for (const path of ['svc/chat-cheap', 'svc%2Fchat-cheap']) {
      expect((await (await fetch(`${gateway.url}/models/${path}`, { headers })).json()).id).toBe(
        'svc/chat-cheap',
      );
    }
    const refused = await fetch(`${gateway.url}/models/svc/chat-default`, { headers });
    expect([refused.status, (await refused.json()).error.code]).toEqual([403, 'LLM_MODEL_NOT_ALLOWED']);
  });

  describe('for clients of Anthropic’s wire', () => {
    const ask = async (path: string, key = rawKey) => {
      const headers = { 'x-api-key': key, 'anthropic-version': '2023-06-01' };
      const response = await fetch(`${gateway.url}/models${path}`, { headers });
      return { response, body: await response.json() };
    };
    const idsOf = ({ body }: Awaited<ReturnType<typeof ask>>) =>
      body.data.map(({ id }: { id: string }) => id);

    test('G-4 has their shape, the key is in x-api-key, and errors are theirs', async () => {
      const { body, response } = await ask('');
      expect(idsOf({ body, response })).toEqual((await list(rawKey)).data.map(({ id }) => id));
      expect(body).toMatchObject({ has_more: false, first_id: body.data[0].id, last_id: body.data[5].id });
      const one = (await ask('/svc%2Fchat-default')).body;
      expect(one).toEqual({
        ...{ type: 'model', id: 'svc/chat-default', display_name: 'svc/chat-default' },
        ...{ created_at: '2026-01-01T00:00:00.000Z', max_input_tokens: 200_000, max_tokens: 16_384 },
        ...{ capabilities: null, lifecycle: 'active', line: null, deprecated_at: null, retires_at: null },
      });
      expect(response.headers.get('request-id')).toStartWith('req_');
      const unknown = await ask('/svc/none');
      expect([unknown.response.status, unknown.body]).toMatchObject([
        403,
        { type: 'error', error: { type: 'permission_error', code: 'LLM_MODEL_NOT_ALLOWED' } },
      ]);
      const keyless = await ask('', 'tpk_wrong');
      expect([keyless.response.status, keyless.body]).toMatchObject([
        401,
        { type: 'error', error: { type: 'authentication_error' } },
      ]);
      const plain = await fetch(`${gateway.url}/models`, { headers: { 'x-api-key': rawKey } });
      expect(plain.status).toBe(401);
    });

    test('has pages in both directions', async () => {
      const all = idsOf(await ask(''));
      const first = await ask('?limit=4');
      expect(first.body).toMatchObject({ has_more: true, first_id: all[0], last_id: all[3] });
      const second = await ask(`?limit=4&after_id=${encodeURIComponent(all[3])}`);
      expect([idsOf(second), second.body.has_more]).toEqual([all.slice(4), false]);
      const back = await ask(`?limit=2&before_id=${all[3]}`);
      expect([idsOf(back), back.body.has_more]).toEqual([all.slice(1, 3), true]);
      expect(idsOf(await ask(`?before_id=${all[1]}`))).toEqual([all[0]]);
      const none = { data: [], has_more: false, first_id: null, last_id: null };
      expect((await ask(`?after_id=${all[5]}`)).body).toEqual(none);
      expect((await ask('?lifecycle[]=retired')).body).toEqual(none);
      for (const wrong of ['limit=0', 'limit=1001', 'after_id=svc/none', `after_id=${all[0]}&before_id=b`]) {
        const { response, body } = await ask(`?${wrong}`);
        expect([wrong, response.status, body.error.type]).toEqual([wrong, 400, 'invalid_request_error']);
      }
    });
  });
});

describe('an alias of an operator’s own', () => {
  const own = 'team-a/fast:v1.2';
  const call = (key: string) =>
    post(`${gateway.url}/chat/completions`, key, { model: own, messages: [], max_tokens: 5 });
  const answered = async (key: string, status: number) => {
    await until(() => (gateway.models.find(own) === null) === (status === 403));
    const response = await call(key);
    expect(response.status).toBe(status);
    return await response.json();
  };
  const wanted = (): AliasParams => {
    const target = { baseUrl: gateway.upstream.url, model: 'behind', apiKey: 'sk-provider', weight: 1 };
    return {
      ...{ alias: own, kind: 'chat', price: { prompt: 1_000_000, cached: 0, completion: 0 } },
      ...{ contextLength: 64_000, maxOutputTokens: 4_000, targets: [target] },
    };
  };

  test('is called, listed and charged at its own price, is in no default list, and is refused once it is retired', async () => {
    const listed = await gateway.mint({ models: ['svc/chat-default'] });
    const open = await gateway.mint();
    const before = await answered(open.rawKey, 403);
    expect(before.error.code).toBe('LLM_MODEL_NOT_ALLOWED');
    expect(await createAlias(gateway.catalogue, wanted())).toEqual({ outcome: 'changed' });
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    expect((await answered(open.rawKey, 200)).model).toBe(own);
    const [row] = await gateway.calls(open.id, 2).then((rows) => rows.filter(({ alias }) => alias === own));
    expect(row).toMatchObject({ outcome: 'SUCCEEDED', charge_micro: 5_000_000n });
    expect((await call(listed.rawKey)).status).toBe(403);
    expect((await list(listed.rawKey)).data.map(({ id }) => id)).toEqual(['svc/chat-default']);
    const headers = { authorization: `Bearer ${open.rawKey}` };
    const shown = await (await fetch(`${gateway.url}/models/${own}`, { headers })).json();
    expect(shown).toMatchObject({
      ...{ id: own, owned_by: 'team-a', kind: 'chat', context_length: 64_000, max_output_tokens: 4_000 },
      pricing: { prompt: 1_000_000, completion: 0 },
    });
    expect(await retireAlias(gateway.catalogue, own)).toEqual({ outcome: 'changed' });
    // Exactly as a model that there never was.
    expect((await answered(open.rawKey, 403)).error).toEqual(before.error);
    expect((await list(open.rawKey)).data).toHaveLength(6);
  });
});
