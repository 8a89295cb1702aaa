import type { RedisClient } from 'bun';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { checkClaims, checkMessage, checkSettlements, checkTopic } from './input-checks.ts';
import { type RedisAddress, readRedisAddress } from './redis/address.ts';
import { openCluster } from './redis/cluster.ts';
import { type ConnectionNeeds, openConnection, type RedisConnection } from './redis/connection.ts';
import { readReservation, reserveCall, reserveScript } from './redis/reserve-script.ts';
import { channelPrefix, createRedisValues, runScript, type ScriptRunner, tagKeys } from './redis/scripts.ts';
import { settleCall, settleScript } from './redis/settle-script.ts';
import { createRedisSubscriptions } from './redis/subscriptions.ts';
import { checkServer, findPrimary, type RedisTopology } from './redis/topology.ts';

const CHECKED_FOR_MS = '10000';

interface RedisStateOptions {
  url: string;
  log: Log;
  /** For time-outs and pauses of the network. Tests that move their clock omit it. */
  clock?: Pick<Clock, 'now' | 'after'>;
  timeoutMs?: number;
  /** Separates deployments, or tests, that share one Redis. */
  prefix?: string;
  /** Replaces the password in the URL; read for each connection. */
  password?: (() => string) | null;
  /** Certificates of authorities, as PEM. */
  ca?: string | null;
  topology?: RedisTopology;
}

/**
 * Shared state for many processes. Requires Redis 6.2 or newer, or Valkey: one server, a primary behind Sentinels, or a
 * cluster. Rejects within the time-out if it cannot be reached. `advance` moves this process's view of its time forward,
 * for tests.
 */
export async function openRedisState({
  url,
  log,
  clock = machineTime,
  timeoutMs = 2_000,
  prefix = 'turnpike',
  password = null,
  ca = null,
  topology = { kind: 'server' },
}: RedisStateOptions): Promise<SharedState & { advance(ms: number): void }> {
  const needs = { address: readRedisAddress(url, { password, ca }), log, time: clock, timeoutMs };
  let notifyGap = () => {};
  const servers = await openServers(needs, topology, () => notifyGap());
  const subscriptions = createRedisSubscriptions({
    connect: (own) => openConnection({ ...needs, ...own, find: servers.find }),
    channelPrefix: channelPrefix(prefix),
    log,
  });
  notifyGap = subscriptions.notifyGap;
  let offsetMs = 0;

  const keysOf = (tag: string) => tagKeys(prefix, tag, topology.kind === 'cluster');
  const run: ScriptRunner = (script, keys, args) =>
    runScript(servers.forKey(keys[0] ?? ''), script, { offsetMs, keys, args });

  return {
    async reserve(tag, claims) {
      checkClaims(tag, claims);
      const { keys, args } = reserveCall(keysOf(tag), claims);
      return readReservation((await run(reserveScript, keys, args)) as number[], claims);
    },

    async settle(tag, settlements) {
      checkSettlements(tag, settlements);
      const { keys, args } = settleCall(keysOf(tag), settlements);
      await run(settleScript, keys, args);
    },

    ...createRedisValues({ run, prefix }),

    async publish(topic, message) {
      checkMessage(topic, message);
      const channel = channelPrefix(prefix) + topic;
      await servers.forKey(channel).send('PUBLISH', [channel, message]);
    },

    async listeners(topic) {
      checkTopic(topic);
      const channel = channelPrefix(prefix) + topic;
      const counted = await servers.forKey(channel).send('PUBSUB', ['NUMSUB', channel]);
      return Number((counted as readonly unknown[])[1]);
    },

    async subscribe(topic, onMessage, onGap) {
      checkTopic(topic);
      return subscriptions.subscribe(topic, { onMessage, onGap });
    },

    async check() {
      await servers.check();
      // A full server and a replica answer a ping, and store nothing.
      const key = `${prefix}:check`;
      await servers.forKey(key).send('SET', [key, '1', 'PX', CHECKED_FOR_MS]);
    },

    async close() {
      await Promise.all([subscriptions.close(), servers.close()]);
    },

    advance(ms) {
      offsetMs += ms;
    },
  };
}

/** The server or servers that store the keys. */
interface RedisServers {
  forKey(key: string): Pick<RedisConnection, 'send'>;
  /** The address of further connections. */
  readonly find: (() => Promise<RedisAddress>) | undefined;
  check(): Promise<void>;
  close(): Promise<void>;
}

type ServerNeeds = Pick<ConnectionNeeds, 'address' | 'log' | 'time' | 'timeoutMs'>;

async function openServers(
  needs: ServerNeeds,
  topology: RedisTopology,
  onChange: () => void,
): Promise<RedisServers> {
  const { address, timeoutMs } = needs;
  if (topology.kind === 'cluster') {
    const seeds = [address, ...topology.nodes.map((place) => address.at(place))];
    const cluster = await openCluster({ ...needs, seeds, onChange });
    return { ...cluster, find: cluster.anyNode };
  }
  const find =
    topology.kind === 'sentinel' ? () => findPrimary({ ...sentinelsOf(topology), timeoutMs }) : undefined;
  // The first command also detects a wrong database number and a server that is still loading its data.
  const prepare = (client: RedisClient) =>
    checkServer(client, address, topology.kind).then(() => client.send('PING', []));
  const connection = await openConnection({ ...needs, prepare, find });
  return {
    forKey: () => connection,
    find,
    check: async () => void (await connection.send('PING', [])),
    close: connection.close,
  };

  function sentinelsOf({ primaryName, password, nodes }: Extract<RedisTopology, { kind: 'sentinel' }>) {
    const places = [address.place, ...nodes];
    return { sentinels: places.map((place) => address.at(place, password)), primaryName, servers: address };
  }
}

const machineTime: Pick<Clock, 'now' | 'after'> = {
  now: () => performance.now(),
  after(delayMs, work) {
    const timer = setTimeout(work, delayMs);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};
