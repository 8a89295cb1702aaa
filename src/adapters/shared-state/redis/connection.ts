import { RedisClient } from 'bun';
import type { Clock, Timer } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import { isSharedStateFailure, sharedStateClosed } from '../input-checks.ts';
import {
  isReadOnly,
  isServerError,
  isUnknownScript,
  type RedisAddress,
  redisLost,
  redisOutOfSync,
  redisRefused,
  redisSilent,
  redisUnreachable,
} from './address.ts';

/**
 * A connection that is made again whenever it is lost, or silent for too long.
 *
 * up: commands are sent as they come. Lost: the first attempt to reconnect runs at once, and commands that come
 * meanwhile wait for it (nothing of them was sent, so nothing can happen twice). Unavailable: that attempt failed;
 * commands fail at once, and attempts go on with growing pauses. A command that was under way when the
 * connection was lost fails and is never retried: whether the server ran it is unknown.
 */

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** In time-outs: how often an idle connection is asked whether it still lives. */
const HEARTBEAT_EVERY = 5;

export interface KeptConnection {
  /** `isReply` tells whether a reply can be this command's. One that cannot shows that replies are out of sync: the connection is closed. */
  send(command: string, args: string[], isReply?: IsReply): Promise<unknown>;
  /** As `send`, for what the client does by methods of its own. */
  use<Result>(work: (client: RedisClient) => Promise<Result>, isReply?: IsReply): Promise<Result>;
  /** After the answers to what was sent before. */
  close(): Promise<void>;
}

export type IsReply = (reply: unknown) => boolean;

export interface ConnectionNeeds extends LinkNeeds {
  readonly log: Log;
  onRestored?: () => void;
}

/** Rejects where the first attempt fails. */
export async function keepConnected(needs: ConnectionNeeds): Promise<KeptConnection> {
  const { address, log, time, timeoutMs } = needs;
  let closed = false;
  let link: RedisLink | null = null;
  let firstAttempt: Promise<RedisLink> | null = null;
  let nextAttempt: Timer | undefined;
  let heartbeat: Timer | undefined;

  function onEnd(ended: RedisLink): void {
    if (link !== ended) return;
    link = null;
    if (closed) return;
    log.warn('the connection to Redis was lost; reconnecting', { redis: address.place });
    firstAttempt = restore(FIRST_PAUSE_MS);
  }

  function adopt(fresh: RedisLink): void {
    link = fresh;
    // It may have ended before it was ours to look after.
    if (!fresh.isConnected()) onEnd(fresh);
  }

  function restore(pauseMs: number): Promise<RedisLink> {
    const attempt = openLink(needs, onEnd);
    attempt.then(
      (fresh) => {
        firstAttempt = null;
        if (closed) return fresh.close();
        log.info('the connection to Redis is back', { redis: address.place });
        adopt(fresh);
        needs.onRestored?.();
      },
      () => {
        firstAttempt = null;
        if (closed) return;
        const nextPauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
        nextAttempt = time.after(pauseMs, () => restore(nextPauseMs));
      },
    );
    return attempt;
  }

  function use<Result>(work: (client: RedisClient) => Promise<Result>, isReply?: IsReply): Promise<Result> {
    return link && !closed ? link.use(work, isReply) : afterRestoring(work, isReply);
  }

  async function afterRestoring<Result>(
    work: (client: RedisClient) => Promise<Result>,
    isReply?: IsReply,
  ): Promise<Result> {
    if (closed) throw sharedStateClosed();
    const restored = await firstAttempt;
    if (!restored) throw redisUnreachable(address);
    return restored.use(work, isReply);
  }

  /** Without it, a subscriber whose server vanished without a word would wait for messages for ever. */
  function beat(): void {
    heartbeat = time.after(timeoutMs * HEARTBEAT_EVERY, () => {
      if (link?.isIdle()) ping(link);
      beat();
    });
  }

  adopt(await openLink(needs, onEnd));
  beat();
  return {
    use,
    send: (command, args, isReply) => use<unknown>((client) => client.send(command, args), isReply),
    async close() {
      if (closed) return;
      closed = true;
      nextAttempt?.cancel();
      heartbeat?.cancel();
      // Answers come in order: this one comes after all others.
      if (link) await ping(link);
      link?.close();
    },
  };
}

async function ping(link: RedisLink): Promise<void> {
  // A failure shows in the link itself, which ends.
  await link.use((client) => client.send('PING', [])).catch(() => {});
}

/** Replies that lie unread because our own process was busy get this long before we call the server silent. */
const GRACE_MS = 50;

interface LinkNeeds {
  readonly address: RedisAddress;
  readonly time: Pick<Clock, 'now' | 'after'>;
  readonly timeoutMs: number;
  /** Runs on each new connection before it is used. */
  prepare(client: RedisClient): Promise<unknown>;
  /** Where the server is now, before each new connection; without it always at `address`. */
  find?: (() => Promise<RedisAddress>) | undefined;
  /** Errors of the server that the caller handles, and that are not translated. */
  passes?: ((error: unknown) => boolean) | undefined;
}

/** One connection, from its making to its end. */
export interface RedisLink {
  /** Rejects with a SharedStateFailure, except for an unknown script, which the caller sends again in full. */
  use<Result>(work: (client: RedisClient) => Promise<Result>, isReply?: IsReply): Promise<Result>;
  isConnected(): boolean;
  isIdle(): boolean;
  close(): void;
}

/**
 * Bun's own reconnecting is off: it does not say when a connection is lost, does not notice a silent server, and
 * forgets subscriptions.
 */
export async function openLink(needs: LinkNeeds, onEnd: (link: RedisLink) => void): Promise<RedisLink> {
  const address = needs.find === undefined ? needs.address : await needs.find();
  const client = openClient(address, needs.timeoutMs);
  const link = createLink(client, { ...needs, address });
  client.onclose = () => onEnd(link);
  let tooLate: Timer | undefined;
  try {
    const ready = client.connect().then(() => needs.prepare(client));
    const late = new Promise<never>((_, reject) => {
      tooLate = needs.time.after(needs.timeoutMs, () => reject(redisUnreachable(address)));
    });
    await Promise.race([ready, late]);
    return link;
  } catch (error) {
    client.close();
    if (isSharedStateFailure(error)) throw error;
    throw isServerError(error) ? redisRefused(address, error) : redisUnreachable(address);
  } finally {
    tooLate?.cancel();
  }
}

/** Certificates are always verified, with the names in them. */
export function openClient({ url, ca }: RedisAddress, timeoutMs: number): RedisClient {
  return new RedisClient(url, {
    connectionTimeout: timeoutMs,
    autoReconnect: false,
    enableOfflineQueue: false,
    ...(ca === null ? {} : { tls: { ca } }),
  });
}

function createLink(client: RedisClient, { address, time, timeoutMs, passes }: LinkNeeds): RedisLink {
  // When each unanswered command was sent. Answers come in order, so the first is the oldest, and one timer on
  // the oldest serves all: a timer for each command was measured at a tenth of the command's own cost.
  const unanswered: number[] = [];
  let answers = 0;
  let isWatched = false;
  let isSilent = false;
  let isOutOfSync = false;

  function watch(delayMs: number): void {
    isWatched = true;
    time.after(delayMs, () => {
      isWatched = false;
      const oldest = unanswered[0];
      if (oldest === undefined) return;
      const remainingMs = oldest + timeoutMs - time.now();
      if (remainingMs > 0) watch(remainingMs);
      else giveUpUnlessAnswered();
    });
  }

  function giveUpUnlessAnswered(): void {
    isWatched = true;
    const answersBefore = answers;
    time.after(GRACE_MS, () => {
      if (answers > answersBefore) return watch(0);
      isSilent = true;
      // Rejects everything under way; the server may still run what has reached it.
      client.close();
    });
  }

  return {
    async use(work, isReply) {
      unanswered.push(time.now());
      if (!isWatched) watch(timeoutMs);
      try {
        const reply = await work(client);
        if (!isOutOfSync && (isReply === undefined || isReply(reply))) return reply;
        isOutOfSync = true;
        client.close();
      } catch (error) {
        // What is under way on this connection would have another command's reply.
        if (isOutOfSync) throw redisOutOfSync(address);
        if (isUnknownScript(error) || passes?.(error) === true) throw error;
        // Nothing was written, and nothing will be by this connection.
        if (isReadOnly(error)) client.close();
        if (isServerError(error)) throw redisRefused(address, error);
        throw isSilent ? redisSilent(address, timeoutMs) : redisLost(address);
      } finally {
        answers += 1;
        unanswered.shift();
      }
      throw redisOutOfSync(address);
    },
    isConnected: () => client.connected,
    isIdle: () => unanswered.length === 0,
    close: () => client.close(),
  };
}
