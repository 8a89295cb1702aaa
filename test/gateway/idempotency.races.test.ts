import { beforeAll, expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer } from './scripted-upstream.ts';

const body = { model: 'svc/chat-default', messages: [], max_tokens: 10 };
const COST_MICRO = 26n;

const gateway = useResource(() => openGateway());
beforeAll(async () => {
  // Everybody looks before anybody claims: the claim alone decides.
  Object.assign(gateway.idempotency, { find: async () => 'free' });
});

async function opened() {
  const { rawKey, id } = await gateway.mint();
  const call = (what: unknown = body) =>
    post(`${gateway.url}/chat/completions`, rawKey, what, { headers: { 'idempotency-key': 'k' } });
  return { call, keyId: id };
}

test('G-47 who loses the race for a key holds nothing; who finds it answered by then gets the answer, free', async () => {
  const gate = Promise.withResolvers<void>();
  gateway.upstream.answer(async () => {
    await gate.promise;
    return Response.json(chatAnswer());
  });
  const before = (await gateway.credits.level()).balanceMicro;
  const { call, keyId } = await opened();
  const first = call();
  await until(() => gateway.upstream.received.length === 1);
  const held = await gateway.credits.held();
  expect(held).toBeGreaterThan(0);
  for (const refused of await Promise.all(Array.from({ length: 10 }, () => refusalOf(call())))) {
    expect(refused.status).toBe(409);
  }
  expect((await refusalOf(call({ ...body, max_tokens: 1 }))).message).toContain('another request');
  expect(await gateway.credits.held()).toBe(held);
  gate.resolve();
  const text = await (await first).text();
  const again = await call();
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect(await again.text()).toBe(text);
  expect(await gateway.credits.held()).toBe(0);
  expect(before - (await gateway.credits.level()).balanceMicro).toBe(COST_MICRO);
  expect(gateway.upstream.received).toHaveLength(1);
  const rows = await gateway.calls(keyId, 13);
  expect(rows.map(({ outcome, reason }) => reason ?? outcome).sort()).toEqual([
    'SUCCEEDED',
    ...Array.from({ length: 11 }, () => 'idempotencyConflict'),
    'replayed',
  ]);
});

test('G-47 a database that goes away between the look and the claim: 503, nothing held, no upstream asked', async () => {
  const { call } = await opened();
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  const asked = gateway.upstream.received.length;
  const { claim } = gateway.idempotency;
  Object.assign(gateway.idempotency, { claim: async () => 'away' });
  expect((await refusalOf(call())).status).toBe(503);
  Object.assign(gateway.idempotency, { claim: () => Promise.reject(new Error('unforeseen')) });
  expect((await refusalOf(call())).status).toBe(503);
  Object.assign(gateway.idempotency, { claim });
  expect(await gateway.credits.held()).toBe(0);
  expect(gateway.upstream.received).toHaveLength(asked);
});
