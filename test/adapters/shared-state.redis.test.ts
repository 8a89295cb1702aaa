import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { RedisClient } from 'bun';
import { openRedisState } from '../../src/adapters/shared-state/redis.ts';
import { ignore, sharedStateContract } from '../contracts/shared-state.contract.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { givenRedis } from '../services/given.ts';

const url = givenRedis() ?? '';
const log = createSilentLog();
let opened = 0;

function freshPrefix(): string {
  opened += 1;
  return `test-${process.pid}-${performance.timeOrigin}-${opened}`;
}

async function open(prefix = freshPrefix()) {
  const state = await openRedisState({ url, log, prefix, timeoutMs: 10_000 });
  return { state, advance: state.advance, close: () => state.close(), prefix };
}

describe.skipIf(url === '')('Redis (skipped where TEST_REDIS_URL is not set)', () => {
  let admin: RedisClient;
  beforeAll(async () => {
    admin = new RedisClient(url);
    await admin.connect();
  });
  afterAll(() => admin.close());

  sharedStateContract('Redis', open);

  const window = { kind: 'window', name: 'rpm', amount: 1, limit: 50, windowMs: 3_600_000 } as const;
  const held = { kind: 'held', name: 'calls', amount: 1, limit: 50, ttlMs: 3_600_000, rule: 'fits' } as const;

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
    expect(left).toMatchObject({ outcome: 'reserved', standings: [{ used: 50 }] });
    await one.close();
    await two.close();
  });

  test('every key clears itself up, and what is released is gone at once', async () => {
    const { state, prefix, close } = await open();
    const level = { kind: 'level', name: 'l', value: 9, version: 1, ttlMs: 3_600_000 } as const;
    const claims = [window, { ...held, entry: 'a' }, { ...held, name: 'long', entry: 'a', ttlMs: 9_000_000 }];
    const reserved = await state.reserve('t', claims);
    const windowStart = reserved.outcome === 'reserved' ? reserved.standings[0]?.windowStart : undefined;
    await state.settle('t', [
      level,
      { kind: 'renew', name: 'calls', entry: 'a', ttlMs: 7_200_000 },
      { kind: 'window', name: 'rpm', windowStart: windowStart ?? 0, delta: 1 },
    ]);
    // A shorter entry beside a longer one must not take the longer one with it.
    await state.reserve('t', [{ ...held, name: 'long', entry: 'b', ttlMs: 1_000 }]);
    await state.set('v', 'text', 3_600_000);
    await state.setIfAbsent('w', 'text', 3_600_000);
    const keys = await keysUnder(prefix);
    expect(keys).toHaveLength(6);
    for (const key of keys) {
      const least = key.endsWith('held:long')
        ? 8_900_000
        : key.endsWith('held:calls')
          ? 7_100_000
          : 3_500_000;
      expect(await admin.send('PTTL', [key])).toBeGreaterThan(least);
      expect(await admin.send('PTTL', [key])).toBeLessThan(9_100_000);
    }
    await state.settle('t', [
      { kind: 'release', name: 'calls', entry: 'a' },
      { kind: 'release', name: 'long', entry: 'a' },
      { kind: 'release', name: 'long', entry: 'b' },
    ]);
    expect((await keysUnder(prefix)).filter((key) => key.includes(':held:'))).toEqual([]);
    await close();
  });

  test('all keys of a tag have it in braces, so that a cluster keeps them in one slot', async () => {
    const { state, prefix, close } = await open();
    await state.settle('company-7', [{ kind: 'level', name: 'l', value: 9, version: 1, ttlMs: 60_000 }]);
    const limit = { level: 'l', maxAgeMs: 60_000 };
    await state.reserve('company-7', [window, { ...held, entry: 'a', limit }]);
    const slots = (await keysUnder(prefix)).map((key) => admin.send('CLUSTER', ['KEYSLOT', key]));
    const inCluster = await Promise.all(slots).catch(() => null);
    if (inCluster) expect(new Set(inCluster).size).toBe(1);
    for (const key of await keysUnder(prefix)) expect(key).toStartWith(`${prefix}:{company-7}:`);
    await close();
  });

  test('a server that forgot the scripts is told them again, and nothing is applied twice', async () => {
    const { state, close } = await open();
    await state.reserve('t', [window]);
    await admin.send('SCRIPT', ['FLUSH']);
    expect(await state.reserve('t', [window])).toMatchObject({ standings: [{ used: 2 }] });
    await admin.send('SCRIPT', ['FLUSH']);
    await state.set('v', 'text', 60_000);
    expect(await state.get('v')).toBe('text');
    await close();
  });

  test('what was sent before closing is answered', async () => {
    const { state, close } = await open();
    // The server knows the script by now: one that it had to be told first would come too late.
    await state.reserve('t', [window]);
    const sent = [state.reserve('t', [window]), state.reserve('t', [window])];
    await close();
    expect(await Promise.all(sent)).toMatchObject([
      { standings: [{ used: 2 }] },
      { standings: [{ used: 3 }] },
    ]);
  });

  test('the server is left out of a topic with its last listener', async () => {
    const { state, prefix, close } = await open();
    const channels = () => admin.send('PUBSUB', ['CHANNELS', `${prefix}:*`]);
    const [one, two] = [
      await state.subscribe('a', ignore, ignore),
      await state.subscribe('a', ignore, ignore),
    ];
    await one.close();
    expect(await channels()).toEqual([`${prefix}:topic:a`]);
    await two.close();
    expect(await channels()).toEqual([]);
    await close();
  });

  test('two processes share claims and messages, and prefixes keep strangers apart', async () => {
    const [one, stranger] = [await open(), await open()];
    const two = await open(one.prefix);
    const heard: string[] = [];
    const overheard: string[] = [];
    await stranger.state.subscribe('news', (message) => overheard.push(message), ignore);
    const arrived = new Promise<void>((resolve) => {
      two.state
        .subscribe('news', (message) => resolve(void heard.push(message)), ignore)
        .then(() => one.state.publish('news', 'm'));
    });
    await arrived;
    expect(heard).toEqual(['m']);
    await one.state.reserve('t', [window]);
    expect(await two.state.reserve('t', [window])).toMatchObject({ standings: [{ used: 2 }] });
    expect(await stranger.state.reserve('t', [window])).toMatchObject({ standings: [{ used: 1 }] });
    expect(overheard).toEqual([]);
    for (const { close } of [one, two, stranger]) await close();
  });
});
