import { describe, expect, test } from 'bun:test';
import { setBudget } from '../../src/domain/credits/budgets/budgets.ts';
import { announceCompany } from '../../src/domain/credits/ledger/credit-account.ts';
import { revokeKey } from '../../src/domain/keys/key-lifecycle.ts';
import { useResource } from '../setup/use-resource.ts';
import { type GatewayOptions, openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer, chunk, done, streamOf, usageChunk } from './scripted-upstream.ts';

const body = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 10 };
/** 5 prompt tokens at 1, 2 cached at 0.5, 5 completion tokens at 4. */
const COST_MICRO = 26n;
const CHAT = '/chat/completions';
const TTL = 'ttl=600';

let uniqueBodies = 0;
/** No other test has sent it. */
const fresh = (more: Record<string, unknown> = {}) => {
  uniqueBodies += 1;
  return { ...body, user: `user-${uniqueBodies}`, ...more };
};

function useGateway(options: GatewayOptions = {}) {
  const gateway = useResource(() => openGateway(options));
  async function opened(changes: Parameters<typeof gateway.mint>[0] = {}) {
    const { rawKey, id } = await gateway.mint({ requestsPerMinute: 1_000, ...changes });
    const call = (what: unknown, cache: string | null = TTL, path = CHAT) =>
      post(`${gateway.url}${path}`, rawKey, what, {
        headers: cache === null ? {} : { 'x-turnpike-cache': cache },
      });
    /** Whether it was a hit, and its text. */
    const outcome = async (...given: Parameters<typeof call>) => {
      const response = await call(...given);
      return [response.headers.get('x-turnpike-cache'), await response.text()];
    };
    return { call, outcome, rawKey, keyId: id, sent: gateway.upstream.received.length };
  }
  const sentSince = (before: number) => gateway.upstream.received.length - before;
  const numbered = () => {
    let count = 0;
    gateway.upstream.answer(() => {
      count += 1;
      return Response.json(chatAnswer({ id: `chatcmpl-${count}` }));
    });
  };
  return { gateway, opened, sentSince, numbered };
}

describe('calls that opt in to the cache', () => {
  const { gateway, opened, sentSince, numbered } = useGateway();
  const balance = async () => (await gateway.credits.level()).balanceMicro;

  test('get the same bytes at no charge, recorded as a call of their own with the tokens of the first', async () => {
    numbered();
    const { call, keyId, sent } = await opened();
    const what = fresh();
    const before = await balance();
    const first = await call(what);
    const text = await first.text();
    expect(first.headers.get('x-turnpike-cache')).toBe('miss');
    const again = await call(what);
    expect([again.status, again.headers.get('x-turnpike-cache')]).toEqual([200, 'hit']);
    expect(again.headers.get('content-type')).toBe('application/json');
    expect(await again.text()).toBe(text);
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect(again.headers.get('x-ratelimit-remaining-requests')).toBe('998');
    // The tokens of a hit were read by no model: the minute has those of the first call alone.
    const remaining = (response: Response) => response.headers.get('x-ratelimit-remaining-tokens');
    expect(remaining(again)).toBe(String(2_000_000 - 10));
    expect([sentSince(sent), before - (await balance())]).toEqual([1, COST_MICRO]);
    const rows = await gateway.calls(keyId, 2);
    const tokens = { prompt_tokens: 7n, cached_tokens: 2n, completion_tokens: 5n };
    expect(rows[0]).toMatchObject({ ...tokens, charge_micro: COST_MICRO, cache_hit: null });
    expect(rows[1]).toMatchObject({
      ...{ ...tokens, charge_micro: 0n, cache_hit: true, charge_share_millionths: 0 },
      ...{ outcome: 'SUCCEEDED', target_id: null, alias: 'svc/chat-default', endpoint: 'chat/completions' },
    });
  });

  test('on every wire: streams as streams, with their framing', async () => {
    const sse = (text: string) => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
    const { call, outcome, sent } = await opened();
    gateway.upstream.answer(() => streamOf(': hello\n\n', chunk('Hel'), chunk('lo'), usageChunk, done));
    const stream = fresh({ stream: true });
    const [, text] = await outcome(stream);
    expect(text).toEndWith(done);
    const again = await call(stream);
    expect(again.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect([again.headers.get('x-turnpike-cache'), await again.text()]).toEqual(['hit', text ?? '']);

    const response = { id: 'resp_1', object: 'response', status: 'completed', model: 'm', store: false };
    const usage = { input_tokens: 1, output_tokens: 1 };
    gateway.upstream.answer(() =>
      sse(
        `event: response.completed\ndata: ${JSON.stringify({ type: 'response.completed', response: { ...response, output: [], usage } })}\n\n`,
      ),
    );
    const asked = { model: 'svc/chat-default', input: 'Hi', store: false, stream: true };
    const [, events] = await outcome(asked, TTL, '/responses');
    expect(await outcome(asked, TTL, '/responses')).toEqual(['hit', events ?? '']);

    gateway.upstream.answer(() => Response.json({ data: [], usage: { prompt_tokens: 3, total_tokens: 3 } }));
    const embedding = { model: 'svc/embed-default', input: 'Hi' };
    const [, vectors] = await outcome(embedding, TTL, '/embeddings');
    expect(await outcome(embedding, TTL, '/embeddings')).toEqual(['hit', vectors ?? '']);
    expect(sentSince(sent)).toBe(3);
  });

  test('miss where anything differs: a byte, the route, the model, a beta, the key’s usage chunk', async () => {
    numbered();
    const { call, outcome, rawKey } = await opened();
    const what = fresh();
    await outcome(what);
    const text = JSON.stringify(what);
    expect((await outcome(text))[0]).toBe('hit');
    expect((await outcome(`${text} `))[0]).toBe('miss');
    expect((await outcome({ ...what, model: 'svc/extract-default' }))[0]).toBe('miss');
    const prompt = { ...what, prompt: 'x' };
    await outcome(prompt);
    expect((await outcome(prompt, TTL, '/completions'))[0]).toBe('miss');
    const headers = { 'x-turnpike-cache': TTL, 'openai-beta': 'assistants=v2' };
    const beta = await post(`${gateway.url}${CHAT}`, rawKey, what, { headers });
    expect(beta.headers.get('x-turnpike-cache')).toBe('miss');

    gateway.upstream.answer(() => streamOf(chunk('Hi'), usageChunk, done));
    const stream = fresh({ stream: true });
    expect(await (await call(stream)).text()).toContain('"usage":{');
    const asking = await opened({ streamUsageChunk: 'ASKED' });
    const [missed, hidden] = await asking.outcome(stream);
    expect([missed, hidden?.includes('"usage":{')]).toEqual(['miss', false]);
    expect(await asking.outcome(stream)).toEqual(['hit', hidden ?? '']);
  });

  test('follow their key’s setting, which a call can override or bypass', async () => {
    numbered();
    const { outcome, call } = await opened({ cacheTtlSeconds: 600 });
    const what = fresh();
    expect((await outcome(what, null))[0]).toBe('miss');
    expect((await outcome(what, null))[0]).toBe('hit');
    const bypassed = await call(what, 'no-store');
    expect([
      bypassed.headers.has('x-turnpike-cache'),
      (await bypassed.text()).includes('"chatcmpl-2"'),
    ]).toEqual([false, true]);
    expect((await outcome(what, null))[1]).toContain('"chatcmpl-1"');
    const plain = await opened();
    expect((await plain.outcome(what, null))[0]).toBeNull();
    expect((await plain.outcome(what, TTL))[0]).toBe('hit');
  });

  test('reject an invalid header with the accepted values', async () => {
    const { call, sent } = await opened();
    for (const given of ['ttl=', 'ttl=0', 'ttl=1.5', 'ttl=86401', 'yes']) {
      const refusal = await refusalOf(call(fresh(), given));
      expect([refusal.status, refusal.code, refusal.param]).toEqual([400, null, 'x-turnpike-cache']);
      expect(refusal.message).toContain('"ttl=600", with seconds from 1 to 86400, or "no-store"');
    }
    expect(sentSince(sent)).toBe(0);
  });

  test('store no response that broke off, failed, has no usage, is too large, stored, continued or looked up', async () => {
    const { outcome, call } = await opened();
    const answers: readonly [string, () => Response, unknown, string?][] = [
      ['no usage', () => Response.json(chatAnswer({ usage: undefined })), fresh()],
      ['too large', () => Response.json(chatAnswer({ pad: 'x'.repeat(100_000) })), fresh()],
      ['a stream without [DONE] and usage', () => streamOf(chunk('Hi')), fresh({ stream: true })],
      ['a refusal', () => Response.json({ error: { message: 'no' } }, { status: 400 }), fresh()],
      ['tokens', () => Response.json({ input_tokens: 3 }), fresh(), '/messages/count_tokens'],
    ];
    for (const [name, answer, what, path = CHAT] of answers) {
      gateway.upstream.answer(answer);
      await (await call(what, TTL, path)).text();
      const [second] = await outcome(what, TTL, path);
      expect([name, second]).toEqual([name, 'miss']);
    }
    const response = { id: 'resp_2', object: 'response', status: 'completed', model: 'm', output: [] };
    const usage = { input_tokens: 1, output_tokens: 1 };
    gateway.upstream.answer(() => Response.json({ ...response, usage }));
    const missesTwice = async (asked: object) => {
      for (const _ of [1, 2]) expect((await outcome(asked, TTL, '/responses'))[0]).toBe('miss');
    };
    for (const store of [{}, { store: true }]) {
      await missesTwice({ model: 'svc/chat-default', input: 'Remember', ...store });
    }
    const continued = { model: 'svc/chat-default', input: 'x', store: false, previous_response_id: 'resp_2' };
    await missesTwice(continued);
    await gateway.equip('svc/chat-default', { tools: { web_search: 0.01 } });
    await missesTwice({ ...continued, previous_response_id: null, tools: [{ type: 'web_search' }] });
    const [row] = await gateway.parts.database.query(
      'select count(*) as n from cached_answers where bytes > 100000',
    );
    expect(row).toEqual({ n: 0n });
  });

  test('are checked against the key, its models and its company like any call', async () => {
    numbered();
    const first = await opened({ models: ['svc/chat-default'] });
    const what = fresh();
    await first.outcome(what);
    const other = await opened({ models: ['svc/chat-premium'] });
    expect((await refusalOf(other.call(what))).status).toBe(403);
    const reader = await opened({ scopes: ['usage:read'] });
    expect((await refusalOf(reader.call(what))).status).toBe(403);
    const slow = await opened({ requestsPerMinute: 1 });
    expect((await slow.outcome(what))[0]).toBe('hit');
    expect((await refusalOf(slow.call(what))).status).toBe(429);
    await revokeKey(gateway.parts, { companyId: gateway.companyId, keyId: slow.keyId });
    expect((await refusalOf(slow.call(what))).status).toBe(401);
  });

  test('with an idempotency key: a hit is stored as its answer, and a conflict stays a conflict', async () => {
    numbered();
    const { rawKey, outcome, sent } = await opened();
    const what = fresh();
    const [, text] = await outcome(what);
    const keyed = (body: unknown) => {
      const headers = { 'x-turnpike-cache': TTL, 'idempotency-key': 'order-1' };
      return post(`${gateway.url}${CHAT}`, rawKey, body, { headers });
    };
    const hit = await keyed(what);
    expect([hit.headers.get('x-turnpike-cache'), await hit.text()]).toEqual(['hit', text ?? '']);
    const replayed = await keyed(what);
    expect([replayed.headers.get('idempotent-replayed'), await replayed.text()]).toEqual([
      'true',
      text ?? '',
    ]);
    expect((await refusalOf(keyed(fresh()))).status).toBe(409);
    expect(sentSince(sent)).toBe(1);
  });

  test('over MCP too: the header of the message applies to its tools', async () => {
    const { rawKey, sent } = await opened();
    const params = { name: 'chat', arguments: { model: 'svc/chat-default', prompt: 'Over MCP' } };
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const headers = { 'x-turnpike-cache': TTL };
    for (const _ of [1, 2]) await (await post(`${gateway.url}/mcp`, rawKey, message, { headers })).text();
    expect(sentSince(sent)).toBe(1);
  });

  test('go to the provider while the cache cannot be read, and no call fails', async () => {
    numbered();
    const { outcome } = await opened();
    const what = fresh();
    await outcome(what);
    gateway.outage.isUnavailable = true;
    const [missed] = await outcome(what);
    gateway.outage.isUnavailable = false;
    expect(missed).toBe('miss');
    expect((await outcome(what))[0]).toBe('hit');
  });
});

describe('a hit with a share of the price', () => {
  const { gateway, opened, numbered } = useGateway({
    balanceMicro: 30n,
    cache: { priceShareMillionths: 100_000 },
  });

  test('is charged rounded up, holds only that, and is refused without credits for it', async () => {
    numbered();
    const { outcome, call, keyId } = await opened();
    const what = { ...body, max_tokens: 1 };
    await outcome(what);
    expect((await gateway.credits.level()).balanceMicro).toBe(4n);
    expect((await outcome(what))[0]).toBe('hit');
    expect((await gateway.credits.level()).balanceMicro).toBe(1n);
    const rows = await gateway.calls(keyId, 2);
    expect(rows[1]).toMatchObject({ charge_micro: 3n, charge_share_millionths: 100_000, cache_hit: true });
    await (await call(what)).text();
    expect((await refusalOf(call(what))).status).toBe(402);
  });
});

describe('a hit under budgets', () => {
  const { gateway, opened, numbered } = useGateway({ cache: { priceShareMillionths: 100_000 } });

  async function setKeyBudget(subject: string, monthlyMicro: bigint): Promise<void> {
    const { companyId, parts } = gateway;
    const ids = { newId: parts.secrets.newId(), now: new Date() };
    const wanted = { companyId, scope: 'KEY', subject, monthlyMicro, isHard: true, version: null } as const;
    await parts.database.transaction((transaction) => setBudget(transaction, wanted, ids));
    await announceCompany(parts.sharedState, companyId);
  }

  test('counts with its charge, and is refused once the budget is used up', async () => {
    numbered();
    const { outcome, call, keyId } = await opened();
    await setKeyBudget(keyId, COST_MICRO + 4n);
    const what = fresh();
    expect((await outcome(what))[0]).toBe('miss');
    // 26 and 3 of 30 are spent, then 32: as any call, the last one may end above it by what it costs.
    for (const _ of [1, 2]) expect((await outcome(what))[0]).toBe('hit');
    expect(await refusalOf(call(what))).toMatchObject({ status: 403, code: 'BUDGET_EXCEEDED' });
    // Many at once pass no more than the budget covers.
    await setKeyBudget(keyId, COST_MICRO + 6n + 9n);
    const hits = await Promise.all(Array.from({ length: 12 }, () => call(what)));
    expect(hits.filter(({ status }) => status === 200)).toHaveLength(3);
  });
});

describe('a free hit', () => {
  const { gateway, opened } = useGateway({ balanceMicro: 10n });

  test('passes on an empty balance, because it holds nothing', async () => {
    const { outcome, call } = await opened();
    await outcome(body);
    expect((await gateway.credits.level()).balanceMicro).toBeLessThan(0n);
    expect((await refusalOf(call(fresh()))).status).toBe(402);
    expect((await outcome(body))[0]).toBe('hit');
  });
});

describe('CACHE_MAX_TTL_SECONDS=0', () => {
  const { gateway, opened, numbered } = useGateway({ cache: { maxTtlSeconds: 0 } });

  test('turns the cache off: nothing is stored, and calls continue', async () => {
    numbered();
    const { outcome } = await opened({ cacheTtlSeconds: 60 });
    for (const header of [TTL, TTL, null]) expect((await outcome(body, header))[0]).toBe('miss');
    expect(await gateway.parts.database.query('select 1 from cached_answers')).toEqual([]);
  });
});
