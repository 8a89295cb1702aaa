import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readRedisAddress } from '../../src/adapters/shared-state/redis/address.ts';
import { openLink, type RedisLink } from '../../src/adapters/shared-state/redis/connection.ts';
import { failureOf } from '../contracts/shared-state.contract.ts';
import { givenRedis } from '../services/given.ts';

const TIMEOUT_MS = 1_000;
const url = givenRedis() ?? '';

/** Time that only the test moves. */
function createHandClock() {
  let now = 0;
  let timers: { at: number; work: () => void }[] = [];
  return {
    now: () => now,
    after(delayMs: number, work: () => void) {
      const timer = { at: now + delayMs, work };
      timers.push(timer);
      return {
        cancel() {
          timers = timers.filter((other) => other !== timer);
        },
      };
    },
    moveTo(time: number): void {
      for (;;) {
        const next = timers.filter(({ at }) => at <= time).sort((one, two) => one.at - two.at)[0];
        if (!next) break;
        timers = timers.filter((other) => other !== next);
        now = next.at;
        next.work();
      }
      now = time;
    },
  };
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

describe.skipIf(url === '')('one Redis connection (skipped where TEST_REDIS_URL is not set)', () => {
  const clock = createHandClock();
  let link: RedisLink;
  beforeAll(async () => {
    const needs = { address: readRedisAddress(url), time: clock, timeoutMs: TIMEOUT_MS };
    link = await openLink({ ...needs, prepare: (client) => client.ping() }, () => {});
  });
  afterAll(() => link.close());

  test('each command has the whole time from when it was sent; the oldest one decides', async () => {
    const first = begin(link);
    clock.moveTo(100);
    await first.answer();
    expect(link.isIdle()).toBe(true);

    clock.moveTo(900);
    const second = begin(link);
    clock.moveTo(1_800);
    expect(link.isConnected()).toBe(true);
    const third = begin(link);
    await second.answer();
    clock.moveTo(2_700);
    await third.answer();
    expect(link.isConnected()).toBe(true);

    const fourth = begin(link);
    const failing = failureOf(link.use((client) => client.send('BLPOP', ['test-never-pushed', '0'])));
    clock.moveTo(2_700 + TIMEOUT_MS + 49);
    expect(link.isConnected()).toBe(true);
    clock.moveTo(2_700 + TIMEOUT_MS + 50);
    expect(link.isConnected()).toBe(false);
    expect((await failing).reason).toBe('time-out');
    await fourth.answer();
  });
});
