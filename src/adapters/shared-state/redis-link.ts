import { RedisClient } from 'bun';
import type { Clock, Timer } from '../../ports/clock.ts';
import type { RedisAddress } from './redis-address.ts';
import { isServerError, isUnknownScript, lost, refused, silent, unreachable } from './redis-failures.ts';

/** Replies that lie unread because our own process was busy get this long before we call the server silent. */
const GRACE_MS = 50;

export interface LinkNeeds {
  readonly address: RedisAddress;
  readonly time: Pick<Clock, 'now' | 'after'>;
  readonly timeoutMs: number;
  /** Runs on each new connection before it is used. */
  prepare(client: RedisClient): Promise<unknown>;
}

/** One connection, from its making to its end. */
export interface RedisLink {
  /** Rejects with a SharedStateFailure, but for an unknown script, which whoever sent it sends anew. */
  use<Result>(work: (client: RedisClient) => Promise<Result>): Promise<Result>;
  isConnected(): boolean;
  isIdle(): boolean;
  close(): void;
}

/**
 * Bun's own reconnecting is off: it does not say when a connection is lost, does not notice a silent server, and
 * forgets subscriptions.
 */
export async function openLink(needs: LinkNeeds, onEnd: (link: RedisLink) => void): Promise<RedisLink> {
  const client = new RedisClient(needs.address.url, {
    connectionTimeout: needs.timeoutMs,
    autoReconnect: false,
    enableOfflineQueue: false,
  });
  const link = createLink(client, needs);
  client.onclose = () => onEnd(link);
  let tooLate: Timer | undefined;
  try {
    const ready = client.connect().then(() => needs.prepare(client));
    const late = new Promise<never>((_, reject) => {
      tooLate = needs.time.after(needs.timeoutMs, () => reject(unreachable(needs.address)));
    });
    await Promise.race([ready, late]);
    return link;
  } catch (error) {
    client.close();
    throw isServerError(error) ? refused(needs.address, error) : unreachable(needs.address);
  } finally {
    tooLate?.cancel();
  }
}

function createLink(client: RedisClient, { address, time, timeoutMs }: LinkNeeds): RedisLink {
  // When each unanswered command was sent. Answers come in order, so the first is the oldest, and one timer on
  // the oldest serves all: a timer for each command was measured at a tenth of the command's own cost.
  const unanswered: number[] = [];
  let answers = 0;
  let isWatched = false;
  let isSilent = false;

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
    async use(work) {
      unanswered.push(time.now());
      if (!isWatched) watch(timeoutMs);
      try {
        return await work(client);
      } catch (error) {
        if (isUnknownScript(error)) throw error;
        if (isServerError(error)) throw refused(address, error);
        throw isSilent ? silent(address, timeoutMs) : lost(address);
      } finally {
        answers += 1;
        unanswered.shift();
      }
    },
    isConnected: () => client.connected,
    isIdle: () => unanswered.length === 0,
    close: () => client.close(),
  };
}
