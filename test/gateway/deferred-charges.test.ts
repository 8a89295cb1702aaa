import { describe, expect, test } from 'bun:test';
import { openMemoryDatabase } from '../doubles/memory-database.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post } from './gateway-under-test.ts';
import { chatAnswer } from './scripted-upstream.ts';

/** 5 prompt tokens at 1, 2 cached at 0.5, 5 completion tokens at 4. */
const COST_MICRO = 26n;
/** Holds many times what it costs. */
const body = { model: 'svc/chat-default', messages: [], max_tokens: 50_000 };

/** On the embedded engine, where calls end before they are committed. */
async function openEmbedded(balanceMicro: bigint) {
  const database = await openMemoryDatabase();
  const gateway = await openGateway({ database, balanceMicro });
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  const send = async (rawKey: string) => {
    const response = await post(`${gateway.url}/chat/completions`, rawKey, body);
    await response.text();
    return response.status;
  };
  return {
    ...{ database, gateway, send },
    async close() {
      await gateway.close();
      await database.close();
    },
  };
}

describe('charges that are deferred', () => {
  const opened = useResource(() => openEmbedded(COST_MICRO * 30n));

  test('G-29 an ended call causes no refusal: it holds neither the balance nor the limit of its key', async () => {
    const { gateway, send, database } = opened;
    const limited = await gateway.mint({ monthlySpendingLimitMicro: COST_MICRO * 10n });
    const statuses: number[] = [];
    for (let n = 0; n < 11; n += 1) statuses.push(await send(limited.rawKey));
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 403]);
    const { rawKey } = await gateway.mint();
    let deferred = 0;
    for (let n = 0; n < 20; n += 1) {
      expect(await send(rawKey)).toBe(200);
      if (database.deferred?.isEmpty() === false) deferred += 1;
    }
    // On a machine that is busy, some are charged by now.
    expect(deferred).toBeGreaterThan(0);
    expect(await send(rawKey)).toBe(402);
    expect((await gateway.credits.level()).balanceMicro).toBe(0n);
    expect(await gateway.credits.held()).toBe(0);
  });

  test('G-5 show up in the usage of their key as soon as the response has ended', async () => {
    const { gateway, send } = opened;
    await gateway.credits.grant(COST_MICRO * 100n);
    const { rawKey } = await gateway.mint({ scopes: ['inference:chat', 'usage:read'] });
    for (const n of [1, 2, 3]) {
      expect(await send(rawKey)).toBe(200);
      const response = await fetch(`${gateway.url}/usage`, {
        headers: { authorization: `Bearer ${rawKey}` },
      });
      expect((await response.json()).totals).toMatchObject({ calls: n });
    }
  });
});
