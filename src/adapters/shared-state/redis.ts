import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { checkClaims, checkMessage, checkSettlements, checkTopic } from './input-checks.ts';
import { readRedisAddress } from './redis/address.ts';
import { keepConnected } from './redis/connection.ts';
import { readReservation, reserveCall, reserveScript } from './redis/reserve-script.ts';
import { channelPrefix, createRedisValues, runScript, type ScriptRunner, tagKeys } from './redis/scripts.ts';
import { settleCall, settleScript } from './redis/settle-script.ts';
import { createRedisSubscriptions } from './redis/subscriptions.ts';

interface RedisStateOptions {
  url: string;
  log: Log;
  /** For time-outs and pauses. They are about the network: a test that moves its clock leaves this out. */
  clock?: Pick<Clock, 'now' | 'after'>;
  timeoutMs?: number;
  /** Keeps apart what shares one Redis: deployments, or tests. */
  prefix?: string;
}

/**
 * Shared state for many processes. Needs Redis 6.2 or newer, or Valkey; one server, or one behind a name that
 * follows the primary. Rejects within the time-out where it cannot be reached. `advance` moves this process's
 * view of its time on, for tests.
 */
export async function openRedisState({
  url,
  log,
  clock = machineTime,
  timeoutMs = 2_000,
  prefix = 'turnpike',
}: RedisStateOptions): Promise<SharedState & { advance(ms: number): void }> {
  const needs = { address: readRedisAddress(url), log, time: clock, timeoutMs };
  // The first command tells a wrong database number, and a server that is still loading its data.
  const connection = await keepConnected({ ...needs, prepare: (client) => client.send('PING', []) });
  const subscriptions = createRedisSubscriptions({
    connect: (own) => keepConnected({ ...needs, ...own }),
    channelPrefix: channelPrefix(prefix),
    log,
  });
  let offsetMs = 0;

  const run: ScriptRunner = (script, keys, args) => runScript(connection, script, { offsetMs, keys, args });

  return {
    async reserve(tag, claims) {
      checkClaims(tag, claims);
      const { keys, args } = reserveCall(tagKeys(prefix, tag), claims);
      return readReservation((await run(reserveScript, keys, args)) as number[], claims);
    },

    async settle(tag, settlements) {
      checkSettlements(tag, settlements);
      const { keys, args } = settleCall(tagKeys(prefix, tag), settlements);
      await run(settleScript, keys, args);
    },

    ...createRedisValues({ run, prefix }),

    async publish(topic, message) {
      checkMessage(topic, message);
      await connection.send('PUBLISH', [channelPrefix(prefix) + topic, message]);
    },

    async subscribe(topic, onMessage, onGap) {
      checkTopic(topic);
      return subscriptions.subscribe(topic, { onMessage, onGap });
    },

    async check() {
      await connection.send('PING', []);
    },

    async close() {
      await Promise.all([subscriptions.close(), connection.close()]);
    },

    advance(ms) {
      offsetMs += ms;
    },
  };
}

const machineTime: Pick<Clock, 'now' | 'after'> = {
  now: () => performance.now(),
  after(delayMs, work) {
    const timer = setTimeout(work, delayMs);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};
