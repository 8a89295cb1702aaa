import { beforeAll, expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { post } from '../gateway/gateway-under-test.ts';
import { done } from '../gateway/scripted-upstream.ts';
import { describeServers } from '../setup/use-redis.ts';
import { useResource } from '../setup/use-resource.ts';
import { CHARGE_MICRO, GRANTED_MICRO, openCreditWorld } from './credit-world.ts';

describeServers('G-47 kill -9 of a gateway in the middle of a call with an Idempotency-Key', () => {
  let asked = 0;
  const world = useResource(() => openCreditWorld());
  beforeAll(async () => {
    world.answerAfter(() => {
      asked += 1;
      return 500;
    });
  });

  const send = (url: string, idempotencyKey: string, stream: boolean) => {
    const body = { model: 'svc/chat-default', messages: [], stream, max_tokens: 10 };
    const headers = { 'idempotency-key': idempotencyKey };
    return post(`${url}/chat/completions`, world.rawKey, body, { headers });
  };
  const rowOf = async (idempotencyKey: string) => {
    const [row] = await world.database.query<{ request_id: string | null; ended: boolean }>(
      `select request_id, ended_at is not null as ended from idempotency_keys as kept
       left join calls on calls.id = kept.call_id where idempotency_key = $1`,
      [idempotencyKey],
    );
    return row;
  };
  const spent = async () => {
    const [account] = await world.database.query<{ balance: bigint }>(
      'select balance_micro as balance from credit_accounts where id = $1',
      [world.companyId],
    );
    return GRANTED_MICRO - (account?.balance ?? 0n);
  };

  for (const stream of [false, true]) {
    test(`between the commit and the last byte of ${stream ? 'a stream' : 'an answer'}: replayed, one charge`, async () => {
      const [askedBefore, spentBefore] = [asked, await spent()];
      const key = `killed ${stream}`;
      const first = await world.startGateway({ REDIS_TIMEOUT_MS: '60000' });
      // After its commit a call gives back what it holds, and its last byte waits for that.
      const seen = send(first.url, key, stream)
        .then((response) => response.text())
        .catch(() => '');
      await until(() => asked === askedBefore + 1);
      world.toRedis.hold();
      await until(async () => (await rowOf(key))?.ended === true);
      first.signal('SIGKILL');
      await first.exited;
      world.toRedis.release();
      expect(await seen).not.toContain(stream ? done : 'usage');

      const next = await world.startGateway();
      const again = await send(next.url, key, stream);
      expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
      expect(again.headers.get('original-request-id')).toBe((await rowOf(key))?.request_id ?? null);
      const text = await again.text();
      expect(stream ? text.endsWith(done) : JSON.parse(text).usage !== undefined).toBe(true);
      expect(asked - askedBefore).toBe(1);
      expect((await spent()) - spentBefore).toBe(CHARGE_MICRO);
      next.signal('SIGTERM');
      expect(await next.exited).toBe(0);
    });
  }

  test('before the commit: nothing is charged, and after the lease a repeat runs again, once', async () => {
    const [askedBefore, spentBefore] = [asked, await spent()];
    world.answerAfter(() => {
      asked += 1;
      return asked === askedBefore + 1 ? 60_000 : 20;
    });
    const first = await world.startGateway();
    const seen = send(first.url, 'early', false).catch(() => null);
    await until(() => asked === askedBefore + 1);
    first.signal('SIGKILL');
    await first.exited;
    expect(await seen).toBeNull();
    const next = await world.startGateway();
    expect((await send(next.url, 'early', false)).status).toBe(409);
    await world.database.query(
      "update idempotency_keys set leased_until = now() - interval '1 second' where idempotency_key = 'early'",
    );
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(next.url, 'early', false)));
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(1);
    expect((await send(next.url, 'early', false)).headers.get('idempotent-replayed')).toBe('true');
    expect(asked - askedBefore).toBe(2);
    expect((await spent()) - spentBefore).toBe(CHARGE_MICRO);
    next.signal('SIGTERM');
    expect(await next.exited).toBe(0);
  });
});
