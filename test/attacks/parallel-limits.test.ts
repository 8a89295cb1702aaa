import { expect, test } from 'bun:test';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { chatAnswer } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

const gateway = useResource(() => openGateway());
const chat = (rawKey: string, body: object = {}) =>
  post(`${gateway.url}/chat/completions`, rawKey, { model: 'svc/chat-default', messages: [], ...body });

/** How many of so many calls at once were answered, and how many were refused as too many. */
async function flood(rawKey: string, calls: number, body: object = {}) {
  const answers = await Promise.all(Array.from({ length: calls }, () => chat(rawKey, body)));
  for (const answer of answers) await answer.text();
  const of = (status: number) => answers.filter((answer) => answer.status === status).length;
  return { answered: of(200), refused: of(429), others: calls - of(200) - of(429) };
}

test('G-40 a hundred concurrent calls together exceed no limit of their key, and another key is served meanwhile', async () => {
  const [loud, quiet] = [await gateway.mint({ requestsPerMinute: 10 }), await gateway.mint()];
  const [flooded, served] = await Promise.all([flood(loud.rawKey, 100), flood(quiet.rawKey, 5)]);
  expect(flooded).toEqual({ answered: 10, refused: 90, others: 0 });
  expect(served).toEqual({ answered: 5, refused: 0, others: 0 });
});

test('G-40 tokens: each call reserves what it may use before it runs', async () => {
  const { rawKey } = await gateway.mint({ tokensPerMinute: 5_000 });
  const { answered, others } = await flood(rawKey, 100, { max_tokens: 1_000 });
  expect(others).toBe(0);
  expect(answered).toBeGreaterThan(0);
  expect(answered).toBeLessThanOrEqual(5);
});

test('calls in flight: slow answers keep their slots, and release them', async () => {
  const { rawKey } = await gateway.mint({ maxCallsInFlight: 3 });
  const gate = Promise.withResolvers<void>();
  gateway.upstream.answer(async () => {
    await gate.promise;
    return Response.json(chatAnswer());
  });
  const before = gateway.upstream.received.length;
  const flooding = flood(rawKey, 30);
  while (gateway.upstream.received.length < before + 3) await Bun.sleep(1);
  gate.resolve();
  expect(await flooding).toEqual({ answered: 3, refused: 27, others: 0 });
  expect((await chat(rawKey)).status).toBe(200);
});
