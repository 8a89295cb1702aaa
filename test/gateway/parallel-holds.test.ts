import { expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { openGateway, post } from './gateway-under-test.ts';
import { chatAnswer } from './scripted-upstream.ts';

const CALLS = 500;
const AFFORDABLE = 50;

test('G-29, billing bug 15: 500 calls at once on a balance worth 50 of their estimates: 50 or 51 pass, overdraft at most one estimate', async () => {
  const body = { model: 'svc/chat-default', messages: [], max_tokens: 100 };
  const promptTokens = Math.ceil(JSON.stringify(body).length / 4);
  const estimateMicro = BigInt(promptTokens + 4 * body.max_tokens);
  const gateway = await openGateway({ balanceMicro: estimateMicro * BigInt(AFFORDABLE) });
  const gate = Promise.withResolvers<void>();
  const usage = { prompt_tokens: promptTokens, completion_tokens: body.max_tokens };
  gateway.upstream.answer(async () => {
    await gate.promise;
    return Response.json(chatAnswer({ usage }));
  });
  const { rawKey } = await gateway.mint();
  const statuses: number[] = [];
  const all = Array.from({ length: CALLS }, async () => {
    const response = await post(`${gateway.url}/chat/completions`, rawKey, body);
    await response.text();
    statuses.push(response.status);
  });
  await until(() => statuses.length + gateway.upstream.received.length === CALLS);
  const admitted = gateway.upstream.received.length;
  gate.resolve();
  await Promise.all(all);
  const { balanceMicro } = await gateway.credits.level();
  console.log(
    `one process: ${admitted} of ${CALLS} admitted, balance ${balanceMicro} of ${estimateMicro * 50n} left, one estimate is ${estimateMicro}`,
  );
  expect(admitted).toBeGreaterThanOrEqual(AFFORDABLE);
  expect(admitted).toBeLessThanOrEqual(AFFORDABLE + 1);
  expect(balanceMicro).toBeGreaterThanOrEqual(-estimateMicro);
  expect(statuses.filter((status) => status === 402)).toHaveLength(CALLS - admitted);
  expect(await gateway.credits.held()).toBe(0);
  await gateway.close();
});
