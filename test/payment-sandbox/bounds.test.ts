import { describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { pruneSandbox } from '../../src/payment-sandbox/sandbox-clock.ts';
import { createPaymentSandbox } from '../../src/payment-sandbox/server.ts';
import { createShop, done } from '../contracts/payment-provider.contract.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { openSandbox, useSandbox } from './sandbox-under-test.ts';

const { sandbox, database } = useSandbox();

const pay = async (id: string) => void (await sandbox.click(`/checkout/${id}/pay`));
const shop = createShop(() => ({ provider: sandbox.provider, pay }), 'bounds');

async function count(table: string): Promise<bigint> {
  const rows = await database.query<{ count: bigint }>(`select count(*) as count from ${table}`);
  return rows[0]?.count ?? 0n;
}

test('events are removed after 30 days with their deliveries, stored answers after a day; objects stay', async () => {
  const { session } = await shop.buy('payment');
  await sandbox.settled();
  const nowMs = sandbox.clock.now();
  const now = nowMs / 1000;
  await pruneSandbox(database, nowMs, now + 30 * 86_400);
  expect(await count('payment_sandbox_deliveries')).toBeGreaterThan(0n);
  expect(await count('payment_sandbox_replays')).toBeGreaterThan(0n);
  await pruneSandbox(database, nowMs + 86_400_000, now + 30 * 86_400 + 1);
  expect(await count('payment_sandbox_deliveries')).toBe(0n);
  expect(await count('payment_sandbox_replays')).toBe(0n);
  expect(done(await sandbox.provider.listEvents({ sinceMs: 0 })).items).toEqual([]);
  expect(done(await sandbox.provider.retrieveCheckoutSession(String(session.id)))).toMatchObject({
    payment_status: 'paid',
  });
});

test('of each kind only the newest 50,000 are kept, and open ones in any case', async () => {
  await database.query(
    `insert into payment_sandbox_objects (id, kind, created, body, hidden, due_at)
     select 'ch_' || n, 'charge', 1, '{}', '{}', case when n = 1 then 5 end from generate_series(1, 50010) n`,
  );
  await pruneSandbox(database, sandbox.clock.now(), 0);
  const rows = await database.query<{ count: bigint }>(
    `select count(*) as count from payment_sandbox_objects where kind = 'charge'`,
  );
  expect(rows[0]?.count).toBe(50_001n);
  await database.query(`delete from payment_sandbox_objects where kind = 'charge'`);
});

describe('the sandbox’s own switches', () => {
  test('refuse values out of bounds, and change nothing', async () => {
    for (const body of [{ advance_seconds: 0 }, { advance_seconds: 1e9 }, { advance_seconds: 'x' }, {}]) {
      expect((await sandbox.own('/sandbox/clock', body)).status).toBe(400);
    }
    for (const body of [{ duplicate: 1_001 }, { drop: -1 }, { delay_ms: 1e12 }]) {
      expect((await sandbox.own('/sandbox/faults', body)).status).toBe(400);
    }
    expect((await sandbox.own('/sandbox/cards', { customer: 'cus_x', card: 'works' })).status).toBe(400);
    expect((await sandbox.own('/sandbox/cards', { customer: 'cus_x', card: 'gold' })).status).toBe(400);
    const faults = (await (await fetch(`${sandbox.url}/sandbox/faults`)).json()) as object;
    expect(Object.values(faults).every((value) => value === 0)).toBe(true);
  });

  test('accept nothing from a page of another site', async () => {
    const headers = { origin: 'http://evil.example', 'content-type': 'application/x-www-form-urlencoded' };
    const body = 'advance_seconds=86400';
    const answer = await fetch(`${sandbox.url}/sandbox/clock`, { method: 'POST', headers, body });
    expect(answer.status).toBe(403);
    const { now } = (await (await fetch(`${sandbox.url}/sandbox/clock`)).json()) as { now: number };
    expect(now).toBe(Math.floor(sandbox.clock.now() / 1000));
  });
});

test('P-3 an empty signing secret is rejected by the constructor', () => {
  const base = { clock: sandbox.clock, secrets: createSystemSecrets(), log: createSilentLog(), database };
  const options = { ...base, baseUrl: () => '', webhookUrl: () => '', eventKinds: [] };
  expect(() => createPaymentSandbox({ ...options, webhookSecret: ' ' })).toThrow('needs a signing secret');
});

test('a closed sandbox leaves no timer', async () => {
  const other = await openSandbox(database);
  await shop.sell('one-time');
  await other.close();
  expect(other.clock.pendingTimers()).toBe(0);
});
