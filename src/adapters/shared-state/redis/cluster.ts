import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import { sharedStateClosed, sharedStateFailure } from '../input-checks.ts';
import { isServerError, type RedisAddress } from './address.ts';
import { type IsReply, openConnection, type RedisConnection } from './connection.ts';
import { checkServer } from './topology.ts';

/**
 * A Redis Cluster on connections of the runtime's client, one to each primary. The keys of a command have one hash tag, so a
 * command goes to one node, found by the slot of its first key.
 *
 * The map of slots is read at the start, and again when a node replies MOVED or cannot be reached. A node that replies MOVED
 * or ASK has run nothing, so the command is sent to the node it names. Other failures are not retried, as with one server.
 */

const SLOTS = 16_384;
const MOST_REDIRECTIONS = 5;
/** The least time between two reads: while a node is down, every command would read the map again. */
const REFRESH_EVERY_MS = 500;
const REDIRECTION = /^(MOVED|ASK) (\d+) (\S*):(\d+)/;

interface ClusterNeeds {
  readonly seeds: readonly RedisAddress[];
  readonly log: Log;
  readonly time: Pick<Clock, 'now' | 'after'>;
  readonly timeoutMs: number;
  /** The data of a node may be lost: it was unreachable, or another node has replaced it. */
  onChange(): void;
}

interface RedisCluster {
  /** The connection to the node that has this key. */
  forKey(key: string): Pick<RedisConnection, 'send'>;
  /** Any reachable node. */
  anyNode(): Promise<RedisAddress>;
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Rejects if no node returns a map of slots. */
export async function openCluster(needs: ClusterNeeds): Promise<RedisCluster> {
  const { seeds, log, time, timeoutMs, onChange } = needs;
  const nodes = new Map<string, Promise<RedisConnection>>();
  let slots: readonly (string | undefined)[] = [];
  let primaries: readonly string[] = [];
  let refreshing: Promise<void> | null = null;
  let refreshedAt = Number.NEGATIVE_INFINITY;
  let closed = false;

  function addressOf(place: string): RedisAddress {
    const [seed] = seeds;
    if (seed === undefined) throw sharedStateClosed();
    return seed.at(place);
  }

  async function nodeAt(place: string): Promise<RedisConnection> {
    // What is opened now would never be closed: a subscription that reconnects asks for a node until it is closed itself.
    if (closed) throw sharedStateClosed();
    const known = nodes.get(place);
    if (known !== undefined) return known;
    const address = addressOf(place);
    const opening = openConnection({
      ...{ address, log, time, timeoutMs, onRestored: onChange, passes: isRedirection },
      prepare: (client) => checkServer(client, address, 'cluster'),
    });
    nodes.set(place, opening);
    opening.catch(() => nodes.delete(place));
    return opening;
  }

  async function readMap(): Promise<void> {
    const places = [...new Set([...primaries, ...seeds.map(({ place }) => place)])];
    const read = await Promise.any(
      places.map(async (place) => {
        const connection = await nodeAt(place);
        return readSlots(await connection.send('CLUSTER', ['SLOTS']), place);
      }),
    ).catch((error: AggregateError) => {
      // The error of the first address is the most useful one for an operator.
      throw error.errors[0] ?? error;
    });
    const before = primaries;
    slots = read;
    primaries = [...new Set(read.filter((place) => place !== undefined))];
    refreshedAt = time.now();
    if (primaries.length === 0) {
      throw sharedStateFailure(
        'unavailable',
        'The Redis Cluster has no slots yet: create it, then try again.',
      );
    }
    for (const [place, opening] of nodes) {
      if (primaries.includes(place)) continue;
      nodes.delete(place);
      opening.then((connection) => connection.close()).catch(() => {});
    }
    if (before.length > 0 && primaries.some((place) => !before.includes(place))) {
      log.info('the primaries of the Redis Cluster have changed', { primaries });
      onChange();
    }
  }

  function refresh(): Promise<void> {
    refreshing ??= readMap().finally(() => {
      refreshing = null;
    });
    return refreshing;
  }

  /** In the background: the command that found the map outdated does not wait for it. */
  function refreshSoon(): void {
    if (closed || refreshing !== null || time.now() - refreshedAt < REFRESH_EVERY_MS) return;
    refreshedAt = time.now();
    refresh().catch((error: unknown) => {
      log.warn('the slots of the Redis Cluster cannot be read', { reason: String(error) });
    });
  }

  async function send(key: string, command: string, args: string[], isReply?: IsReply): Promise<unknown> {
    let place = slots[slotOf(key)] ?? primaries[0] ?? '';
    let isAsking = false;
    for (let hop = 0; !closed; hop += 1) {
      try {
        const connection = await nodeAt(place);
        return await (isAsking
          ? sendAsking(connection, command, args, isReply)
          : connection.send(command, args, isReply));
      } catch (error) {
        const redirection = redirectionOf(error, place);
        if (redirection === null) {
          if (!isServerError(error)) refreshSoon();
          throw error;
        }
        if (hop >= MOST_REDIRECTIONS) throw wandering(place);
        isAsking = redirection.kind === 'ASK';
        if (!isAsking) refreshSoon();
        place = redirection.place;
      }
    }
    throw sharedStateClosed();
  }

  const cluster: RedisCluster = {
    forKey: (key) => ({ send: (command, args, isReply) => send(key, command, args, isReply) }),
    async anyNode() {
      const reachable = primaries.map(async (place) => {
        await (await nodeAt(place)).send('PING', []);
        return addressOf(place);
      });
      return await Promise.any(reachable).catch(() => {
        refreshSoon();
        throw sharedStateFailure(
          'unavailable',
          'No node of the Redis Cluster can be reached: check that they run.',
        );
      });
    },
    async check() {
      await Promise.all(primaries.map(async (place) => await (await nodeAt(place)).send('PING', []))).catch(
        (error) => {
          refreshSoon();
          throw error;
        },
      );
    },
    async close() {
      closed = true;
      await Promise.all(
        [...nodes.values()].map((opening) => opening.then((one) => one.close()).catch(() => {})),
      );
    },
  };
  try {
    await refresh();
  } catch (error) {
    await cluster.close();
    throw error;
  }
  return cluster;
}

/** Makes the node accept the next command for a slot that is being moved to it. */
async function sendAsking(
  connection: RedisConnection,
  command: string,
  args: string[],
  isReply: IsReply = () => true,
): Promise<unknown> {
  const [, answer] = await connection.use(
    (client) => Promise.all([client.send('ASKING', []), client.send(command, args)]),
    (replies) => isReply((replies as readonly unknown[])[1]),
  );
  return answer;
}

function isRedirection(error: unknown): boolean {
  return isServerError(error) && REDIRECTION.test(error.message);
}

function redirectionOf(error: unknown, from: string): { kind: 'MOVED' | 'ASK'; place: string } | null {
  if (!isServerError(error)) return null;
  const [, kind, , host = '', port = ''] = REDIRECTION.exec(error.message) ?? [];
  if (kind !== 'MOVED' && kind !== 'ASK') return null;
  return { kind, place: placeOf(host, port, from) };
}

function wandering(place: string): Error {
  return sharedStateFailure(
    'unavailable',
    `The nodes of the Redis Cluster send a command in circles (last to ${place}): check that they agree with CLUSTER NODES.`,
  );
}

/** A node that does not know its own name omits it: its address is the one that was asked. */
function placeOf(host: string, port: string | number, answeredBy: string): string {
  const own = answeredBy.slice(0, answeredBy.lastIndexOf(':'));
  if (host === '' || host === '?') return `${own}:${port}`;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The primary of each slot, from the reply to CLUSTER SLOTS. */
function readSlots(answer: unknown, answeredBy: string): readonly (string | undefined)[] {
  const slots = new Array<string | undefined>(SLOTS).fill(undefined);
  const ranges = answer as readonly [
    number,
    number,
    readonly [string | null, number, ...unknown[]],
    ...unknown[],
  ][];
  for (const [first, last, [host, port]] of ranges) {
    slots.fill(placeOf(host ?? '', port, answeredBy), first, last + 1);
  }
  return slots;
}

/** CRC16 (XMODEM) of the part of the key between the first braces, or of the whole key. */
export function slotOf(key: string): number {
  const open = key.indexOf('{');
  const close = open === -1 ? -1 : key.indexOf('}', open + 1);
  const hashed = close > open + 1 ? key.slice(open + 1, close) : key;
  let crc = 0;
  for (const byte of new TextEncoder().encode(hashed)) {
    crc = ((crc << 8) & 0xffff) ^ (CRC_TABLE[((crc >> 8) ^ byte) & 0xff] ?? 0);
  }
  return crc % SLOTS;
}

const CRC_TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1)
    crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  return crc;
});
