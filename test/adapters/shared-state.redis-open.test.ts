import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { RedisClient } from 'bun';
import { readRedisAddress } from '../../src/adapters/shared-state/redis/address.ts';
import { openRedisState } from '../../src/adapters/shared-state/redis.ts';
import { failureOf } from '../contracts/shared-state.contract.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { type PausableRedis, startPausableRedis } from './pausable-redis.ts';

const TIMEOUT_MS = 500;
const SECRET = 'ge%40heim';
const log = createSilentLog();
const isInstalled = Bun.which('redis-server') !== null;

function opening(url: string) {
  return openRedisState({ url, log, timeoutMs: TIMEOUT_MS });
}

function expectNoSecret(message: string): void {
  expect(message).not.toContain(SECRET);
  expect(message).not.toContain(decodeURIComponent(SECRET));
}

describe('opening Redis', () => {
  test('a server that is not there is named in one sentence, without its password', async () => {
    const failure = await failureOf(opening(`redis://me:${SECRET}@127.0.0.1:1/0`));
    expect(failure.reason).toBe('unavailable');
    expect(failure.message).toStartWith('Redis at 127.0.0.1:1 cannot be reached');
    expectNoSecret(`${failure.message} ${failure.stack} ${failure.cause}`);
  });

  test('a server that accepts and says nothing is given up in time', async () => {
    const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
    const begun = performance.now();
    const failure = await failureOf(opening(`redis://127.0.0.1:${silent.port}`));
    expect(failure.reason).toBe('unavailable');
    expect(performance.now() - begun).toBeLessThan(TIMEOUT_MS * 4);
    silent.stop(true);
  });

  test('a URL that cannot be read is not repeated', async () => {
    for (const url of [`no url ${SECRET}`, `http://me:${SECRET}@localhost`, '']) {
      const failure = await failureOf(opening(url));
      expect(failure.reason).toBe('refused');
      expectNoSecret(failure.message);
    }
  });
});

test('a password is taken out of what a server repeats, as it is written and as it is meant', () => {
  const { withoutPassword, place } = readRedisAddress(`rediss://me:${SECRET}@[::1]:7000`);
  expect(place).toBe('[::1]:7000');
  expect(withoutPassword(`unknown command HELLO with args ge@heim ${SECRET}`)).toBe(
    'unknown command HELLO with args *** ***',
  );
  expect(readRedisAddress('redis://localhost').withoutPassword('as it is')).toBe('as it is');
});

describe.skipIf(!isInstalled)('opening a Redis that refuses (skipped without redis-server)', () => {
  let server: PausableRedis;
  beforeAll(async () => {
    server = await startPausableRedis();
  });
  afterAll(() => server.remove());

  test('a database that does not exist is told in the words of the server', async () => {
    const failure = await failureOf(opening(`${server.url}/99`));
    expect(failure.reason).toBe('refused');
    expect(failure.message).toContain('DB index is out of range');
  });

  test('a wrong password is refused and not told; the right one opens', async () => {
    await server.command('CONFIG', 'SET', 'requirepass', decodeURIComponent(SECRET));
    const withPassword = (password: string) => `redis://:${password}@127.0.0.1:${server.port}`;
    const failure = await failureOf(opening(withPassword('falsch')));
    expect(failure.message).toContain('refuses the user name and password');
    expect(failure.message).not.toContain('falsch');
    const state = await opening(withPassword(SECRET));
    await state.check();
    await state.close();
  });

  test('what the server refuses is told in its words, as passing or as for good', async () => {
    const url = `redis://:${SECRET}@127.0.0.1:${server.port}`;
    const state = await opening(url);
    const admin = new RedisClient(url);
    await admin.send('SET', ['turnpike:{t}:held:h', 'not ours']);
    const claim = {
      kind: 'held',
      name: 'h',
      entry: 'e',
      amount: 1,
      limit: 5,
      ttlMs: 1_000,
      rule: 'fits',
    } as const;
    const forGood = await failureOf(state.reserve('t', [claim]));
    expect(forGood).toMatchObject({ reason: 'refused', message: expect.stringContaining('WRONGTYPE') });
    await admin.send('CONFIG', ['SET', 'maxmemory', '1']);
    const passing = await failureOf(state.set('k', 'v', 60_000));
    expect(passing).toMatchObject({ reason: 'unavailable', message: expect.stringContaining('OOM') });
    await admin.send('CONFIG', ['SET', 'maxmemory', '0']);
    await state.set('k', 'v', 60_000);
    admin.close();
    await state.close();
  });
});
