import { expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { chatAnswer } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

const gateway = useResource(() => openGateway());
const chat = (rawKey: string, body: object = {}) =>
  post(`${gateway.url}/chat/completions`, rawKey, { model: 'svc/chat-default', messages: [], ...body });

/** So many calls at once: how many were answered, and how many were refused as too many. */
function flood(rawKey: string, calls: number, body: object = {}) {
  const statuses: number[] = [];
  const of = (status: number) => statuses.filter((one) => one === status).length;
  const all = Array.from({ length: calls }, async () => {
    const answer = await chat(rawKey, body);
    await answer.text();
    statuses.push(answer.status);
  });
  return {
    /** Until so many are refused, or all have ended. */
    refused: (count: number) => until(() => of(429) >= count || statuses.length === calls),
    counts: Promise.all(all).then(() => ({
      ...{ answered: of(200), refused: of(429), others: calls - of(200) - of(429) },
    })),
  };
}

/** The provider answers when the promise is resolved: a call that ends earlier would give back what it reserved. */
function holdAnswers(): PromiseWithResolvers<void> {
  const held = Promise.withResolvers<void>();
  gateway.upstream.answer(async () => {
    await held.promise;
    return Response.json(chatAnswer());
  });
  return held;
}

test('G-40 a hundred concurrent calls together exceed no limit of their key, and another key is served meanwhile', async () => {
  const [loud, quiet] = [await gateway.mint({ requestsPerMinute: 10 }), await gateway.mint()];
  const [flooded, served] = await Promise.all([
    flood(loud.rawKey, 100).counts,
    flood(quiet.rawKey, 5).counts,
  ]);
  expect(flooded).toEqual({ answered: 10, refused: 90, others: 0 });
  expect(served).toEqual({ answered: 5, refused: 0, others: 0 });
});

test('G-40 tokens: each call reserves what it may use before it runs', async () => {
  const { rawKey } = await gateway.mint({ tokensPerMinute: 5_000 });
  const held = holdAnswers();
  const flooding = flood(rawKey, 100, { max_tokens: 1_000 });
  await flooding.refused(96);
  held.resolve();
  // Four, because the prompt counts too.
  expect(await flooding.counts).toEqual({ answered: 4, refused: 96, others: 0 });
});

test('calls in flight: slow answers keep their slots, and release them', async () => {
  const { rawKey } = await gateway.mint({ maxCallsInFlight: 3 });
  const held = holdAnswers();
  const flooding = flood(rawKey, 30);
  await flooding.refused(27);
  held.resolve();
  expect(await flooding.counts).toEqual({ answered: 3, refused: 27, others: 0 });
  expect((await chat(rawKey)).status).toBe(200);
});
