import type { RedisClient } from 'bun';
import { sharedStateFailure } from '../input-checks.ts';
import { isServerError, type RedisAddress, redisRefused } from './address.ts';
import { openClient } from './connection.ts';

/**
 * The kind of servers at REDIS_URL. `server`: one server, or a name that follows the primary. `sentinel`: Sentinels, which
 * know the primary by its name. `cluster`: nodes of a Redis Cluster.
 */
export type RedisTopology =
  | { readonly kind: 'server' }
  | {
      readonly kind: 'sentinel';
      readonly primaryName: string;
      readonly password: string | null;
      /** Besides the one of REDIS_URL, as host:port. */
      readonly nodes: readonly string[];
    }
  | { readonly kind: 'cluster'; readonly nodes: readonly string[] };

/** Rejects a server of another kind than configured: commands would be refused, or written where they are lost. */
export async function checkServer(
  client: RedisClient,
  { place }: RedisAddress,
  kind: RedisTopology['kind'],
): Promise<void> {
  // The client has said it too, or it would not be connected.
  const { mode, role } = (await client.send('HELLO', ['3'])) as { mode?: string; role?: string };
  if (mode === 'sentinel') {
    throw sharedStateFailure(
      'refused',
      `Redis at ${place} is a Sentinel: set REDIS_SENTINEL_NAME to the name of the primary.`,
    );
  }
  if (mode === 'cluster' && kind !== 'cluster') {
    throw sharedStateFailure(
      'refused',
      `Redis at ${place} is a node of a Redis Cluster: set REDIS_CLUSTER=on.`,
    );
  }
  if (mode !== 'cluster' && kind === 'cluster') {
    throw sharedStateFailure(
      'refused',
      `Redis at ${place} is no node of a Redis Cluster: leave REDIS_CLUSTER out.`,
    );
  }
  if (role === 'replica' || role === 'slave') {
    // Temporary: after a failover the name, or the Sentinels, point to the new primary.
    throw sharedStateFailure(
      'unavailable',
      `Redis at ${place} is a replica, which takes no writes: use the address of the primary, or Sentinel.`,
    );
  }
}

interface SentinelNeeds {
  readonly sentinels: readonly RedisAddress[];
  readonly primaryName: string;
  /** Only its credentials and TLS are used, not its host. */
  readonly servers: RedisAddress;
  readonly timeoutMs: number;
}

/** Asks all Sentinels at once and takes the first answer that has a primary. */
export async function findPrimary(needs: SentinelNeeds): Promise<RedisAddress> {
  const { sentinels, primaryName, servers, timeoutMs } = needs;
  try {
    const place = await Promise.any(
      sentinels.map((sentinel) => askSentinel(sentinel, primaryName, timeoutMs)),
    );
    return servers.at(place);
  } catch (error) {
    const places = sentinels.map(({ place }) => place).join(', ');
    const refused = error instanceof AggregateError ? error.errors.find(isServerError) : undefined;
    const [first] = sentinels;
    if (refused?.message.startsWith('ERR unknown command') === true) {
      throw sharedStateFailure(
        'refused',
        `Redis at ${places} is no Sentinel: use the addresses of the Sentinels, or leave REDIS_SENTINEL_NAME out.`,
      );
    }
    if (refused !== undefined && first !== undefined) throw redisRefused(first, refused);
    throw sharedStateFailure(
      'unavailable',
      `No Sentinel at ${places} knows the primary "${primaryName}": check that they run, REDIS_SENTINEL_NAME and their password.`,
    );
  }
}

async function askSentinel(sentinel: RedisAddress, name: string, timeoutMs: number): Promise<string> {
  const client = openClient(sentinel, timeoutMs);
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('no answer in time')), timeoutMs);
  try {
    const answer = client.connect().then(() => client.send('SENTINEL', ['get-master-addr-by-name', name]));
    const found = (await Promise.race([answer, late.promise])) as [string, string] | null;
    if (found === null) throw new Error('unknown name');
    const [host, port] = found;
    return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  } finally {
    clearTimeout(timer);
    client.close();
  }
}
