import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { openRedisState } from '../../src/adapters/shared-state/redis.ts';
import { revokeKey } from '../../src/domain/keys/key-lifecycle.ts';
import { createCipher } from '../../src/domain/models/cipher.ts';
import { setAliasTargets } from '../../src/domain/models/targets.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { until } from '../doubles/until.ts';
import { post } from '../gateway/gateway-under-test.ts';
import { startScriptedUpstream } from '../gateway/scripted-upstream.ts';
import { freePort } from '../services/free-port.ts';
import { givenRedis } from '../services/given.ts';
import { describeServers } from '../setup/use-redis.ts';
import { callOnce, expectCharged, notWhole, type SeenCall } from './credit-clients.ts';
import { type CreditWorld, openCreditWorld, type RunningGateway } from './credit-world.ts';
import { keepCallingRaw } from './raw-calls.ts';
import { childrenOf, isAlive } from './running-system.ts';

const PROCESSES = 2;
/** The chance that one of two processes gets none of them is one in eight million. */
const ASKED = 24;
const METRICS_TOKEN = 'a-metrics-token-of-some-length';
/** No target of this test has a key to encrypt. */
const MASTER_KEY = 'x'.repeat(32);

describeServers('several gateway processes on one port', () => {
  let world: CreditWorld;
  let parent: RunningGateway;
  const seen: SeenCall[] = [];

  beforeAll(async () => {
    world = await openCreditWorld();
    world.answerAfter(() => 3);
    parent = await world.startGateway({
      GATEWAY_PROCESSES: String(PROCESSES),
      GATEWAY_PORT: String(freePort()),
      METRICS_TOKEN,
    });
  });
  afterAll(async () => {
    parent.signal('SIGKILL');
    await parent.exited;
    await world.close();
  });
  const children = () => childrenOf(parent.pid);

  /** On a new connection, so that any of them may get it. */
  async function countedCalls(): Promise<number> {
    const headers = { authorization: `Bearer ${METRICS_TOKEN}`, connection: 'close' };
    const text = await (await fetch(new URL('/metrics', parent.url), { headers })).text();
    const calls = text.matchAll(/^turnpike_calls_total\{.+\} (\d+)$/gm);
    return [...calls].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  /** Asks on new connections until every process has had many of them: the kernel spreads them by chance. */
  const askAll = (rawKey: string) =>
    Promise.all(
      Array.from({ length: ASKED }, async () => {
        const headers = { connection: 'close' };
        const body = { model: 'svc/chat-default', messages: [] };
        return await post(`${parent.url}/chat/completions`, rawKey, body, { headers });
      }),
    ).then((answers) => answers.map(({ status }) => status));

  test('SIGUSR2 replaces them one by one under load, and no call fails, on new connections and on open ones', async () => {
    const before = children();
    const loads = [
      keepCallingRaw(parent.url, world.rawKey, 'new for each call', 6),
      keepCallingRaw(parent.url, world.rawKey, 'kept', 6),
    ];
    await until(() => loads.every((load) => load.seen.length > 20));
    const counted: number[] = [];
    parent.signal('SIGUSR2');
    await until(async () => {
      counted.push(await countedCalls());
      return parent.output().includes('the gateway processes are replaced"');
    });
    const calls = (await Promise.all(loads.map((load) => load.stop()))).flat();
    // Any process answers for all of them, also for those that were replaced.
    expect(await Promise.all(Array.from({ length: 8 }, countedCalls))).toEqual(Array(8).fill(calls.length));
    expect(counted).toEqual(counted.toSorted((one, other) => one - other));
    seen.push(...calls);
    expect(notWhole(calls)).toEqual([]);
    const after = children();
    expect(after).toHaveLength(PROCESSES);
    expect(after.filter((pid) => before.includes(pid))).toEqual([]);
    expect(await expectCharged(world, seen)).toBe(0);
  });

  test('G-39 a key’s limit is shared by all of them', async () => {
    const rawKey = await world.mint({ requestsPerMinute: 10 });
    const statuses = await askAll(rawKey);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(ASKED - 10);
  });

  test('G-23 a revoked key and a changed provider of an alias reach all of them', async () => {
    const revoked = await world.mint();
    expect(new Set(await askAll(revoked))).toEqual(new Set([200]));
    const [key] = await world.database.query<{ id: string }>(
      'select id from api_keys order by id desc limit 1',
    );
    const other = startScriptedUpstream();
    const sharedState = await openRedisState({ url: givenRedis() ?? '', log: createSilentLog() });
    const secrets = createSystemSecrets();
    const parts = { database: world.database, sharedState, secrets, clock: createSystemClock() };
    const catalogue = {
      ...parts,
      prefix: 'svc',
      cipher: createCipher({ masterKeys: [MASTER_KEY], secrets }),
    };
    const target = { baseUrl: other.url, model: 'other-model', apiKey: null, weight: 1 };

    await revokeKey(parts, { companyId: world.companyId, keyId: key?.id ?? '' });
    expect(await setAliasTargets(catalogue, 'svc/chat-default', [target])).toEqual({ outcome: 'changed' });
    // Within a second, which the tests of both measure by a clock of their own: here a process may get no turn for longer.
    await until(async () => (await askAll(revoked)).every((status) => status === 401));
    await until(async () => {
      const before = [world.upstream.received.length, other.received.length] as const;
      expect(new Set(await askAll(world.rawKey))).toEqual(new Set([200]));
      return world.upstream.received.length === before[0] && other.received.length === before[1] + ASKED;
    });
    await sharedState.close();
    other.close();
  });

  test('a killed process is restarted, while the other answers', async () => {
    const [killed = 0] = children();
    process.kill(killed, 'SIGKILL');
    await until(() => children().length === PROCESSES && !children().includes(killed));
    await until(async () => (await callOnce(parent.url, world.rawKey)).isWhole);
    expect(parent.output()).toContain('a gateway process ended and is started again');
  });

  test('SIGTERM of the parent stops all of them', async () => {
    const all = children();
    parent.signal('SIGTERM');
    expect(await parent.exited).toBe(0);
    expect(all.filter(isAlive)).toEqual([]);
  });
});
