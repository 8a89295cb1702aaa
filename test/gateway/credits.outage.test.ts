import { expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer } from './scripted-upstream.ts';

const body = { model: 'svc/chat-default', messages: [], max_tokens: 100 };
const HELD_MICRO = Math.ceil(JSON.stringify(body).length / 4) + 400;
/** 5 prompt tokens at 1, 2 cached at 0.5, 5 completion tokens at 4. */
const COST_MICRO = 26n;

const gateway = useResource(() => openGateway({ balanceMicro: BigInt(HELD_MICRO) * 2n }));

const send = (rawKey: string) => post(`${gateway.url}/chat/completions`, rawKey, body);

test('G-29 G-33 while the database is away known companies go on, and what waits in the journal stays held', async () => {
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  const { rawKey, id } = await gateway.mint();
  expect((await send(rawKey)).status).toBe(200);
  const before = (await gateway.credits.level()).balanceMicro;
  gateway.outage.isAway = true;
  // Each has ended and none is charged yet: only their holds say that the balance is spoken for.
  expect((await send(rawKey)).status).toBe(200);
  expect((await send(rawKey)).status).toBe(200);
  expect(await gateway.credits.held()).toBe(HELD_MICRO * 2);
  const refused = await refusalOf(send(rawKey));
  expect(refused).toMatchObject({ status: 402, code: 'INSUFFICIENT_CREDITS' });
  gateway.outage.isAway = false;
  await until(async () => (await gateway.credits.held()) === 0);
  expect((await gateway.credits.level()).balanceMicro).toBe(before - COST_MICRO * 2n);
  expect((await send(rawKey)).status).toBe(200);
  const rows = await gateway.calls(id, 5);
  expect(rows.filter(({ outcome }) => outcome === 'SUCCEEDED')).toHaveLength(4);
});

test('G-29 G-32 a company that nobody has asked about gets 503 while the database is away; reads go on', async () => {
  const own = await openGateway();
  const { rawKey } = await own.mint();
  // A read makes the key known and asks for neither what its company owes nor what it has.
  const models = { headers: { authorization: `Bearer ${rawKey}` } };
  expect((await fetch(`${own.url}/models`, models)).status).toBe(200);
  own.outage.isAway = true;
  const refused = await refusalOf(post(`${own.url}/chat/completions`, rawKey, body));
  expect(refused).toMatchObject({ status: 503, code: 'LLM_GATEWAY_UNAVAILABLE' });
  expect(refused.message).toContain('Credits cannot be checked');
  expect((await fetch(`${own.url}/models`, models)).status).toBe(200);
  own.outage.isAway = false;
  await until(async () => (await post(`${own.url}/chat/completions`, rawKey, body)).status === 200);
  await own.close();
});
