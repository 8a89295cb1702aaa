import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { RedisClient } from 'bun';
import { readRedisAddress } from '../../../src/adapters/shared-state/redis/address.ts';
import { openLink, type RedisLink } from '../../../src/adapters/shared-state/redis/connection.ts';
import { openRedisState } from '../../../src/adapters/shared-state/redis.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import { failureOf, ignore, sharedStateContract } from '../../contracts/shared-state.contract.ts';
import { levelsContract } from '../../contracts/shared-state-levels.contract.ts';
import { windowsContract } from '../../contracts/shared-state-windows.contract.ts';
import { createManualClock } from '../../doubles/manual-clock.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { until } from '../../doubles/until.ts';
import { givenRedis } from '../../services/given.ts';
import { describeRedis, useRedis } from '../../setup/use-redis.ts';
import { type PausableRedis, startPausableRedis } from './pausable-redis.ts';

const url = givenRedis() ?? '';
const log = createSilentLog();
const SECRET = 'ge%40heim';
const isInstalled = Bun.which('redis-server') !== null;

function expectNoSecret(message: string): void {
  expect(message).not.toContain(SECRET);
  expect(message).not.toContain(decodeURIComponent(SECRET));
}

/** A command whose answer comes when the test says so. */
function begin(link: RedisLink) {
  const { promise, resolve } = Promise.withResolvers<string>();
  const reply = link.use(() => promise);
  return {
    reply,
    async answer() {
      resolve('answer');
      expect(await reply).toBe('answer');
    },
  };
}

describe('shared state on Redis', () => {
  const redis = useRedis();

  async function open(prefix = redis.newPrefix()) {
    const state = await redis.open({ prefix });
    return { state, advance: state.advance, close: () => state.close(), prefix };
  }

  describeRedis('Redis (skipped where TEST_REDIS_URL is not set)', () => {
    let admin: RedisClient;
    beforeAll(async () => {
      admin = new RedisClient(url);
      await admin.connect();
    });
    afterAll(() => admin.close());

    sharedStateContract('Redis', open);
    windowsContract('Redis', open);
    levelsContract('Redis', open);

    const window = { kind: 'window', name: 'rpm', amount: 1, limit: 50, windowMs: 3_600_000 } as const;
    const held = {
      kind: 'held',
      name: 'calls',
      amount: 1,
      limit: 50,
      ttlMs: 3_600_000,
      rule: 'fits',
    } as const;

    async function keysUnder(prefix: string): Promise<string[]> {
      return (await admin.send('KEYS', [`${prefix}:*`])) as string[];
    }

    test('of 200 parallel claims by two clients on a limit of 50, exactly 50 are admitted', async () => {
      const one = await open();
      const two = await open(one.prefix);
      const claims = Array.from({ length: 200 }, (_, index) =>
        (index % 2 ? one : two).state.reserve('t', [window, { ...held, limit: 60, entry: `${index}` }]),
      );
      const admitted = (await Promise.all(claims)).filter(({ outcome }) => outcome === 'reserved');
      expect(admitted).toHaveLength(50);
      const left = await two.state.reserve('t', [{ ...held, entry: 'asking', amount: 0 }]);
      expect(left).toMatchObject({ outcome: 'reserved', limitStates: [{ used: 50 }] });
      await one.close();
      await two.close();
    });

    test('counts the processes that listen to a topic', async () => {
      const prefix = redis.newPrefix();
      const [one, two] = [await open(prefix), await open(prefix)];
      expect(await one.state.listeners('news')).toBe(0);
      const first = await one.state.subscribe('news', ignore, ignore);
      await two.state.subscribe('news', ignore, ignore);
      expect(await one.state.listeners('news')).toBe(2);
      expect(await one.state.listeners('other news')).toBe(0);
      await first.close();
      await until(async () => (await two.state.listeners('news')) === 1);
      await one.close();
      await two.close();
    });

    test('every key expires by itself, and not before the longest of its entries', async () => {
      const { state, prefix, close } = await open();
      const level = {
        kind: 'level',
        name: 'l',
        value: 9,
        version: 1,
        ttlMs: 3_600_000,
        replaces: null,
      } as const;
      const long = { ...held, name: 'long', ttlMs: 9_000_000 };
      await state.reserve('t', [window, { ...held, entry: 'a' }, { ...long, entry: 'a' }]);
      await state.settle('t', [level]);
      await state.reserve('t', [{ ...long, entry: 'b', ttlMs: 1_000 }]);
      await state.set('v', 'text', 3_600_000);
      await state.setIfAbsent('w', 'text', 3_600_000);
      const keys = await keysUnder(prefix);
      expect(keys).toHaveLength(6);
      for (const key of keys) {
        const leastMs = key.endsWith('held:long') ? 8_900_000 : 3_500_000;
        expect(await admin.send('PTTL', [key])).toBeWithin(leastMs, leastMs + 300_000);
      }
      await close();
    });

    test('a server whose clock is set back keeps what is counted for one more window, and no longer', async () => {
      const { state, close } = await open();
      const claim = { ...window, limit: 3 };
      const outcome = async () => (await state.reserve('t', [claim])).outcome;
      await state.reserve('t', [{ ...claim, amount: 2 }]);
      state.advance(1_800_000);
      await state.reserve('t', [claim]);
      // A little is no matter: the buckets stay.
      state.advance(-30_000);
      expect(await state.reserve('t', [claim])).toMatchObject({
        outcome: 'refused',
        limitStates: [{ used: 3 }],
      });
      state.advance(-36_000_000);
      expect(await state.reserve('t', [claim])).toMatchObject({
        outcome: 'refused',
        limitStates: [{ used: 3 }],
      });
      state.advance(3_600_000);
      expect(await outcome()).toBe('refused');
      state.advance(60_000);
      expect(await state.reserve('t', [claim])).toMatchObject({
        outcome: 'reserved',
        limitStates: [{ used: 1 }],
      });
      await close();
    });

    test('scripts are loaded again after the server has lost them, and nothing is applied twice', async () => {
      const { state, close } = await open();
      await state.reserve('t', [window]);
      await admin.send('SCRIPT', ['FLUSH']);
      expect(await state.reserve('t', [window])).toMatchObject({ limitStates: [{ used: 2 }] });
      await admin.send('SCRIPT', ['FLUSH']);
      await state.set('v', 'text', 60_000);
      expect(await state.get('v')).toBe('text');
      await close();
    });

    test('commands sent before closing are answered', async () => {
      const { state, close } = await open();
      // The server has the script by now: loading it first would take too long.
      await state.reserve('t', [window]);
      const sent = [state.reserve('t', [window]), state.reserve('t', [window])];
      await close();
      expect(await Promise.all(sent)).toMatchObject([
        { limitStates: [{ used: 2 }] },
        { limitStates: [{ used: 3 }] },
      ]);
    });

    test('prefixes separate claims and messages', async () => {
      const [one, stranger] = [await open(), await open()];
      const [heard, overheard]: string[][] = [[], []];
      await stranger.state.subscribe('news', (message) => overheard?.push(message), ignore);
      await one.state.subscribe('news', (message) => heard?.push(message), ignore);
      await one.state.publish('news', 'm');
      await until(() => heard?.length === 1);
      await one.state.reserve('t', [window]);
      expect(await stranger.state.reserve('t', [window])).toMatchObject({ limitStates: [{ used: 1 }] });
      expect(overheard).toEqual([]);
      for (const { close } of [one, stranger]) await close();
    });
  });
});

describe('opening Redis', () => {
  const TIMEOUT_MS = 500;

  function opening(url: string, more: { clock?: Clock } = {}) {
    return openRedisState({ url, log, timeoutMs: TIMEOUT_MS, ...more });
  }

  describe('a server that cannot be used', () => {
    test('an unreachable server is named in one sentence, without its password', async () => {
      const failure = await failureOf(opening(`redis://me:${SECRET}@127.0.0.1:1/0`));
      expect(failure.reason).toBe('unavailable');
      expect(failure.message).toStartWith('Redis at 127.0.0.1:1 cannot be reached');
      expectNoSecret(`${failure.message} ${failure.stack} ${failure.cause}`);
    });

    test('a server that accepts and does not respond times out', async () => {
      const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
      const clock = createManualClock();
      const opened = failureOf(opening(`redis://127.0.0.1:${silent.port}`, { clock }));
      await until(() => clock.pendingTimers() > 0);
      await clock.advance(TIMEOUT_MS);
      expect((await opened).reason).toBe('unavailable');
      silent.stop(true);
    });

    test('an invalid URL is not repeated', async () => {
      for (const url of [`no url ${SECRET}`, `http://me:${SECRET}@localhost`, '']) {
        const failure = await failureOf(opening(url));
        expect(failure.reason).toBe('refused');
        expectNoSecret(failure.message);
      }
    });
  });

  test('a password is removed from messages of the server, encoded and decoded', () => {
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

    test('a wrong password is rejected and not logged; the right one connects', async () => {
      await server.command('CONFIG', 'SET', 'requirepass', decodeURIComponent(SECRET));
      const withPassword = (password: string) => `redis://:${password}@127.0.0.1:${server.port}`;
      const failure = await failureOf(opening(withPassword('falsch')));
      expect(failure.message).toContain('refuses the user name and password');
      expect(failure.message).not.toContain('falsch');
      const state = await opening(withPassword(SECRET));
      await state.check();
      await state.close();
    });

    test('an error of the server is reported with its message, as temporary or permanent', async () => {
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
      await failureOf(state.check());
      await admin.send('CONFIG', ['SET', 'maxmemory', '0']);
      await state.set('k', 'v', 60_000);
      admin.close();
      await state.close();
    });
  });
});

describe('the link to Redis', () => {
  const TIMEOUT_MS = 1_000;

  describeRedis('one Redis connection (skipped where TEST_REDIS_URL is not set)', () => {
    const clock = createManualClock(0);
    let link: RedisLink;
    beforeAll(async () => {
      const needs = { address: readRedisAddress(url), time: clock, timeoutMs: TIMEOUT_MS };
      link = await openLink({ ...needs, prepare: (client) => client.ping() }, () => {});
    });
    afterAll(() => link.close());

    test('each command has its full time-out from when it was sent; the oldest one decides', async () => {
      const first = begin(link);
      await clock.advance(100);
      await first.answer();
      expect(link.isIdle()).toBe(true);

      await clock.advance(800);
      const second = begin(link);
      await clock.advance(900);
      expect(link.isConnected()).toBe(true);
      const third = begin(link);
      await second.answer();
      await clock.advance(900);
      await third.answer();
      expect(link.isConnected()).toBe(true);

      const fourth = begin(link);
      const failing = failureOf(link.use((client) => client.send('BLPOP', ['test-never-pushed', '0'])));
      await clock.advance(TIMEOUT_MS + 49);
      expect(link.isConnected()).toBe(true);
      await clock.advance(1);
      expect(link.isConnected()).toBe(false);
      expect((await failing).reason).toBe('time-out');
      await fourth.answer();
    });
  });
});
