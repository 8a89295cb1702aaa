import { afterAll, describe } from 'bun:test';
import { openRedisState } from '../../src/adapters/shared-state/redis.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { givenDatabase, givenRedis } from '../services/given.ts';

type RedisOptions = Parameters<typeof openRedisState>[0];
type RedisState = Awaited<ReturnType<typeof openRedisState>>;

/** `describe`, skipped where there is no Redis. With CI set, that fails instead. */
export const describeRedis = describe.skipIf(givenRedis() === null);

/** `describe`, skipped where PostgreSQL or Redis is missing. With CI set, that fails instead. */
export const describeServers = describe.skipIf(givenDatabase() === null || givenRedis() === null);

interface RedisUnderTest {
  readonly url: string;
  /** A name for keys that no other file, process or test uses. */
  newPrefix(): string;
  /** A connection that is closed after the last test of this scope, if the test has not done it before. */
  open(options?: Partial<RedisOptions>): Promise<RedisState>;
}

/** The given Redis, for the tests of this scope. */
export function useRedis(): RedisUnderTest {
  const url = givenRedis() ?? '';
  const opened: RedisState[] = [];
  afterAll(async () => {
    await Promise.all(opened.map((state) => state.close()));
  });
  const newPrefix = () => `test-${crypto.randomUUID()}`;
  return {
    url,
    newPrefix,
    async open(options = {}) {
      const prefix = options.prefix ?? newPrefix();
      const state = await openRedisState({
        url,
        log: createSilentLog(),
        prefix,
        timeoutMs: 10_000,
        ...options,
      });
      opened.push(state);
      return state;
    },
  };
}
