import { beforeAll, describe, expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer } from './scripted-upstream.ts';

interface CallsPage {
  readonly object: string;
  readonly data: readonly Record<string, unknown>[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

const SCOPES = ['inference:chat', 'usage:read'];
const body = { model: 'svc/chat-default', messages: [] };
const gateway = useResource(() => openGateway({ trustedProxies: ['127.0.0.1'] }));
let rawKey = '';
let keyId = '';

const get = (key: string, query = '') =>
  fetch(`${gateway.url}/usage/calls${query}`, { headers: { authorization: `Bearer ${key}` } });
const pageOf = async (key: string, query = '') => (await (await get(key, query)).json()) as CallsPage;

beforeAll(async () => {
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  ({ rawKey, id: keyId } = await gateway.mint({ scopes: SCOPES }));
  const tagged = { headers: { 'x-request-id': 'mine', 'x-turnpike-tags': 'env:prod,=cmd()' } };
  await (await post(`${gateway.url}/chat/completions`, rawKey, { ...body, user: '@evil' }, tagged)).text();
  for (let at = 0; at < 4; at += 1)
    await (await post(`${gateway.url}/chat/completions`, rawKey, body)).text();
  await (await post(`${gateway.url}/chat/completions`, rawKey, { ...body, model: 'none' })).text();
  await gateway.calls(keyId, 6);
});

describe('GET /usage/calls', () => {
  test('shows the calls of the key within two seconds of their end, the newest first, refused ones too', async () => {
    const { rawKey: fresh, id } = await gateway.mint({ scopes: SCOPES });
    const answered = await post(`${gateway.url}/chat/completions`, fresh, body, {
      headers: { 'x-turnpike-tags': 'b,a' },
    });
    await answered.text();
    const requestId = answered.headers.get('x-request-id') ?? '';
    expect(requestId).toMatch(/^req_[0-9a-f]{24}$/);
    const endedMs = performance.now();
    await (await post(`${gateway.url}/chat/completions`, fresh, { ...body, model: 'none' })).text();
    let page = await pageOf(fresh);
    await until(async () => {
      // Each look is a call of the key too, and moves the others down the page.
      page = await pageOf(fresh, '?limit=100&model=&code=');
      return page.data.filter(({ endpoint }) => endpoint === 'chat/completions').length === 2;
    });
    expect(performance.now() - endedMs).toBeLessThan(2_000);
    const [refused, call] = page.data.filter(({ endpoint }) => endpoint === 'chat/completions');
    expect(call).toMatchObject({
      ...{ request_id: requestId, model: 'svc/chat-default', status: 200, code: null, stream: false },
      ...{ prompt_tokens: 7, cached_tokens: 2, completion_tokens: 5, user: null, tags: ['a', 'b'] },
      ...{ mcp: false, count: 1 },
    });
    expect(call?.credits).toBeGreaterThan(0);
    expect(refused).toMatchObject({ status: 403, code: 'LLM_MODEL_NOT_ALLOWED', credits: 0 });
    // Nothing of where it went: that is the operator's.
    expect(Object.keys(call ?? {})).not.toContain('target');
    const found = await pageOf(fresh, `?request_id=${requestId}`);
    expect(found.data.map((one) => one.id)).toEqual([call?.id]);
    expect((await gateway.calls(id, 2)).length).toBeGreaterThanOrEqual(2);
  });

  test('pages continue from their cursor', async () => {
    const first = await pageOf(rawKey, '?limit=3&model=svc/chat-default');
    const second = await pageOf(rawKey, `?limit=3&model=svc/chat-default&after=${first.next_cursor}`);
    expect([first.has_more, second.has_more, second.next_cursor]).toEqual([true, false, null]);
    const ids = [first, second].flatMap(({ data }) => data.map(({ id }) => id));
    expect(new Set(ids).size).toBe(5);
  });

  test.each([
    ['user=%40evil', 1],
    ['tag=env:prod', 1],
    ['status=403', 1],
    ['code=LLM_MODEL_NOT_ALLOWED', 1],
    ['request_id=mine', 1],
    ['from=2100-01-01', 0],
    ['to=2000-01-01', 0],
    ['status=200&model=svc/chat-default', 5],
  ])('is filtered by %s', async (query, count) => {
    expect((await pageOf(rawKey, `?${query}`)).data).toHaveLength(count);
  });

  test('exports as CSV and JSON Lines are complete, and no CSV cell is a formula', async () => {
    const csv = await get(rawKey, '?format=csv&request_id=mine');
    expect(csv.headers.get('content-type')).toStartWith('text/csv');
    expect(csv.headers.get('content-disposition')).toBe('attachment; filename="calls.csv"');
    const [head = '', line = '', rest] = (await csv.text()).split('\r\n');
    expect(head).toStartWith('id,request_id,created_at,endpoint,mcp,model,');
    expect(line.split(',')).toHaveLength(head.split(',').length);
    expect(line).toContain(",'@evil,'=cmd() env:prod,");
    expect(rest).toBe('');
    const lines = (await (await get(rawKey, '?format=jsonl&model=svc/chat-default')).text())
      .trimEnd()
      .split('\n');
    expect(lines).toHaveLength(5);
    expect(JSON.parse(lines[4] ?? '')).toMatchObject({ request_id: 'mine', user: '@evil' });
    const some = await (await get(rawKey, '?format=jsonl&limit=2')).text();
    expect(some.trimEnd().split('\n')).toHaveLength(2);
  });

  test.each([
    ['limit=0', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['status=99', 'status'],
    ['format=xml', 'format'],
    ['from=2026-06-31T00:00:00Z', 'from'],
    ["after=1_'; drop table calls", 'after'],
    [`tag=${'x'.repeat(300)}`, 'tag'],
    ['user=a%00b', 'user'],
  ])('%s is refused with the name of the parameter', async (query, param) => {
    const response = await get(rawKey, `?${query}`);
    expect(await refusalOf(response)).toMatchObject({ status: 400, param });
  });
});

test('requests without a valid key are counted by address and code', async () => {
  const forwarded = { 'x-forwarded-for': '203.0.113.7' };
  for (let at = 0; at < 3; at += 1) {
    await fetch(`${gateway.url}/models`, { headers: { ...forwarded, authorization: 'Bearer guessed' } });
  }
  await fetch(`${gateway.url}/mcp`, { method: 'POST', headers: forwarded, body: '{}' });
  await fetch(`${gateway.url}/no-such-route`, { headers: forwarded });
  await gateway.addressRefusals.close();
  const rows = await gateway.parts.database.query(
    'select address, code, sum(count)::int as count from address_refusals group by 1, 2 order by 2',
  );
  expect([...rows]).toEqual([
    { address: '203.0.113.7', code: 'notFound', count: 1 },
    { address: '203.0.113.7', code: 'unauthenticated', count: 4 },
  ]);
});

test('G-39 requests beyond the limit of their address are recorded for keys that are known, and cause no look-up of others', async () => {
  const beside = await openGateway({ ...gateway.parts, isSecond: true, addressRequestsPerMinute: 3 });
  const [{ rawKey, id }, other] = [await gateway.mint(), await gateway.mint()];
  const ask = async (path: string, key: string, method = 'GET') => {
    const headers = { authorization: `Bearer ${key}` };
    return (await fetch(`${beside.url}${path}`, { method, headers })).status;
  };
  for (let at = 0; at < 3; at += 1) expect(await ask('/models', rawKey)).toBe(200);
  for (const path of ['/models', '/chat/completions'] as const) {
    expect(await ask(path, rawKey, path === '/models' ? 'GET' : 'POST')).toBe(429);
  }
  expect(await ask('/mcp', rawKey, 'POST')).toBe(429);
  // Valid, but never seen by this process: it is counted by its address only.
  expect(await ask('/models', other.rawKey)).toBe(429);
  expect(await ask('/nowhere', rawKey)).toBe(429);
  const refused = (await gateway.calls(id, 6)).filter(({ outcome }) => outcome === 'REFUSED');
  expect(refused.map(({ endpoint, reason }) => [endpoint, reason])).toEqual([
    ['models', 'addressLimited'],
    ['chat/completions', 'addressLimited'],
    ['mcp', 'addressLimited'],
  ]);
  expect(await gateway.calls(other.id, 0)).toEqual([]);
  await beside.addressRefusals.close();
  const rows = await gateway.parts.database.query(
    `select sum(count)::int as count from address_refusals where code = 'addressLimited'`,
  );
  expect([...rows]).toEqual([{ count: 5 }]);
  await beside.close();
});
