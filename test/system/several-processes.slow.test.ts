import { expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { freePort } from '../services/free-port.ts';
import { describeServers } from '../setup/use-redis.ts';
import { useResource } from '../setup/use-resource.ts';
import { expectCharged, notWhole } from './credit-clients.ts';
import { openCreditWorld } from './credit-world.ts';
import { keepCallingRaw } from './raw-calls.ts';
import { childrenOf, isAlive } from './running-system.ts';

const PROCESSES = 2;
const METRICS_TOKEN = 'a-metrics-token-of-some-length';

describeServers('several gateway processes on one port', () => {
  const world = useResource(() => openCreditWorld());

  const start = (env: Record<string, string> = {}) =>
    world.startGateway({
      GATEWAY_PROCESSES: String(PROCESSES),
      GATEWAY_PORT: String(freePort()),
      ...env,
    });

  test('SIGUSR2 replaces them one by one under load, and no call fails, on new connections and on open ones; SIGTERM stops all', async () => {
    world.answerAfter(() => 3);
    const parent = await start({ METRICS_TOKEN });
    /** On a new connection, so that any of them may get it. */
    async function countedCalls(): Promise<number> {
      const headers = { authorization: `Bearer ${METRICS_TOKEN}`, connection: 'close' };
      const text = await (await fetch(new URL('/metrics', parent.url), { headers })).text();
      const calls = text.matchAll(/^turnpike_calls_total\{.+\} (\d+)$/gm);
      return [...calls].reduce((sum, [, count]) => sum + Number(count), 0);
    }
    const before = childrenOf(parent.pid);
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
    expect(notWhole(calls)).toEqual([]);
    const after = childrenOf(parent.pid);
    expect(after).toHaveLength(PROCESSES);
    expect(after.filter((pid) => before.includes(pid))).toEqual([]);
    expect(await expectCharged(world, calls)).toBe(0);

    parent.signal('SIGTERM');
    expect(await parent.exited).toBe(0);
    expect(after.filter(isAlive)).toEqual([]);
  });

  test('a killed one is restarted while the other answers, and none outlives the parent', async () => {
    const parent = await start();
    const [killed = 0] = childrenOf(parent.pid);
    process.kill(killed, 'SIGKILL');
    // Connections that were being made to the killed one are reset.
    const isAnswered = () =>
      fetch(new URL('/healthz', parent.url))
        .then(({ ok }) => ok)
        .catch(() => false);
    await until(isAnswered);
    const children = () => childrenOf(parent.pid).filter((pid) => pid !== killed);
    await until(() => children().length === PROCESSES);
    const survivors = children();
    parent.signal('SIGKILL');
    await parent.exited;
    await until(() => !survivors.some(isAlive));
  });
});
