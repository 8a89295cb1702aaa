import { beforeAll, describe, expect, test } from 'bun:test';
import { NO_CEILINGS, setCeilings } from '../../src/domain/accounts/ceilings.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer } from './scripted-upstream.ts';

let chatUrl: string;
const good = { model: 'svc/chat-default', messages: [] };

const gateway = useResource(() => openGateway());
beforeAll(async () => {
  chatUrl = `${gateway.url}/chat/completions`;
});

describe('429', () => {
  test('G-40 G-41 G-37 past the key’s requests: an exact Retry-After, and refused calls consume nothing', async () => {
    const { rawKey: slow, id } = await gateway.mint({ requestsPerMinute: 2 });
    await post(chatUrl, slow, good);
    expect((await post(chatUrl, slow, 'nonsense')).status).toBe(400);
    expect((await post(chatUrl, slow, good)).status).toBe(200);
    const refused = await refusalOf(post(chatUrl, slow, good));
    expect(refused).toMatchObject({ status: 429, type: 'rate_limit_error', code: null });
    const waitMs = Number(refused.headers.get('retry-after-ms'));
    expect(waitMs).toBeGreaterThan(50_000);
    expect(waitMs).toBeLessThanOrEqual(60_000);
    expect(refused.headers.get('retry-after')).toBe(String(Math.ceil(waitMs / 1000)));
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    const rows = await gateway.calls(id, 4);
    expect(rows.map(({ outcome, reason }) => `${outcome} ${reason}`)).toEqual([
      'SUCCEEDED null',
      'REFUSED invalidRequest',
      'SUCCEEDED null',
      'REFUSED rateLimited',
    ]);
  });

  test('G-37 a read with a wrong parameter, or of a model that the key may not call, consumes nothing', async () => {
    const scopes = ['inference:chat', 'usage:read', 'jobs:read'] as const;
    const { rawKey } = await gateway.mint({ scopes: [...scopes], requestsPerMinute: 2 });
    const headers = { authorization: `Bearer ${rawKey}` };
    const read = (path: string, more = {}) =>
      fetch(`${gateway.url}${path}`, { headers: { ...headers, ...more } });
    const refused = [
      ['/models/nope', 403],
      ['/usage?from=yesterday', 400],
      ['/usage/calls?limit=0', 400],
      ['/jobs?limit=0', 400],
      ['/responses/resp_1?stream=true', 400],
      ['/responses/resp_1/input_items?limit=101', 400],
    ] as const;
    const refuseAll = async () => {
      for (const [path, status] of refused) expect((await read(path)).status).toBe(status);
      const messages = await read('/models?limit=0', { 'anthropic-version': '2023-06-01' });
      expect(messages.status).toBe(400);
      expect(await messages.json()).toMatchObject({ type: 'error' });
    };
    await refuseAll();
    const first = await read('/models');
    expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('1');
    expect((await read('/models')).status).toBe(200);
    // What is wrong is said before the limit of the key.
    await refuseAll();
    expect((await read('/models')).status).toBe(429);
  });

  test('G-40 reads are never refused for tokens per minute, also where calls used more than estimated', async () => {
    const { rawKey: poor } = await gateway.mint({ tokensPerMinute: 100 });
    gateway.upstream.answer(() =>
      Response.json(chatAnswer({ usage: { prompt_tokens: 90_000, completion_tokens: 5 } })),
    );
    expect((await post(chatUrl, poor, { ...good, max_tokens: 10 })).status).toBe(200);
    expect((await post(chatUrl, poor, { ...good, max_tokens: 10 })).status).toBe(429);
    for (const path of ['/models', '/models/svc/chat-default', '/usage']) {
      const headers = { authorization: `Bearer ${poor}` };
      const read = await fetch(`${gateway.url}${path}`, { headers });
      expect(read.status).toBe(200);
      expect(read.headers.get('x-ratelimit-remaining-tokens')).toBe('0');
      expect(read.headers.get('x-ratelimit-limit-tokens')).toBe('100');
    }
  });

  test('G-40 cached prompt tokens are given back when the call ends, to the key and to its company', async () => {
    const usage = {
      prompt_tokens: 50_000,
      completion_tokens: 100,
      prompt_tokens_details: { cached_tokens: 49_000 },
    };
    gateway.upstream.answer(() => Response.json(chatAnswer({ usage })));
    const leftAfterACall = async (ofCompany: number | null) => {
      await gateway.parts.database.transaction((transaction) =>
        setCeilings(
          transaction,
          gateway.companyId,
          { ...NO_CEILINGS, tokensPerMinute: ofCompany },
          new Date(),
        ),
      );
      const { rawKey } = await gateway.mint({ tokensPerMinute: 200_000 });
      expect((await post(chatUrl, rawKey, good)).status).toBe(200);
      const look = await fetch(`${gateway.url}/models`, { headers: { authorization: `Bearer ${rawKey}` } });
      return look.headers.get('x-ratelimit-remaining-tokens');
    };
    expect(await leftAfterACall(150_000)).toBe(String(150_000 - 1_100));
    expect(await leftAfterACall(null)).toBe(String(200_000 - 1_100));
  });
});
