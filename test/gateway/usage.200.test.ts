import { describe, expect, test } from 'bun:test';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';

const gateway = useResource(() => openGateway());

function get(rawKey: string, query = ''): Promise<Response> {
  return fetch(`${gateway.url}/usage${query}`, { headers: { authorization: `Bearer ${rawKey}` } });
}

const usage = { prompt_tokens: 1_000, completion_tokens: 100, prompt_tokens_details: { cached_tokens: 200 } };
const answer = {
  id: 'x',
  object: 'chat.completion',
  choices: [{ index: 0, message: { content: 'hi' } }],
  usage,
};
const body = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'hi' }], max_tokens: 100 };

describe('G-5 GET /usage over a socket', () => {
  test('a call is in it as soon as its answer has ended, with its credits, and the balance is less by them', async () => {
    const { rawKey } = await gateway.mint();
    gateway.upstream.answer(() => Response.json(answer));
    expect(await (await get(rawKey)).json()).toMatchObject({
      totals: { calls: 0 },
      balance: { credits: 1_000_000 },
    });
    expect((await post(`${gateway.url}/chat/completions`, rawKey, body)).status).toBe(200);
    const response = await get(rawKey, '?group_by=model');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('597');
    const totals = {
      calls: 1,
      failures: 0,
      prompt_tokens: 1_000,
      cached_tokens: 200,
      completion_tokens: 100,
      credits: 0.0013,
    };
    expect(await response.json()).toMatchObject({
      object: 'usage',
      totals,
      by_model: [{ model: 'svc/chat-default', ...totals }],
      groups: [{ model: 'svc/chat-default', ...totals }],
      balance: { credits: 999_999.9987, held: 0 },
      limits: { requests_per_minute: { limit: 600, remaining: 597 } },
    });
  });

  test('it needs its scope, is recorded at zero, and refuses what it cannot read', async () => {
    const { rawKey, id } = await gateway.mint({ scopes: ['usage:read'] });
    expect((await get(rawKey)).status).toBe(200);
    expect(await refusalOf(get(rawKey, '?from=yesterday'))).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      param: 'from',
    });
    const rows = await gateway.calls(id, 2);
    expect(rows).toMatchObject([
      { endpoint: 'usage', http_status: 200, charge_micro: 0n },
      { endpoint: 'usage', http_status: 400, charge_micro: 0n },
    ]);
    expect(((await (await get(rawKey)).json()) as { totals: unknown }).totals).toMatchObject({ calls: 0 });
    const blind = await gateway.mint({ scopes: ['inference:chat'] });
    expect(await refusalOf(get(blind.rawKey))).toMatchObject({ status: 403, code: 'LLM_SCOPE_DENIED' });
    const posted = await post(`${gateway.url}/usage`, rawKey, {});
    expect(posted.status).toBe(404);
  });

  test('without a database it is a 503, and afterwards it answers again', async () => {
    const { rawKey } = await gateway.mint();
    expect((await get(rawKey)).status).toBe(200);
    gateway.outage.isAway = true;
    expect(await refusalOf(get(rawKey))).toMatchObject({ status: 503, code: 'LLM_GATEWAY_UNAVAILABLE' });
    gateway.outage.isAway = false;
    expect((await get(rawKey)).status).toBe(200);
  });

  test('G-29 G-32 neither an empty balance nor an overdue invoice keeps it from answering', async () => {
    const { rawKey } = await gateway.mint();
    const { database } = gateway.parts;
    await database.query('update credit_accounts set balance_micro = -1 where id = $1', [gateway.companyId]);
    await database.query(
      `insert into invoices (id, company_id, kind, status, amount_minor, currency, due_at)
       values (gen_random_uuid(), $1, 'MANUAL', 'OPEN', 1, 'usd', '2020-01-01')`,
      [gateway.companyId],
    );
    expect(await (await get(rawKey)).json()).toMatchObject({ balance: { credits: -0.000001 } });
  });
});
