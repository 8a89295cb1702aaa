import type { RedisClient } from 'bun';
import type { Timer } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import { sharedStateClosed } from './failure.ts';
import { unreachable } from './redis-failures.ts';
import { type LinkNeeds, openLink, type RedisLink } from './redis-link.ts';

/**
 * A connection that is made anew whenever it is lost, or silent for too long.
 *
 * up: commands are sent as they come. Lost: the first attempt to reconnect runs at once, and commands that come
 * meanwhile wait for it (nothing of them was sent, so nothing can happen twice). Away: that attempt failed;
 * commands fail at once, and attempts go on with growing pauses. A command that was under way when the
 * connection was lost fails and is never repeated: nobody can tell whether the server ran it.
 */

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** In time-outs: how often an idle connection is asked whether it still lives. */
const HEARTBEAT_EVERY = 5;

export interface KeptConnection {
  send(command: string, args: string[]): Promise<unknown>;
  /** As `send`, for what the client does by methods of its own. */
  use<Result>(work: (client: RedisClient) => Promise<Result>): Promise<Result>;
  /** After the answers to what was sent before. */
  close(): Promise<void>;
}

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
    log.warn('the connection to Redis is lost and is being made anew', { redis: address.place });
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

  function use<Result>(work: (client: RedisClient) => Promise<Result>): Promise<Result> {
    return link && !closed ? link.use(work) : afterRestoring(work);
  }

  async function afterRestoring<Result>(work: (client: RedisClient) => Promise<Result>): Promise<Result> {
    if (closed) throw sharedStateClosed();
    const restored = await firstAttempt;
    if (!restored) throw unreachable(address);
    return restored.use(work);
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
    send: (command, args) => use<unknown>((client) => client.send(command, args)),
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
