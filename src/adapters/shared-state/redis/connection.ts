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
 * A connection that reconnects when it is lost or does not answer for too long.
 *
 * Up: commands are sent at once. Lost: the first attempt to reconnect starts immediately, and new commands wait for it
 * (they were not sent, so nothing happens twice). Unavailable: that attempt failed; commands fail at once, and attempts
 * continue with increasing delays. A command that was in flight when the connection was lost fails and is never retried,
 * because it is unknown whether the server ran it.
 */

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** The interval of pings on an idle connection, in time-outs. */
const HEARTBEAT_EVERY = 5;

export interface RedisConnection {
  /** `isReply` tells whether a reply can be this command's. One that cannot shows that replies are out of sync: the connection is closed. */
  send(command: string, args: string[], isReply?: IsReply): Promise<unknown>;
  /** Like `send`, for commands that the client has methods for. */
  use<Result>(work: (client: RedisClient) => Promise<Result>, isReply?: IsReply): Promise<Result>;
  /** Closes after the replies to all commands sent before. */
  close(): Promise<void>;
}

export type IsReply = (reply: unknown) => boolean;

export interface ConnectionNeeds extends LinkNeeds {
  readonly log: Log;
  onRestored?: () => void;
}

/** Rejects if the first attempt fails. */
export async function openConnection(needs: ConnectionNeeds): Promise<RedisConnection> {
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
    // The link may have ended before it was stored here.
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

  /** Without pings, a subscriber whose server vanished silently would wait for messages forever. */
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
      // Replies arrive in order, so this one is the last.
      if (link) await ping(link);
      link?.close();
    },
  };
}

async function ping(link: RedisLink): Promise<void> {
  // After a failure the link itself ends.
  await link.use((client) => client.send('PING', [])).catch(() => {});
}

/** Extra time for replies that are unread only because this process was busy. */
const GRACE_MS = 50;

interface LinkNeeds {
  readonly address: RedisAddress;
  readonly time: Pick<Clock, 'now' | 'after'>;
  readonly timeoutMs: number;
  /** Runs on each new connection before it is used. */
  prepare(client: RedisClient): Promise<unknown>;
  /** Looks up the server before each new connection; default: `address`. */
  find?: (() => Promise<RedisAddress>) | undefined;
  /** Errors of the server that are passed to the caller unchanged. */
  passes?: ((error: unknown) => boolean) | undefined;
}

/** A single connection. */
export interface RedisLink {
  /** Rejects with a SharedStateFailure, except for an unknown script, whose text the caller then sends. */
  use<Result>(work: (client: RedisClient) => Promise<Result>, isReply?: IsReply): Promise<Result>;
  isConnected(): boolean;
  isIdle(): boolean;
  close(): void;
}

/**
 * Bun's automatic reconnection is disabled: it does not report a lost connection, does not detect an unresponsive server,
 * and forgets subscriptions.
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

/** Certificates are always verified, including their host names. */
export function openClient({ url, ca }: RedisAddress, timeoutMs: number): RedisClient {
  return new RedisClient(url, {
    connectionTimeout: timeoutMs,
    autoReconnect: false,
    enableOfflineQueue: false,
    ...(ca === null ? {} : { tls: { ca } }),
  });
}

function createLink(client: RedisClient, { address, time, timeoutMs, passes }: LinkNeeds): RedisLink {
  // When each unanswered command was sent. Replies arrive in order, so the first is the oldest, and one timer for the
  // oldest is enough. A timer per command added a tenth to the cost of a command.
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
      // Rejects all commands in flight. The server may still run those that have reached it.
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
        // Later commands on this connection would get the reply of another.
        if (isOutOfSync) throw redisOutOfSync(address);
        if (isUnknownScript(error) || passes?.(error) === true) throw error;
        // The command was not sent and will not be sent by this connection.
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
